#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Octet against ONNX Runtime and OpenVINO with the same instruction sets hidden from all of them.

    bench/levels.py --octet build/release/octet MODEL.qdq.onnx... [--levels vnni,avx_vnni,avx2] [--json]

Octet is capped by OCTET_CPU_ISA. The peers have no common switch, so the processor is made to lie to them: bench/cpuid_mask.c,
compiled here and preloaded, clears the bits of CPUID. Rounds and figures are those of bench/cpu.py. See bench/README.md.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import runners as bench  # noqa: E402

PEERS = ("onnxruntime", "openvino")


@contextlib.contextmanager
def environment(variables):
    """The variables hold for processes started inside."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class CappedOctet(bench.OctetRunner):
    """Octet at a level; it answers which level it ran, and another one is an error."""

    def __init__(self, octet, engine, level, threads, cpus):
        super().__init__(octet, engine, threads, cpus)
        self.level = level

    def measure(self, seconds):
        with environment({"OCTET_CPU_ISA": self.level}):
            return super().measure(seconds)


def compile_mask(folder):
    library = folder / "cpuid_mask.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", str(HERE / "cpuid_mask.c"),
                    "-o", str(library)], check=True)
    return library


def masked(library, level):
    return {"LD_PRELOAD": str(library), "CPUID_MASK": level}


def check_mask(args, library, level, engine):
    """Octet asks CPUID as the peers do: without its own cap it must find exactly the level."""
    with environment({**masked(library, level), "OCTET_CPU_ISA": ""}):
        done = subprocess.run([args.octet, "bench", str(engine), "--seconds", "0.01", "--json"],
                              capture_output=True, text=True)
    found = json.loads(done.stdout)["isa"] if done.returncode == 0 else bench.last_line(done.stderr)
    if found != level:
        sys.exit(f"levels.py: with CPUID masked to {level} Octet finds: {found}")


def measure_model(args, model, engine, level, library):
    cpus = set(sorted(os.sched_getaffinity(0))[:args.threads])
    runners, failed = {"octet": CappedOctet(args.octet, engine, level, args.threads, cpus)}, {}
    for peer in args.peers:
        try:
            with environment(masked(library, level)):
                runners[peer] = bench.PeerRunner(peer, model, args.threads, cpus)
        except RuntimeError as error:
            failed[peer] = str(error)
    times = bench.take_turns(args, runners, failed)
    row = {"name": model.name.split(".")[0], "level": level, "threads": args.threads, "failed": failed,
           "median_ms": {k: round(statistics.median(t.median for t in v), 4) for k, v in times.items()},
           "fastest_ms": {k: round(min(t.fastest for t in v), 4) for k, v in times.items()},
           "processor_ms": {k: round(min(t.processor for t in v), 4) for k, v in times.items()}}
    for figure in ("median_ms", "fastest_ms", "processor_ms"):
        row["ratio_of_" + figure] = {peer: round(row[figure][peer] / row[figure]["octet"], 3)
                                     for peer in PEERS if peer in times and "octet" in times}
    return row


def geomeans(rows, levels):
    return {level: {peer: bench.geomean([row["ratio_of_fastest_ms"].get(peer) for row in rows
                                         if row["level"] == level]) for peer in PEERS}
            for level in levels}


def print_table(report):
    """Markdown, as it goes into docs/performance.md: medians, the fastest runs in brackets."""
    print("| network | level | Octet | ONNX Runtime | OpenVINO | ONNX Runtime / Octet | OpenVINO / Octet |")
    print("|---|---|---|---|---|---|---|")
    for row in report["networks"]:
        cells = [f"{row['median_ms'][key]:.2f} ({row['fastest_ms'][key]:.2f})"
                 if key in row["median_ms"] else "-" for key in ("octet", *PEERS)]
        cells += [f"{row['ratio_of_median_ms'][peer]:.2f} ({row['ratio_of_fastest_ms'][peer]:.2f})"
                  if peer in row["ratio_of_median_ms"] else "-" for peer in PEERS]
        print(f"| {row['name']} | {row['level']} | " + " | ".join(cells) + " |")
    for level, means in report["geomean_ratio_of_fastest"].items():
        print(f"\n{level}, geometric mean of the fastest runs: "
              + ", ".join(f"{peer} / Octet {mean}" for peer, mean in means.items()))
    for row in report["networks"]:
        for key, reason in row["failed"].items():
            print(f"* {row['name']}, {row['level']}, {key}: {reason}")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, help="Q/DQ models; bench/cpu.py leaves them in its --work folder")
    parser.add_argument("--octet", required=True, help="the octet program")
    parser.add_argument("--levels", default="vnni,avx2", help="instruction-set levels [vnni,avx2]")
    parser.add_argument("--peers", default=",".join(PEERS), help="[onnxruntime,openvino]")
    parser.add_argument("--threads", type=int, default=1)
    bench.add_turn_flags(parser)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.octet = str(pathlib.Path(args.octet).resolve())
    args.levels, args.peers = args.levels.split(","), args.peers.split(",")
    return args


def main():
    args = parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="octet_levels_") as work:
        work = pathlib.Path(work)
        library = compile_mask(work)
        for model in args.models:
            engine = work / (model.stem + ".octet")
            bench.octet_build(args.octet, model, engine, ["--int8"])
            for level in args.levels:
                check_mask(args, library, level, engine)
                rows.append(measure_model(args, model, engine, level, library))
                bench.log(json.dumps(rows[-1]))
    report = {"versions": bench.versions(args), "rounds": args.rounds, "seconds": args.seconds,
              "networks": rows, "geomean_ratio_of_fastest": geomeans(rows, args.levels)}
    print(json.dumps(report, indent=1)) if args.json else print_table(report)


if __name__ == "__main__":
    main()
