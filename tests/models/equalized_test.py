# SPDX-License-Identifier: Apache-2.0
"""Equalization on every model: with all products kept in float, the INT8 build is the FP32 engine with equalized weights, and gives its bits."""

import unittest

import harness
from harness import need, octet, scratch
from models import MODELS, prepared_images

# Between their convolutions lie functions that no factor passes, or channels are alike.
UNTOUCHED = ("cifar10_silunet", "cifar10_vit", "mobilenet_v1_025_imagenet", "style_candy_instancenorm", "yolox_nano")
PRODUCTS = ["Conv", "ConvTranspose", "MatMul"]


def outputs(engine, feeds):
    numpy = need("numpy")
    source, target = scratch() / "in.npz", scratch() / "out.npz"
    numpy.savez(source, **feeds)
    octet("run", engine, source, "-o", target, "--threads", "2", "--force")
    with numpy.load(target) as values:
        return dict(values)


class Equalized(unittest.TestCase):
    def check(self, name):
        model, fp32, equalized = MODELS[name], scratch() / f"{name}.fp32", scratch() / f"{name}.equalized"
        octet("build", model.path, *model.shapes, "-o", fp32, "--quiet", "--force")
        entry = octet("check", model.path, *model.shapes, "--json").json["inputs"][0]["name"]
        # Those of its operators that multiply: a name that matches nothing is an error.
        operators = {layer["op"] for layer in octet("inspect", fp32, "--json").json["layers"]} & set(PRODUCTS)
        kept = [flag for name in sorted(operators) for flag in ("--keep-float", name)]
        octet("build", model.path, "--int8", "--calib", model.calib, "--max-samples", "4", *model.flags, *model.shapes, *kept, "-o", equalized,
              "--quiet", "--threads", "2", "--force")
        # Or the bits say nothing.
        self.assertEqual(b'"equalized":{' in equalized.read_bytes(), name not in UNTOUCHED, name)
        for image in prepared_images(model, 1):
            truth, got = outputs(fp32, {entry: image}), outputs(equalized, {entry: image})
            for key, value in truth.items():
                self.assertEqual(value.tobytes(), got[key].tobytes(), f"{name}: {key}")


for model_name in MODELS:
    setattr(Equalized, f"test_{model_name.replace('.', '_')}", lambda self, name=model_name: self.check(name))

if __name__ == "__main__":
    harness.main()
