# Modules of Python: their files as a package in python/ of the build folder, native parts, and stubs made of what the native parts say.

# Looked up at every configure: .venv may appear after the first.
if(NOT DEFINED SKBUILD AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
set(nanobind_FOUND FALSE)
if(Python_Development.Module_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_folder
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # nanobind's own half, which modules load.
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import nanobind_backend, os; print(os.path.dirname(nanobind_backend.__file__))"
    OUTPUT_VARIABLE nanobind_backend OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(nanobind_folder AND nanobind_backend)
    find_package(nanobind 3.1 CONFIG QUIET PATHS ${nanobind_folder} NO_DEFAULT_PATH)
  endif()
endif()
if(NOT nanobind_FOUND)
  message(STATUS "Python's modules are not built: they need nanobind 3.1 and nanobind-backend (./dev setup) and Python's headers (python3-dev)")
  if(DEFINED SKBUILD)
    message(FATAL_ERROR "a wheel needs them")
  endif()
  return()
endif()

set(octet_python_folder ${PROJECT_BINARY_DIR}/python)

# Beside the modules, too: tests run them by other interpreters of this version.
if(NOT DEFINED SKBUILD)
  file(MAKE_DIRECTORY ${octet_python_folder})
  file(CREATE_LINK ${nanobind_backend} ${octet_python_folder}/nanobind_backend SYMBOLIC)
endif()

# octet_python_module(TARGET NAME PACKAGE ABI sources...): PACKAGE/NAME.abi3.so beside links to the files of the package, for every Python
# from version ABI on. nanobind's own half is the package nanobind-backend, so that one module serves Pythons from 3.10 on.
function(octet_python_module target name package abi)
  set(folder ${octet_python_folder}/${package})
  file(MAKE_DIRECTORY ${folder})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/${package} ${CMAKE_CURRENT_SOURCE_DIR}/${package}/*.py
    ${CMAKE_CURRENT_SOURCE_DIR}/${package}/py.typed ${CMAKE_CURRENT_SOURCE_DIR}/${package}/ray/*.py)
  foreach(file IN LISTS files)
    get_filename_component(part ${folder}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${part})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${package}/${file} ${folder}/${file} SYMBOLIC)
  endforeach()
  # What a build before has left for one Python alone would be found first.
  file(GLOB older ${folder}/${name}.cpython-*.so)
  if(older)
    file(REMOVE ${older})
  endif()
  nanobind_add_module(${target} BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION ${abi}
    NB_SUPPRESS_WARNINGS NB_DOMAIN ${target} ${ARGN})
  if(TARGET octet_flags)
    target_link_libraries(${target} PRIVATE octet_flags)
  endif()
  # What a module shows is its one entry point.
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${name}.exports)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: PyInit_${name}; local: *; };\n")
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${folder}
    VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  install(TARGETS ${target} LIBRARY DESTINATION ${package} COMPONENT python EXCLUDE_FROM_ALL)
  set_property(GLOBAL APPEND PROPERTY OCTET_RELEASE_TESTS ${target})
endfunction()

# octet_wheel_release(): what a released wheel holds besides its modules. OCTET_RELEASE is the folder of licences, SBOM and programs that
# packaging/wheel.sh prepares; wheels for this machine alone (./dev wheel) do without.
function(octet_wheel_release)
  if(DEFINED SKBUILD AND OCTET_RELEASE)
    install(DIRECTORY ${OCTET_RELEASE}/licenses ${OCTET_RELEASE}/sboms DESTINATION ${SKBUILD_METADATA_DIR} COMPONENT python)
  endif()
endfunction()

# octet_python_stub(TARGET MODULE others...): the types of a native module, for editors and type checkers. Making it imports the package, which
# may need other native modules. OCTET_TARGET_PYTHON: a Python that can, where the module is for another processor.
function(octet_python_stub target module)
  if(OCTET_TARGET_PYTHON)
    set(Python_EXECUTABLE ${OCTET_TARGET_PYTHON})
  endif()
  string(REPLACE "." "/" path ${module})
  get_filename_component(package ${path} DIRECTORY)
  nanobind_add_stub(${target}_stub MODULE ${module} OUTPUT ${octet_python_folder}/${path}.pyi
    PYTHON_PATH ${octet_python_folder} DEPENDS ${target} ${ARGN})
  install(FILES ${octet_python_folder}/${path}.pyi DESTINATION ${package} COMPONENT python EXCLUDE_FROM_ALL)
  set_property(GLOBAL APPEND PROPERTY OCTET_RELEASE_TESTS ${target}_stub)
endfunction()
