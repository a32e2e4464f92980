#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole job on the bundled digits: calibrate, build, inspect, evaluate, compare, bench, and a table at the end.
# usage: demo.sh [--bench] OCTET_PROGRAM OUTPUT_FOLDER
set -euo pipefail

bench_only=no
if [ "${1:-}" = --bench ]; then
  bench_only=yes
  shift
fi
octet=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
model=$here/digits.onnx
mkdir -p "$out"

step() {
  printf '\n$ octet %s\n' "$*"
  "$octet" "$@"
}

rm -rf "$out/calib" "$out/test"
python3 "$here/export.py" "$here/digits.npz" "$out"

step build "$model" --int8 --calib "$out/calib" --preprocess "$here/preprocess.json" \
  -o "$out/digits.octet" --report "$out/report.html"
"$octet" build "$model" --quiet -o "$out/digits_fp32.octet" >/dev/null

if [ "$bench_only" = no ]; then
  step inspect "$out/digits.octet"
  step run "$out/digits.octet" "$(find "$out/test/7" -name '*.png' | sort | head -n 1)" --top 3
  step eval "$out/digits.octet" --data "$out/test" --against "$model"
  step compare "$out/digits.octet" --against "$model" --data "$out/calib" --layers --top 10
fi
step bench "$out/digits.octet" --threads 1 --batch 1

"$octet" inspect "$out/digits.octet" --json >"$out/inspect.json"
"$octet" eval "$out/digits.octet" --data "$out/test" --against "$model" --json >"$out/eval.json"
"$octet" bench "$out/digits.octet" --threads 1 --batch 1 --json >"$out/bench_int8.json"
"$octet" bench "$out/digits_fp32.octet" --threads 1 --batch 1 --json >"$out/bench_fp32.json"
python3 "$here/table.py" "$out" "$model" "$octet"
