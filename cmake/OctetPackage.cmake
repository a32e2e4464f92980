# What a user installs beside the program (completions, manual pages), and the Debian package of it: ./dev package.
# The program writes them itself, from the tables that parse its flags.

set(OCTET_COMMANDS check build inspect run eval compare bench report export bundle reproduce plugin devices warm trtexec help version completion manual)
set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})

# octet_generate(FILE command...): what `octet command...` prints, as a file; manual pages are compressed, as Debian wants them. A program for another
# processor prints it in an emulator.
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " octet_emulator)
function(octet_generate file)
  list(JOIN ARGN " " command)
  set(write "${octet_emulator} $<TARGET_FILE:octet_cli> ${command} >${file}")
  set(output ${generated}/${file})
  if(file MATCHES "\\.1$")
    set(write "${octet_emulator} $<TARGET_FILE:octet_cli> ${command} | gzip -9n >${file}.gz")
    set(output ${output}.gz)
  endif()
  add_custom_command(OUTPUT ${output} COMMAND sh -c "${write}" DEPENDS octet_cli WORKING_DIRECTORY ${generated} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY OCTET_GENERATED ${output})
endfunction()

octet_generate(octet completion bash)
octet_generate(_octet completion zsh)
octet_generate(octet.1 manual)
foreach(command IN LISTS OCTET_COMMANDS)
  octet_generate(octet-${command}.1 manual ${command})
endforeach()

# Who builds a package answers for it. As for Debian's own tools that is DEBFULLNAME and DEBEMAIL, else whom git names. A bare machine has neither,
# and lintian takes no account of it (root@vm) for an address: nobody, at a domain that is reserved for that.
function(octet_git_config key variable)
  execute_process(COMMAND git config --get ${key} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE value
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()
function(octet_package_contact variable)
  set(name "$ENV{DEBFULLNAME}")
  set(address "$ENV{DEBEMAIL}")
  if(NOT address)
    octet_git_config(user.email address)
    octet_git_config(user.name name)
  endif()
  if(NOT address)
    set(address "builder@octet.invalid")
  endif()
  if(NOT name)
    set(name "Builder of this package")
  endif()
  set(${variable} "${name} <${address}>" PARENT_SCOPE)
endfunction()
octet_package_contact(contact)
set(OCTET_PACKAGE_CONTACT "${contact}" CACHE STRING "Maintainer of the Debian package: NAME <ADDRESS>")
file(WRITE ${generated}/changelog "octet (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n"
  " -- ${OCTET_PACKAGE_CONTACT}  Thu, 01 Jan 2026 00:00:00 +0000\n")
add_custom_command(OUTPUT ${generated}/changelog.gz ${generated}/CHANGELOG.md.gz
  COMMAND sh -c "gzip -9nc changelog >changelog.gz && gzip -9nc '${PROJECT_SOURCE_DIR}/CHANGELOG.md' >CHANGELOG.md.gz"
  DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md WORKING_DIRECTORY ${generated} VERBATIM)
get_property(files GLOBAL PROPERTY OCTET_GENERATED)
add_custom_target(octet_package_files ALL DEPENDS ${files} ${generated}/changelog.gz ${generated}/CHANGELOG.md.gz)

install(FILES ${generated}/octet DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program OPTIONAL)
install(FILES ${generated}/_octet DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program OPTIONAL)
list(FILTER files INCLUDE REGEX "\\.1\\.gz$")
install(FILES ${files} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
# Of the packages alone: cmake --install puts LICENSE and README.md beside the headers.
foreach(name octet octet-tensorrt)
  install(FILES ${generated}/changelog.gz ${generated}/CHANGELOG.md.gz DESTINATION share/doc/${name} COMPONENT ${name} OPTIONAL EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright DESTINATION share/doc/${name} COMPONENT ${name} EXCLUDE_FROM_ALL)
  if(OCTET_PREFIX)  # of the static libraries that packaging/dependencies.py has made
    install(DIRECTORY ${OCTET_PREFIX}/../licenses DESTINATION share/doc/${name} COMPONENT ${name} EXCLUDE_FROM_ALL)
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME octet)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${OCTET_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program octet tensorrt octet-tensorrt)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(OCTET_DEBIAN_ARCHITECTURE)  # cmake/NAME.cmake, where it is not this machine's
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${OCTET_DEBIAN_ARCHITECTURE})
endif()
if(OCTET_PREFIX)  # packaging/toolchain.cmake. dpkg-shlibdeps would ask for the glibc to which this machine's moved the symbols (2.34).
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28), libgcc-s1 | libgcc1")
endif()
set(CPACK_DEBIAN_OCTET_PACKAGE_NAME octet)
set(CPACK_DEBIAN_OCTET_PACKAGE_SECTION science)
set(CPACK_DEBIAN_OCTET_DESCRIPTION "INT8 inference engine for ONNX models
Octet turns an ONNX model and a folder of data into a verified INT8 engine,
and runs that engine on CPUs and GPUs. Every quantized result is defined to the
last bit, on every instruction set and with any number of threads.")
set(CPACK_DEBIAN_TENSORRT_PACKAGE_NAME octet-tensorrt)
set(CPACK_DEBIAN_TENSORRT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TENSORRT_DESCRIPTION "TensorRT's C++ interface over Octet
Headers and libraries for programs that were written for TensorRT 8.6 or 10,
which run on Octet, and a CUDA runtime for machines without a GPU. All lie in
folders of their own and shadow no TensorRT and no CUDA.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/tensorrt/lib-8 ${PROJECT_BINARY_DIR}/tensorrt/lib-10)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
cpack_add_component_group(octet)
cpack_add_component_group(tensorrt)
cpack_add_component(program GROUP octet)
cpack_add_component(octet GROUP octet)
cpack_add_component(tensorrt GROUP tensorrt)
cpack_add_component(octet-tensorrt GROUP tensorrt)
