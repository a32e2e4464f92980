#!/usr/bin/env bash
# packaging/sysroot.sh FOLDER [ARCH [GLIBC]]: what g++ links against in release builds: stubs of glibc's libraries of that version (2.28), its
# start code, glibc_shim.c, and a stub of libstdc++ for liboctet.so. `ziglang` of PyPI holds the symbols of every glibc and writes the stubs; the compiler stays Debian's, so
# that the code is the development build's to the bit. CMake's toolchain file is packaging/toolchain.cmake.
set -euo pipefail
folder=$1 glibc=${3:-2.28}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/target.sh"
set_target "${2:-x86_64}"
recipe="$glibc $(cat "$here/sysroot.sh" "$here/target.sh" "$here/glibc_shim.c" "$here/libstdcxx_stub.py" | sha256sum) $("$target_gcc" -dumpfullversion)"
if [ -f "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$recipe" ]; then exit 0; fi
rm -rf "$folder"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Making two empty programs leaves everything that they link in the compiler's cache. -pie: start code of programs at any address.
echo 'int main(void) { return 0; }' >"$work/empty.c"
export ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache
python=${PYTHON:-python3}
for kind in "" "-pie -fPIE"; do
  # shellcheck disable=SC2086  # no flag or two
  "$python" -m ziglang cc -target "$arch-linux-gnu.$glibc" $kind "$work/empty.c" -o "$work/empty" ||
    { echo "error: the stubs of glibc $glibc could not be made; is ziglang installed for $python?" >&2; exit 3; }
done
copy() {
  local found
  found=$(find "$work/cache" -name "$1" | head -n 1)
  [ -n "$found" ] || { echo "error: ziglang made no $1" >&2; exit 3; }
  cp "$found" "$folder/"
}
for file in crt1.o Scrt1.o libc_nonshared.a libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do copy "$file"; done
# A cross compiler looks for it by a name of its own in PATH, and by this one where -B says.
ln -s "$(command -v ld.lld)" "$folder/ld.lld"
for name in m pthread dl rt; do ln -s "$(cd "$folder" && echo lib$name.so.*)" "$folder/lib$name.so"; done

# gcc's own driver names libc alone; from 2.34 on that holds threads and the loader's functions, before it does not.
"$target_gcc" -std=c11 -O2 -fPIC -Wall -Wno-deprecated-declarations -c "$here/glibc_shim.c" -o "$work/glibc_shim.o"
"${target_tools}ar" rcsD "$folder/libglibc_shim.a" "$work/glibc_shim.o"
echo "GROUP ( libglibc_shim.a libc.so.6 libc_nonshared.a AS_NEEDED ( libpthread.so.0 libdl.so.2 librt.so.1 $target_loader ) )" >"$folder/libc.so"
python3 "$here/libstdcxx_stub.py" "$folder" "$target_gcc" "$target_gxx"
echo "$recipe" >"$folder/complete"
