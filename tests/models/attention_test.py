#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention, the operator that exporters write from opset 23 on: on the kernels of its products, in INT8 where those are, and what ONNX
Runtime gives."""

import unittest

import harness
from harness import need, octet, scratch
from nodes import Small, expected, got

NOISE = 1e-5  # of sums of a few dozen reals in another order


class Attention(unittest.TestCase):
    def setUp(self):
        self.numpy = need("numpy")
        self.rng = self.numpy.random.default_rng(5)
        self.small = Small(23)

    def reals(self, *shape):
        return self.rng.normal(0, 1, shape).astype(self.numpy.float32)

    def feeds(self, q=(2, 4, 3, 8), k=(2, 4, 5, 8), v=None):
        return [self.small.feed(name, self.reals(*shape)) for name, shape in (("q", q), ("k", k), ("v", v or k))]

    def hold(self, inputs, outputs=("y",), **attrs):
        self.small.node("Attention", inputs, list(outputs), **attrs)
        path = self.small.save(*outputs)
        wanted = expected(path, self.small.feeds)
        result, layers = got(path, self.small.feeds)
        for name, value in wanted.items():
            self.numpy.testing.assert_allclose(result[name].reshape(value.shape), value, rtol=NOISE, atol=NOISE)
        operators = [layer["op"] for layer in layers]
        self.assertNotIn("Attention", operators)
        return layers

    def test_heads_of_their_own(self):
        layers = self.hold(self.feeds(v=(2, 4, 5, 6)))
        self.assertNotIn("reference", [layer["kernel"] for layer in layers if layer["op"] in ("MatMul", "Softmax", "Mul")])

    def test_heads_side_by_side(self):
        self.hold(self.feeds((2, 3, 32), (2, 5, 32), (2, 5, 24)), q_num_heads=4, kv_num_heads=4, scale=0.3)

    def test_heads_that_share_keys(self):
        for rank in (3, 4):
            with self.subTest(rank=rank):
                self.small = Small(23)
                flat = {"q_num_heads": 4, "kv_num_heads": 2} if rank == 3 else {}
                shapes = [(2, 3, 32), (2, 5, 16), (2, 5, 12)] if rank == 3 else [(2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)]
                mask = self.small.feed("mask", self.reals(2, 1, 3, 5))
                self.hold([*self.feeds(*shapes), mask], **flat)

    def test_masks(self):
        numpy = self.numpy
        seen = self.rng.uniform(0, 1, (2, 4, 3, 5)) > 0.4
        seen[1, 2, 1] = False  # a query without any key
        hidden = numpy.where(seen, 0, -numpy.inf).astype(numpy.float32)
        for mask in (seen, hidden, self.reals(3, 5), self.reals(1, 4, 3, 5)):
            for constant in (False, True):
                with self.subTest(shape=mask.shape, type=mask.dtype, constant=constant):
                    self.small = Small(23)
                    self.hold([*self.feeds(), self.small.const(mask) if constant else self.small.feed("mask", mask)])

    def test_keys_that_come_later(self):
        for softcap in (0.0, 2.0):
            self.small = Small(23)
            self.hold(self.feeds((2, 4, 5, 8)), is_causal=1, softcap=softcap)

    def test_open_lengths(self):
        shapes = self.small.shapes
        shapes["q"] = shapes["k"] = shapes["v"] = ["n", 4, "length", 8]
        self.hold(self.feeds((2, 4, 5, 8)), is_causal=1)

    def test_keys_of_before(self):
        inputs = self.feeds((1, 4, 3, 8), (1, 2, 3, 8))
        past = [self.small.feed(name, self.reals(1, 2, 4, 8)) for name in ("past_k", "past_v")]
        for name in ("past_k", "past_v"):
            self.small.shapes[name] = [1, 2, "before", 8]
        self.hold([*inputs, "", *past], ("y", "present_k", "present_v"), is_causal=1)

    def test_in_codes(self):
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(2, 6, 32))
        parts = [small.node("MatMul", [x, small.const(self.reals(32, 32) / 6)]) for _ in range(3)]
        mixed = small.node("Attention", parts, q_num_heads=4, kv_num_heads=4)
        small.node("MatMul", [mixed, small.const(self.reals(32, 8) / 6)], ["y"])
        path, data, engine = small.save("y"), scratch() / "attention.npz", scratch() / "attention.octet"
        numpy.savez(data, x=numpy.concatenate([small.feeds["x"]] * 2))
        octet("build", path, "--int8", "--calib", data, "-o", engine, "--quiet")
        layers = octet("inspect", engine, "--json").json["layers"]
        self.assertEqual([layer["precision"] for layer in layers if layer["macs"]], ["int8"] * 6)
        self.assertNotIn("reference", [layer["kernel"] for layer in layers])

    def written_softmax(self, form, scores):
        small, numpy = self.small, self.numpy
        if form == "operator":
            return small.node("Softmax", [scores], axis=-1)
        last = small.const(numpy.array([-1]))
        below = small.node("Sub", [scores, small.node("ReduceMax", [scores], axes=[-1], keepdims=1)])
        exponentials = small.node("Exp", [below])
        total = small.node("ReduceSum", [exponentials, last], keepdims=1)
        if form == "product":
            return small.node("Mul", [exponentials, small.node("Reciprocal", [total])])
        return small.node("Div", [exponentials, total])

    def test_a_softmax_written_out_is_in_codes_too(self):
        numpy, results = self.numpy, {}
        for form in ("operator", "quotient", "product"):
            self.rng = numpy.random.default_rng(6)
            small = self.small = Small(17)
            x = small.feed("x", self.reals(2, 6, 32))
            heads = [small.node("Transpose", [small.node("Reshape", [small.node("MatMul", [x, small.const(self.reals(32, 32) / 6)]),
                     small.const(numpy.array([0, 6, 4, 8]))])], perm=perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
            shares = self.written_softmax(form, small.node("MatMul", heads[:2]))
            mixed = small.node("Transpose", [small.node("MatMul", [shares, heads[2]])], perm=[0, 2, 1, 3])
            rows = small.node("Reshape", [mixed, small.const(numpy.array([0, 6, 32]))])
            small.node("MatMul", [rows, small.const(self.reals(32, 8) / 6)], ["y"])
            path, data = small.save("y"), scratch() / f"written_{form}.npz"
            numpy.savez(data, x=numpy.concatenate([small.feeds["x"]] * 2))
            result, layers = got(path, small.feeds, "--int8", "--calib", data)
            self.assertEqual([layer["precision"] for layer in layers if layer["macs"]], ["int8"] * 6, form)
            self.assertEqual([layer["op"] for layer in layers if "oftmax" in layer["op"]], ["QSoftmax"], form)
            wanted = expected(path, small.feeds)["y"]
            noise = numpy.sqrt(numpy.mean((result["y"] - wanted) ** 2) / numpy.mean(wanted ** 2))
            results[form] = result["y"]
            self.assertLess(noise, 0.03, form)  # 30 dB: one scale of 255 codes for each tensor
        # The same codes as with the operator.
        numpy.testing.assert_array_equal(results["quotient"], results["operator"])
        numpy.testing.assert_array_equal(results["product"], results["operator"])

    def test_the_guard_against_nan_is_no_layer(self):
        """PyTorch's exporter writes it behind the Softmax of masked attention. Codes say 0 for NaN by themselves."""
        small, numpy = self.small, self.numpy
        q, k, v = self.feeds((1, 4, 6, 8), (1, 4, 8, 6), (1, 4, 6, 8))
        seen = self.rng.uniform(0, 1, (1, 1, 6, 6)) > 0.3
        seen[0, 0, 2] = False  # a query without any key
        scores = small.node("Where", [small.feed("seen", seen), small.node("MatMul", [q, k]), small.const(numpy.float32(-numpy.inf))])
        shares = small.node("Softmax", [scores], axis=-1)
        shares = small.node("Where", [small.node("IsNaN", [shares]), small.const(numpy.float32(0)), shares])
        small.node("MatMul", [shares, v], ["y"])
        path, engine = small.save("y"), scratch() / "guard.octet"
        data, one, target = (scratch() / name for name in ("guard.npz", "guard_in.npz", "guard_out.npz"))
        numpy.savez(data, **{name: numpy.concatenate([array] * 2) for name, array in small.feeds.items()})
        octet("build", path, "--int8", "--calib", data, "-o", engine, "--quiet")
        layers = octet("inspect", engine, "--json").json["layers"]
        self.assertEqual([layer["op"] for layer in layers if layer["op"] in ("IsNaN", "Where", "Softmax")], ["Where"])
        self.assertEqual([layer["nodes"] for layer in layers if layer["op"] == "QSoftmax"], [["n2_Softmax", "n3_IsNaN", "n4_Where"]])
        numpy.savez(one, **small.feeds)
        octet("run", engine, one, "-o", target)
        with numpy.load(target) as arrays:
            numpy.testing.assert_array_equal(arrays["y"][0, :, 2], 0)

    def test_what_stays(self):
        """Lengths that data give, for each image."""
        numpy = self.numpy
        small = self.small = Small(24)
        lengths = small.feed("lengths", numpy.array([5, 2]))
        small.node("Attention", [*self.feeds(), "", "", "", lengths], ["y"])
        path = small.save("y")
        _, layers = got(path, small.feeds)
        self.assertIn("Attention", [layer["op"] for layer in layers])


if __name__ == "__main__":
    harness.main()
