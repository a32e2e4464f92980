# SPDX-License-Identifier: Apache-2.0
"""torch2trt as its README has it: torchvision's networks layer by layer, in FP32, FP16 and INT8 with a calibrator of its own, for more than one batch size,
saved and loaded. torch2trt_program.py prints a line for each."""

import io

import torch
import torchvision
from torch2trt import TRTModule, torch2trt


def loss(got, want):
    """Of all outputs together, relative."""
    return float((got.cpu() - want.cpu()).norm() / want.cpu().norm())


def tell(name, got, want):
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, got.dtype)
    classes = float((got.argmax(1).cpu() == want.argmax(1).cpu()).float().mean())
    print(f"{name}: loss {loss(got, want):.6f}, classes {classes:.3f}", flush=True)


@torch.no_grad()
def main():
    torch.manual_seed(3)
    image = torch.randn(1, 3, 64, 64).cuda()  # torch2trt marks the tensor of a conversion for good: each gets a copy
    images = torch.randn(8, 3, 64, 64).cuda()
    for name in ("resnet18", "mobilenet_v2", "squeezenet1_1", "densenet121", "mnasnet0_5"):
        torch.manual_seed(5)
        model = getattr(torchvision.models, name)(weights=None).eval().cuda()
        tell(name, torch2trt(model, [image.clone()])(image), model(image))

    torch.manual_seed(5)
    model = torchvision.models.resnet18(weights=None).eval().cuda()
    batches = torch2trt(model, [image.clone()], max_batch_size=8)
    tell("batch 8", batches(images), model(images))
    tell("batch 3", batches(images[:3]), model(images[:3]))
    tell("FP16", torch2trt(model, [image.clone()], fp16_mode=True, max_batch_size=8)(images), model(images))

    data = [[one[None]] for one in torch.randn(32, 3, 64, 64).cuda()]
    integers = torch2trt(model, [image.clone()], int8_mode=True, int8_calib_dataset=data, max_batch_size=8)
    tell("INT8", integers(images), model(images))
    saved = io.BytesIO()
    torch.save(integers.state_dict(), saved)
    saved.seek(0)
    loaded = TRTModule()
    loaded.load_state_dict(torch.load(saved, weights_only=False))
    assert torch.equal(loaded(images).cpu(), integers(images).cpu())
    print("loaded")


main()
