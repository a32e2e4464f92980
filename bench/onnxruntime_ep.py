#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The execution provider beside octet bench and ONNX Runtime's own CPU provider, on the same threads and processors, in turns.

    bench/onnxruntime_ep.py [MODEL.onnx ...] [--threads N] [--cpus 0-3] [--rounds N] [--runs N]

Without models: those of ../shared that carry Q/DQ nodes, or QLinear operators. "bound" is with IO binding of inputs and outputs, "plain" is
session.run(). A figure is the median of the rounds' medians, a share that of the rounds' shares of octet bench's speed, in brackets the least and the
greatest. All is bound to --cpus, by default as many as --threads: where threads are placed on a virtual machine is worth more than what a run costs beside
its layers, and every process of octet bench would have another draw."""

import argparse
import json
import lzma
import os
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
WARM = 10  # runs before each round's
PAUSE = 0.1  # seconds in which ONNX Runtime's threads, which poll for the next run, go to sleep
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


def engine_of(model, folder):
    engine = folder / f"{model.stem}.octet"
    subprocess.run([BUILD / "octet", "build", model, "-o", engine, "--quiet", "--force"], stdout=subprocess.DEVNULL, check=True)
    return engine


def program_ms(engine, threads, runs):
    done = subprocess.run([BUILD / "octet", "bench", engine, "--threads", str(threads), "--iterations", str(runs), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["latency_ms"]["median"]


def measure(model, folder, arguments):
    """Milliseconds of each way, a value for each round."""
    ours, theirs = sessions(model, arguments.threads)
    engine, feeds = engine_of(model, folder), feeds_of(ours)
    ways = {"octet bench": None, "bound": bound(ours, feeds), "plain": lambda: ours.run(None, feeds), "ONNX Runtime": lambda: theirs.run(None, feeds)}
    found = {name: [] for name in ways}
    for number in range(arguments.rounds):
        names = list(ways)
        for name in names[:3][:: 1 if number % 2 else -1] + names[3:]:
            if ways[name] is None:
                found[name].append(program_ms(engine, arguments.threads, arguments.runs))
                continue
            median_ms(ways[name], WARM)
            found[name].append(median_ms(ways[name], arguments.runs))
        time.sleep(PAUSE)
    return found


def cpus(text):
    ranges = [part.partition("-") for part in text.split(",")]
    return {cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpus", help="0-3")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    mine = cpus(arguments.cpus) if arguments.cpus else set(sorted(os.sched_getaffinity(0))[: arguments.threads])
    os.sched_setaffinity(0, mine)
    ort.register_execution_provider_library("octet", str(BUILD / "integrations/onnxruntime/liboctet_onnxruntime.so"))
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models or list(shared_models(pathlib.Path(folder)))
        if not models:
            sys.exit("no models: name some")
        print(f"ONNX Runtime {ort.__version__}, {arguments.threads} threads; ms")
        for model in models:
            found = measure(model, pathlib.Path(folder), arguments)
            print(f"{model.stem:36}", "  ".join(f"{name} {statistics.median(ms):.3f}" for name, ms in found.items()), end="")
            for name in ("bound", "plain"):
                shares = sorted(bench / ms for bench, ms in zip(found["octet bench"], found[name]))
                print(f"  {name} {statistics.median(shares):.3f} ({shares[0]:.2f} to {shares[-1]:.2f})", end="")
            print(flush=True)


if __name__ == "__main__":
    main()
