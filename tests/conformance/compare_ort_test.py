# SPDX-License-Identifier: Apache-2.0
"""Real models on the scalar references against ONNX Runtime, in the form of ONNX's own tests.

usage: compare_ort_test.py [RUNNER] [NAME ...]     RUNNER: the conformance_tests program
Ends with 77 (skipped) without onnxruntime, onnx, numpy or the shared models.
"""
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared"
MODELS = [
    "digits", "cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "cifar10_vit",
    "mobilenet_v1_025_imagenet", "mobilenet_v2_imagenet", "yolox_nano",
]
ONNX_ATOL = 1e-7  # of ONNX's own tests, with rtol 1e-3
DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
          "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}


def model_bytes(name):
    plain = SHARED / "digits" / f"{name}.onnx"
    if plain.exists():
        return plain.read_bytes()
    return lzma.decompress((SHARED / "models" / f"{name}.onnx.xz").read_bytes())


def run_ort(model, level, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(7)
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        feeds.setdefault(value.name, random.random(shape).astype(DTYPES[value.type]))
    return session.run(None, {value.name: feeds[value.name] for value in session.get_inputs()})


def write_case(folder, name):
    """model.onnx, random inputs, and what ONNX Runtime makes of them. Returns the absolute tolerance: ONNX's, or by how much
    ONNX Runtime differs from itself with its graph optimizations on, where that is more."""
    data = folder / name / "test_data_set_0"
    data.mkdir(parents=True)
    model = model_bytes(name)
    (folder / name / "model.onnx").write_bytes(model)
    feeds = {}
    results = run_ort(model, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, feeds)
    optimized = run_ort(model, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, feeds)
    for i, (input_name, value) in enumerate(feeds.items()):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, input_name).SerializeToString())
    for i, result in enumerate(results):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(result).SerializeToString())
    return max([ONNX_ATOL] + [float(np.max(np.abs(a - b))) for a, b in zip(results, optimized)])


def main(arguments):
    runner = arguments[0] if arguments else os.environ["OCTET_BUILD"] + "/tests/conformance/conformance_tests"
    names = arguments[1:] or MODELS
    if not (SHARED / "models").exists():
        print("skipped: no", SHARED / "models")
        return 77
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="octet_ort_") as scratch:
            folder = pathlib.Path(scratch)
            atol = write_case(folder / "cases", name)
            (folder / "expected.txt").write_text(name + "\n")
            command = [runner, "--expected", str(folder / "expected.txt"), "--verbose", "--atol", str(atol)]
            run = subprocess.run(command, env={**os.environ, "OCTET_ONNX_TESTS": str(folder / "cases")},
                                 capture_output=True, text=True)
            print(f"{name}: atol {atol:.2g}:", "equal" if run.returncode == 0 else run.stdout + run.stderr)
            failed += run.returncode != 0
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
