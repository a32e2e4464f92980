#!/usr/bin/env bash
# packaging/archive.sh: build/release-staging/octet-VERSION-linux-x86_64.tar.xz, what packaging/wheel.sh has installed into build/portable-prefix
# as one folder that runs wherever it is unpacked. The same build gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -nE 's/^project\(Octet VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=octet-$version-linux-x86_64
time=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
folder=build/release-staging/$name
rm -rf "$folder"
cp -a build/portable-prefix "$folder"
# Static libraries want the compiler and the libraries that they were made with: they are for wheels, not for others.
rm -rf "$folder"/lib/*.a "$folder"/lib/*/*.a "$folder"/lib/*/cmake/Octet "$folder"/lib/cmake/Octet
find "$folder" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF && strip --strip-unneeded "$1"' _ {} \;
mkdir -p "$folder/share/doc/octet/licenses"
cp build/release-staging/licenses/* "$folder/share/doc/octet/licenses/"
tar -C build/release-staging --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner -c "$name" | xz -T1 -9 >"$folder.tar.xz"
rm -rf "$folder"
ls -l "$folder.tar.xz"
