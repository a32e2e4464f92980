#!/usr/bin/env bash
# packaging/wheel.sh: the wheels that are published, build/release-wheels/*.whl, for every Linux with glibc 2.28 and every Python from 3.10 (octet)
# or 3.11 (octet_tensorrt) on. ./dev wheel --release calls it, with everything installed that it needs (packaging/README.md). All of them or none.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=$root/.venv/bin/python
out=$root/build/release-wheels
staging=$root/build/release-staging
version=$(sed -nE 's/^project\(Octet VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
# Archives hold the time of the commit, so that the same commit gives the same bytes.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH PYTHON=$python

step() { printf '\n== %s\n' "$*"; }

rm -rf "$staging" "$out"
mkdir -p "$staging/licenses" "$staging/raw" "$staging/wheels"

step "libraries of glibc 2.28 to link against"
packaging/sysroot.sh build/sysroot
step "dependencies, static (words of each build: build/dependencies/NAME.log)"
python3 packaging/dependencies.py build/dependencies

# Ninja does not see what the linker takes from there: with another one everything is linked again.
mkdir -p build/portable
cmp -s build/sysroot/complete build/portable/sysroot || find build/portable -type f \( -name '*.so*' -o -perm -u+x \) -delete
cp build/sysroot/complete build/portable/sysroot

step "Octet (words of the compiler: build/portable.log)"
{ cmake --preset portable && cmake --build build/portable -j "$(nproc)" --target octet_cli octet_lib_octet octet_kernel_compiler tensorrt_libraries; } \
  >build/portable.log 2>&1 || { { grep -E 'error|FAILED' build/portable.log | head -n 20 || true; tail -n 20 build/portable.log; } >&2; exit 1; }
rm -rf build/portable-prefix
cmake --install build/portable --prefix build/portable-prefix >>build/portable.log

cp LICENSE build/dependencies/licenses/* "$staging/licenses/"
cp .venv/lib/python3.*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$staging/licenses/nanobind.copyright"
for program in octet octet-kernel-compiler; do
  strip -o "$staging/$program" "build/portable/$program"
done

# TensorRT's libraries in the folders of a build, which tensorrt/python/CMakeLists.txt reads.
mkdir "$staging/tensorrt"
for level in 8 10; do
  cp -a "build/portable-prefix/lib/octet/tensorrt/$level" "$staging/tensorrt/lib-$level"
done
cp -a build/portable-prefix/lib/octet/tensorrt/cudart "$staging/tensorrt/"
find "$staging/tensorrt" -type f -exec strip --strip-unneeded {} +

build_wheel() {  # name, folder
  local name=$1 folder=$2
  step "$name"
  rm -rf "$staging/sboms"
  mkdir "$staging/sboms"
  "$python" packaging/sbom.py "$name" "$version" build/dependencies/dependencies.json "$staging/sboms/octet.cdx.json"
  CMAKE_ARGS="-DCMAKE_TOOLCHAIN_FILE=$root/packaging/toolchain.cmake -DOCTET_SYSROOT=$root/build/sysroot -DOCTET_PREFIX=$root/build/dependencies/prefix -DOctet_ROOT=$root/build/portable-prefix -DOCTET_BUILD=$staging -DOCTET_RELEASE=$staging" \
    PATH="$root/.venv/bin:$PATH" "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$staging/raw" "$root/$folder"
  PATH="$root/.venv/bin:$PATH" "$python" -m auditwheel repair --plat manylinux_2_28_x86_64 -w "$staging/wheels" "$staging/raw/${name//-/_}-$version"*.whl >"$staging/auditwheel.log" 2>&1 ||
    { tail -n 20 "$staging/auditwheel.log" >&2; exit 1; }
}
build_wheel octet-int8 python
build_wheel octet-tensorrt tensorrt/python
(cd "$staging/wheels" && sha256sum -- *.whl >SHA256SUMS)
mv "$staging/wheels" "$out"
(cd "$out" && cat SHA256SUMS && ls -l -- *.whl)
