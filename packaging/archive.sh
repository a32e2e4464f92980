#!/usr/bin/env bash
# packaging/archive.sh [ARCH]: build/release-staging/octet-VERSION-linux-ARCH.tar.xz, what packaging/release.sh has built, as one folder that works wherever it is
# unpacked: the programs, and headers and libraries for programs in C (liboctet_c.so) and C++ (liboctet.so). The same build gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/steps.sh
. packaging/target.sh
set_target "${1:-x86_64}"
portable=build/portable$of_target
staging=build/release-staging$of_target
version=$(sed -nE 's/^project\(Octet VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=octet-$version-linux-$arch
time=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
folder=$staging/$name
unfinished=("$folder" "$folder.partial")

step "an archive of the programs, headers and libraries"
rm -rf "$folder" "$folder.partial" "$folder.tar.xz"
quietly "$portable.log" cmake --install "$portable" --prefix "$folder"
quietly "$portable.log" cmake --install "$portable/cmake/sdk" --prefix "$folder"
# Static libraries want the compiler and the libraries that they were made with: they are for wheels, not for others.
find "$folder" \( -name '*.a' -o -name 'OctetTargets*.cmake' \) -delete
find "$folder" -type f >"$folder.partial"
while IFS= read -r file; do
  if head -c 4 "$file" | grep -q ELF; then "${target_tools}strip" --strip-unneeded "$file"; fi
done <"$folder.partial"
mkdir -p "$folder/share/doc/octet/licenses"
cp "$staging"/licenses/*.copyright "$folder/share/doc/octet/licenses/"
tar -C "$staging" --sort=name --mtime="@$time" --mode=u+rw,go+rX,go-w --owner=0 --group=0 --numeric-owner -c "$name" | xz -T1 -9 >"$folder.partial"
mv "$folder.partial" "$folder.tar.xz"
ls -l "$folder.tar.xz"
