#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table at the end of the demo, from the JSON files that its commands wrote.

usage: table.py DEMO_FOLDER MODEL.onnx [OCTET_PROGRAM]
"""

import json
import pathlib
import sys


def main():
    out, model = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

    def read(name):
        return json.loads((out / f"{name}.json").read_text())

    evaluation, coverage = read("eval"), read("inspect")["coverage"]
    fast, slow = read("bench_int8")["latency_ms"]["median"], read("bench_fp32")["latency_ms"]["median"]
    engine, float_engine = out / "digits.octet", out / "digits_fp32.octet"
    sqnr = evaluation["sqnr_db"]
    rows = [
        ("", "FP32", "INT8"),
        ("top-1", f"{evaluation['reference_top1']:.2%}", f"{evaluation['top1']:.2%}"),
        ("agreement, SQNR", "", f"{evaluation['agreement']:.2%}, " + (f"{sqnr:.1f} dB" if sqnr else "exact")),
        ("coverage: layers", "", f"{coverage['layers']:.1%}"),
        ("coverage: multiplications", "", f"{coverage['macs']:.1%}"),
        ("engine", f"{float_engine.stat().st_size / 1024:.0f} KB", f"{engine.stat().st_size / 1024:.0f} KB"),
        ("latency, 1 thread", f"{slow * 1000:.1f} us", f"{fast * 1000:.1f} us"),
        ("speed", "", f"{slow / fast:.1f}x faster" if fast <= slow else f"{fast / slow:.1f}x slower"),
    ]
    print(f"\ndigits, {evaluation['samples']} test images (model: {model.stat().st_size / 1024:.0f} KB)")
    for name, left, right in rows:
        print(f"  {name:<26} {left:>10} {right:>18}")
    print("\nFiles:")
    for name, what in (
        ("digits.octet", "the INT8 engine"),
        ("digits_fp32.octet", "the float engine"),
        ("report.html", "layers, reasons, histograms, errors"),
        ("inspect.json", "what octet inspect --json prints"),
        ("eval.json", "what octet eval --json prints"),
    ):
        print(f"  {out / name}  {what}")
    octet = sys.argv[3] if len(sys.argv) > 3 else "octet"
    print(f"""
Your own model (a folder of a few hundred of its images, or arrays in an .npz):
  {octet} check MODEL.onnx
  {octet} build MODEL.onnx --int8 --calib IMAGES/ -o model.octet --report report.html
  {octet} compare model.octet --against MODEL.onnx --data IMAGES/ --layers --top 10
  {octet} bench model.octet
{octet} build --help says how images become inputs: --resize, --crop, --scale, --mean, --std.""")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main()
