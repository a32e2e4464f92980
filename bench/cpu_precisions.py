#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What f32, f16 and bf16 cost on this CPU: engines of the networks of fp32.py, one thread, taking turns, pinned.

    bench/cpu_precisions.py --octet build/release/octet --models DIR [--against OLDER] [--json]

A figure is the processor time of a run, the least of the rounds' medians, in ms, which other programs on the machine stretch least; a ratio below 1
is faster than f32 of the same program. See bench/README.md.
"""

import argparse
import json
import pathlib
import tempfile

import fp32
import runners

PRECISIONS = {"fp32": [], "fp16": ["--fp16"], "bf16": ["--bf16"]}


def engines(args, network):
    """(program, precision) to an engine, built anew."""
    model = fp32.unpacked(args, network)
    built = {}
    for label, program in args.programs.items():
        for precision, flags in PRECISIONS.items():
            engine = args.work / f"{network.name}.{label}.{precision}"
            shapes = [flag for shape in network.shapes for flag in ("--shape", shape)]
            runners.octet_build(program, model, engine, [*flags, *shapes])
            built[label, precision] = engine
    return built


def measure(args, network):
    cpus = runners.cpus_for(1)
    ready = {key: fp32.Octet(args.programs[key[0]], engine, network.shapes, 1, cpus)
             for key, engine in engines(args, network).items()}
    times = {key: [] for key in ready}
    for _ in range(args.rounds):
        for key, runner in ready.items():
            times[key].append(runner.measure(args.seconds).processor)
    row = {"name": network.name}
    for label in args.programs:
        least = {precision: min(times[label, precision]) for precision in PRECISIONS}
        row[label] = {**{f"{precision}_ms": round(ms, 3) for precision, ms in least.items()},
                      **{f"{precision}_ratio": round(least[precision] / least["fp32"], 3) for precision in ("fp16", "bf16")}}
    return row


def print_table(args, report):
    for label in args.programs:
        print(f"\n{label}\n\n| network | f32, ms | f16 / f32 | bf16 / f32 |\n|---|---|---|---|")
        for row in report["networks"]:
            own = row[label]
            print(f"| {row['name']} | {own['fp32_ms']:.2f} | {own['fp16_ratio']:.2f} | {own['bf16_ratio']:.2f} |")
        means = report["geomean"][label]
        print(f"| geometric mean | | {means['fp16_ratio']:.2f} | {means['bf16_ratio']:.2f} |")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", required=True, type=pathlib.Path)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path, help="an older octet that takes turns")
    parser.add_argument("--networks", help="names, separated by commas; default: all of fp32.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "octet-cpu-precisions")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.programs = {"octet": args.octet, **({"before": args.against} if args.against else {})}
    return args


def main():
    args = parse_args()
    names = args.networks.split(",") if args.networks else None
    chosen = [network for network in fp32.NETWORKS if names is None or network.name in names]
    rows = []
    for network in chosen:
        rows.append(measure(args, network))
        runners.log(json.dumps(rows[-1]))
    ratios = ("fp16_ratio", "bf16_ratio")
    report = {"rounds": args.rounds, "seconds": args.seconds, "networks": rows,
              "geomean": {label: {ratio: runners.geomean([row[label][ratio] for row in rows]) for ratio in ratios}
                          for label in args.programs}}
    print(json.dumps(report, indent=1)) if args.json else print_table(args, report)


if __name__ == "__main__":
    main()
