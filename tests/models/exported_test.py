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

    def engine_of(self, path, feeds, *flags):
        data, engine = (scratch() / name for name in ("exported.npz", "exported.octet"))
        self.numpy.savez(data, **{name: self.numpy.concatenate([array] * 2) for name, array in feeds.items()})
        self.warnings = octet("build", path, "--int8", "--calib", data, "-o", engine, "--json", *flags).json["warnings"]
        return engine

    def layers_of(self, *flags):
        """Those of the INT8 engine, of which all levels give the same outputs, near those of ONNX Runtime."""
        numpy = self.numpy
        path, feeds = self.small.save("y"), self.small.feeds
        self.path = path
        data, target = (scratch() / name for name in ("exported.npz", "exported_y.npz"))
        engine = self.engine_of(path, feeds, *flags)
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

    def test_einsum_of_any_batches(self):
        """The dots of an equation stand for axes that the ranks tell."""
        small = self.small
        x = small.feed("x", self.reals(2, 3, 12, 16))
        hidden = small.node("Relu", [small.node("MatMul", [x, self.weights(16, 16)])])
        scores = small.node("Einsum", [hidden, hidden], equation="...ik,...jk->...ij")
        small.node("Einsum", [scores, self.weights(8, 12)], ["y"], equation="...ik,jk->...ij")
        self.hold(self.layers_of(), 3)

    def test_gemm_of_computed_matrices(self):
        small = self.small
        x = small.feed("x", self.reals(12, 16))
        left, right = (small.node("Relu", [small.node("MatMul", [x, self.weights(16, 16)])]) for _ in range(2))
        product = small.node("Gemm", [left, right, small.node("MatMul", [x, self.weights(16, 12)])], alpha=0.25, beta=0.5, transB=1)
        small.node("MatMul", [product, self.weights(12, 8)], ["y"])
        self.hold(self.layers_of(), 5)

    def normalized(self, x, channels):
        parts = [self.small.const(self.rng.uniform(0.5, 1.5, channels).astype(self.numpy.float32)) for _ in range(4)]
        return self.small.node("Relu", [self.small.node("BatchNormalization", [x, *parts])])

    def test_normalized_concatenations(self):
        """DenseNet: what several layers read is normalized again before each of them."""
        small = self.small
        x = small.feed("x", self.reals(1, 3, 12, 12))
        features = [small.node("Conv", [x, self.weights(8, 3, 3, 3)], pads=[1] * 4)]
        for layer in range(2):
            joined = small.node("Concat", features, axis=1)
            features.append(small.node("Conv", [self.normalized(joined, 8 + 4 * layer), self.weights(4, 8 + 4 * layer, 3, 3)], pads=[1] * 4))
        up = small.node("ConvTranspose", [small.node("Concat", features, axis=1), self.weights(16, 6, 2, 2)], strides=[2, 2])
        small.node("Conv", [self.normalized(up, 6), self.weights(4, 6, 1, 1)], ["y"])
        layers = self.layers_of()
        self.hold(layers, 7)
        self.assertFalse([layer["op"] for layer in layers if layer["precision"] == "f32" and layer["op"] not in ("Reorder", "Reshape")])

    def test_layer_scale_and_scaled_queries(self):
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(1, 16, 32))
        split, joined = small.const(numpy.array([0, -1, 2, 16])), small.const(numpy.array([0, -1, 32]))
        heads = [small.node("Transpose", [small.node("Reshape", [small.node("MatMul", [x, self.weights(32, 32)]), split])], perm=perm)
                 for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
        queries = small.node("Mul", [heads[0], small.const(numpy.float32(0.3))])
        scores = small.node("Softmax", [small.node("MatMul", [queries, heads[1]])], axis=-1)
        mixed = small.node("Transpose", [small.node("MatMul", [scores, heads[2]])], perm=[0, 2, 1, 3])
        result = small.node("MatMul", [small.node("Reshape", [mixed, joined]), self.weights(32, 32)])
        gamma = small.const(self.rng.uniform(0.1, 2, 32).astype(numpy.float32))
        small.node("Add", [x, small.node("Mul", [gamma, small.node("Add", [result, small.const(self.reals(32))])])], ["y"])
        layers = self.layers_of()
        self.hold(layers, 6)
        self.assertFalse({"Mul", "QMul", "QTable"} & {layer["op"] for layer in layers})

    def test_einsums_are_products(self):
        """Attention as Keras writes it: heads in the shape of weights, queries by keys in other orders."""
        small = self.small
        x = small.feed("x", self.reals(1, 16, 32))
        heads = [small.node("Einsum", [x, self.weights(32, 2, 16)], equation="abc,cde->abde") for _ in range(3)]
        scores = small.node("Softmax", [small.node("Einsum", heads[:2], equation="aecd,abcd->acbe")], axis=-1)
        mixed = small.node("Einsum", [scores, heads[2]], equation="acbe,aecd->abcd")
        small.node("Einsum", [mixed, self.weights(2, 16, 32)], ["y"], equation="abcd,cde->abe")
        layers = self.layers_of()
        self.hold(layers, 6)
        self.assertNotIn("Einsum", [layer["op"] for layer in layers])

    def test_a_batch_of_constant_matrices(self):
        """Relative positions: reals multiply by them, for codes there is no kernel."""
        small = self.small
        x = small.feed("x", self.reals(1, 8, 8, 16))
        rows = small.node("MatMul", [x, self.weights(16, 16)])
        small.node("Einsum", [rows, self.weights(8, 6, 16)], ["y"], equation="bhwc,hkc->bhwk")
        engine = self.engine_of(small.save("y"), small.feeds)
        products = [layer for layer in octet("inspect", engine, "--json").json["layers"] if layer["macs"]]
        self.assertEqual([(layer["precision"], layer["reason_code"]) for layer in products],
                         [("int8", "constant_weights"), ("f32", "refused_by_operator")])
        self.assertNotIn("reference", [layer["kernel"] for layer in products])

    def test_a_part_that_no_sample_reaches(self):
        """A detector that finds nothing: its second stage stays real, the first is INT8."""
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(1, 16, 32))
        rows = small.node("MatMul", [x, self.weights(32, 8)])
        boxes = small.node("Reshape", [rows, small.const(numpy.array([-1, 4]))])
        best = small.node("ReduceMax", [boxes], axes=[1], keepdims=0)
        found = small.node("NonZero", [small.node("Greater", [best, small.const(numpy.float32(1e9))])])
        kept = small.node("Gather", [boxes, small.node("Squeeze", [found, small.const(numpy.array([0]))])], axis=0)
        scores = small.node("MatMul", [kept, self.weights(4, 2)])
        small.node("Add", [rows, small.node("ReduceSum", [scores], keepdims=0)], ["y"])
        layers = self.layers_of()
        self.assertEqual([(layer["precision"], layer["reason_code"]) for layer in layers if "MatMul" in layer["op"]],
                         [("int8", "constant_weights"), ("f32", "no_range")])


if __name__ == "__main__":
    harness.main()
