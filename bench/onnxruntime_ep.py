#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The execution provider beside octet bench and ONNX Runtime's own CPU provider: medians of one run, on the same threads, taken in turns.

    bench/onnxruntime_ep.py [MODEL.onnx ...] [--threads N] [--rounds N] [--runs N]

Without models: those of ../shared that carry Q/DQ nodes, or QLinear operators. "bound" is with IO binding of inputs and outputs, "plain" is
session.run(). Shares are of octet bench's speed."""

import argparse
import json
import lzma
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
OURS = ("mobilenet_v2_imagenet_qdq", "shufflenet_v2_imagenet_qoperator")


def shared_models(folder):
    for name in OURS:
        packed = ROOT.parent / f"shared/models/{name}.onnx.xz"
        if packed.exists():
            model = folder / f"{name}.onnx"
            model.write_bytes(lzma.decompress(packed.read_bytes()))
            yield model


def sessions(model, threads):
    ours, theirs = ort.SessionOptions(), ort.SessionOptions()
    device = next(d for d in ort.get_ep_devices() if d.ep_name == "OctetExecutionProvider" and d.device.type.name == "CPU")
    ours.add_provider_for_devices([device], {"octet.threads": str(threads)})
    ours.intra_op_num_threads = theirs.intra_op_num_threads = threads
    return (ort.InferenceSession(str(model), ours, enable_fallback=0),
            ort.InferenceSession(str(model), theirs, providers=["CPUExecutionProvider"]))


def feeds_of(session):
    random = np.random.default_rng(0)
    return {i.name: random.random([d if isinstance(d, int) else 1 for d in i.shape]).astype(KINDS[i.type]) for i in session.get_inputs()}


def bound(session, feeds):
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output, value in zip(session.get_outputs(), session.run(None, feeds)):
        # Not of `value`, whose memory a value made from it would share and not keep.
        binding.bind_ortvalue_output(output.name, ort.OrtValue.ortvalue_from_shape_and_type(value.shape, value.dtype))
    return lambda: session.run_with_iobinding(binding)


def median_ms(call, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def program_ms(model, threads, runs):
    done = subprocess.run([BUILD / "octet", "bench", model, "--threads", str(threads), "--iterations", str(runs), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["latency_ms"]["median"]


def measure(model, arguments):
    """The best median of each over all rounds."""
    ours, theirs = sessions(model, arguments.threads)
    feeds = feeds_of(ours)
    ways = {"bound": bound(ours, feeds), "plain": lambda: ours.run(None, feeds), "ONNX Runtime": lambda: theirs.run(None, feeds)}
    best = {"octet bench": float("inf"), **{name: float("inf") for name in ways}}
    for _ in range(arguments.rounds):
        best["octet bench"] = min(best["octet bench"], program_ms(model, arguments.threads, arguments.runs))
        for name, call in ways.items():
            call()
            best[name] = min(best[name], median_ms(call, arguments.runs))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40)
    arguments = parser.parse_args()
    ort.register_execution_provider_library("octet", str(BUILD / "integrations/onnxruntime/liboctet_onnxruntime.so"))
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models or list(shared_models(pathlib.Path(folder)))
        if not models:
            sys.exit("no models: name some")
        print(f"ONNX Runtime {ort.__version__}, {arguments.threads} threads; ms")
        for model in models:
            best = measure(model, arguments)
            shares = {name: best["octet bench"] / best[name] for name in ("bound", "plain")}
            print(f"{model.stem:36}", "  ".join(f"{name} {ms:.3f}" for name, ms in best.items()),
                  "  ".join(f"{name} {share:.2f}" for name, share in shares.items()), sep="  ")


if __name__ == "__main__":
    main()
