#!/usr/bin/env bash
# packaging/release.sh [--strict]: build/release-artifacts, everything that is published, from one portable build. All of it or nothing, and then one error.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/steps.sh
made=build/release-artifacts
unfinished=("$made.partial")

step "an empty folder"
rm -rf "$made" "$made.partial"
packaging/wheel.sh "$@"
step "libraries for programs in C and C++, and pages (words of the compiler: build/portable.log)"
quietly build/portable.log cmake --build build/portable -j "$(nproc)" --target octet_lib_c octet_lib_sdk octet_triton octet_package_files
step "their binary interfaces against the last release's"
python3 packaging/abi.py build/portable
# As in the wheels: the same commit gives the same bytes.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
# What is inside is so by intent (docs/adr/0024-portable-builds.md).
packaging/debs.sh build/portable --suppress-tags embedded-library
packaging/archive.sh
step "all of it in one folder"
mkdir "$made.partial"
cp build/release-wheels/*.whl build/portable/*.deb build/release-staging/*.tar.xz "$made.partial/"
python3 packaging/manifest.py "$made.partial" build/dependencies/dependencies.json
(cd "$made.partial" && sha256sum -- * >SHA256SUMS)
mv "$made.partial" "$made"
cat "$made/SHA256SUMS"
