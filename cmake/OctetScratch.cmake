# For builds from scratch, which nobody edits afterwards (./dev demo, ./dev package, ./dev release, .ci/run): the same program for less
# processor time. Several files are compiled as one, and the project's own headers are precompiled where files stay alone. Whoever changes files builds without:
# there a changed file costs itself alone. The presets take OCTET_SCRATCH=ON from the environment.

option(OCTET_SCRATCH "Compile many files as one: for builds from scratch" OFF)

# Names of unnamed namespaces meet where files are compiled as one. Operators and lowerings are called alike in every file by design;
# kernels are sealed objects with flags of their own (docs/adr/0003).
set(OCTET_ALONE "/cli/(main|counted_new)\\.cc$|/tensorrt/trtexec/tensorrt_plugins\\.cc$|/ops/operators/|/ops/quantized/|/backends/cpu/lower/|/backends/cuda/|/plugin/library\\.cc$|/pipeline/this_program\\.cc$|/backends/.*kernels/|_(avx2|avxvnni|vnni|bf16|amx)\\.cc$")

# For ./dev demo alone, with -O1 and no warnings as the build's flags: kernels keep the level of a release; what plans them and the operators'
# scalar references take less time to compile so, and less again in larger batches, each of which reads the same templates. The results are
# the same: no level may change a float. A precompiled header is read at the level that it was made with, so kernels do without.
option(OCTET_LIGHT "Optimize kernels alone; CMAKE_CXX_FLAGS_RELEASE says how much the rest" OFF)

# Of builds for tests, what plans and reports is compiled at -O1, a quarter less time, and under sanitizers at -O0, less than half; kernels,
# operators and what else tests run most keep the build's level. (OCTET_LIGHT, above, is ./dev demo's: everything but kernels.)
set(OCTET_BUSY octet_arch octet_backends octet_calibrate octet_core octet_graph octet_ops)

# octet_is_light(TARGET VARIABLE)
function(octet_is_light target result)
  set(${result} OFF PARENT_SCOPE)
  if(OCTET_SCRATCH AND OCTET_TESTS AND NOT target IN_LIST OCTET_BUSY)
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

function(octet_lighten target)
  octet_is_light(${target} light)
  if(light AND OCTET_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  elseif(light)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# octet_merge(TARGET sources...)
function(octet_merge target)
  octet_lighten(${target})
  set(batch 12)
  if(OCTET_LIGHT)
    set(batch 30)
    foreach(source IN LISTS ARGN)
      if(source MATCHES "/backends/cpu/kernels/|_(avx2|avxvnni|vnni|bf16|amx)\\.cc$")
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -O3)
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endif()
  if(NOT OCTET_SCRATCH)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    if(source MATCHES "${OCTET_ALONE}")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# Project headers that most files of a module include. They change, so only builds from scratch precompile them; there no checksum
# speaks for them, and ccache reads the precompiled header itself.
set(OCTET_HEADERS_octet_ops graph/op_def.h ops/shared/axes.h ops/shared/elementwise.h ops/shared/float_io.h)
set(OCTET_HEADERS_octet_backends backends/host/queue.h backends/cpu/device.h ops/shared/axes.h)

function(octet_precompile_module target)
  if(OCTET_SCRATCH AND OCTET_HEADERS_${target})
    list(TRANSFORM OCTET_HEADERS_${target} REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1" OUTPUT_VARIABLE headers)
    octet_precompile(${target} ${target}_precompiled ${OCTET_PRECOMPILED_STD} ${headers})
    return()
  endif()
  octet_is_light(${target} light)
  if(light)
    octet_precompile(${target} octet_precompiled_light ${OCTET_PRECOMPILED_STD})
  else()
    octet_precompile(${target} octet_precompiled ${OCTET_PRECOMPILED_STD})
  endif()
endfunction()
