#!/usr/bin/env bash
# packaging/archive.sh: build/release-staging/octet-VERSION-linux-x86_64.tar.xz, what packaging/wheel.sh has built, and liboctet_c of the same
# build, as one folder that runs wherever it is unpacked. The same build gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -nE 's/^project\(Octet VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=octet-$version-linux-x86_64
time=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
folder=build/release-staging/$name
trap 'rm -rf "$folder" "$folder.partial"' EXIT
rm -rf "$folder" "$folder.tar.xz"
{ cmake --build build/portable -j "$(nproc)" --target octet_lib_c && cmake --install build/portable --prefix "$folder"; } >>build/portable.log 2>&1 ||
  { tail -n 20 build/portable.log >&2; exit 1; }
# Static libraries want the compiler and the libraries that they were made with: they are for wheels, not for others.
rm -rf "$folder"/lib/*.a "$folder"/lib/*/*.a "$folder"/lib/*/cmake/Octet "$folder"/lib/cmake/Octet
find "$folder" -type f >"$folder.partial"
while IFS= read -r file; do
  if head -c 4 "$file" | grep -q ELF; then strip --strip-unneeded "$file"; fi
done <"$folder.partial"
mkdir -p "$folder/share/doc/octet/licenses"
cp build/release-staging/licenses/*.copyright "$folder/share/doc/octet/licenses/"
tar -C build/release-staging --sort=name --mtime="@$time" --mode=u+rw,go+rX,go-w --owner=0 --group=0 --numeric-owner -c "$name" | xz -T1 -9 >"$folder.partial"
mv "$folder.partial" "$folder.tar.xz"
ls -l "$folder.tar.xz"
