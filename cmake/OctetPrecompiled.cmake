# Precompiled headers: standard library and fmt for every module, gtest besides for the tests. Of single files they took a fifth to
# two fifths off the processor time. They hide no include for long: clang-tidy reads every file without
# (preset lint), and clang compiles so, but for builds from scratch.
# Instruction-set files include nothing of std:: and take none.

option(OCTET_PRECOMPILED "Precompile the standard library's headers" ON)

set(OCTET_PRECOMPILED_STD
  <algorithm> <array> <bit> <chrono> <cmath> <cstring> <functional> <limits> <list> <map> <memory> <numeric>
  <optional> <span> <string> <string_view> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# Inlined from a precompiled header, std::string's copies look to g++ 12 as if they passed their bounds (gcc bug 105651, as with
# -Wno-restrict); builds under the address sanitizer see what really does.
if(OCTET_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(octet_flags INTERFACE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()

# octet_precompile(TARGET OWNER headers...): every target of one OWNER has the same flags and shares one precompiled header.
function(octet_precompile target owner)
  if(NOT OCTET_PRECOMPILED OR NOT (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR OCTET_SCRATCH OR owner STREQUAL "octet_precompiled_tests"))
    return()
  endif()
  if(NOT TARGET ${owner})
    file(WRITE ${CMAKE_BINARY_DIR}/${owner}.cc "// Owns a precompiled header.\n")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/${owner}.cc)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(options)
      target_compile_options(${owner} PRIVATE ${options})
    endif()
    target_link_libraries(${owner} PRIVATE octet_flags)
    # g++ takes a precompiled header only where the kind of code (-fPIC of objects, -fPIE of programs) and the macros that
    # gtest asks for are those of the file.
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE -fPIE)
      target_link_libraries(${owner} PRIVATE GTest::gtest)
    endif()
    target_precompile_headers(${owner} PRIVATE ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${owner} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # or ccache would serve no file that uses it
    endif()
    if(NOT "${ARGN}" MATCHES "${PROJECT_SOURCE_DIR}")  # what its name says is all that it holds
      octet_precompiled_sum(${owner} "${GTest_VERSION} ${options} ${ARGN}")
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  add_dependencies(${target} ${owner})
endfunction()

# ccache takes this for the checksum of the precompiled header, whose own bytes hold the path of the checkout.
function(octet_precompiled_sum target what)
  string(SHA256 sum "${CMAKE_CXX_COMPILER_VERSION} ${fmt_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO} \
    ${OCTET_SANITIZE} ${OCTET_NO_SANITIZE} ${what}")
  foreach(kind IN ITEMS gch pch)  # g++'s, clang's
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.${kind}.sum ${sum})
  endforeach()
endfunction()

# octet_precompile_own(TARGET headers...): for a program with flags of its own.
function(octet_precompile_own target)
  if(NOT OCTET_PRECOMPILED OR NOT (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR OCTET_SCRATCH))
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  octet_precompiled_sum(${target} "${CLI11_VERSION} ${nlohmann_json_VERSION} ${ARGN}")
endfunction()
