#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that other people's quantizers write, on Octet and on ONNX Runtime: which layers are INT8, and how fast they are.

    bench/quantizers.py --octet build/release/octet --models DIR --work WORK [--json]

NNCF, ModelOpt and PyTorch (PT2E) are installed into WORK/venv, some gigabytes with torch; each quantizes the float models of DIR, or a
small network of its own (PyTorch), as they do without any options, on random samples. What lies in WORK already is used as it is.
"""

import argparse
import json
import lzma
import pathlib
import subprocess
import sys
import venv

import runners

PACKAGES = {
    "nncf": ["onnx", "onnxruntime", "nncf"],
    "modelopt": ["onnx", "onnxruntime", "nvidia-modelopt", "onnx-graphsurgeon", "onnxconverter-common", "onnxslim", "polygraphy", "lief"],
    "pt2e": ["onnx", "torch", "torchao", "onnxscript"],
}
MODELS = ["mobilenet_v2_imagenet", "mobilenet_v1_025_imagenet", "cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "cifar10_vit",
          "retinaface_mobilenet025"]
FIXED = {"retinaface_mobilenet025": ("input", [1, 3, 320, 320]), "yunet_n_dynamic": ("input", [1, 3, 320, 320])}  # of inputs with dynamic sizes

# Run in the quantizers' own environment: sys.argv holds the float model, the result and the shape of its input.
SAMPLES = """
import json, sys, numpy as np
source, target, shape = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
rng = np.random.default_rng(0)
samples = [rng.standard_normal(shape).astype(np.float32) for _ in range(8)]
"""
NAME = """
import onnx
model = onnx.load(source)
constants = {tensor.name for tensor in model.graph.initializer}
name = next(value.name for value in model.graph.input if value.name not in constants)
"""
SCRIPTS = {
    "nncf": SAMPLES + NAME + """
import nncf
onnx.save(nncf.quantize(model, nncf.Dataset([{name: sample} for sample in samples]), subset_size=8), target)
""",
    "modelopt": SAMPLES + NAME + """
from modelopt.onnx.quantization import quantize
quantize(source, quantize_mode="int8", calibration_data={name: samples[0]}, output_path=target, calibration_eps=["cpu"], **OPTIONS)
""",
    "modelopt_f32": "",
    "pt2e": SAMPLES + """
import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.dense, self.norm = nn.Conv2d(channels, channels, 3, 1, 1), nn.BatchNorm2d(channels)
        self.depthwise, self.point = nn.Conv2d(channels, channels, 3, 1, 1, groups=channels), nn.Conv2d(channels, channels, 1)
    def forward(self, x):
        y = torch.relu(self.norm(self.dense(x)))
        return torch.relu(x + self.point(nn.functional.hardtanh(self.depthwise(y), 0.0, 6.0)))

torch.manual_seed(0)
body = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), Block(32), Block(32), Block(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
inputs = (torch.from_numpy(samples[0]),)
prepared = prepare_pt2e(torch.export.export(nn.Sequential(*body).eval(), inputs).module(),
                        x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config()))
for sample in samples:
    prepared(torch.from_numpy(sample))
torch.onnx.export(convert_pt2e(prepared), inputs, target, dynamo=True, external_data=False)
""",
}
# By itself it leaves f16 between Q/DQ pairs, for which ONNX Runtime has no kernels on a CPU.
SCRIPTS["modelopt_f32"] = SCRIPTS["modelopt"].replace("**OPTIONS", 'high_precision_dtype="fp32"')
SCRIPTS["modelopt"] = SCRIPTS["modelopt"].replace(", **OPTIONS", "")
# Milliseconds of one thread: the fastest run.
ORT = """
import sys, time, json, numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads, options.log_severity_level = 1, 3
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
feeds = {session.get_inputs()[0].name: np.random.default_rng(0).standard_normal(json.loads(sys.argv[2])).astype(np.float32)}
times, end = [], time.monotonic() + float(sys.argv[3])
while len(times) < 5 or time.monotonic() < end:
    start = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - start)
print(min(times) * 1e3)
"""


def environment(work):
    python = work / "venv/bin/python"
    if not python.exists():
        venv.create(work / "venv", with_pip=True)
        for packages in PACKAGES.values():
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def child(python, script, *arguments):
    done = subprocess.run([python, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(runners.last_line(done.stderr))
    return done.stdout


def float_model(args, name):
    path = args.work / f"{name}.onnx"
    if not path.exists():
        path.write_bytes(lzma.decompress((args.models / f"{name}.onnx.xz").read_bytes()))
    return path


def input_shape(python, path):
    script = SAMPLES.replace("json.loads(sys.argv[3])", "[1]") + NAME + """
value = next(value for value in model.graph.input if value.name == name)
print(json.dumps([dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]))
"""
    return json.loads(child(python, script, path, "-"))


def octet(args, *arguments):
    done = subprocess.run([args.octet, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(runners.last_line(done.stderr))
    return json.loads(done.stdout)


def measure(args, python, path, case):
    engine, shape = path.with_suffix(".octet"), case[3]
    warnings = octet(args, "build", path, "-o", engine)["warnings"]
    fixed = ["--shape", f"{FIXED[case[1]][0]}:{'x'.join(map(str, shape))}"] if case[1] in FIXED else []
    layers = octet(args, "inspect", engine, *fixed)
    mine, theirs = [], []
    for _ in range(args.rounds):
        mine.append(octet(args, "bench", engine, "--threads", 1, "--seconds", args.seconds, *fixed)["latency_ms"]["min"])
        theirs.append(float(child(python, ORT, path, json.dumps(shape), args.seconds)))
    coverage = layers["coverage"]
    return {"octet_ms": min(mine), "onnxruntime_ms": min(theirs), "ratio": min(theirs) / min(mine),
            "int8_layers": coverage["int8_layers"], "layers": coverage["total_layers"], "int8_macs": coverage["macs"],
            "reference": sum(layer["kernel"] == "reference" for layer in layers["layers"]), "warnings": warnings}


def cases(args, python):
    for quantizer in args.quantizers.split(","):
        if quantizer == "pt2e":
            yield quantizer, "small", None, [1, 3, 96, 96]
            continue
        for name in args.networks.split(","):
            source = float_model(args, name)
            yield quantizer, name, source, FIXED[name][1] if name in FIXED else input_shape(python, source)


def run(args, python, case):
    quantizer, name, source, shape = case
    target = args.work / f"{name}.{quantizer}.onnx"
    if not target.exists():
        child(python, SCRIPTS[quantizer], source or "-", target, json.dumps(shape))
    return {"model": name, "quantizer": quantizer, **measure(args, python, target, case)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", default="build/release/octet")
    parser.add_argument("--models", type=pathlib.Path, required=True, help="the folder of float models, .onnx.xz")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where the environment and the models are made and kept")
    parser.add_argument("--quantizers", default=",".join(SCRIPTS))
    parser.add_argument("--networks", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    python = environment(args.work)
    results = []
    for case in cases(args, python):
        try:
            results.append(run(args, python, case))
        except RuntimeError as error:
            results.append({"model": case[1], "quantizer": case[0], "failed": str(error)})
        runners.log(results[-1])
    if args.json:
        json.dump({"results": results}, sys.stdout, indent=1)
        return
    print("| model | quantizer | INT8 layers | on the reference | Octet ms | ONNX Runtime ms | ratio |\n|---|---|---|---|---|---|---|")
    for r in results:
        if "failed" in r:
            print(f"| {r['model']} | {r['quantizer']} | {r['failed']} | | | | |")
            continue
        print(f"| {r['model']} | {r['quantizer']} | {r['int8_layers']} of {r['layers']} | {r['reference']} | {r['octet_ms']:.3f} | "
              f"{r['onnxruntime_ms']:.3f} | {r['ratio']:.1f} |")


if __name__ == "__main__":
    main()
