#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One layer of a transformer, written as each exporter writes it: node patterns of TorchScript's and of the dynamo exporter, eager and SDPA,
torch.bmm, with masks given, constant, chosen and none, of static and of dynamic sizes. In f32 each gives what ONNX Runtime gives; in INT8 each
reaches the same kernels, and forms that differ in nothing but their nodes the same bytes."""

import unittest

import harness
from harness import emulated_gpu, need, octet, scratch
from nodes import Small, expected, got

NOISE = 1e-5  # of sums of a few dozen reals in another order
LEAST = -3.4028234663852886e38
BATCH, LENGTH, HEADS, SIZE = 8, 80, 2, 64
WIDTH = HEADS * SIZE


class Layer:
    """Attention, a residual and LayerNormalization, then a product: the nodes of one way to export it."""

    def __init__(self, scale, keys="turned", mask=None, joined=False, dynamic=False):
        self.numpy = need("numpy")
        self.rng = self.numpy.random.default_rng(3)
        self.net = Small(17)
        self.scale, self.keys, self.mask, self.joined, self.dynamic = scale, keys, mask, joined, dynamic

    def number(self, value):
        return self.net.const(self.numpy.float32(value))

    def ints(self, *values):
        return self.net.const(self.numpy.array(values, self.numpy.int64))

    def linear(self, x, into):
        weight = self.net.const(self.rng.normal(0, WIDTH**-0.5, (WIDTH, into)).astype("f"))
        bias = self.net.const(self.rng.normal(0, 0.1, into).astype("f"))
        return self.net.node("Add", [bias, self.net.node("MatMul", [x, weight])])

    def normalized(self, x):
        return self.net.node("LayerNormalization", [x, self.net.const(self.rng.normal(1, 0.1, WIDTH).astype("f")),
                                                    self.net.const(self.rng.normal(0, 0.1, WIDTH).astype("f"))], axis=-1)

    def size_of(self, x, axis):
        """A size as exporters ask for it, of the value at hand."""
        size = self.net.node("Gather", [self.net.node("Shape", [x]), self.net.const(self.numpy.array(axis))], axis=0)
        return self.net.node("Unsqueeze", [size, self.ints(0)])

    def sizes(self, x, *dims):
        if not self.dynamic:
            return self.ints(*dims)
        parts = [self.size_of(x, i) if i < 2 else self.ints(dim) for i, dim in enumerate(dims)]
        return self.net.node("Concat", parts, axis=0)

    def heads(self, x, perm):
        parted = self.net.node("Reshape", [x, self.sizes(x, BATCH, LENGTH, HEADS, SIZE)])
        return self.net.node("Transpose", [parted], perm=perm)

    def turned(self, k):
        node = self.net.node
        if self.keys == "turned":
            return self.heads(k, (0, 2, 3, 1))
        k = self.heads(k, (0, 2, 1, 3))
        if self.keys == "twice":
            return node("Transpose", [k], perm=(0, 1, 3, 2))
        shape = node("Shape", [k])  # the dynamo exporter joins batch and heads, turns, and parts them
        part = lambda first, end: node("Slice", [shape, self.ints(first), self.ints(end)])
        batch, rows, columns = part(-(2**63), -2), part(-2, -1), part(-1, 2**63 - 1)
        k = node("Reshape", [k, node("Concat", [self.ints(-1), rows, columns], axis=0)])
        k = node("Transpose", [k], perm=(0, 2, 1))
        return node("Reshape", [k, node("Concat", [batch, columns, rows], axis=0)])

    def masked(self, scores, x):
        node, numpy = self.net.node, self.numpy
        if self.mask is None:
            return scores
        if self.mask == "zeros":
            shape = node("Concat", [self.size_of(x, 0), self.ints(1), self.ints(1), self.size_of(x, 1)], axis=0)
            seen = node("ConstantOfShape", [shape], value=need("onnx").numpy_helper.from_array(numpy.ones(1, "f")))
        else:
            hidden = numpy.arange(LENGTH)[None] < self.rng.integers(LENGTH // 2, LENGTH, (BATCH, 1))
            given = self.net.feed("mask", hidden.astype(numpy.int64))
            if self.dynamic:
                self.net.shapes["mask"] = ["batch", "length"]
            if self.mask == "guarded":
                given = node("Cast", [given], to=9)
            seen = node("Unsqueeze", [given, self.ints(1, 2)])
            if self.mask == "guarded":  # and what is true of every query
                seen = node("And", [self.all_queries(x), seen])
                return node("Add", [scores, node("Where", [seen, self.number(0), self.number(-numpy.inf)])])
            if self.mask != "filled":
                seen = node("Cast", [seen], to=1)
        if self.mask in ("given", "zeros"):  # (1 - mask) * least
            return node("Add", [scores, node("Mul", [node("Sub", [self.number(1), seen]), self.number(LEAST)])])
        if self.mask == "filled":  # masked_fill of a mask that is expanded to all scores
            away = node("Equal", [seen, self.net.const(numpy.array(0))])
            away = node("Expand", [away, node("Shape", [scores])])
            return node("Where", [away, self.number(LEAST), scores])
        shape = node("Concat", [self.size_of(x, 0), self.ints(1), self.size_of(x, 1), self.size_of(x, 1)], axis=0)
        away = node("Sub", [self.number(1), node("Expand", [seen, shape])])  # SDPA's: as many rows as queries
        return node("Add", [scores, node("Where", [node("Cast", [away], to=9), self.number(LEAST), away])])

    def all_queries(self, x):
        if not self.dynamic:
            return self.net.const(self.numpy.ones((1, 1, LENGTH, 1), bool))
        zero, one = (self.net.const(self.numpy.array(i)) for i in (0, 1))
        length = self.net.node("Squeeze", [self.size_of(x, 1), self.ints(0)])
        rows = self.net.node("GreaterOrEqual", [self.net.node("Range", [zero, length, one]), zero])
        return self.net.node("Unsqueeze", [rows, self.ints(0, 1, 3)])

    def shares(self, scores):
        shares = self.net.node("Softmax", [scores], axis=-1)
        if self.mask != "guarded":
            return shares
        return self.net.node("Where", [self.net.node("IsNaN", [shares]), self.number(0), shares])

    def attention(self, x):
        node = self.net.node
        q, k, v = (self.linear(x, WIDTH) for _ in range(3))
        root = SIZE**-0.5
        if self.scale == "queries":
            q = node("Mul", [q, self.number(root)])
        q = self.heads(q, (0, 2, 1, 3))
        if self.scale == "parted queries":
            q = node("Div", [q, self.number(1 / root)])
        k, v = self.turned(k), self.heads(v, (0, 2, 1, 3))
        if self.scale == "both":
            q, k = (node("Mul", [each, self.number(root**0.5)]) for each in (q, k))
        if self.joined:
            q, k, v = (node("Reshape", [each, self.ints(-1, *last)]) for each, last in
                       ((q, (LENGTH, SIZE)), (k, (SIZE, LENGTH)), (v, (LENGTH, SIZE))))
        scores = node("MatMul", [q, k])
        if self.scale in ("divided", "multiplied"):
            scores = node("Div", [scores, self.number(1 / root)]) if self.scale == "divided" else node("Mul", [scores, self.number(root)])
        mixed = node("MatMul", [self.shares(self.masked(scores, x)), v])
        if self.joined:
            mixed = node("Reshape", [mixed, self.ints(-1, HEADS, LENGTH, SIZE)])
        mixed = node("Transpose", [mixed], perm=(0, 2, 1, 3))
        return self.linear(node("Reshape", [mixed, self.sizes(x, BATCH, LENGTH, WIDTH)]), WIDTH)

    def save(self):
        x = self.net.feed("x", self.rng.normal(0, 1, (BATCH, LENGTH, WIDTH)).astype("f"))
        if self.dynamic:
            self.net.shapes["x"] = ["batch", LENGTH if self.joined else "length", WIDTH]
        x = self.normalized(x)
        for _ in range(2):
            x = self.normalized(self.net.node("Add", [self.attention(x), x]))
        return self.net.save(self.linear(x, WIDTH))


FORMS = {
    "TorchScript, eager": dict(scale="divided"),
    "TorchScript, SDPA": dict(scale="both"),
    "dynamo, eager": dict(scale="multiplied", keys="twice"),
    "dynamo, SDPA": dict(scale="both", keys="joined"),
    "DistilBERT": dict(scale="parted queries", keys="twice"),
    "torch.bmm": dict(scale="queries", joined=True),
}
MASKS = (None, "zeros", "given", "filled", "expanded", "guarded")


def forms():
    for name, form in FORMS.items():
        for mask in MASKS:
            for dynamic in (False, True):
                if mask is None or not form.get("joined"):
                    yield f"{name}, mask {mask}, {'dynamic' if dynamic else 'static'}", dict(form, mask=mask, dynamic=dynamic)


class Exporters(unittest.TestCase):
    def setUp(self):
        self.numpy = need("numpy", "onnx")[0]

    def quantized(self, layer, path):
        engine, samples = path.with_suffix(".int8"), path.with_suffix(".calib.npz")
        self.numpy.savez(samples, **layer.net.feeds)
        octet("build", path, "--int8", "--calib", samples, "--calib-method", "minmax", "--precision", "*:int8", "-o", engine, "--quiet", "--force")
        return engine, samples

    def layers(self, engine, layer):
        sizes = [flag for value, array in layer.net.feeds.items() for flag in ("--shape", f"{value}:{'x'.join(map(str, array.shape))}")]
        return octet("inspect", engine, "--device", "cuda", "--json", *sizes,
                     env={**emulated_gpu(), "OCTET_EMULATED_CAPABILITY": "9.0", "OCTET_KERNEL_CACHE": str(scratch() / "kernels")}).json["layers"]

    def test_what_onnx_runtime_gives(self):
        need("onnxruntime")
        for name, form in forms():
            with self.subTest(name):
                layer = Layer(**form)
                path = layer.save()
                result, _ = got(path, layer.net.feeds)
                for output, value in expected(path, layer.net.feeds).items():
                    self.numpy.testing.assert_allclose(result[output], value, rtol=NOISE, atol=NOISE)

    def test_the_same_kernels(self):
        if emulated_gpu() is None:
            self.skipTest("the emulated GPU was not built")
        for name, form in forms():
            with self.subTest(name):
                layer = Layer(**form)
                engine, _ = self.quantized(layer, layer.save())
                layers = self.layers(engine, layer)
                kernels = [each["kernel"] for each in layers]
                self.assertEqual(sum(kernel.startswith("attention_") and "_of_conv" in kernel for kernel in kernels), 2, kernels)
                # Nothing of scores is a step, nor is a value that becomes codes or reals between layers; masks are rows.
                self.assertEqual([k for k in kernels if "matmul" in k or "softmax" in k or k == "dequantize"], [], kernels)
                self.assertLessEqual(kernels.count("quantize"), 1, kernels)
                types = [tensor["type"] for each in layers for tensor in each["outputs"]]
                self.assertEqual([t for t in types if f"{LENGTH},{LENGTH}]" in t], [])

    def test_one_kernel_in_16_bits(self):
        if emulated_gpu() is None:
            self.skipTest("the emulated GPU was not built")
        for dynamic in (False, True):
            layer = Layer(**dict(FORMS["TorchScript, SDPA"], mask="guarded", dynamic=dynamic))
            path = layer.save()
            engine = path.with_suffix(".f16")
            octet("build", path, "--fp16", "-o", engine, "--quiet", "--force")
            kernels = [each["kernel"] for each in self.layers(engine, layer)]
            self.assertEqual(sum(kernel.startswith("attention_f16_") for kernel in kernels), 2, kernels)
            self.assertEqual([k for k in kernels if "softmax" in k or k == "comparison"], [], kernels)

    def test_the_same_bytes(self):
        """Of forms whose scale meets the same product."""
        for pair in (("TorchScript, eager", "dynamo, eager"), ("TorchScript, SDPA", "dynamo, SDPA"), ("DistilBERT", "torch.bmm")):
            outputs = []
            for name in pair:
                for mask, dynamic in ((None, False), (None, True), *((("zeros", True),) if name != "torch.bmm" else ())):
                    layer = Layer(**dict(FORMS[name], mask=mask, dynamic=dynamic))
                    engine, samples = self.quantized(layer, layer.save())
                    target = engine.with_suffix(".out.npz")
                    octet("run", engine, samples, "-o", target)
                    outputs.append(next(iter(dict(self.numpy.load(target)).values())))
            for other in outputs[1:]:
                self.assertTrue((outputs[0] == other).all(), pair)


if __name__ == "__main__":
    harness.main()
