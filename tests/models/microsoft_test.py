#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators of com.microsoft that ONNX Runtime's tools write: read as ONNX's own, they give what ONNX Runtime gives, and what they
stand for becomes INT8 where it would without them."""

import unittest

import harness
from harness import need, octet, scratch
from nodes import Small, expected, got

MS = "com.microsoft"
NOISE = 1e-5  # of sums of a few dozen reals in another order


class Microsoft(unittest.TestCase):
    def setUp(self):
        self.numpy = need("numpy")
        self.rng = self.numpy.random.default_rng(7)
        self.small = Small()

    def reals(self, *shape):
        return self.rng.normal(0, 1, shape).astype(self.numpy.float32)

    def const(self, array):
        return self.small.const(self.numpy.asarray(array))

    def same(self, *outputs, atol=NOISE):
        path = self.small.save(*(outputs or ("y",)))
        wanted = expected(path, self.small.feeds)
        result, layers = got(path, self.small.feeds)
        for name, value in wanted.items():
            self.numpy.testing.assert_allclose(result[name], value, rtol=NOISE, atol=atol)
        return layers

    def products(self):
        """The products of the INT8 engine of what was saved last."""
        numpy = self.numpy
        path, data, engine = self.small.save("y"), scratch() / "microsoft.npz", scratch() / "microsoft.octet"
        numpy.savez(data, **{name: numpy.concatenate([array] * 2) for name, array in self.small.feeds.items()})
        octet("build", path, "--int8", "--calib", data, "-o", engine, "--quiet")
        return [layer["precision"] for layer in octet("inspect", engine, "--json").json["layers"] if layer["macs"]]

    def test_functions(self):
        for op, bias, attrs in (("Gelu", False, {}), ("BiasGelu", True, {}), ("FastGelu", True, {}), ("FastGelu", False, {}),
                                ("QuickGelu", False, {}), ("QuickGelu", False, {"alpha": 0.5})):
            with self.subTest(op):
                self.small = Small()
                x = self.small.feed("x", self.reals(2, 3, 8))
                inputs = [x, self.const(self.reals(8))] if bias else [x]
                self.small.node(op, inputs, ["y"], MS, **attrs)
                self.same()

    def test_sums_are_normalized(self):
        numpy = self.numpy
        for op, beta in (("SkipLayerNormalization", [self.reals(8)]), ("SkipSimplifiedLayerNormalization", [])):
            for bias in ([], [self.reals(8)]):
                with self.subTest(op, bias=bool(bias)):
                    self.small = Small()
                    parts = [self.small.feed("x", self.reals(2, 3, 8)), self.small.feed("s", self.reals(2, 3, 8))]
                    parts += [self.const(part) for part in [numpy.ones(8, numpy.float32), *beta, *bias]]
                    self.small.node(op, parts, ["y", "", "", "sum"], MS, epsilon=1e-6)
                    self.same("y", "sum")

    def test_simplified_layer_normalization(self):
        x = self.small.feed("x", self.reals(2, 3, 8))
        self.small.node("SimplifiedLayerNormalization", [x, self.const(self.reals(8))], ["y"], axis=-1, epsilon=1e-6, stash_type=1)
        self.same()

    def test_fused_convolutions(self):
        for activation, parameters in (("Relu", None), ("Tanh", None), ("LeakyRelu", [0.2]), ("HardSigmoid", [0.3, 0.4]),
                                       ("Clip", [-0.5, 0.5])):
            with self.subTest(activation):
                self.small = small = Small()
                x, z = small.feed("x", self.reals(2, 3, 6, 6)), small.feed("z", self.reals(2, 4, 6, 6))
                attrs = {"activation_params": parameters} if parameters else {}
                inputs = [x, self.const(self.reals(4, 3, 3, 3)), self.const(self.reals(4)), z]
                small.node("FusedConv", inputs, ["y"], MS, activation=activation, pads=[1] * 4, **attrs)
                self.same()
        self.assertEqual(self.products(), ["int8"])

    def test_fused_products(self):
        small = self.small
        x = small.feed("x", self.reals(5, 8))
        attrs = {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.25}
        x = small.node("FusedGemm", [x, self.const(self.reals(6, 8)), self.const(self.reals(6))], None, MS, **attrs)
        small.node("FusedMatMul", [x, x], ["y"], MS, transB=1, alpha=0.3)
        self.same()

    def test_fused_products_of_batches(self):
        """Any ranks, and on kernels: each is a MatMul in the end."""
        shapes = {(0, 0): ((2, 3, 4, 5), (2, 3, 5, 6)), (1, 0): ((2, 3, 5, 4), (2, 3, 5, 6)), (0, 1): ((2, 3, 4, 5), (3, 6, 5)),
                  (1, 1): ((3, 5, 4), (6, 5))}
        for (left, right), (a, b) in shapes.items():
            with self.subTest(transA=left, transB=right):
                self.small = Small()
                inputs = [self.small.feed("a", self.reals(*a)), self.small.feed("b", self.reals(*b))]
                self.small.node("FusedMatMul", inputs, ["y"], MS, transA=left, transB=right, alpha=0.125)
                layers = self.same()
                self.assertIn("MatMul", [layer["op"] for layer in layers])

    def nbits(self, bits, zeros, columns=70, rows=6, block=32):
        numpy, rng = self.numpy, self.rng
        blocks = -(-columns // block)
        codes = rng.integers(0, 256, (rows, blocks, block * bits // 8)).astype(numpy.uint8)
        scales = rng.uniform(0.01, 0.02, rows * blocks).astype(numpy.float32)
        inputs = [self.small.feed("x", self.reals(2, 3, columns)), self.const(codes), self.const(scales)]
        if zeros:
            inputs.append(self.const(rng.integers(0, 256, rows * -(-blocks * bits // 8)).astype(numpy.uint8)))
        self.small.node("MatMulNBits", inputs, ["y"], MS, K=columns, N=rows, bits=bits, block_size=block)

    def test_products_by_small_codes(self):
        for bits in (4, 8):
            for zeros in (False, True):
                with self.subTest(bits=bits, zeros=zeros):
                    self.small = Small()
                    self.nbits(bits, zeros)
                    self.same(atol=1e-4)  # of codes up to 255, with the same scale
        self.assertEqual(self.products(), ["int8"])

    def test_sizes_that_do_not_fit_small_codes(self):
        self.nbits(4, False)
        self.small.nodes[-1].attribute[0].i = 1 << 40
        path = self.small.save("y")
        self.assertIn("expected positive sizes", octet("check", path, code=2).out)

    def test_products_of_codes_and_scales(self):
        """Ranges of the run, or given; zero points and bias may be left out."""
        numpy, rng = self.numpy, self.rng
        for dtype, low in (("int8", -127), ("uint8", 0)):
            for zeros in (False, True):
                with self.subTest(dtype, zeros=zeros):
                    codes = rng.integers(low, 128, (16, 6)).astype(dtype)
                    scales, zero = rng.uniform(0.01, 0.02, 6).astype(numpy.float32), rng.integers(low, 100, 6).astype(dtype)
                    self.small = small = Small()
                    rest = [self.const(zero) if zeros else "", self.const(self.reals(6))]
                    x = small.feed("x", self.reals(5, 16))
                    small.node("DynamicQuantizeMatMul", [x, self.const(codes), self.const(scales), *rest], ["y"], MS)
                    a = small.feed("a", rng.integers(0, 256, (5, 16)).astype(numpy.uint8))
                    given = [self.const(numpy.float32(0.03)), self.const(scales), self.const(numpy.uint8(7)), *rest]
                    small.node("MatMulIntegerToFloat", [a, self.const(codes), *given], ["z"], MS)
                    layers = self.same("y", "z")
                    self.assertEqual([layer["op"] for layer in layers].count("QMatMul"), 2)
                    self.assertNotIn("reference", [layer["kernel"] for layer in layers])

    def test_codes_of_16_bits(self):
        numpy, small = self.numpy, self.small
        value = small.feed("x", self.reals(2, 3, 8, 8))
        parameters = [self.const(numpy.float32(1 / 8000)), self.const(numpy.uint16(32768))]
        codes = small.node("QuantizeLinear", [value, *parameters], None, MS)
        value = small.node("DequantizeLinear", [codes, *parameters], None, MS)
        small.node("Conv", [value, self.const(self.reals(4, 3, 3, 3))], ["y"])
        self.same()


if __name__ == "__main__":
    harness.main()
