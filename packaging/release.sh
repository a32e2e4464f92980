#!/usr/bin/env bash
# packaging/release.sh [--strict] [--arch aarch64]: build/release-artifacts, everything that is published, from one portable build. All of it or nothing, and
# then one error. --arch: for that processor, build/release-artifacts-ARCH.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/steps.sh
. packaging/target.sh
read_release_flags "$@"
portable=build/portable$of_target
made=build/release-artifacts$of_target
unfinished=("$made.partial")

step "an empty folder"
rm -rf "$made" "$made.partial"
packaging/wheel.sh "$@"
step "libraries for programs in C and C++, and pages (words of the compiler: $portable.log)"
quietly "$portable.log" cmake --build "$portable" -j "$(nproc)" --target octet_lib_c octet_lib_sdk octet_triton octet_package_files
# What the headers declare is compared once, where it is described (OCTET_DESCRIBE of the preset).
if [ -z "$of_target" ]; then
  step "their binary interfaces against the last release's"
  python3 packaging/abi.py "$portable"
fi
# As in the wheels: the same commit gives the same bytes.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
# What is inside is so by intent (docs/adr/0024-portable-builds.md).
packaging/debs.sh "$portable" --suppress-tags embedded-library
packaging/archive.sh "$arch"
step "all of it in one folder"
mkdir "$made.partial"
cp "build/release-wheels$of_target"/*.whl "$portable"/*.deb "build/release-staging$of_target"/*.tar.xz "$made.partial/"
python3 packaging/manifest.py "$made.partial" "build/dependencies$of_target/dependencies.json"
(cd "$made.partial" && sha256sum -- * >SHA256SUMS)
mv "$made.partial" "$made"
cat "$made/SHA256SUMS"
