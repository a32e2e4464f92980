# The sources of CUDA kernels as string literals: sources.inc, made by `cmake -DSOURCES=... -DOUTPUT=... -P OctetKernels.cmake` when one
# of them changes.

set(OCTET_KERNEL_MAKER ${CMAKE_CURRENT_LIST_FILE})

function(octet_kernel_literal path result)
  file(READ ${path} text)
  set(${result} "\nR\"octet(${text})octet\"" PARENT_SCOPE)
endfunction()

# FOLDER is src/backends/cuda.
function(octet_write_kernels folder output)
  set(text "constexpr SourceText kFiles[] = {\n")
  file(GLOB files RELATIVE ${folder} ${folder}/contract.h ${folder}/device/*.h ${folder}/device/*.cuh ${folder}/families/*/*.h ${folder}/families/*/*.cuh
    ${folder}/families/*/kernel.cu)
  foreach(file IN LISTS files)
    octet_kernel_literal(${folder}/${file} literal)
    # sv: with its length, which a compiler would else count letter by letter.
    string(APPEND text "{\"backends/cuda/${file}\", ${literal}sv},\n")
  endforeach()
  string(APPEND text "};\n")
  file(WRITE ${output} "${text}")
endfunction()

# octet_cuda_kernels(FOLDER SOURCE): SOURCE includes "cuda_kernels/sources.inc".
function(octet_cuda_kernels folder source)
  set(output ${PROJECT_BINARY_DIR}/generated/cuda_kernels/sources.inc)
  file(GLOB inputs CONFIGURE_DEPENDS ${folder}/contract.h ${folder}/device/*.h
    ${folder}/device/*.cuh ${folder}/families/*/*.h ${folder}/families/*/*.cuh ${folder}/families/*/kernel.cu)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUTPUT=${output} -P ${OCTET_KERNEL_MAKER}
    DEPENDS ${inputs} ${OCTET_KERNEL_MAKER})
  octet_made(cuda_kernel_sources ${output})
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${output} INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/generated
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  octet_write_kernels(${FOLDER} ${OUTPUT})
endif()
