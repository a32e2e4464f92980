#!/usr/bin/env bash
# packaging/debs.sh BUILD [LINTIAN_FLAG...]: the Debian packages of a finished build, in its folder, with nothing for lintian to find.
set -euo pipefail
. "$(dirname "$0")/steps.sh"
folder=$1
shift
step "Debian packages of $folder"
rm -f "$folder"/*.deb "$folder/cpack.log"
pack() { (cd "$folder" && cpack -G DEB); }
quietly "$folder/cpack.log" pack
for package in "$folder"/*.deb; do
  lintian --allow-root --fail-on error,warning "$@" "$package"
  echo "$package: install it with apt install ./$package"
done
