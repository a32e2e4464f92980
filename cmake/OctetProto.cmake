# octet_proto_module(NAME file.proto)
# A module of generated protobuf code: its own warnings do not count, and its header is found as a system header,
# e.g. "onnx/onnx.pb.h". The generator is a build step, so nothing generated is checked in.

function(octet_proto_module name proto)
  set(target octet_${name})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
  get_filename_component(folder ${proto} DIRECTORY)
  get_filename_component(stem ${proto} NAME_WE)
  set(generated ${out}/${folder}/${stem}.pb.cc ${out}/${folder}/${stem}.pb.h)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${generated}
    COMMAND protobuf::protoc --cpp_out ${out} -I ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto} protobuf::protoc
    COMMENT "Generating ${proto} classes" VERBATIM)
  octet_made(${target}_sources ${generated})
  add_library(${target}_headers INTERFACE)
  target_include_directories(${target}_headers SYSTEM INTERFACE ${out})
  add_library(${target} OBJECT ${generated})
  target_compile_options(${target} PRIVATE -w)
  if(OCTET_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${OCTET_SANITIZE} -fno-sanitize-recover=all)
  endif()
  target_link_libraries(${target} PUBLIC ${target}_headers protobuf::libprotobuf)
  set_property(TARGET ${target} PROPERTY OCTET_DEPENDS ${target})
  set_property(GLOBAL APPEND PROPERTY OCTET_MODULES ${target})
endfunction()
