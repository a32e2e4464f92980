# Release builds: programs and libraries that need glibc 2.28, libgcc_s and nothing else (docs/adr/0024-portable-builds.md).
#   OCTET_SYSROOT  packaging/sysroot.sh wrote it
#   OCTET_PREFIX   packaging/dependencies.py filled it: static libraries alone
#   OCTET_TARGET   aarch64: for that processor, by Debian's cross compiler; nothing: for this machine's
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OCTET_SYSROOT OCTET_PREFIX OCTET_TARGET)
if(OCTET_TARGET)
  include(${CMAKE_CURRENT_LIST_DIR}/../cmake/${OCTET_TARGET}.cmake)
endif()

# -B: start code, -L: libraries. The linker is LLVM's: GNU ld 2.40 leaves an empty entry among the jumps of such a program, which the loader
# refuses. libgcc_s stays shared, for the static unwinder asks for glibc 2.35: it is the one of the machine that runs the program, and what
# Debian's asks of glibc does not matter.
set(octet_link "-B${OCTET_SYSROOT}/ -L${OCTET_SYSROOT} -L${OCTET_PREFIX}/lib -fuse-ld=lld -static-libstdc++ -Wl,--gc-sections -Wl,-z,now -Wl,--build-id=none -Wl,--allow-shlib-undefined")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${octet_link}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${octet_link}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${octet_link}")
# No path of the machine that builds goes into what it builds.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH octet_source)
set(CMAKE_C_FLAGS_INIT "-ffunction-sections -fdata-sections -ffile-prefix-map=${octet_source}/=")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

list(APPEND CMAKE_PREFIX_PATH ${OCTET_PREFIX})
set(Protobuf_USE_STATIC_LIBS ON)
set(OPENSSL_USE_STATIC_LIBS ON)
