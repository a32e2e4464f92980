#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Octet's float engines against ONNX Runtime on this CPU: one run, interleaved, pinned.

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

OCTET, ORT = "octet", "onnxruntime"


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


def prepare(args, network):
    """The unpacked model and its engine, built anew: the paths, or the reasons why there are none."""
    model = args.work / f"{network.name}.onnx"
    packed = pathlib.Path(args.models) / f"{network.name}.onnx.xz"
    plain = pathlib.Path(args.models) / f"{network.name}.onnx"
    if plain.exists():
        model = plain
    elif packed.exists():
        model.write_bytes(lzma.decompress(packed.read_bytes()))
    else:
        reason = f"{plain.name} is not in the models folder"
        return {}, {OCTET: reason, ORT: reason}
    engine = args.work / f"{network.name}.octet"
    try:
        runners.octet_build(args, model, engine, [flag for s in network.shapes for flag in ("--shape", s)])
    except RuntimeError as error:
        return {ORT: model}, {OCTET: str(error)}
    return {OCTET: engine, ORT: model}, {}


def start(args, network, paths, threads):
    cpus = runners.cpus_for(threads)
    ready, failed = {}, {}
    for key, path in paths.items():
        try:
            ready[key] = (Octet(args.octet, path, network.shapes, threads, cpus) if key == OCTET
                            else runners.PeerRunner(ORT, path, threads, cpus, network.shapes))
        except RuntimeError as error:
            failed[key] = str(error)
    return ready, failed


def ratio(values):
    """ONNX Runtime's time over Octet's: above 1 Octet is faster."""
    return round(values[ORT] / values[OCTET], 3) if len(values) == 2 else None


def measure(args, network, threads, prepared):
    paths, not_built = prepared
    ready, failed = start(args, network, paths, threads)
    failed.update(not_built)
    times = runners.take_turns(args, ready, failed)
    medians = {key: [value.median for value in values] for key, values in times.items()}
    ms = {key: round(statistics.median(values), 4) for key, values in medians.items()}
    fastest = {key: round(min(value.fastest for value in values), 4) for key, values in times.items()}
    processor = {key: round(min(value.processor for value in values), 4) for key, values in times.items()}
    return {"name": network.name, "threads": threads, "octet_ms": ms.get(OCTET), "ort_ms": ms.get(ORT),
            "ratio": ratio(ms), "octet_fastest_ms": fastest.get(OCTET), "ort_fastest_ms": fastest.get(ORT),
            "ratio_of_fastest": ratio(fastest), "octet_processor_ms": processor.get(OCTET),
            "ort_processor_ms": processor.get(ORT), "ratio_of_processor": ratio(processor),
            "spread_ms": {key: [round(min(v), 4), round(max(v), 4)] for key, v in medians.items()}, "failed": failed}


def print_table(report):
    """Markdown, as it goes into docs/performance.md."""
    print("| network | threads | Octet | ONNX Runtime | ratio | Octet, fastest | ONNX Runtime, fastest | ratio "
          "| Octet, processor | ONNX Runtime, processor | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in report["networks"]:
        def cell(key, name):
            low, high = row["spread_ms"].get(key, (0, 0))
            return f"{row[name]:.2f} ({low:.2f}-{high:.2f})" if row[name] else "failed"
        print(f"| {row['name']} | {row['threads']} | {cell(OCTET, 'octet_ms')} | {cell(ORT, 'ort_ms')} | {row['ratio'] or '-'} | "
              f"{row['octet_fastest_ms'] or '-'} | {row['ort_fastest_ms'] or '-'} | {row['ratio_of_fastest'] or '-'} | "
              f"{row['octet_processor_ms'] or '-'} | {row['ort_processor_ms'] or '-'} | {row['ratio_of_processor'] or '-'} |")
    print(f"\nGeometric mean of ONNX Runtime / Octet: {report['geomean']}, of the fastest runs: {report['geomean_of_fastest']}, "
          f"of processor time: {report['geomean_of_processor']}")
    for row in report["networks"]:
        for key, reason in row["failed"].items():
            print(f"* {row['name']}, {row['threads']} threads, {key}: {reason}")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--octet", required=True, help="the octet program")
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
    args.octet = str(pathlib.Path(args.octet).resolve())
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
        print_table(report)


if __name__ == "__main__":
    main()
