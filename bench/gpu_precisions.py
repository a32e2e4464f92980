#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each precision costs on an NVIDIA GPU: engines of one network in f32, f16, bf16, INT8 everywhere, INT8 where the guards leave it, with --fp16 beside it,
--best, and INT8 but five products (the first, two of the first block, the fourteenth, the last), which stay f32 or f16.

Engines are built on the machine that measures, from networks.py, and take no transfers: inputs and outputs lie in the device's memory. Prints a line for
each engine, as it comes, with images (sequences) a second of each batch; the programs named last are timed in turns, for a comparison of two builds:

    bench/gpu_precisions.py --networks resnet50_shaped --calib photos/ --programs before/octet build/release/octet
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = (0, 3, 4, 13)  # of the products, and the last
EVERYWHERE = ("--constraints", "prefer")


def model_of(network, args, folder):
    """A file of the network whose first dimension is free, and the names of its products."""
    import networks as nets
    import onnx

    model = nets.load(network, args.models)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    del model.graph.value_info[:]
    path = folder / f"{network.name}.onnx"
    onnx.save(model, path)
    return path, [node.name for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]


def calibration(network, args, folder):
    if network.data:
        height, width = network.size
        return ["--calib", args.calib, "--resize", f"{width}x{height}", "--calib-method", "minmax"]
    import bert
    import numpy as np

    feeds = list(bert.calibration())
    path = folder / f"{network.name}.npz"
    np.savez(path, **{name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]})
    return ["--calib", path, "--calib-method", "minmax"]


def variants(products, calib):
    kept = [products[i] for i in KEPT if i < len(products)] + products[-1:]
    listed = {kind: ",".join(["*:int8", *(f"{name}:{kind}" for name in dict.fromkeys(kept))]) for kind in ("f32", "f16")}
    return {
        "fp32": [], "fp16": ["--fp16"], "bf16": ["--bf16"],
        "int8_everywhere": ["--int8", *calib, "--precision", "*:int8", *EVERYWHERE],
        "int8": ["--int8", *calib], "int8_fp16": ["--int8", "--fp16", *calib], "best": ["--best", *calib],
        "int8_but_five_f32": ["--int8", *calib, "--precision", listed["f32"], *EVERYWHERE],
        "int8_but_five_f16": ["--int8", *calib, "--precision", listed["f16"], *EVERYWHERE],
    }


def throughput(program, engine, batch, args):
    command = [program, "bench", engine, "--device", args.device, "--batch", str(batch), "--no-transfers", "--seconds", str(args.seconds), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["throughput"]


def measure(network, args, folder):
    source, products = model_of(network, args, folder)
    for name, flags in variants(products, calibration(network, args, folder)).items():
        if args.variants and name not in args.variants:
            continue
        engine = folder / f"{network.name}.{name}.octet"
        try:
            subprocess.run([args.programs[-1], "build", source, *flags, "-o", engine, "--force", "--quiet"], capture_output=True, text=True, check=True)
            rates = {(program, batch): [] for program in args.programs for batch in args.batches}
            for _ in range(args.rounds):
                for program, batch in rates:
                    rates[program, batch].append(throughput(program, engine, batch, args))
        except subprocess.CalledProcessError as error:
            print(f"{network.name} {name}: {error.stderr.strip()}", file=sys.stderr)
            continue
        for program in args.programs:
            figures = {str(batch): round(statistics.median(rates[program, batch]), 1) for batch in args.batches}
            print(json.dumps({"network": network.name, "precision": name, "program": program, "images_per_s": figures}), flush=True)


def main():
    sys.path.insert(0, str(ROOT / "bench"))
    import networks as nets

    known = {network.name: network for network in (*nets.NETWORKS, *nets.PACKABLE)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=known, metavar="NAME", default=["resnet50_shaped", "mobilenet_v2_shaped", "bert_alike_384"])
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="those alone: fp32, fp16, int8_but_five_f16, ...")
    parser.add_argument("--batches", nargs="+", type=int, default=[256, 1])
    parser.add_argument("--models", default=str(ROOT.parent / "shared/models"))
    parser.add_argument("--calib", default=str(ROOT.parent / "shared/data/imagenet/calib"), help="photos; minima and maxima of all of them")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--programs", nargs="+", default=[str(ROOT / "build/release/octet")])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in args.networks:
            measure(known[name], args, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
