# Compiler flags of the whole project, and the one table from file suffix to instruction set.

add_library(octet_flags INTERFACE)
target_include_directories(octet_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# No contraction: docs/numerics.md writes every fused multiply-add out. No errno: nearbyintf and sqrtf inline.
# -Wno-restrict: g++ 12 reports it falsely for std::string operator+ (gcc bug 105651).
target_compile_options(octet_flags INTERFACE
  -ffp-contract=off -fno-math-errno -Wall -Wextra)
# g++ is the compiler of every release and its warnings count; clang builds with sanitizers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(octet_flags INTERFACE -Wshadow=local -Wconversion -Wsign-conversion -Wno-restrict)
else()
  target_compile_options(octet_flags INTERFACE -Wno-unknown-warning-option)
endif()
target_link_libraries(octet_flags INTERFACE fmt::fmt Threads::Threads)

# For libabigail (packaging/abi.py), in the modules that define what the installed headers declare; of a few functions elsewhere it sees the
# names. Where variables lie, which takes the most time, is of no interest. What is published is stripped.
option(OCTET_DESCRIBE "Debug information of the installed interface" OFF)
set(OCTET_DESCRIBED core arch preprocess data calibrate precision plugin runtime pipeline inspect capi)
set(OCTET_DESCRIBING -g -fno-var-tracking)

set(OCTET_SANITIZE "" CACHE STRING "Sanitizers of this build: address,undefined or thread")
if(OCTET_SANITIZE)
  # Instrumented code hides from g++ what is initialized: its -Wmaybe-uninitialized is false there (std::variant moves).
  target_compile_options(octet_flags INTERFACE -Wno-maybe-uninitialized
    -fsanitize=${OCTET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(octet_flags INTERFACE -fsanitize=${OCTET_SANITIZE})
endif()
# Checks of every pointer use more than double the time to compile; the address sanitizer finds most of what they find.
set(OCTET_NO_SANITIZE "" CACHE STRING "Checks to leave out of OCTET_SANITIZE")
if(OCTET_NO_SANITIZE)
  target_compile_options(octet_flags INTERFACE -fno-sanitize=${OCTET_NO_SANITIZE})
endif()

# Coverage for libFuzzer; the targets themselves add its main().
if(OCTET_FUZZ)
  target_compile_options(octet_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Suffix -> flags. Nothing else in the project has -m flags (docs/adr/0003). Kernels do not throw; without -fno-exceptions
# functions that are always inlined bring a weak reference to the unwinder along.
set(OCTET_ISA_SUFFIXES_x86_64 avx2 avxvnni vnni bf16 amx)
set(OCTET_ISA_SUFFIXES_aarch64 neon dotprod i8mm)
set(OCTET_ISA_SUFFIXES ${OCTET_ISA_SUFFIXES_x86_64} ${OCTET_ISA_SUFFIXES_aarch64})
set(OCTET_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -fno-exceptions -Wno-conversion -Wno-sign-conversion)
set(OCTET_ISA_FLAGS_avxvnni ${OCTET_ISA_FLAGS_avx2} -mavxvnni)
set(OCTET_ISA_FLAGS_vnni -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx512vbmi -mfma -fno-exceptions
  -mprefer-vector-width=512 -Wno-conversion -Wno-sign-conversion
  -Wno-maybe-uninitialized)  # g++ 12 reports its own avx512fintrin.h (gcc bug 105593)
set(OCTET_ISA_FLAGS_bf16 ${OCTET_ISA_FLAGS_vnni} -mavx512bf16)
set(OCTET_ISA_FLAGS_amx ${OCTET_ISA_FLAGS_vnni} -mamx-tile -mamx-int8)
# -O2 whatever the build's level is: what an emulator runs and counts are the kernels of a release.
set(OCTET_ISA_FLAGS_neon -O2 -fno-exceptions -Wno-conversion -Wno-sign-conversion)
# Scheduled before registers are given out, all loads of a step go first, and g++ 12 keeps accumulators in memory.
set(OCTET_ISA_FLAGS_dotprod ${OCTET_ISA_FLAGS_neon} -march=armv8.2-a+dotprod -fno-schedule-insns)
set(OCTET_ISA_FLAGS_i8mm ${OCTET_ISA_FLAGS_neon} -march=armv8.2-a+dotprod+i8mm -fno-schedule-insns)

# The architecture whose kernels are compiled. `generic` has none of its own: the scalar ones run, on any processor.
set(OCTET_ARCHITECTURES x86_64 aarch64 generic)
set(octet_arch generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(octet_arch x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(octet_arch aarch64)
endif()
set(OCTET_ARCH ${octet_arch} CACHE STRING "Whose kernels: x86_64, aarch64 or generic")
if(NOT OCTET_ARCH STREQUAL octet_arch AND NOT OCTET_ARCH STREQUAL "generic")
  message(FATAL_ERROR "OCTET_ARCH is '${OCTET_ARCH}', but programs for ${CMAKE_SYSTEM_PROCESSOR} have ${octet_arch} or generic")
endif()
if(OCTET_ARCH STREQUAL "generic")
  target_compile_definitions(octet_flags INTERFACE OCTET_GENERIC)
endif()

# Takes what only other architectures compile from a list of sources: folders of src/arch, and files by their suffix.
function(octet_drop_foreign list)
  foreach(arch IN LISTS OCTET_ARCHITECTURES)
    if(NOT arch STREQUAL OCTET_ARCH)
      list(FILTER ${list} EXCLUDE REGEX "/arch/${arch}/")
      foreach(suffix IN LISTS OCTET_ISA_SUFFIXES_${arch})
        list(FILTER ${list} EXCLUDE REGEX "_${suffix}\\.cc$")
      endforeach()
    endif()
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

function(octet_set_isa_flags)
  foreach(source IN LISTS ARGN)
    foreach(suffix IN LISTS OCTET_ISA_SUFFIXES)
      if(source MATCHES "_${suffix}\\.cc$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
          "${OCTET_ISA_FLAGS_${suffix}}" SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endforeach()
endfunction()
