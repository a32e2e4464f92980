# What a user installs beside the program (completions, manual pages), and the Debian package of it: ./dev package.
# The program writes them itself, from the tables that parse its flags.

set(OCTET_COMMANDS check build inspect run eval compare bench help version completion manual)
set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})

# octet_generate(FILE command...): what `octet command...` prints, as a file; manual pages are compressed, as Debian wants them.
function(octet_generate file)
  list(JOIN ARGN " " command)
  set(write "$<TARGET_FILE:octet_cli> ${command} >${file}")
  set(output ${generated}/${file})
  if(file MATCHES "\\.1$")
    set(write "$<TARGET_FILE:octet_cli> ${command} | gzip -9n >${file}.gz")
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
file(WRITE ${generated}/changelog "octet (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n"
  " -- Octet maintainers <octet@localhost.invalid>  Thu, 01 Jan 2026 00:00:00 +0000\n")
add_custom_command(OUTPUT ${generated}/changelog.gz ${generated}/CHANGELOG.md.gz
  COMMAND sh -c "gzip -9nc changelog >changelog.gz && gzip -9nc '${PROJECT_SOURCE_DIR}/CHANGELOG.md' >CHANGELOG.md.gz"
  DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md WORKING_DIRECTORY ${generated} VERBATIM)
get_property(files GLOBAL PROPERTY OCTET_GENERATED)
add_custom_target(octet_package_files ALL DEPENDS ${files} ${generated}/changelog.gz ${generated}/CHANGELOG.md.gz)

install(FILES ${generated}/octet DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program OPTIONAL)
install(FILES ${generated}/_octet DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program OPTIONAL)
list(FILTER files INCLUDE REGEX "\\.1\\.gz$")
install(FILES ${files} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
# Of the package alone: cmake --install puts LICENSE and README.md beside the headers.
install(FILES ${generated}/changelog.gz ${generated}/CHANGELOG.md.gz DESTINATION share/doc/octet COMPONENT package OPTIONAL EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright DESTINATION share/doc/octet COMPONENT package EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME octet)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Octet maintainers <octet@localhost.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "INT8 inference engine for ONNX models")
set(CPACK_PACKAGE_DESCRIPTION
  "Octet turns an ONNX model and a folder of data into a verified INT8 engine,\nand runs that engine on x86 CPUs. Every quantized result is defined to the\nlast bit, on every instruction set and with any number of threads.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program package)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
