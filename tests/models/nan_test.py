# SPDX-License-Identifier: Apache-2.0
"""NaN, infinities and zeros of both signs through operators, on every backend: the results are those of ONNX's reference evaluator,
but where docs/numerics.md, section 8, says otherwise."""

import functools
import os
import unittest

import harness
from harness import emulated_gpu, need, octet, scratch
from nodes import Small

LEVELS = ("none", "avx2", "avx_vnni", "vnni", "amx")
# What the ONNX project's own runner allows for its node tests.
RTOL, ATOL = 1e-3, 1e-7
SIDE = 6  # of images; 36 elements: full registers of any width and a rest


def numerators(numpy):
    """With the denominators NaN, infinities, zeros, halves, values beyond Clip's bounds."""
    values = [0, 1, -1, -1, 1, 1, -1, 3, -3, 7, -7, 0.5, -0.5, 0, 2, 5, -5, 9] * 2
    divisors = [0, 0, 0, numpy.inf, numpy.inf, 1, 1, 1, 1, 1, 1, 1, 1, 0, 4, 2, 2, 1] * 2
    return numpy.array(values, "f4"), numpy.array(divisors, "f4")


UNARY = ("Abs", "Ceil", "Celu", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "IsNaN", "IsInf", "LeakyRelu", "Log",
         "LogSoftmax", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Softmax", "Softplus", "Softsign",
         "Sqrt", "Tanh", "ThresholdedRelu", "Hardmax")
ATTRS = {"Celu": {"alpha": 0.5}, "LeakyRelu": {"alpha": 0.2}, "Hardmax": {"axis": 1}}


def elementwise(small, numpy, x, outputs):
    for op in UNARY:
        outputs.append(small.node(op, [x], [op], **ATTRS.get(op, {})))
    low, high = small.const(numpy.array(-2, "f4")), small.const(numpy.array(6, "f4"))
    for name, bounds in (("clip", [low, high]), ("clip_low", [low]), ("clip_high", ["", high])):
        outputs.append(small.node("Clip", [x, *bounds], [name]))
    other = small.const(numpy.array([1, -4] * (SIDE // 2), "f4"))
    for op in ("Max", "Min", "PRelu", "Add", "Mul", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"):
        outputs.append(small.node(op, [x, other], [f"{op}_other"]))
    # The other operand's NaN.
    for op in ("Max", "Min"):
        outputs.append(small.node(op, [other, x], [f"{op}_swapped"]))
    outputs.append(small.node("Relu", [small.node("Add", [x, other])], ["add_relu"]))


def rows(small, numpy, x, outputs):
    one = small.const(numpy.array([1], "i8"))
    for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean"):
        outputs.append(small.node(op, [x, one], [op]))
    for op in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            outputs.append(small.node(op, [x], [f"{op}_{last}"], axis=1, select_last_index=last))
    for largest in (0, 1):
        values, places = f"top_{largest}", f"top_places_{largest}"
        small.node("TopK", [x, small.const(numpy.array([4], "i8"))], [values, places], largest=largest)
        outputs += [values, places]


def products(small, numpy, x, outputs):
    """What oneDNN and kernels of our own end with an activation. Zeros as weights would bring NaN elsewhere."""
    image = small.node("Reshape", [x, small.const(numpy.array([1, 1, SIDE, SIDE], "i8"))])
    outputs.append(small.node("GlobalMaxPool", [image], ["global_max"]))
    three = small.node("Concat", [image, image, image], axis=1)
    clip = [small.const(numpy.array(v, "f4")) for v in (-1, 3)]

    def ended(made, name):
        outputs.append(small.node("Relu", [made], [f"{name}_relu"]))

    weights = small.const(numpy.array([1, 2, 4, -1, -2, -4, 1, -1, 0.5, 3, 2, 1], "f4").reshape(4, 3, 1, 1))
    ended(small.node("Conv", [three, weights]), "conv")
    outputs.append(small.node("Clip", [small.node("Conv", [three, weights]), *clip], ["conv_clip"]))
    outputs.append(small.node("LeakyRelu", [small.node("Conv", [three, weights])], ["conv_leaky"], alpha=0.25))
    outputs.append(small.node("LeakyRelu", [small.node("Conv", [three, weights])], ["conv_flat"], alpha=0.0))
    depthwise = small.const((numpy.arange(27, dtype="f4") - 13.5).reshape(3, 1, 3, 3))
    ended(small.node("Conv", [three, depthwise], group=3, pads=[1, 1, 1, 1]), "depthwise")
    matrix = small.const((numpy.arange(SIDE * 5, dtype="f4") - 7.5).reshape(SIDE, 5))
    ended(small.node("MatMul", [x, matrix]), "matmul")
    ended(small.node("Gemm", [x, matrix, small.const(numpy.ones(5, "f4"))]), "gemm")


def largest(small, numpy, x, outputs):
    image = small.node("Reshape", [x, small.const(numpy.array([1, 1, SIDE, SIDE], "i8"))])
    line = small.node("Reshape", [x, small.const(numpy.array([1, 1, SIDE * SIDE], "i8"))])
    outputs.append(small.node("MaxPool", [image], ["pool"], kernel_shape=[2, 2], strides=[2, 2]))
    outputs.append(small.node("MaxPool", [line], ["line_pool"], kernel_shape=[3], strides=[3]))


def codes(small, numpy, x, outputs):
    scale = small.const(numpy.array(0.5, "f4"))
    for zero in (numpy.array(128, "u1"), numpy.array(-3, "i1"), numpy.array(7, "u2")):
        outputs.append(small.node("QuantizeLinear", [x, scale, small.const(zero)], [f"codes_{zero.dtype}"]))
    zero = small.const(numpy.array(100, "u1"))
    # One step from reals to codes.
    outputs.append(small.node("QuantizeLinear", [small.node("Tanh", [x]), scale, zero], ["tanh_codes"]))
    outputs.append(small.node("QuantizeLinear", [small.node("Softmax", [x]), scale, zero], ["softmax_codes"]))
    for to, name in ((6, "i4"), (7, "i8"), (3, "i1"), (2, "u1"), (9, "b1")):
        outputs.append(small.node("Cast", [x], [f"cast_{name}"], to=to))


@functools.cache
def model(*parts):
    numpy = need("numpy")
    small = Small(21)
    a, b = numerators(numpy)
    small.feed("a", a.reshape(SIDE, SIDE))
    small.feed("b", b.reshape(SIDE, SIDE))
    x = small.node("Div", ["a", "b"], ["x"])
    outputs = ["x"]
    for part in parts:
        part(small, numpy, x, outputs)
    path = small.save(*outputs)
    engine, data = path.with_suffix(".octet"), path.with_suffix(".in.npz")
    octet("build", path, "-o", engine, "--quiet")
    numpy.savez(data, **small.feeds)
    return path, small.feeds, engine, data


def backends():
    """Name, flags, environment."""
    for level in LEVELS:
        yield level, (), {"OCTET_CPU_ISA": level}
    yield "test:1", ("--device", "test:1"), {}
    if (gpu := emulated_gpu()) is not None:
        yield "cuda", ("--device", "cuda:0"), gpu


def results(engine, data):
    numpy = need("numpy")
    for name, flags, env in backends():
        target = scratch() / "nan.npz"
        octet("run", engine, data, "-o", target, *flags, env={**os.environ, **env})
        yield name, dict(numpy.load(target))


class Nan(unittest.TestCase):
    def held(self, got, wanted, what):
        numpy = need("numpy")
        self.assertEqual(got.shape, wanted.shape, what)
        if got.dtype.kind != "f":
            numpy.testing.assert_array_equal(got, wanted, err_msg=what)
            return
        # NaN and infinities in the same places, and the signs of those.
        numpy.testing.assert_allclose(got, wanted, rtol=RTOL, atol=ATOL, equal_nan=True, err_msg=what)

    def test_results_are_those_of_the_reference_evaluator(self):
        onnx_reference = need("onnx.reference")
        path, feeds, engine, data = model(elementwise, rows, products)
        numpy = need("numpy")
        evaluator = onnx_reference.ReferenceEvaluator(str(path))
        with numpy.errstate(all="ignore"):
            wanted = dict(zip(evaluator.output_names, evaluator.run(None, feeds)))
        self.assertGreater(sum(numpy.isnan(value).any() for value in wanted.values() if value.dtype.kind == "f"), 30)
        for name, got in results(engine, data):
            for output, value in wanted.items():
                with self.subTest(backend=name, output=output):
                    self.held(got[output], value, f"{name} {output}")

    def test_attention_hides_no_nan(self):
        """Its own zeros, for queries that a mask hides from every key, are not those of NaN that came with the data."""
        numpy, onnx_reference = need("numpy"), need("onnx.reference")
        small, outputs = Small(23), []
        rng = numpy.random.default_rng(25)
        q = rng.normal(size=(1, 2, 4, 8)).astype("f4")
        by = numpy.ones_like(q)
        q[0, 0, 1, 3] = by[0, 0, 1, 3] = 0
        feeds = [small.node("Div", [small.feed("q", q), small.feed("by", by)]), *(small.feed(name, rng.normal(size=(1, 2, 5, 8)).astype("f4")) for name in "kv")]
        seen = numpy.ones((4, 5), bool)
        seen[2] = False  # of all keys
        seen[3, :2] = False
        large = numpy.where(seen, numpy.float32(0), -numpy.inf).astype("f4")
        large[0, 1] = numpy.inf
        for name, mask, causal in (("fed", small.feed("seen", seen), 0), ("known_causal", small.const(seen), 1),
                                   ("known", small.const(large), 0), ("fed_causal", small.feed("large", large), 1)):
            outputs.append(small.node("Attention", [*feeds, mask], [name], is_causal=causal))
        path = small.save(*outputs)
        engine, data = path.with_suffix(".octet"), path.with_suffix(".in.npz")
        octet("build", path, "-o", engine, "--quiet")
        numpy.savez(data, **small.feeds)
        with numpy.errstate(all="ignore"):
            wanted = dict(zip(outputs, onnx_reference.ReferenceEvaluator(str(path)).run(None, small.feeds)))
        for name, got in results(engine, data):
            for output, value in wanted.items():
                with self.subTest(backend=name, output=output):
                    self.assertTrue(numpy.isnan(value).any() and (value[0, :, 2] == 0).all())
                    self.held(got[output], value, f"{name} {output}")

    # The evaluator's loops lose NaN where another tap comes first; those of one window and GlobalMaxPool keep it.
    def test_nan_is_the_largest_of_a_window(self):
        numpy = need("numpy")
        _, _, engine, data = model(largest)
        for name, got in results(engine, data):
            x = got["x"].reshape(SIDE // 2, 2, SIDE // 2, 2)
            self.held(got["pool"][0, 0], numpy.max(x, axis=(1, 3)), name)
            self.held(got["line_pool"][0, 0], numpy.max(got["x"].reshape(-1, 3), axis=1), name)
            self.assertTrue(numpy.isnan(got["pool"]).any())

    # In C what NaN and infinities are as integers is not defined, and NumPy leaves it at that.
    def test_codes_and_integers(self):
        numpy = need("numpy")
        _, _, engine, data = model(codes)
        for name, got in results(engine, data):
            x = got["x"]
            number = numpy.where(numpy.isnan(x), 0, x)
            with self.subTest(backend=name):
                for key, zero in (("uint8", 128), ("int8", -3), ("uint16", 7)):
                    limits = numpy.iinfo(key)
                    wanted = numpy.clip(numpy.rint(number / numpy.float32(0.5)) + zero, limits.min, limits.max)
                    numpy.testing.assert_array_equal(got[f"codes_{key}"], wanted.astype(key), err_msg=name)
                numpy.testing.assert_array_equal(got["tanh_codes"][numpy.isnan(x)], 100)
                numpy.testing.assert_array_equal(got["softmax_codes"][numpy.isnan(x).any(1)], 100)
                for kind in ("i4", "i8", "i1", "u1"):
                    limits = numpy.iinfo(kind)
                    far = numpy.clip(numpy.trunc(number.astype("f8")), float(limits.min), float(limits.max))
                    wanted = [limits.max if v >= limits.max else int(v) for v in far.reshape(-1)]
                    numpy.testing.assert_array_equal(got[f"cast_{kind}"].reshape(-1), numpy.array(wanted, kind), err_msg=f"{name} {kind}")
                numpy.testing.assert_array_equal(got["cast_b1"], x != 0, err_msg=name)


if __name__ == "__main__":
    harness.main()
