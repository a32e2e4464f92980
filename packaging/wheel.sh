#!/usr/bin/env bash
# packaging/wheel.sh [--strict] [--arch aarch64]: the wheels that are published, build/release-wheels/*.whl, for every Linux with glibc 2.28 and every Python from
# 3.10 (octet) or 3.11 (octet_tensorrt) on. ./dev wheel --release calls it, with everything of Debian installed that it needs (packaging/README.md). All of
# them or none, and then one error says which step failed. --strict: no source that is older than what Debian lists (packaging/dependencies.py). --arch: for
# that processor, in folders that end with its name (packaging/target.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/steps.sh
. packaging/target.sh
read_release_flags "$@"
root=$PWD
tools=$root/build/release-python
python=$tools/bin/python
out=$root/build/release-wheels$of_target
staging=$root/build/release-staging$of_target
sysroot=$root/build/sysroot$of_target
dependencies=$root/build/dependencies$of_target
portable=$root/build/portable$of_target
log=build/portable$of_target.log
version=$(sed -nE 's/^project\(Octet VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
# Archives hold the time of the commit, so that the same commit gives the same bytes.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH PYTHON=$python

step "an empty folder"
rm -rf "$staging" "$out"
mkdir -p "$staging/licenses" "$staging/raw" "$staging/wheels"

# An environment of its own: what builds a release is what the hashes say, and nothing that lay there before.
step "Python packages, by their hashes"
if ! cmp -s packaging/requirements.txt "$tools/requirements.txt"; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  quietly build/release-python.log "$python" -m pip install --disable-pip-version-check --no-input --require-hashes -r packaging/requirements.txt
  cp packaging/requirements.txt "$tools/requirements.txt"
fi

step "libraries of glibc 2.28 to link against"
packaging/sysroot.sh "$sysroot" "$arch"
step "dependencies, static (words of each build: build/dependencies$of_target/NAME.log)"
python3 packaging/dependencies.py "${dependency_flags[@]}" "build/dependencies$of_target"

# Ninja does not see what the linker takes from there: with another one everything is linked again.
mkdir -p "$portable"
cmp -s "$sysroot/complete" "$portable/sysroot" || find "$portable" -type f \( -name '*.so*' -o -perm -u+x \) -delete
cp "$sysroot/complete" "$portable/sysroot"

step "Octet (words of the compiler: $log)"
rm -f "$log"
quietly "$log" cmake --preset "portable$of_target"
quietly "$log" cmake --build "$portable" -j "$(nproc)" --target octet_cli octet_lib_octet octet_kernel_compiler tensorrt_libraries octet_onnxruntime
prefix=$root/build/portable-prefix$of_target
rm -rf "$prefix"
quietly "$log" cmake --install "$portable" --prefix "$prefix"

cp LICENSE "$dependencies"/licenses/* "$staging/licenses/"
cp "$tools"/lib/python3.*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$staging/licenses/nanobind.copyright"
for program in octet octet-kernel-compiler; do
  "${target_tools}strip" -o "$staging/$program" "$portable/$program"
done

# TensorRT's libraries in the folders of a build, which tensorrt/python/CMakeLists.txt reads.
mkdir "$staging/tensorrt"
for level in 8 10; do
  cp -a "$prefix/lib/octet/tensorrt/$level" "$staging/tensorrt/lib-$level"
done
cp -a "$prefix/lib/octet/tensorrt/cudart" "$staging/tensorrt/"
find "$staging/tensorrt" -type f -exec "${target_tools}strip" --strip-unneeded {} +

# ONNX Runtime's provider where a build has it, which its CMakeLists.txt reads.
mkdir -p "$staging/integrations/onnxruntime"
"${target_tools}strip" --strip-unneeded -o "$staging/integrations/onnxruntime/liboctet_onnxruntime.so" "$portable/integrations/onnxruntime/liboctet_onnxruntime.so"

# The modules' types are asked of the modules, which need a Python of their own architecture.
of_python=() target_python=$python
if [ -n "$of_target" ]; then
  step "a Python for $arch"
  packaging/target_python.sh "$arch" "$python" "build/python$of_target"
  target_python=$root/build/python$of_target/python
  export _PYTHON_HOST_PLATFORM=linux-$arch SKBUILD_CMAKE_PYTHON_HINTS=false
  of_python=("-DOCTET_TARGET=$arch" "-DOCTET_TARGET_PACKAGES=$prefix;$tools" "-DOCTET_TARGET_PYTHON=$target_python" "-DPython_EXECUTABLE=$python" "-DPython_INCLUDE_DIR=$dependencies/prefix/include/python3.11")
fi

build_wheel() {  # name, folder
  local name=$1 folder=$2
  step "$name"
  rm -rf "$staging/sboms"
  mkdir "$staging/sboms"
  "$python" packaging/sbom.py "$name" "$version" "$dependencies/dependencies.json" "$staging/sboms/octet.cdx.json"
  CMAKE_ARGS="-DCMAKE_TOOLCHAIN_FILE=$root/packaging/toolchain.cmake -DOCTET_SYSROOT=$sysroot -DOCTET_PREFIX=$dependencies/prefix -DOctet_ROOT=$prefix ${of_python[*]} -DOCTET_BUILD=$staging -DOCTET_RELEASE=$staging" \
    PATH="$tools/bin:$PATH" quietly "$staging/$name.log" "$python" -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation -w "$staging/raw" "$root/$folder"
  PATH="$tools/bin:$PATH" quietly "$staging/$name.log" "$target_python" -m auditwheel repair --plat "manylinux_2_28_$arch" -w "$staging/wheels" "$staging/raw/${name//-/_}-$version"*.whl
}
build_wheel octet-int8 python
build_wheel octet-tensorrt tensorrt/python
build_wheel onnxruntime-ep-octet integrations/onnxruntime/python
(cd "$staging/wheels" && sha256sum -- *.whl >SHA256SUMS)
mv "$staging/wheels" "$out"
(cd "$out" && cat SHA256SUMS && ls -l -- *.whl)
