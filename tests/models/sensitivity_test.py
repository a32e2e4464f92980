# SPDX-License-Identifier: Apache-2.0
"""octet sensitivity on real networks: the order that at most 40 passes find is that of a loop which builds a whole engine for each layer and runs it over the
samples (Kendall's tau)."""

import unittest

import harness
from harness import need, octet, scratch
from models import MODELS, prepared_images
from rankings import kendall

SAMPLES = 40
LEAST_TAU = 0.8


class Loop:
    """Every layer of a network by itself in INT8, all others in f32."""

    def __init__(self, name):
        numpy = need("numpy")
        self.model = MODELS[name]
        self.data, self.cache = scratch() / "samples.npz", scratch() / f"{name}.cache"
        session = need("onnxruntime").InferenceSession(str(self.model.path), providers=["CPUExecutionProvider"])
        numpy.savez(self.data, **{session.get_inputs()[0].name: numpy.concatenate(list(prepared_images(self.model, SAMPLES)))})
        octet("build", self.model.path, "--int8", "--calib", self.data, "--calib-cache", self.cache, "-o", scratch() / "any.octet", "--quiet", "--force")
        self.truth = self.outputs(())

    def outputs(self, flags):
        engine, target = scratch() / "brute.octet", scratch() / "out.npz"
        octet("build", self.model.path, *flags, "-o", engine, "--quiet", "--force")
        octet("run", engine, self.data, "-o", target, "--force")
        with need("numpy").load(target) as outputs:
            return {key: array.astype("d") for key, array in outputs.items()}

    def loss(self, kept):
        """The squared error of the outputs, as a part of their power."""
        keep = [flag for name in kept for flag in ("--keep-float", name)]
        got = self.outputs(("--int8", "--calib-cache", self.cache, *keep))
        error = sum(((got[key] - want) ** 2).sum() for key, want in self.truth.items())
        return error / sum((want**2).sum() for want in self.truth.values())


class Order(unittest.TestCase):
    def hold(self, name):
        loop = Loop(name)
        found = octet("sensitivity", loop.model.path, "--calib-cache", loop.cache, "--data", loop.data, "--samples", SAMPLES, "--no-times", "--json").json
        layers = {layer["layers"][0]: layer["alone"] for layer in found["layers"] if len(layer["layers"]) == 1}
        self.assertGreater(len(layers), 10)
        self.assertLessEqual(found["passes"], 40)
        truth = {layer: loop.loss([other for other in layers if other != layer]) for layer in layers}
        tau = kendall(truth, layers)
        print(f"{name}: {len(layers)} layers, {found['samples']} of {SAMPLES} samples, {found['passes']:.1f} passes, tau {tau:.3f}")
        self.assertGreater(tau, LEAST_TAU)

    def test_residual_network(self):
        self.hold("cifar10_resnet20")

    def test_network_of_silu_and_concat(self):
        self.hold("cifar10_silunet")

    def test_transformer(self):
        self.hold("cifar10_vit")


if __name__ == "__main__":
    harness.main()
