# SPDX-License-Identifier: Apache-2.0
"""torch-tensorrt on a GPU: torch_tensorrt_program.py FOLDER. A small network and a ResNet-50 of random weights are compiled in FP32 and FP16 by
its Python runtime and by its own in C++, and held against PyTorch; FOLDER/results.json gets the errors and the microseconds of one run."""

import json
import pathlib
import sys

import torch
import torch_tensorrt
from torch import nn


class Block(nn.Module):
    def __init__(self, channels, maps, stride):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, maps, 1, bias=False), nn.BatchNorm2d(maps), nn.ReLU(),
            nn.Conv2d(maps, maps, 3, stride, 1, bias=False), nn.BatchNorm2d(maps), nn.ReLU(),
            nn.Conv2d(maps, maps * 4, 1, bias=False), nn.BatchNorm2d(maps * 4))
        same = stride == 1 and channels == maps * 4
        self.shortcut = nn.Identity() if same else nn.Sequential(nn.Conv2d(channels, maps * 4, 1, stride, bias=False), nn.BatchNorm2d(maps * 4))

    def forward(self, x):
        return torch.relu(self.layers(x) + self.shortcut(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, (blocks, maps) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            layers.append(Block(channels, maps, 2 if stage and not block else 1))
            channels = maps * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def small():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.SiLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, 2, 1), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10), nn.Softmax(-1))


NETWORKS = {"small": (small, (2, 3, 64, 64)), "resnet50": (resnet50, (1, 3, 224, 224))}


def microseconds(run, x):
    """One run behind another, by the GPU's clock: the median of five laps."""
    laps = []
    for _ in range(6):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(200):
            run(x)
        end.record()
        end.synchronize()
        laps.append(start.elapsed_time(end) * 5)
    return sorted(laps[1:])[2]


def tried(name, kind, python_runtime):
    make, shape = NETWORKS[name]
    torch.manual_seed(3)
    model = make().eval().cuda().to(kind)
    x = torch.randn(shape, device="cuda", dtype=kind)
    compiled = torch_tensorrt.compile(model, ir="dynamo", inputs=[x], min_block_size=1, use_python_runtime=python_runtime)
    engines = [type(module).__name__ for module in compiled.modules() if "TensorRTModule" in type(module).__name__]
    assert engines, "no part of the network went to TensorRT"
    with torch.no_grad():
        ours, own = compiled(x), model(x)
        assert ours.dtype == kind, f"the engine gives {ours.dtype}"
        ours, own = ours.float(), own.float()
        exact = model.double()(x.double()).float()
        model.to(kind)
        return {"engines": engines, "error": (ours - exact).abs().max().item(), "error of PyTorch": (own - exact).abs().max().item(),
                "range": exact.abs().max().item(), "microseconds": microseconds(compiled, x), "microseconds of PyTorch": microseconds(model, x)}


def main(folder):
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    results = {"version": torch_tensorrt.__version__}
    for name in NETWORKS:
        for kind in (torch.float32, torch.float16):
            for python_runtime in (False, True):
                key = f"{name} {str(kind).removeprefix('torch.')} {'python' if python_runtime else 'c++'}"
                results[key] = tried(name, kind, python_runtime)
                print(key, results[key], flush=True)
    pathlib.Path(folder, "results.json").write_text(json.dumps(results))


main(*sys.argv[1:])
