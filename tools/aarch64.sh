#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The project for aarch64, by Debian's cross compiler, run under QEMU on this machine: build/aarch64, against the libraries of an arm64 root that
# mmdebstrap writes to build/aarch64-root. usage: tools/aarch64.sh [--core|--sample]
#   --core    the lowest folders' unit tests and the kernels of every level, on processors of each: what CI has the minutes for
#   --sample  octet, the instruction sets' unit tests and the bundled model; else the exactness suite and the unit tests of operators and
#             backends, too
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-root build=$PWD/build/aarch64
packages=libc6-dev,libstdc++-12-dev,libprotobuf-dev,libdnnl-dev,ocl-icd-opencl-dev,libjpeg-dev,libpng-dev,libwebp-dev,zlib1g-dev,libxxhash-dev,libssl-dev,nlohmann-json3-dev,libcli11-dev,libfmt-dev,libgtest-dev,libgmock-dev

if [ "$(cat "$root.packages" 2>/dev/null)" != "$packages" ]; then
  mirror=$(python3 -c 'import sys; sys.path.insert(0, "packaging"); import mirrors; print(mirrors.debian())')
  rm -rf "$root"
  mmdebstrap --quiet --arch=arm64 --variant=extract --include="$packages" bookworm "$root" "$mirror"
  # The cross linker would follow links from the root of this machine.
  find "$root/usr" "$root/lib" -lname '/*' | while read -r link; do ln -sfnr "$root$(readlink "$link")" "$link"; done
  echo "$packages" >"$root.packages"
fi

emulated() { qemu-aarch64-static -L "$root" "$@"; }
# Processors of every level; `max` has all features that QEMU knows.
processors=(max:i8mm "max,sve=off:i8mm" neoverse-n1:dotprod cortex-a53:neon a64fx:neon)
on_each() {  # test program, arguments
  local processor
  for processor in "${processors[@]}"; do
    echo "${processor%:*}:"
    OCTET_TEST_LEVEL=${processor#*:} emulated -cpu "${processor%:*}" "$@" --gtest_brief=1
  done
}
# A test program in parts, one after another: as one process the emulator keeps what it translated and what the tests took, 5.3 GB of the backends'.
in_parts() {  # how many, test program, arguments
  local count=$1 part
  for ((part = 0; part < count; ++part)); do
    echo "${2##*/}, part $((part + 1)) of $count:"
    GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$part emulated "${@:2}" --gtest_brief=1
  done
}
cmake --preset aarch64 >/dev/null
if [ "${1:-}" = --core ]; then
  cmake --build "$build" -j "$(nproc)" --target arch_tests graph_tests kernel_levels_tests
  python3 tools/check_sealed.py --nm aarch64-linux-gnu-nm "$build"
  emulated "$build/src/graph_tests"
  on_each "$build/src/arch_tests"
  on_each "$build/src/kernel_levels_tests"
  echo "aarch64: the lowest folders' unit tests and the kernels of every level pass"
  exit
fi

targets=(octet_cli arch_tests)
[ "${1:-}" = --sample ] || targets+=(exactness_tests ops_tests backends_tests)
cmake --build "$build" -j "$(nproc)" --target "${targets[@]}"
cmake --preset release >/dev/null
cmake --build build/release -j "$(nproc)" --target octet_cli

on_each "$build/src/arch_tests"
if [ "${1:-}" != --sample ]; then
  in_parts 4 "$build/src/ops_tests"
  in_parts 16 "$build/src/backends_tests"
  # Eight contexts of a ResNet-50 take an hour there.
  in_parts 4 "$build/tests/exactness/exactness_tests" --gtest_filter=-Resident.*
fi

# Whole models: an engine built by each runs in both, and all outputs are the same bytes as with this machine's kernels.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 examples/digits/export.py examples/digits/digits.npz "$work" >/dev/null
build_engine() {  # engine, program
  "${@:2}" build examples/digits/digits.onnx --int8 --quiet --calib "$work/calib" --preprocess examples/digits/preprocess.json -o "$1" >/dev/null
}
build_engine "$work/here.octet" build/release/octet
build_engine "$work/there.octet" emulated "$build/octet"
for engine in here there; do
  build/release/octet run "$work/$engine.octet" "$work/test/7" -o "$work/here.npz" >/dev/null
  emulated "$build/octet" run "$work/$engine.octet" "$work/test/7" -o "$work/there.npz" >/dev/null
  cmp "$work/here.npz" "$work/there.npz"
done
emulated -cpu cortex-a53 "$build/octet" devices | grep -E '^cpu +aarch64.* \(neon\)$'
emulated -cpu max "$build/octet" devices | grep -E '^cpu +aarch64.* \(i8mm\)$'
echo "aarch64: whole models give the same bytes as here"
