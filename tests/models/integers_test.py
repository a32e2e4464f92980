# SPDX-License-Identifier: Apache-2.0
"""Integer operators and Q/DQ graphs of other tools: random small models whose codes equal ONNX Runtime's, exactly where
docs/numerics.md has the same formula and within one code elsewhere, and which run on integer kernels."""

import itertools
import unittest

import harness
from harness import need
from nodes import Small, expected, got

MICROSOFT = "com.microsoft"


def limits(dtype):
    return (0, 255) if dtype == "uint8" else (-128, 127)


class Case:
    """One random model: what it is made of, and the comparison at the end."""

    def __init__(self, seed, opset=17):
        self.numpy = need("numpy")
        self.rng = self.numpy.random.default_rng(seed)
        self.small = Small(opset)

    def codes(self, dtype, *shape, lo=None, hi=None):
        low, high = limits(dtype)
        low, high = low if lo is None else lo, high if hi is None else hi
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def scale(self, low=0.005, high=0.05, shape=()):
        return self.rng.uniform(low, high, shape).astype(self.numpy.float32)

    def zero_point(self, dtype):
        return self.numpy.array(self.rng.integers(*limits(dtype)), dtype)

    def const(self, array):
        return self.small.const(self.numpy.asarray(array))

    def params(self, dtype, scale=None, zero_point=None):
        """A constant scale and zero point."""
        return [self.const(self.scale() if scale is None else self.numpy.float32(scale)),
                self.const(self.zero_point(dtype) if zero_point is None else self.numpy.array(zero_point, dtype))]

    def feed(self, name, dtype, *shape):
        return self.small.feed(name, self.codes(dtype, *shape))

    def quantized_input(self, name, dtype, *shape):
        """A real input behind Q and DQ."""
        scale, zero_point = self.params(dtype)
        x = self.small.feed(name, self.rng.normal(0, 1.5, shape).astype(self.numpy.float32))
        return self.qdq(x, scale, zero_point)

    def qdq(self, x, scale, zero_point):
        codes = self.small.node("QuantizeLinear", [x, scale, zero_point])
        return self.small.node("DequantizeLinear", [codes, scale, zero_point])


class Integers(unittest.TestCase):
    def hold(self, case, outputs, most=0, reference=()):
        """Codes differ by at most `most`, and no layer but those of `reference` runs on the reference."""
        numpy = case.numpy
        path = case.small.save(*outputs)
        want = expected(path, case.small.feeds)
        have, layers = got(path, case.small.feeds)
        for name in outputs:
            self.assertEqual(have[name].dtype, want[name].dtype)
            difference = numpy.abs(have[name].astype(numpy.float64) - want[name].astype(numpy.float64))
            self.assertLessEqual(difference.max(initial=0), most, f"{name}: {numpy.count_nonzero(difference)} of {difference.size}")
        slow = [(layer["op"], layer["kernel_reason"]) for layer in layers
                if layer["kernel"] == "reference" and layer["op"] not in reference]
        self.assertEqual(slow, [])
        return layers

    # ---- QOperator models

    def qlinear_conv(self, seed, x_type, w_type, channels=False, groups=1, w_zero=False, bias=True):
        c = Case(seed)
        x = c.feed("x", x_type, 2, 8, 9, 7)
        filters = 12 if groups == 1 else 8
        weights = c.const(c.codes(w_type, filters, 8 // groups, 3, 3))
        zero = c.zero_point(w_type) if w_zero else c.numpy.array(128 if w_type == "uint8" else 0, w_type)
        w_scale = c.scale(0.002, 0.01, (filters,) if channels else ())
        zeros = c.numpy.full(w_scale.shape, zero, w_type)
        args = [x, *c.params(x_type), weights, c.const(w_scale), c.const(zeros), *c.params(x_type, 0.2)]
        if bias:
            args.append(c.const(c.rng.integers(-3000, 3000, filters).astype("int32")))
        c.small.node("QLinearConv", args, ["y"], pads=[1, 1, 1, 1], strides=[1, 2], group=groups)
        return c

    def test_qlinear_conv(self):
        types = [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")]
        for seed, ((x, w), channels, groups) in enumerate(itertools.product(types, (False, True), (1, 2, 8))):
            with self.subTest(f"{x} {w} per channel {channels} groups {groups}"):
                self.hold(self.qlinear_conv(seed, x, w, channels, groups, bias=seed % 3 != 0), ["y"])

    def test_qlinear_conv_with_asymmetric_weights(self):
        for seed, w in enumerate(("uint8", "int8") * 3):
            with self.subTest(f"{w} {seed}"):
                self.hold(self.qlinear_conv(100 + seed, "int8" if w == "int8" else "uint8", w, w_zero=True), ["y"])

    def qlinear_matmul(self, seed, a_type, b_type, columns=False, b_zero=False, b_constant=True):
        c = Case(seed)
        a = c.feed("a", a_type, 3, 10, 37)
        codes = c.codes(b_type, 37, 19) if b_constant else c.codes(b_type, 3, 37, 19)
        b = c.const(codes) if b_constant else c.small.feed("b", codes)
        zero = c.zero_point(b_type) if b_zero else c.numpy.array(128 if b_type == "uint8" else 0, b_type)
        b_scale = c.scale(0.002, 0.01, (19,) if columns else ())
        c.small.node("QLinearMatMul", [a, *c.params(a_type), b, c.const(b_scale), c.const(c.numpy.full(b_scale.shape, zero, b_type)),
                                       *c.params(a_type, 0.15)], ["y"])
        return c

    def test_qlinear_matmul(self):
        types = [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")]
        for seed, ((a, b), columns, zero) in enumerate(itertools.product(types, (False, True), (False, True))):
            with self.subTest(f"{a} {b} per column {columns} zero point {zero}"):
                self.hold(self.qlinear_matmul(seed, a, b, columns, zero), ["y"])

    def test_qlinear_matmul_of_two_activations(self):
        for seed, zero in enumerate((False, True)):
            with self.subTest(f"zero point {zero}"):
                self.hold(self.qlinear_matmul(seed, "uint8", "uint8", b_zero=zero, b_constant=False), ["y"])

    # ---- com.microsoft

    def test_binary(self):
        for seed, (op, dtype, shape) in enumerate(itertools.product(
                ("QLinearAdd", "QLinearMul"), ("uint8", "int8"), ((2, 8, 5, 6), (8, 1, 1), (1,)))):
            with self.subTest(f"{op} {dtype} {shape}"):
                c = Case(seed)
                a, b = c.feed("a", dtype, 2, 8, 5, 6), c.feed("b", dtype, *shape)
                out = c.params(dtype, 0.08 if op == "QLinearAdd" else 0.02)
                c.small.node(op, [a, *c.params(dtype), b, *c.params(dtype), *out], ["y"], domain=MICROSOFT)
                self.hold(c, ["y"], most=1)

    def test_unary(self):
        for seed, (op, dtype) in enumerate(itertools.product(("QLinearSigmoid", "QLinearLeakyRelu"), ("uint8", "int8"))):
            with self.subTest(f"{op} {dtype}"):
                c = Case(seed)
                attrs = {"alpha": 0.1} if op == "QLinearLeakyRelu" else {}
                x = c.feed("x", dtype, 2, 8, 5, 6)
                c.small.node(op, [x, *c.params(dtype), *c.params(dtype, 1 / 250)], ["y"], domain=MICROSOFT, **attrs)
                self.hold(c, ["y"], most=1)

    def test_pools(self):
        for seed, (dtype, op) in enumerate(itertools.product(("uint8", "int8"), ("QLinearGlobalAveragePool", "QLinearAveragePool"))):
            with self.subTest(f"{op} {dtype}"):
                c = Case(seed)
                attrs = {"channels_last": 0} if "Global" in op else {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 1]}
                x = c.feed("x", dtype, 2, 8, 9, 6)
                c.small.node(op, [x, *c.params(dtype, 0.03), *c.params(dtype, 0.02)], ["y"], domain=MICROSOFT, **attrs)
                self.hold(c, ["y"], most=1)

    def test_softmax(self):
        for seed, (dtype, axis) in enumerate(itertools.product(("uint8", "int8"), (1, -1))):
            with self.subTest(f"{dtype} {axis}"):
                c = Case(seed)
                x = c.feed("x", dtype, 3, 8, 10)
                zero = 0 if dtype == "uint8" else -128
                c.small.node("QLinearSoftmax", [x, *c.params(dtype, 0.04), *c.params(dtype, 1 / 256, zero)], ["y"], domain=MICROSOFT,
                             axis=axis, opset=13)
                self.hold(c, ["y"], most=1, reference=("QSoftmax",) if axis == 1 else ())

    def test_concat(self):
        for seed, dtype in enumerate(("uint8", "int8")):
            c = Case(seed)
            a, b = c.feed("a", dtype, 2, 8, 5, 6), c.feed("b", dtype, 2, 4, 5, 6)
            args = [*c.params(dtype), a, *c.params(dtype), b, *c.params(dtype)]
            c.small.node("QLinearConcat", args, ["y"], domain=MICROSOFT, axis=1)
            self.hold(c, ["y"], most=1)

    def test_gemm(self):
        for seed, (transposed, columns, real) in enumerate(itertools.product((0, 1), (False, True), (False, True))):
            with self.subTest(f"transB {transposed} per column {columns} real {real}"):
                c = Case(seed)
                a = c.feed("a", "uint8", 6, 33)
                b = c.const(c.codes("int8", *((20, 33) if transposed else (33, 20))))
                b_scale = c.scale(0.002, 0.01, (20,) if columns else ())
                bias = c.const(c.rng.integers(-3000, 3000, 20).astype("int32"))
                args = [a, *c.params("uint8"), b, c.const(b_scale), c.const(c.numpy.zeros(b_scale.shape, "int8")), bias]
                if not real:
                    args += c.params("uint8", 0.1)
                c.small.node("QGemm", args, ["y"], domain=MICROSOFT, transA=0, transB=transposed, alpha=1.0)
                self.hold(c, ["y"], most=1e-4 if real else 0)

    # ---- integers and dynamic quantization

    def test_conv_integer(self):
        for seed, (w_type, w_zero) in enumerate(itertools.product(("uint8", "int8"), (False, True))):
            with self.subTest(f"{w_type} zero point {w_zero}"):
                c = Case(seed)
                args = [c.feed("x", "uint8", 2, 6, 9, 7), c.const(c.codes(w_type, 10, 6, 3, 3)), c.const(c.zero_point("uint8"))]
                if w_zero:
                    args.append(c.const(c.zero_point(w_type)))
                c.small.node("ConvInteger", args, ["y"], pads=[1, 1, 1, 1])
                self.hold(c, ["y"])

    def test_matmul_integer(self):
        for seed, (b_type, b_zero) in enumerate(itertools.product(("uint8", "int8"), (False, True))):
            with self.subTest(f"{b_type} zero point {b_zero}"):
                c = Case(seed)
                args = [c.feed("a", "uint8", 2, 9, 33), c.const(c.codes(b_type, 33, 20)), c.const(c.zero_point("uint8"))]
                if b_zero:
                    args.append(c.const(c.zero_point(b_type)))
                c.small.node("MatMulInteger", args, ["y"])
                self.hold(c, ["y"])

    def test_dynamic_quantization(self):
        """What ONNX Runtime's dynamic quantizer makes of a MatMul."""
        c = Case(1)
        x = c.small.feed("x", c.rng.normal(size=(4, 33)).astype("float32"))
        c.small.node("DynamicQuantizeLinear", [x], ["codes", "x_scale", "x_zero"])
        c.small.node("MatMulInteger", ["codes", c.const(c.codes("int8", 33, 20)), "x_zero"], ["sums"])
        c.small.node("Cast", ["sums"], ["real"], to=1)
        c.small.node("Mul", ["x_scale", c.const(c.scale())], ["scale"])
        c.small.node("Mul", ["real", "scale"], ["y"])
        self.hold(c, ["codes", "x_zero", "sums"])

    def test_dynamic_quantization_of_convolutions(self):
        """A zero point of the run is what the padding holds."""
        shapes = {"plain": ((10, 6, 1, 1), {}), "padded": ((10, 6, 3, 3), {"pads": [1, 2, 0, 1], "strides": [2, 1]}),
                  "groups": ((6, 2, 3, 3), {"pads": [1] * 4, "group": 3}), "depthwise": ((6, 1, 3, 3), {"pads": [1] * 4, "group": 6}),
                  "dilated": ((4, 6, 3, 3), {"pads": [2] * 4, "dilations": [2, 2]}), "valid": ((4, 6, 3, 3), {"auto_pad": "VALID"}),
                  "same": ((4, 6, 3, 3), {"auto_pad": "SAME_UPPER"}), "same, even": ((4, 6, 2, 4), {"auto_pad": "SAME_LOWER"})}
        for (seed, (name, (shape, attrs))), dtype in itertools.product(enumerate(shapes.items()), ("int8", "uint8")):
            with self.subTest(name, dtype=dtype):
                c = Case(seed)
                x = c.small.feed("x", c.rng.normal(0.5, 1, (2, 6, 9, 7)).astype("float32"))
                c.small.node("DynamicQuantizeLinear", [x], ["codes", "x_scale", "x_zero"])
                weights = [c.const(c.codes(dtype, *shape)), "x_zero"] + ([c.const(c.zero_point(dtype))] if dtype == "uint8" else [])
                c.small.node("ConvInteger", ["codes", weights[0], *weights[1:]], ["sums"], **attrs)
                layers = self.hold(c, ["codes", "x_zero", "sums"])
                self.assertIn("QConv", [layer["op"] for layer in layers])

    def test_sums_beyond_24_bits(self):
        """f32 does not hold them: products by parts of the input channels, whose sums it holds, added as integers."""
        for (seed, (rows, w_type)), dynamic in itertools.product(enumerate(itertools.product((600, 3072), ("int8", "uint8"))), (False, True)):
            with self.subTest("product", rows=rows, weights=w_type, dynamic=dynamic):
                c = Case(seed)
                x = c.feed("a", "uint8", 2, 5, rows)
                zero = c.small.feed("zero", c.numpy.array(77, "uint8")) if dynamic else c.const(c.zero_point("uint8"))
                codes = c.codes(w_type, rows, 20)
                codes[:, 3] = 127 if w_type == "int8" else 255
                codes[:, 4] = -128 if w_type == "int8" else 0
                args = [x, c.const(codes), zero] + ([c.const(c.numpy.array(128, "uint8"))] if w_type == "uint8" else [])
                c.small.node("MatMulInteger", args, ["y"])
                self.assertNotIn("MatMulInteger", [layer["op"] for layer in self.hold(c, ["y"])])
            with self.subTest("convolution", channels=rows // 6, weights=w_type, dynamic=dynamic):
                c = Case(seed)
                x = c.feed("a", "uint8", 1, rows // 6, 6, 5)
                zero = c.small.feed("zero", c.numpy.array(77, "uint8")) if dynamic else c.const(c.zero_point("uint8"))
                codes = c.codes(w_type, 10, rows // 6, 3, 3)
                codes[2] = 127 if w_type == "int8" else 255
                args = [x, c.const(codes), zero] + ([c.const(c.numpy.array(128, "uint8"))] if w_type == "uint8" else [])
                c.small.node("ConvInteger", args, ["y"], pads=[1, 1, 1, 1])
                self.assertNotIn("ConvInteger", [layer["op"] for layer in self.hold(c, ["y"])])

    # ---- Q/DQ graphs

    def weights(self, c, dtype, shape, axis, channels, zero_point):
        """Constant codes behind a DequantizeLinear: per channel of `axis`, or with a zero point."""
        codes = c.const(c.codes(dtype, *shape))
        scale = c.scale(0.002, 0.01, (shape[axis],) if channels else ())
        zeros = c.numpy.full(scale.shape, zero_point, dtype)
        return c.small.node("DequantizeLinear", [codes, c.const(scale), c.const(zeros)], axis=axis), scale

    def output(self, c, real, dtype, scale=0.2):
        """Codes as the graph's output."""
        c.small.node("QuantizeLinear", [real, *c.params(dtype, scale)], ["y"])

    def qdq_conv(self, seed, x_type, w_type, channels=True, w_zero=0, behind=None):
        """Convolution with an s32 bias and a Relu between Q/DQ nodes. `behind`: the operators that the scales lie behind."""
        c = Case(seed)
        x_scale = c.scale(0.02, 0.03)
        scale, zero_point = c.const(x_scale), c.const(c.zero_point(x_type))
        for op, attrs in behind or ():
            scale = c.small.node(op, [scale], **attrs)
        x = c.qdq(c.small.feed("x", c.rng.normal(0, 1.5, (2, 8, 9, 7)).astype("float32")), scale, zero_point)
        w, w_scale = self.weights(c, w_type, (12, 8, 3, 3), 0, channels, w_zero)
        bias_scale = (x_scale * w_scale).astype("float32")
        bias = c.small.node("DequantizeLinear", [c.const(c.rng.integers(-3000, 3000, 12).astype("int32")),
                                                 c.const(c.numpy.broadcast_to(bias_scale, 12 if channels else ()).astype("float32"))], axis=0)
        y = c.small.node("Conv", [x, w, bias], pads=[1, 1, 1, 1])
        self.output(c, c.small.node("Relu", [y]), x_type)
        return c

    def held_without_float(self, c, most=1):
        layers = self.hold(c, ["y"], most=most)
        self.assertEqual([l["name"] for l in layers if l["op"] in ("Conv", "MatMul", "Gemm", "Add", "Mul", "Concat", "AveragePool")
                          and l["precision"] != "int8"], [])

    def test_qdq_conv(self):
        for seed, (x, w, channels) in enumerate(itertools.product(("uint8", "int8"), ("int8", "uint8"), (False, True))):
            with self.subTest(f"{x} {w} per channel {channels}"):
                self.held_without_float(self.qdq_conv(seed, x, w, channels, 128 if w == "uint8" else 0))

    def test_qdq_conv_with_asymmetric_weights(self):
        for seed, (w, zero) in enumerate((("uint8", 113), ("uint8", 140), ("int8", -9), ("int8", 20))):
            with self.subTest(f"{w} {zero}"):
                self.held_without_float(self.qdq_conv(seed, "uint8", w, False, zero))

    def test_scales_behind_other_operators(self):
        identity, half, single = ("Identity", {}), ("Cast", {"to": 10}), ("Cast", {"to": 1})
        for seed, behind in enumerate(([identity], [half, single], [identity, half, identity, single])):
            with self.subTest(" ".join(op for op, _ in behind)):
                self.held_without_float(self.qdq_conv(seed, "uint8", "int8", behind=behind))

    def test_qlinear_scales_behind_identity(self):
        c = self.qlinear_conv(0, "uint8", "int8")
        node = c.small.nodes[0]
        for i in (1, 4, 6):
            c.small.nodes.insert(0, need("onnx").helper.make_node("Identity", [node.input[i]], [f"same{i}"]))
            node.input[i] = f"same{i}"
        self.hold(c, ["y"])

    def test_qdq_conv_transpose(self):
        windows = ({"strides": [2, 2]}, {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
                   {"strides": [3, 3], "pads": [0, 1, 1, 0]}, {"strides": [1, 1], "pads": [1, 1, 1, 1]})
        types = itertools.product(("uint8", "int8"), (("int8", 0), ("uint8", 128), ("uint8", 113)))
        for seed, ((x_type, (w_type, zero)), window) in enumerate(itertools.product(types, windows)):
            with self.subTest(f"{x_type} {w_type} {zero} {window}"):
                c = Case(seed)
                w, _ = self.weights(c, w_type, (8, 12, 3, 4), 1, zero == 0, zero)
                bias = c.const(c.rng.normal(0, 1, 12).astype("float32"))
                y = c.small.node("ConvTranspose", [c.quantized_input("x", x_type, 2, 8, 9, 7), w, bias], **window)
                self.output(c, y, x_type)
                layers = self.hold(c, ["y"], most=1)
                self.assertIn("QConv", [layer["op"] for layer in layers])

    def test_qdq_gemm_and_matmul(self):
        for seed, (op, x_type, columns, zero) in enumerate(itertools.product(("Gemm", "MatMul"), ("uint8", "int8"), (False, True), (0, 7))):
            if columns and zero:
                continue
            with self.subTest(f"{op} {x_type} per column {columns} zero point {zero}"):
                c = Case(seed)
                w, _ = self.weights(c, "int8", (33, 20), 1, columns, zero)
                self.output(c, c.small.node(op, [c.quantized_input("x", x_type, 6, 33), w]), x_type)
                self.held_without_float(c)

    def test_qdq_matmul_of_two_activations(self):
        for seed, (a, b) in enumerate(itertools.product(("uint8", "int8"), repeat=2)):
            with self.subTest(f"{a} {b}"):
                c = Case(seed)
                y = c.small.node("MatMul", [c.quantized_input("a", a, 3, 9, 33), c.quantized_input("b", b, 3, 33, 20)])
                self.output(c, y, a, 0.5)
                self.held_without_float(c)

    def test_qdq_elementwise(self):
        for seed, (op, a, b) in enumerate(itertools.product(("Add", "Mul", "Sub"), ("uint8", "int8"), ("uint8", "int8"))):
            with self.subTest(f"{op} {a} {b}"):
                c = Case(seed)
                y = c.small.node(op, [c.quantized_input("a", a, 2, 8, 5, 6), c.quantized_input("b", b, 2, 8, 5, 6)])
                self.output(c, y, a, 0.05)
                self.held_without_float(c)

    def test_qdq_concat_pool_and_table(self):
        for seed, dtype in enumerate(("uint8", "int8")):
            with self.subTest(dtype):
                c = Case(seed)
                joined = c.small.node("Concat", [c.quantized_input("a", dtype, 2, 8, 6, 6), c.quantized_input("b", dtype, 2, 4, 6, 6)],
                                      axis=1)
                y = c.small.node("AveragePool", [c.qdq(joined, *c.params(dtype, 0.03))], kernel_shape=[2, 2], strides=[2, 2])
                self.output(c, y, dtype, 0.03)
                self.held_without_float(c)
                c = Case(seed)
                self.output(c, c.small.node("Sigmoid", [c.quantized_input("x", dtype, 2, 8, 6, 6)]), dtype, 1 / 250)
                self.held_without_float(c)


if __name__ == "__main__":
    harness.main()
