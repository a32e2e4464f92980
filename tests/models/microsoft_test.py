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

    def mask(self, batch, keys):
        """The first keys of each image are seen, of the first all."""
        lengths = self.rng.integers(1, keys, batch)
        lengths[0] = keys
        return (self.numpy.arange(keys)[None] < lengths[:, None]).astype(self.numpy.int32)

    def test_attention_with_its_product(self):
        """Masks of keys and bias of scores; sizes of queries and values that differ; hidden futures."""
        for sizes, attrs in ((None, {}), (None, {"unidirectional": 1}), ([16, 16, 24], {"scale": 0.3})):
            for masked in (False, True):
                with self.subTest(sizes=sizes, masked=masked, **attrs):
                    self.small = small = Small()
                    columns = sum(sizes) if sizes else 48
                    inputs = [small.feed("x", self.reals(2, 5, 12)), self.const(self.reals(12, columns)), self.const(self.reals(columns))]
                    if masked:
                        inputs += [small.feed("m", self.mask(2, 5)), "", small.feed("s", self.reals(2, 4, 5, 5))]
                    given = {"qkv_hidden_sizes": sizes} if sizes else {}
                    small.node("Attention", inputs, ["y"], MS, num_heads=4, **given, **attrs)
                    layers = self.same()
                    self.assertNotIn("Attention", [layer["op"] for layer in layers])

    def test_attention_of_codes(self):
        numpy, rng = self.numpy, self.rng
        for dynamic in (False, True):
            with self.subTest(dynamic=dynamic):
                self.small = small = Small()
                weights = rng.integers(-127, 128, (12, 48)).astype(numpy.int8)
                zero = numpy.int8(0)
                if dynamic:
                    codes, scale, x_zero = "codes", "scale", "zero"
                    small.node("DynamicQuantizeLinear", [small.feed("x", self.reals(2, 5, 12))], [codes, scale, x_zero])
                else:
                    codes, scale, x_zero = (small.feed("x", rng.integers(0, 256, (2, 5, 12)).astype(numpy.uint8)),
                                            self.const(numpy.float32(0.02)), self.const(numpy.uint8(120)))
                inputs = [codes, self.const(weights), self.const(self.reals(48)), scale, self.const(numpy.float32(0.01)),
                          small.feed("m", self.mask(2, 5)), x_zero, self.const(zero)]
                small.node("QAttention", inputs, ["y"], MS, num_heads=4)
                layers = self.same()
                self.assertEqual([layer["op"] for layer in layers].count("QMatMul"), 3)

    def test_attention_of_heads(self):
        """Apart or packed, with a bias, masks, and keys and values of the past."""
        tokens, mask = (2, 5, 24), self.mask(2, 5)
        apart = [self.reals(*tokens) for _ in "qkv"]
        past = [self.reals(2, 4, 3, 6) for _ in "kv"]
        cases = {
            "apart": (apart, {}),
            "bias": ([*apart, self.reals(72)], {}),
            "bias of wider values": ([*apart[:2], self.reals(2, 5, 32), self.reals(80)], {}),
            "masks": ([*apart, None, mask, self.reals(1, 4, 5, 5)], {"mask_filter_value": -50.0}),
            "other keys": ([apart[0], self.reals(2, 7, 24), self.reals(2, 7, 24)], {"scale": 0.25}),
            "past": ([*apart, None, None, None, *past], {"unidirectional": 1}),
        }
        for name, (arrays, attrs) in cases.items():
            with self.subTest(name):
                self.small = small = Small()
                bias = 3
                inputs = ["" if array is None else self.const(array) if i == bias else small.feed(f"i{i}", array)
                          for i, array in enumerate(arrays)]
                outputs = ["y", "k", "v"] if name == "past" else ["y"]
                small.node("MultiHeadAttention", inputs, outputs, MS, num_heads=4, **attrs)
                self.same(*outputs)

    def test_packed_attention_of_heads(self):
        """ONNX Runtime has it on a GPU alone: it is what the parts give apart."""
        numpy = self.numpy
        parts = [self.reals(2, 5, 4, 6) for _ in "qkv"]
        flat = [part.reshape(2, 5, 24) for part in parts]
        for arrays in (flat, [numpy.stack(parts, 3)], [flat[0], numpy.stack(parts[1:], 3)]):
            small = Small()
            inputs = [small.feed(f"i{i}", array) for i, array in enumerate(arrays)]
            small.node("MultiHeadAttention", inputs, ["y"], MS, num_heads=4)
            path = small.save("y")
            if len(arrays) == 3:
                wanted = expected(path, small.feeds)["y"]
            numpy.testing.assert_allclose(got(path, small.feeds)[0]["y"], wanted, rtol=NOISE, atol=NOISE)

    def test_masks_that_are_lengths(self):
        """As EmbedLayerNormalization gives them; of one key, a length is a mask."""
        numpy = self.numpy
        for lengths, tokens in (([5, 3], 5), ([1, 0], 1)):
            self.small = small = Small()
            inputs = [small.feed("x", self.reals(2, tokens, 12)), self.const(self.reals(12, 48)), self.const(self.reals(48)),
                      small.feed("m", numpy.array(lengths, numpy.int32))]
            small.node("Attention", inputs, ["y"], MS, num_heads=4)
            self.same()

    def test_embedded_tokens(self):
        numpy, rng = self.numpy, self.rng
        for positions in (False, True):
            for segments in (False, True):
                with self.subTest(positions=positions, segments=segments):
                    self.small = small = Small()
                    ids = small.feed("ids", rng.integers(0, 30, (2, 5)).astype(numpy.int32))
                    segment = small.feed("seg", rng.integers(0, 2, (2, 5)).astype(numpy.int32)) if segments else ""
                    tables = [self.const(self.reals(rows, 8)) for rows in ((30, 10, 2) if segments else (30, 10))]
                    inputs = [ids, segment, *tables, *([] if segments else [""]), self.const(self.reals(8)), self.const(self.reals(8))]
                    if positions:
                        inputs += [small.feed("shown", self.mask(2, 5)), small.feed("pos", rng.integers(0, 10, (2, 5)).astype(numpy.int32))]
                    small.node("EmbedLayerNormalization", inputs, ["y", "lengths", "sum"], MS, epsilon=1e-6)
                    self.same("y", "lengths", "sum")

    def test_embedded_tokens_of_codes(self):
        numpy, rng = self.numpy, self.rng
        small = self.small
        inputs = [small.feed(name, rng.integers(0, 2, (2, 5)).astype(numpy.int32)) for name in ("ids", "seg")]
        inputs += [self.const(rng.integers(0, 256, shape).astype(numpy.uint8)) for shape in ((30, 8), (10, 8), (2, 8), (8,), (8,))]
        inputs += [""] + [self.const(numpy.float32(s)) for s in (0.02, 0.01, 0.03, 0.005, 0.01)]
        inputs += [self.const(numpy.uint8(z)) for z in (120, 130, 128, 0, 140)]
        small.node("QEmbedLayerNormalization", inputs, ["y", "lengths"], MS, epsilon=1e-6)
        self.same("y", "lengths")

    def test_recurrent_layers_by_codes(self):
        """ONNX Runtime gives the input and the state codes, too, over their own ranges: what that loses of numbers up to 3 is the bound."""
        numpy, rng = self.numpy, self.rng
        for directions, columns in ((1, False), (2, True)):
            with self.subTest(directions=directions):
                self.small = small = Small()
                codes = [rng.integers(-127, 128, (directions, rows, 32)).astype(numpy.int8) for rows in (6, 8)]
                scales = [numpy.full((directions, 32) if columns else (directions,), 0.002, numpy.float32) for _ in codes]
                zeros = [numpy.zeros_like(scale, dtype=numpy.int8) for scale in scales]
                inputs = [small.feed("x", self.reals(7, 2, 6)), *map(self.const, codes), self.const(self.reals(directions, 64)), "", "", "", ""]
                for scale, zero in zip(scales, zeros):
                    inputs += [self.const(scale), self.const(zero)]
                direction = "bidirectional" if directions == 2 else "forward"
                small.node("DynamicQuantizeLSTM", inputs, ["y"], MS, hidden_size=8, direction=direction)
                self.same(atol=0.02)

    def test_choices_of_codes(self):
        numpy, rng = self.numpy, self.rng
        small = self.small
        inputs = [small.feed("c", rng.integers(0, 2, (2, 6)).astype(bool))]
        for name, scale in (("a", 0.02), ("b", 0.05)):
            inputs += [small.feed(name, rng.integers(0, 256, (2, 6)).astype(numpy.uint8)), self.const(numpy.float32(scale)), self.const(numpy.uint8(100))]
        small.node("QLinearWhere", [*inputs, self.const(numpy.float32(0.04)), self.const(numpy.uint8(90))], ["y"], MS)
        self.same()

    def test_operators_of_the_same_name(self):
        numpy, small = self.numpy, self.small
        grid = self.rng.uniform(-1.2, 1.2, (1, 4, 4, 2)).astype(numpy.float32)
        small.node("GridSample", [small.feed("x", self.reals(1, 2, 6, 6)), small.feed("g", grid)], ["y"], MS, mode="bilinear", align_corners=1)
        small.node("Trilu", [small.feed("t", self.reals(4, 5)), self.const(numpy.int64(1))], ["z"], MS, upper=0)
        self.same("y", "z")

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
