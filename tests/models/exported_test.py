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
        self.assertNotIn("Where", [layer["op"] for layer in layers])  # hidden scores are a sum

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

    def test_recurrent_layers_have_kernels(self):
        """As PyTorch writes nn.LSTM and nn.GRU: two directions, states of zeros, a product behind them."""
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(12, 2, 20))
        states = [small.const(numpy.zeros((2, 2, 24), numpy.float32)) for _ in range(2)]
        bias = [small.const(self.reals(2, 2 * rows) / 4) for rows in (96, 72)]
        first = small.node("LSTM", [x, self.weights(2, 96, 20), self.weights(2, 96, 24), bias[0], "", *states], ["lstm"],
                           hidden_size=24, direction="bidirectional")
        joined = small.node("Reshape", [small.node("Transpose", [first], perm=[0, 2, 1, 3]), small.const(numpy.array([0, 0, -1]))])
        second = small.node("GRU", [joined, self.weights(2, 72, 48), self.weights(2, 72, 24), bias[1], "", states[0]], ["gru"],
                            hidden_size=24, direction="bidirectional", linear_before_reset=1)
        rows = small.node("Reshape", [small.node("Transpose", [second], perm=[0, 2, 1, 3]), small.const(numpy.array([0, 0, -1]))])
        small.node("MatMul", [rows, self.weights(48, 10)], ["y"])
        layers = self.layers_of()
        self.hold(layers, 3)
        self.assertLessEqual({"QLSTM", "QGRU"}, {layer["op"] for layer in layers})
        kernels = {layer["op"]: layer["kernel"] for layer in self.layers_of("--keep-float", "LSTM", "--keep-float", "GRU")}
        self.assertRegex(kernels["LSTM"], "^f32_recurrent_")
        self.assertRegex(kernels["GRU"], "^f32_recurrent_")

    def test_tokens_normalized_by_batches(self):
        """LeViT: a product of tokens, flattened to one matrix and normalized by channels."""
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(1, 12, 16))
        for width, reads in ((24, 16), (16, 24)):
            rows = small.node("MatMul", [x, self.weights(reads, width)])
            parts = [small.const(self.rng.uniform(0.5, 1.5, width).astype(numpy.float32)) for _ in range(4)]
            flat = small.node("BatchNormalization", [small.node("Reshape", [rows, small.const(numpy.array([-1, width]))]), *parts])
            x = small.node("HardSwish", [small.node("Reshape", [flat, small.const(numpy.array([1, 12, width]))])])
        small.node("MatMul", [x, self.weights(16, 8)], ["y"])
        layers = self.layers_of()
        self.hold(layers, 3)
        self.assertFalse({"BatchNormalization"} & {layer["op"] for layer in layers})

    def test_softmax_of_channels_and_bins(self):
        """Segmentation, and boxes as distributions (YOLO): an axis that is not the last."""
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(1, 3, 12, 12))
        features = small.node("Relu", [small.node("Conv", [x, self.weights(32, 3, 3, 3)], pads=[1] * 4)])
        classes = small.node("Softmax", [small.node("Conv", [features, self.weights(8, 32, 1, 1)])], axis=1)
        bins = small.node("Reshape", [small.node("Conv", [features, self.weights(64, 32, 1, 1)]), small.const(numpy.array([1, 4, 16, -1]))])
        shares = small.node("Softmax", [small.node("Transpose", [bins], perm=[0, 2, 1, 3])], axis=1)
        sides = small.node("Conv", [shares, small.const(numpy.arange(16, dtype=numpy.float32).reshape(1, 16, 1, 1))])
        joined = [small.node("Reshape", [part, small.const(numpy.array([1, -1, 144]))]) for part in (classes, sides)]
        small.node("Concat", joined, ["y"], axis=1)
        layers = self.layers_of()
        self.assertNotIn("reference", [layer["kernel"] for layer in layers])

    def test_volumes_stay_real(self):
        """Codes of volumes have no kernel: these layers ran on the reference."""
        small = self.small
        x = small.feed("x", self.reals(1, 3, 6, 10, 10))
        low = small.node("Conv", [x, self.weights(8, 3, 3, 3, 3)], pads=[1] * 6, strides=[1, 2, 2])
        parts = [small.const(self.rng.uniform(0.5, 1.5, 8).astype(self.numpy.float32)) for _ in range(2)]
        normal = small.node("LeakyRelu", [small.node("InstanceNormalization", [low, *parts])])
        small.node("Conv", [normal, self.weights(4, 8, 3, 3, 3)], ["y"], pads=[1] * 6)
        engine = self.engine_of(small.save("y"), small.feeds)
        layers = octet("inspect", engine, "--json").json["layers"]
        self.assertEqual([layer["reason"] for layer in layers if layer["op"] == "Conv"],
                         ["reals of volumes are faster than codes, which have no kernel of their own"] * 2)
        self.assertNotIn("reference", [layer["kernel"] for layer in layers])

    def test_constants_beside_codes(self):
        """What attention adds to queries (Conformer, Transformer-XL) and what stands on one axis of several: codes of constants."""
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(1, 12, 32))
        queries = small.node("Reshape", [small.node("MatMul", [x, self.weights(32, 32)]), small.const(numpy.array([0, -1, 2, 16]))])
        turned = small.node("Transpose", [small.node("Add", [queries, small.const(self.reals(2, 16))])], perm=[0, 2, 1, 3])
        keys = small.node("Transpose", [small.node("Reshape", [small.node("MatMul", [x, self.weights(32, 32)]),
                                                              small.const(numpy.array([0, -1, 2, 16]))])], perm=[0, 2, 3, 1])
        scaled = small.node("Mul", [turned, small.const(self.reals(2, 1, 16))])
        small.node("MatMul", [small.node("MatMul", [scaled, keys]), self.weights(12, 6)], ["y"])
        layers = self.layers_of()
        self.hold(layers, 4)
        self.assertNotIn("reference", [layer["kernel"] for layer in layers])

    def test_brain_floats_of_fully_connected_layers(self):
        """A model whose only products are Gemms of bf16, between casts: it ran on the reference."""
        small, numpy = self.small, self.numpy
        x = small.feed("x", self.reals(4, 32))
        narrow = small.node("Cast", [x], to=16)
        for reads, width in ((32, 48), (48, 8)):
            weights = small.node("Cast", [self.weights(width, reads)], to=16)
            narrow = small.node("Gemm", [narrow, weights, small.node("Cast", [small.const(self.reals(width))], to=16)], transB=1)
        small.node("Cast", [narrow], ["y"], to=1)
        engine = self.engine_of(small.save("y"), small.feeds)
        layers = octet("inspect", engine, "--json").json["layers"]
        self.hold(layers, 2)

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
