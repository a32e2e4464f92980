# Programs for aarch64, by Debian's cross compiler; they run here in QEMU. What they link is one of
#   OCTET_TARGET_ROOT  an arm64 root of Debian (tools/aarch64.sh)
#   OCTET_PREFIX       libraries that were made for it (packaging/dependencies.py); glibc is the cross compiler's own, or packaging/sysroot.sh's stubs
#   OCTET_TARGET_PACKAGES  further folders in which packages of CMake are looked for
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OCTET_TARGET_ROOT OCTET_PREFIX)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(OCTET_DEBIAN_ARCHITECTURE arm64)
if(OCTET_TARGET_ROOT)
  set(CMAKE_SYSROOT ${OCTET_TARGET_ROOT})
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${OCTET_TARGET_ROOT})
else()
  set(CMAKE_FIND_ROOT_PATH ${OCTET_PREFIX} ${OCTET_TARGET_PACKAGES})
  # Where the cross compiler's packages put the loader and the libraries that every program needs.
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
