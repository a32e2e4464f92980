#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Octet's float engines against ONNX Runtime, or an older octet, on this CPU: one run, interleaved, pinned.

    bench/fp32.py --octet build/release/octet --models DIR [--json]

Both get the model file as it is, with its own element types. A figure is the median of the rounds; beside it stand the fastest single
run and the processor time of a run, which other programs on the machine do not stretch. See bench/README.md.
"""

import argparse
import dataclasses
import json
import lzma
import pathlib
import statistics
import tempfile

import runners

OCTET, ORT, BEFORE = "octet", "onnxruntime", "octet_before"
PREFIX = {OCTET: "octet", ORT: "ort", BEFORE: "before"}  # of the report's keys


@dataclasses.dataclass(frozen=True)
class Float:
    """A model file; `shapes` fixes the inputs whose height and width are dynamic (a dynamic batch is 1)."""

    name: str
    shapes: tuple = ()


NETWORKS = [
    Float("cifar10_resnet20"), Float("cifar10_resnet20_batchnorm"), Float("cifar10_silunet"), Float("cifar10_vit"),
    Float("mobilenet_v1_025_imagenet"), Float("mobilenet_v2_imagenet"), Float("squeezenet1.0_imagenet_fp16"),
    Float("polygraphy_residual_block"), Float("yolox_nano"),
    Float("retinaface_mobilenet025", ("input:1x3x640x640",)), Float("ultraface_rfb_320"),
    Float("yunet_n_dynamic", ("input:1x3x640x640",)), Float("super_resolution"), Float("vit_tracker"),
    Float("style_candy_instancenorm"),
]


class Octet(runners.OctetRunner):
    def __init__(self, octet, engine, shapes, threads, cpus):
        super().__init__(octet, engine, threads, cpus)
        for shape in shapes:
            self.command += ["--shape", shape]


def unpacked(args, network):
    """The model's file; None where the models folder has none."""
    plain = pathlib.Path(args.models) / f"{network.name}.onnx"
    packed = plain.with_name(f"{plain.name}.xz")
    if plain.exists() or not packed.exists():
        return plain if plain.exists() else None
    model = args.work / plain.name
    model.write_bytes(lzma.decompress(packed.read_bytes()))
    return model


def prepare(args, network):
    """The unpacked model and its engine, built anew: the paths, or the reasons why there are none."""
    model = unpacked(args, network)
    if model is None:
        reason = f"{network.name}.onnx is not in the models folder"
        return {}, {OCTET: reason, ORT: reason}
    paths, failed = {} if args.against else {ORT: model}, {}
    for key, program in programs(args).items():
        engine = args.work / f"{network.name}.{key}"
        try:
            runners.octet_build(program, model, engine, [flag for s in network.shapes for flag in ("--shape", s)])
            paths[key] = engine
        except RuntimeError as error:
            failed[key] = str(error)
    return paths, failed


def other(args):
    """What Octet takes turns with."""
    return BEFORE if args.against else ORT


def programs(args):
    return {OCTET: args.octet, **({BEFORE: args.against} if args.against else {})}


def start(args, network, paths, threads):
    cpus = runners.cpus_for(threads)
    ready, failed = {}, {}
    for key, path in paths.items():
        try:
            ready[key] = (runners.PeerRunner(ORT, path, threads, cpus, network.shapes) if key == ORT
                          else Octet(programs(args)[key], path, network.shapes, threads, cpus))
        except RuntimeError as error:
            failed[key] = str(error)
    return ready, failed


def ratio(values):
    """The other's time over Octet's, ONNX Runtime's or the older program's: above 1 Octet is faster."""
    others = [value for key, value in values.items() if key != OCTET]
    return round(others[0] / values[OCTET], 3) if others and OCTET in values else None


def measure(args, network, threads, prepared):
    paths, not_built = prepared
    ready, failed = start(args, network, paths, threads)
    failed.update(not_built)
    times = runners.take_turns(args, ready, failed)
    medians = {key: [value.median for value in values] for key, values in times.items()}
    ms = {key: round(statistics.median(values), 4) for key, values in medians.items()}
    fastest = {key: round(min(value.fastest for value in values), 4) for key, values in times.items()}
    processor = {key: round(min(value.processor for value in values), 4) for key, values in times.items()}
    figures = {"": ms, "fastest_": fastest, "processor_": processor}
    return {"name": network.name, "threads": threads,
            **{f"{PREFIX[key]}_{kind}ms": values.get(key) for kind, values in figures.items() for key in (OCTET, other(args))},
            "ratio": ratio(ms), "ratio_of_fastest": ratio(fastest), "ratio_of_processor": ratio(processor),
            "spread_ms": {key: [round(min(v), 4), round(max(v), 4)] for key, v in medians.items()}, "failed": failed}


def print_table(args, report):
    """Markdown, as it goes into docs/performance.md."""
    beside, title = other(args), "before" if args.against else "ONNX Runtime"
    print(f"| network | threads | Octet | {title} | ratio | Octet, fastest | {title}, fastest | ratio "
          f"| Octet, processor | {title}, processor | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in report["networks"]:
        def median(key):
            low, high = row["spread_ms"].get(key, (0, 0))
            value = row[f"{PREFIX[key]}_ms"]
            return f"{value:.2f} ({low:.2f}-{high:.2f})" if value else "failed"

        def pair(kind):
            return " | ".join(str(row[f"{PREFIX[key]}_{kind}_ms"] or "-") for key in (OCTET, beside))
        print(f"| {row['name']} | {row['threads']} | {median(OCTET)} | {median(beside)} | {row['ratio'] or '-'} | "
              f"{pair('fastest')} | {row['ratio_of_fastest'] or '-'} | {pair('processor')} | {row['ratio_of_processor'] or '-'} |")
    print(f"\nGeometric mean of {title} / Octet: {report['geomean']}, of the fastest runs: {report['geomean_of_fastest']}, "
          f"of processor time: {report['geomean_of_processor']}")
    for row in report["networks"]:
        for key, reason in row["failed"].items():
            print(f"* {row['name']}, {row['threads']} threads, {key}: {reason}")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runners.add_program_flags(parser)
    parser.add_argument("--models", required=True, help="folder of .onnx or .onnx.xz files")
    parser.add_argument("--networks", help="names, separated by commas [all]")
    parser.add_argument("--threads", default="1,2", help="thread counts [1,2]")
    runners.add_turn_flags(parser)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "octet_bench_fp32",
                        help="folder for unpacked models and engines")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    known = {network.name: network for network in NETWORKS}
    names = args.networks.split(",") if args.networks else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(known)}")
    args.networks = [known[name] for name in names]
    args.work.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args = parse_args()
    rows = []
    for network in args.networks:
        prepared = prepare(args, network)
        for threads in map(int, args.threads.split(",")):
            rows.append(measure(args, network, threads, prepared))
            runners.log(json.dumps(rows[-1]))
    report = {"versions": runners.versions(args), "rounds": args.rounds, "seconds": args.seconds, "networks": rows,
              "geomean": runners.geomean([row["ratio"] for row in rows]),
              "geomean_of_fastest": runners.geomean([row["ratio_of_fastest"] for row in rows]),
              "geomean_of_processor": runners.geomean([row["ratio_of_processor"] for row in rows])}
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        print_table(args, report)


if __name__ == "__main__":
    main()
