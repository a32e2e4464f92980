# SPDX-License-Identifier: Apache-2.0
"""Models with inputs of dynamic size, built once and run at several sizes, against ONNX Runtime."""

import unittest

import harness
from harness import need, octet
from nodes import Small, expected


class TwoBatches(unittest.TestCase):
    """A convolution and a second input meet in an Add: a batch of 1 is spread over the other's, where both may differ."""

    SIZES = (1, 1), (1, 3), (3, 1), (3, 3)
    NAMES = ("n", "m"), (None, None)

    def setUp(self):
        numpy = need("numpy")
        self.rng = numpy.random.default_rng(5)
        self.weights = self.rng.normal(size=(4, 3, 3, 3)).astype(numpy.float32)

    def feeds(self, a, b):
        make = lambda *shape: self.rng.normal(size=shape).astype("float32")
        return {"a": make(a, 3, 8, 8), "b": make(b, 4, 8, 8)}

    def small(self, a, b):
        small = Small()
        small.feeds = self.feeds(1, 1)
        small.shapes = {"a": (a, 3, 8, 8), "b": (b, 4, 8, 8)}
        return small

    def float_model(self, a, b):
        small = self.small(a, b)
        product = small.node("Conv", ["a", small.const(self.weights)], pads=[1] * 4)
        small.node("Add", [product, "b"], ["y"])
        return small.save("y")

    def qdq_model(self, a, b):
        numpy = need("numpy")
        small = self.small(a, b)

        def pair(value, scale, outputs=None):
            parameters = [small.const(numpy.float32(scale)), small.const(numpy.uint8(128))]
            codes = small.node("QuantizeLinear", [value, *parameters])
            return small.node("DequantizeLinear", [codes, *parameters], outputs)

        codes = numpy.clip(numpy.rint(self.weights * 32), -127, 127).astype(numpy.int8)
        weights = small.node("DequantizeLinear", [small.const(codes), small.const(numpy.float32(1 / 32))])
        product = small.node("Conv", [pair("a", 1 / 32), weights], pads=[1] * 4)
        pair(small.node("Add", [pair(product, 1 / 8), pair("b", 1 / 32)]), 1 / 4, ["y"])
        return small.save("y")

    def run_sizes(self, path, sizes, atol):
        numpy = need("numpy")
        engine, source, target = (path.with_suffix(end) for end in (".octet", ".in.npz", ".out.npz"))
        octet("build", path, "-o", engine, "--quiet")
        for a, b in sizes:
            with self.subTest(f"batches {a} and {b}"):
                feeds = self.feeds(a, b)
                numpy.savez(source, **feeds)
                octet("run", engine, source, "-o", target)
                numpy.testing.assert_allclose(numpy.load(target)["y"], expected(path, feeds)["y"], rtol=0, atol=atol)
        return [layer["op"] for layer in octet("inspect", engine, "--json").json["layers"]]

    def test_float(self):
        for names in self.NAMES:
            with self.subTest(names):
                self.run_sizes(self.float_model(*names), self.SIZES, 1e-5)

    def test_codes(self):
        """To the bit: with scales that are powers of two nothing depends on the order of roundings."""
        for names in self.NAMES:
            with self.subTest(names):
                self.run_sizes(self.qdq_model(*names), self.SIZES, 0)

    def test_one_name_is_one_size(self):
        """Then the convolution may add."""
        self.assertNotIn("Add", self.run_sizes(self.float_model("n", "n"), [(1, 1), (3, 3)], 1e-5))
        self.assertNotIn("QAdd", self.run_sizes(self.qdq_model("n", "n"), [(1, 1), (3, 3)], 0))


if __name__ == "__main__":
    harness.main()
