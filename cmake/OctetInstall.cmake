# The libraries that others link, made of the modules' objects, and what `cmake --install` puts where. Each holds those before it:
#   Octet::runtime  loads and runs engines
#   Octet::data     reads images and arrays
#   Octet::octet    imports, calibrates and compiles
# BUILD_SHARED_LIBS chooses static or shared. Octet::c is all of them in C (octet/octet.h): one shared library that shows nothing of C++ and
# has a number of its own for its binary interface, which new versions of Octet keep.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Names of the external libraries that the modules link; the rest of their link lists is about include paths.
function(octet_external_libraries out)
  set(libraries)
  foreach(module IN LISTS ARGN)
    get_target_property(linked ${module} LINK_LIBRARIES)
    list(APPEND libraries ${linked})
  endforeach()
  list(FILTER libraries EXCLUDE REGEX "^\\$<|^octet_|nlohmann_json|NOTFOUND")
  # By name, so that an installed package does not hold this machine's paths.
  list(TRANSFORM libraries REPLACE "^/.*/lib([^/]*)\\.(so|a)$" "\\1")
  list(REMOVE_DUPLICATES libraries)
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

set(cpp_exports ${PROJECT_BINARY_DIR}/cpp_exports.map)
configure_file(${PROJECT_SOURCE_DIR}/cmake/cpp_exports.map.in ${cpp_exports} @ONLY)

function(octet_library name)
  set(target octet_lib_${name})
  set(objects ${ARGN})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${target} ${objects})
  add_library(Octet::${name} ALIAS ${target})
  octet_external_libraries(external ${ARGN})
  target_link_libraries(${target} PRIVATE ${external} fmt::fmt Threads::Threads)
  if(OCTET_SANITIZE)
    target_link_options(${target} PUBLIC $<BUILD_INTERFACE:-fsanitize=${OCTET_SANITIZE}>)
  endif()
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(name STREQUAL "octet")
    set(output octet)
  else()
    set(output octet_${name})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} EXPORT_NAME ${name}
    INSTALL_RPATH "$ORIGIN" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(BUILD_SHARED_LIBS)
    target_link_options(${target} PRIVATE LINKER:--version-script=${cpp_exports})
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${cpp_exports})
  endif()
  install(TARGETS ${target} EXPORT OctetTargets COMPONENT development)
endfunction()

get_property(all_modules GLOBAL PROPERTY OCTET_MODULES)
if(NOT TARGET octet_runtime)
  return()
endif()
get_property(runtime_modules TARGET octet_runtime PROPERTY OCTET_DEPENDS)
get_property(data_modules TARGET octet_data PROPERTY OCTET_DEPENDS)
list(REMOVE_DUPLICATES runtime_modules)
list(REMOVE_DUPLICATES data_modules)
list(REMOVE_ITEM data_modules ${runtime_modules})
set(compile_modules ${all_modules})
list(REMOVE_ITEM compile_modules ${runtime_modules} ${data_modules} octet_capi)

octet_library(runtime ${runtime_modules})
octet_library(data ${data_modules})
octet_library(octet ${compile_modules})
target_link_libraries(octet_lib_data PUBLIC octet_lib_runtime)
target_link_libraries(octet_lib_octet PUBLIC octet_lib_data)

set(OCTET_C_ABI 1)  # OCTET_ABI of octet/octet.h
set(c_exports ${PROJECT_SOURCE_DIR}/src/capi/exports.map)
add_library(octet_lib_c SHARED $<TARGET_OBJECTS:octet_capi>)
add_library(Octet::c ALIAS octet_lib_c)
target_link_libraries(octet_lib_c PRIVATE Octet::octet fmt::fmt Threads::Threads)
# Threads of what it holds may outlive their last call: who loads it by hand cannot unload it under them.
target_link_options(octet_lib_c PRIVATE LINKER:--version-script=${c_exports} LINKER:--exclude-libs,ALL LINKER:-z,nodelete)
if(NOT OCTET_SANITIZE)  # whose runtime is the program's
  target_link_options(octet_lib_c PRIVATE LINKER:--no-undefined)
endif()
target_include_directories(octet_lib_c INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(octet_lib_c PROPERTIES OUTPUT_NAME octet_c EXPORT_NAME c LINK_DEPENDS ${c_exports}
  INSTALL_RPATH "$ORIGIN" VERSION ${OCTET_C_ABI}.${PROJECT_VERSION} SOVERSION ${OCTET_C_ABI})
# octet_pkg_config(NAME ...): NAME.pc, with the options of install().
function(octet_pkg_config name)
  # From where the file lies: the prefix may be another one in the end.
  file(RELATIVE_PATH octet_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" octet_prefix_from_pc "${octet_prefix_from_pc}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${ARGN})
endfunction()

# What is installed of it has rules of its own, which run where a build has made it.
add_subdirectory(${PROJECT_SOURCE_DIR}/cmake/c_interface ${PROJECT_BINARY_DIR}/cmake/c_interface EXCLUDE_FROM_ALL)
install(CODE "if(EXISTS \"$<TARGET_FILE:octet_lib_c>\")
  include(\"${PROJECT_BINARY_DIR}/cmake/c_interface/cmake_install.cmake\")
endif()" ALL_COMPONENTS)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/octet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT OctetTargets NAMESPACE Octet:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Octet)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/OctetConfig.cmake.in
  ${PROJECT_BINARY_DIR}/OctetConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Octet)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/OctetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/OctetConfig.cmake ${PROJECT_BINARY_DIR}/OctetConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Octet)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(NOT BUILD_SHARED_LIBS)
  include(OctetSdk)
endif()
