# The C++ interface for programs elsewhere, whatever they were compiled by: liboctet.so of the archive (packaging/archive.sh), the three
# libraries in one. It shows what the installed headers declare and nothing else, so that it may live beside another protobuf or oneDNN; its
# number changes with each minor version, and packaging/abi.py compares it with the last release's (docs/adr/0026-shared-cpp-library.md).

find_program(OCTET_PYTHON3 python3)
if(NOT OCTET_PYTHON3)
  return()
endif()
set(sdk_exports ${PROJECT_BINARY_DIR}/sdk_exports.map)
set(sdk_maker ${PROJECT_SOURCE_DIR}/cmake/cpp_exports.py)
file(GLOB sdk_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/octet/*.h)
add_custom_command(OUTPUT ${sdk_exports}
  COMMAND ${OCTET_PYTHON3} ${sdk_maker} ${PROJECT_SOURCE_DIR}/include/octet OCTET_CPP_${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} ${sdk_exports}
  DEPENDS ${sdk_headers} ${sdk_maker} VERBATIM)
add_custom_target(octet_sdk_exports DEPENDS ${sdk_exports})

set(sdk_modules ${all_modules})
list(REMOVE_ITEM sdk_modules octet_capi)
octet_external_libraries(sdk_external ${sdk_modules})
list(TRANSFORM sdk_modules REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
add_library(octet_lib_sdk SHARED EXCLUDE_FROM_ALL ${sdk_modules})
add_dependencies(octet_lib_sdk octet_sdk_exports)
if(OCTET_SYSROOT)  # before the static libstdc++, which gives what GCC 8's lacks
  target_link_options(octet_lib_sdk BEFORE PRIVATE ${OCTET_SYSROOT}/libstdc++.so.6)
endif()
target_link_libraries(octet_lib_sdk PRIVATE ${sdk_external} fmt::fmt Threads::Threads)
target_link_options(octet_lib_sdk PRIVATE LINKER:--version-script=${sdk_exports} LINKER:--exclude-libs,ALL LINKER:-z,nodelete)
if(NOT OCTET_SANITIZE)
  target_link_options(octet_lib_sdk PRIVATE LINKER:--no-undefined)
endif()
target_compile_features(octet_lib_sdk INTERFACE cxx_std_20)
target_include_directories(octet_lib_sdk INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(octet_lib_sdk PROPERTIES OUTPUT_NAME octet EXPORT_NAME octet LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sdk
  LINK_DEPENDS "${sdk_exports}" INSTALL_RPATH "$ORIGIN" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# cmake --install BUILD/cmake/sdk puts it into a prefix; cmake --install BUILD leaves it out.
add_subdirectory(${PROJECT_SOURCE_DIR}/cmake/sdk ${PROJECT_BINARY_DIR}/cmake/sdk EXCLUDE_FROM_ALL)
