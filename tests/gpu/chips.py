#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machine code for every chip that is known, of whole networks and of the tests' kernels, by NVIDIA's compiler; nothing runs, and no GPU is needed.

    .venv/bin/python tests/gpu/chips.py [--chips sm75,sm120] [--models ../shared/models] [--output build/chips.json]

Engines of each network in INT8, with f16 beside it, and in f16 alone are built, plans made for each chip at batches of 1 and 8, and what they would start is compiled,
then what tests/gpu starts. Fails where a kernel does not compile, keeps too much outside its registers, or lacks the products that it was written for (tests/gpu/compile_only.cc).
Prints, and writes into --output, what each chip's code says of itself.
"""

import argparse
import collections
import concurrent.futures
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
# One of each architecture that kernels are compiled for.
CHIPS = {"sm75": "7.5", "sm80": "8.0", "sm86": "8.6", "sm87": "8.7", "sm89": "8.9", "sm90": "9.0", "sm100": "10.0", "sm103": "10.3", "sm110": "11.0", "sm120": "12.0", "sm121": "12.1"}
NETWORKS = ("cifar10_resnet20", "cifar10_silunet", "cifar10_vit", "mobilenet_v2_imagenet", "retinaface_mobilenet025", "yolox_nano", "yunet_n_dynamic",
            "super_resolution", "style_candy_instancenorm", "vit_tracker", "shufflenet_v2_imagenet_qoperator")
PRECISIONS = {"int8": ["--int8"], "int8_f16": ["--int8", "--fp16"], "f16": ["--fp16"]}


def run(command, **variables):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, env={**os.environ, **variables})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def build_engines(models, folder):
    """Which kernels there are does not hang on ranges: they come from one random sample."""
    import numpy as np
    import onnx

    for name in NETWORKS:
        model = folder / f"{name}.onnx"
        model.write_bytes(lzma.decompress((models / f"{name}.onnx.xz").read_bytes()))
        graph = onnx.load(model).graph
        constants = {tensor.name for tensor in graph.initializer}
        sample = {}
        for value in graph.input:
            if value.name not in constants:
                sizes = [dim.dim_value or (2 if i == 0 else 64) for i, dim in enumerate(value.type.tensor_type.shape.dim)]
                sample[value.name] = np.random.default_rng(1).random(sizes, np.float32)
        np.savez(folder / f"{name}.npz", **sample)
        quantized = any(node.op_type.startswith(("Quantize", "QLinear")) for node in graph.node)
        for precision, flags in PRECISIONS.items():
            if quantized and precision != "int8":
                continue
            data = ["--calib", folder / f"{name}.npz"] if "--int8" in flags and not quantized else []
            run([BUILD / "octet", "build", model, *([] if quantized else flags), *data, "--quiet", "-o", folder / f"{name}.{precision}.octet"])


def compile_for(chip, engines):
    """What the code of one chip says of itself."""
    facts = engines / f"{chip}.facts"
    common = {"OCTET_TEST_COMPILE": "1", "OCTET_KERNEL_CACHE": "off", "OCTET_TEST_CASES": "10", "OCTET_CUDA_DRIVER": str(BUILD / "tests/gpu/emulator/libcuda_emulated.so"),
              "OCTET_EMULATED_CAPABILITY": CHIPS[chip], "OCTET_TEST_ENGINES": str(engines), "OCTET_TEST_CHIP": chip, "OCTET_TEST_FACTS": str(facts)}
    run([BUILD / "tests/gpu/gpu_tests", "--gtest_filter=GpuChips.*"], **common)
    run([BUILD / "tests/gpu/gpu_tests"], **{**common, "OCTET_TEST_ENGINES": "", "OCTET_TEST_FACTS": ""})
    return [json.loads(line) for line in facts.read_text().splitlines()]


def summary(kernels):
    families = collections.Counter(kernel["family"] for kernel in kernels)
    spilling = [kernel for kernel in kernels if kernel["spills"]]
    return {
        "kernels": len(kernels), "families": len(families), "most_registers": max(kernel["registers"] for kernel in kernels),
        "most_shared": max(kernel["shared"] for kernel in kernels), "spilling": len(spilling),
        "worst_spills": round(max((kernel["spills"] / kernel["instructions"] for kernel in spilling), default=0), 3),
        "with_mma": sum(kernel["mma"] > 0 for kernel in kernels), "with_wgmma": sum(kernel["wgmma"] > 0 for kernel in kernels),
        "with_dot": sum(kernel["dot"] > 0 for kernel in kernels),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared/models")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/chips.json")
    args = parser.parse_args()
    chips = args.chips.split(",")
    found = {}
    with tempfile.TemporaryDirectory(prefix="octet-chips-") as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        engines = pathlib.Path(folder)
        build_engines(args.models, engines)
        running, failed = {chip: workers.submit(compile_for, chip, engines) for chip in chips}, []
        for chip, kernels in running.items():
            try:
                found[chip] = summary(kernels.result())
                print(f"{chip}: {json.dumps(found[chip])}", flush=True)
            except RuntimeError as error:
                failed.append(chip)
                print(f"{chip}: {error}", flush=True)
    args.output.write_text(json.dumps(found, indent=2) + "\n")
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
