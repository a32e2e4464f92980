#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Float models with what exporters write beside products become INT8 by calibration: bilinear Resize, masks that are infinite,
convolutions of sequences, choices. Against ONNX Runtime, and at every level the same bits."""

import unittest

import harness
from harness import need, octet, scratch
from nodes import Small, expected

LEAST_DB = 25  # of codes of 8 bits on a few layers of random weights


class Exported(unittest.TestCase):
    def setUp(self):
        self.numpy = need("numpy")
        self.rng = self.numpy.random.default_rng(47)
        self.small = Small()

    def reals(self, *shape):
        return self.rng.normal(0, 1, shape).astype(self.numpy.float32)

    def weights(self, *shape):
        fan_in = self.numpy.prod(shape[1:])
        return self.small.const(self.reals(*shape) / self.numpy.float32(self.numpy.sqrt(fan_in)))

    def layers_of(self, *flags):
        """Those of the INT8 engine, of which all levels give the same outputs, near those of ONNX Runtime."""
        numpy = self.numpy
        path, feeds = self.small.save("y"), self.small.feeds
        self.path = path
        data, target, engine = (scratch() / name for name in ("exported.npz", "exported_y.npz", "exported.octet"))
        numpy.savez(data, **{name: numpy.concatenate([array] * 2) for name, array in feeds.items()})
        built = octet("build", path, "--int8", "--calib", data, "-o", engine, "--json", *flags).json
        self.warnings = built["warnings"]
        numpy.savez(data, **feeds)
        results = []
        for isa in ("none", "avx2", "avx_vnni", "vnni"):
            octet("run", engine, data, "-o", target, env={"OCTET_CPU_ISA": isa})
            with numpy.load(target) as arrays:
                results.append(arrays["y"])
        for other in results[1:]:
            numpy.testing.assert_array_equal(results[0], other)
        truth = expected(path, feeds)["y"].astype(numpy.float64)
        error = ((truth - results[0].reshape(truth.shape)) ** 2).sum()
        self.assertGreater(10 * numpy.log10((truth**2).sum() / max(error, 1e-30)), LEAST_DB)
        return octet("inspect", engine, "--json").json["layers"]

    def hold(self, layers, int8):
        """So many products in INT8, none of them on the reference."""
        products = [layer for layer in layers if layer["macs"]]
        self.assertEqual([layer["precision"] for layer in products], ["int8"] * int8)
        self.assertNotIn("reference", [layer["kernel"] for layer in products])

    def test_bilinear_resize(self):
        """An interpolation of reals says nothing of codes: the model was taken for a quantized one."""
        small = self.small
        x = small.feed("x", self.reals(1, 3, 16, 16))
        low = small.node("Conv", [x, self.weights(8, 3, 3, 3)], pads=[1] * 4, strides=[2] * 2)
        sizes = small.const(self.numpy.array([1, 1, 2, 2], self.numpy.float32))
        high = small.node("Resize", [low, "", sizes], mode="linear", coordinate_transformation_mode="half_pixel")
        small.node("Conv", [high, self.weights(4, 8, 3, 3)], ["y"], pads=[1] * 4)
        self.hold(self.layers_of(), 2)
        self.assertFalse([text for text in self.warnings if "Q/DQ" in text])

    def attention(self, choose):
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(1, 16, 32))
        split = small.const(numpy.array([0, -1, 2, 16]))
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            part = small.node("Reshape", [small.node("MatMul", [x, self.weights(32, 32)]), split])
            parts.append(small.node("Transpose", [part], perm=perm))
        scores = choose(small.node("MatMul", parts[:2]))
        mixed = small.node("MatMul", [small.node("Softmax", [scores], axis=-1), parts[2]])
        joined = small.node("Reshape", [small.node("Transpose", [mixed], perm=[0, 2, 1, 3]), small.const(numpy.array([0, -1, 32]))])
        small.node("MatMul", [joined, self.weights(32, 8)], ["y"])

    def test_an_infinite_mask_is_added(self):
        numpy = self.numpy
        mask = numpy.triu(numpy.full((16, 16), -numpy.inf, numpy.float32), 1)
        self.attention(lambda scores: self.small.node("Add", [scores, self.small.const(mask)]))
        cache, again = scratch() / "exported.cache", scratch() / "again.octet"
        self.hold(self.layers_of("--calib-cache", cache), 6)
        octet("build", self.path, "--int8", "--calib-cache", cache, "-o", again, "--quiet")
        self.hold(octet("inspect", again, "--json").json["layers"], 6)

    def test_scores_are_chosen(self):
        numpy = self.numpy
        mask = self.small.const(numpy.tril(numpy.ones((16, 16), bool)))
        lowest = self.small.const(numpy.float32(-numpy.inf))
        self.attention(lambda scores: self.small.node("Where", [mask, scores, lowest]))
        layers = self.layers_of()
        self.hold(layers, 6)
        self.assertEqual([layer["kernel"] for layer in layers if layer["op"] == "Where"], ["f32_where"])

    def test_convolutions_of_sequences(self):
        small = self.small
        x = small.feed("x", self.reals(1, 4, 40))
        first = small.node("Conv", [x, self.weights(8, 4, 5)], pads=[2, 1], strides=[2])
        relu = small.node("Relu", [first])
        deep = small.node("Conv", [relu, self.weights(8, 1, 3)], pads=[2, 2], dilations=[2], group=8)
        same = small.node("Conv", [small.node("Elu", [deep]), self.weights(8, 8, 1)])
        small.node("Conv", [small.node("Add", [same, relu]), self.weights(6, 4, 3)], ["y"], group=2)
        layers = self.layers_of()
        self.hold(layers, 4)
        self.assertLessEqual(sum(layer["op"] in ("Unsqueeze", "Squeeze") for layer in layers), 2)


if __name__ == "__main__":
    harness.main()
