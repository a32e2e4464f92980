# SPDX-License-Identifier: Apache-2.0
"""torch2trt as its README has it: torchvision's networks layer by layer, in FP32, FP16 and INT8 with a calibrator of its own, for more than one batch size,
saved and loaded. torch2trt_program.py prints for each how far it is from the network in f64, and how far PyTorch itself is."""

import copy
import io

import torch
import torchvision
from torch2trt import TRTModule, torch2trt


def loss(got, want):
    """Of all outputs together, relative."""
    got, want = got.cpu().double(), want.cpu()
    return float((got - want).norm() / want.norm())


def tell(name, got, model, images, own):
    """`own`: what PyTorch gives in the same type."""
    exact = copy.deepcopy(model).cpu().double()(images.cpu().double())
    assert got.shape == exact.shape and got.dtype == torch.float32, (got.shape, got.dtype)
    classes = float((got.cpu().argmax(1) == exact.argmax(1)).float().mean())
    print(f"{name}: loss {loss(got, exact):.3g}, PyTorch {loss(own, exact):.3g}, classes {classes:.3f}", flush=True)


def network(name):
    torch.manual_seed(5)
    return getattr(torchvision.models, name)(weights=None).eval().cuda()


@torch.no_grad()
def main():
    torch.manual_seed(3)
    image = torch.randn(1, 3, 64, 64).cuda()  # torch2trt marks the tensor of a conversion for good: each gets a copy
    images = torch.randn(8, 3, 64, 64).cuda()
    for name in ("resnet18", "squeezenet1_1", "densenet121", "mnasnet0_5", "efficientnet_b0"):
        model = network(name)
        tell(name, torch2trt(model, [image.clone()])(image), model, image, model(image))

    model = network("resnet18")
    batches = torch2trt(model, [image.clone()], max_batch_size=8)
    tell("batch 8", batches(images), model, images, model(images))
    tell("batch 3", batches(images[:3]), model, images[:3], model(images[:3]))
    halves = torch2trt(model, [image.clone()], fp16_mode=True, max_batch_size=8)
    tell("FP16", halves(images), model, images, copy.deepcopy(model).cpu().half()(images.cpu().half()))

    data = [[one[None]] for one in torch.randn(32, 3, 64, 64).cuda()]
    integers = torch2trt(model, [image.clone()], int8_mode=True, int8_calib_dataset=data, max_batch_size=8)
    tell("INT8", integers(images), model, images, model(images))
    saved = io.BytesIO()
    torch.save(integers.state_dict(), saved)
    saved.seek(0)
    loaded = TRTModule()
    loaded.load_state_dict(torch.load(saved, weights_only=False))
    assert torch.equal(loaded(images).cpu(), integers(images).cpu())
    print("loaded")


main()
