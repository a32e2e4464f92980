# SPDX-License-Identifier: Apache-2.0
"""Float attributes and statistics that no data have are refused; NaN that a run makes is traced to its layer and element, also where a
quantization made a code of it."""

import functools
import pathlib
import sys
import unittest

import harness
from harness import need, octet, scratch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
from nodes import Small  # noqa: E402  pylint: disable=wrong-import-position

BATCH_NORM = ("scale", "bias", "mean", "variance")


def batch_norm(variance, **attrs):
    """A convolution, BatchNormalization and Relu: what passes fold into one."""
    numpy = need("numpy")
    small = Small()
    x = small.feed("x", numpy.ones((1, 2, 4, 4), "f4"))
    y = small.node("Conv", [x, small.const(numpy.ones((2, 2, 1, 1), "f4"))])
    constants = [small.const(numpy.array(value, "f4"), name) for name, value in zip(BATCH_NORM, ([1, 1], [0, 0], [0, 0], variance))]
    y = small.node("BatchNormalization", [y, *constants], **attrs)
    return small.save(small.node("Relu", [y], ["y"]))


def refused(path):
    result = octet("build", path, "-o", path.with_suffix(".octet"), code=2)
    return result.err


class Attributes(unittest.TestCase):
    def one(self, op, inputs, **attrs):
        numpy = need("numpy")
        small = Small()
        names = [small.feed("x", numpy.ones((1, 2, 4, 4), "f4"))] + [small.const(numpy.ones(shape, "f4")) for shape in inputs]
        return small.save(small.node(op, names, ["y"], **attrs))

    def test_each_has_a_domain(self):
        nan, inf = float("nan"), float("inf")
        for op, inputs, attrs, words in (
                ("LayerNormalization", [(4,)], {"epsilon": -1.0}, "'epsilon' is -1, expected a finite number from 0 on"),
                ("LayerNormalization", [(4,)], {"epsilon": nan}, "'epsilon' is NaN"),
                ("InstanceNormalization", [(2,), (2,)], {"epsilon": -1.0}, "'epsilon' is -1"),
                ("LeakyRelu", [], {"alpha": nan}, "'alpha' is NaN, expected a finite number"),
                ("Selu", [], {"gamma": inf}, "'gamma' is inf, expected a finite number"),
                ("HardSigmoid", [], {"beta": -inf}, "'beta' is -inf"),
                ("Celu", [], {"alpha": 0.0}, "'alpha' is 0, expected a finite number other than 0"),
                ("LRN", [], {"size": 3, "bias": nan}, "'bias' is NaN"),
                ("Shrink", [], {"lambd": nan}, "'lambd' is NaN"),
                ("RandomNormalLike", [], {"scale": nan}, "'scale' is NaN")):
            error = refused(self.one(op, inputs, **attrs))
            self.assertIn(words, error)
            self.assertIn(f"n0_{op}", error)

    def test_what_only_bounds_or_fills_may_be_infinite(self):
        numpy = need("numpy")
        small = Small(10)
        x = small.feed("x", numpy.ones((1, 4), "f4"))
        x = small.node("Clip", [x], min=-float("inf"), max=2.0)
        path = small.save(small.node("Pad", [x], ["y"], pads=[0, 0, 0, 1], value=float("nan")))
        octet("build", path, "-o", path.with_suffix(".octet"), "--quiet")

    def test_statistics_of_batch_normalization(self):
        for variance, attrs, words in (([1, -1], {}, "the variance of channel 1 is -1 and epsilon 1e-05"),
                                       ([float("nan"), 1], {}, "the variance of channel 0 is NaN"),
                                       ([1, 0], {"epsilon": 0.0}, "the variance of channel 1 is 0 and epsilon 0"),
                                       ([1, 1], {"epsilon": -1.0}, "'epsilon' is -1"),
                                       ([1, 1], {"epsilon": float("nan")}, "'epsilon' is NaN")):
            error = refused(batch_norm(variance, **attrs))
            self.assertIn(words, error)
            self.assertIn("n1_BatchNormalization", error)
        octet("build", batch_norm([1, 0]), "-o", scratch() / "fine.octet", "--quiet")

    def test_bounds_of_clip(self):
        numpy = need("numpy")
        small = Small()
        x = small.feed("x", numpy.ones((1, 4), "f4"))
        error = refused(small.save(small.node("Clip", [x, small.const(numpy.array(numpy.nan, "f4"))], ["y"])))
        self.assertIn("n0_Clip", error)
        self.assertIn("its min is NaN", error)


@functools.cache
def rooted(coded):
    """Roots, a part of which are of negative numbers; `coded`: behind them codes, whose layers look healthy."""
    numpy = need("numpy")
    small = Small()
    x = small.feed("x", numpy.ones((1, 2, 3), "f4"))
    y = small.node("Sqrt", [small.node("Add", [x, small.const(numpy.array(-1, "f4"))])], ["roots"])
    if coded:
        scale, zero = small.const(numpy.array(0.125, "f4")), small.const(numpy.array(128, "u1"))
        y = small.node("DequantizeLinear", [small.node("QuantizeLinear", [y, scale, zero]), scale, zero])
    path = small.save(small.node("Relu", [y], ["y"]))
    engine = path.with_suffix(".octet")
    octet("build", path, "-o", engine, "--quiet")
    return path, engine


@functools.cache
def data(*values):
    """As many samples, of which each but its element [1, 2] is 5."""
    numpy = need("numpy")
    rows = numpy.full((len(values), 2, 3), 5, "f4")
    rows[:, 1, 2] = values
    path = scratch() / f"data{'_'.join(map(str, values))}.npz"
    numpy.savez(path, x=rows)
    return path


class Origin(unittest.TestCase):
    def check_origin(self, found, sample, coded=False):
        self.assertEqual(found["nan"]["element"], [0, 1, 2])
        self.assertEqual((found["nan"]["op"], found["nan"]["count"], found["nan"]["elements"]), ("Sqrt", 1, 6))
        self.assertIn("Sqrt", found["nan"]["layer"])
        self.assertIsNone(found["infinity"])
        self.assertEqual(found["quantized_nan"], 1 if coded else 0)
        self.assertTrue(found["sample"].endswith(sample), found["sample"])

    def test_run_says_where_it_begins(self):
        numpy = need("numpy")
        for coded in (False, True):
            engine = rooted(coded)[1]
            result = octet("run", engine, data(0), "-o", scratch() / "y.npz")
            self.assertIn("NaN first comes from layer", result.err)
            self.assertIn("element [0, 1, 2]", result.err)
            self.assertEqual("became the code of 0" in result.err, coded)
            y = numpy.load(scratch() / "y.npz")["y"]
            self.assertEqual(bool(numpy.isnan(y).any()), not coded)
            self.check_origin(octet("run", engine, data(0), "--json").json["results"][0]["not_finite"], data(0).name, coded)
            self.assertIsNone(octet("run", engine, data(2), "--json").json["results"][0]["not_finite"])

    def test_eval_and_compare_say_it_once(self):
        for coded in (False, True):
            model, engine = rooted(coded)
            values = (0, 2, 0) if coded else (2, 0, 0)
            for command in (("eval", engine, "--data", data(*values)), ("compare", engine, "--calib", data(*values), "--against", model)):
                result = octet(*command)
                self.assertEqual(result.err.count("NaN first comes from"), 1)
                found = octet(*command, "--json").json
                self.check_origin(found["not_finite"], f"[{values.index(0)}]", coded)
                self.assertTrue(any("NaN first comes from" in warning for warning in found["warnings"]))

    def test_report_says_it_of_each_type(self):
        model = rooted(False)[0]
        page = scratch() / "nan.html"
        result = octet("report", model, "--data", data(2, 0), "--seconds", "0.01", "--report", page, "--json").json
        self.assertIn("NaN first comes from", page.read_text())
        for stage in result["stages"]:
            if "missing" not in stage:
                self.check_origin(stage["not_finite"], "[1]")

    def test_damaged_constants_are_named(self):
        numpy = need("numpy")
        small = Small()
        x = small.feed("x", numpy.ones((1, 2, 3), "f4"))
        path = small.save(small.node("Mul", [x, small.const(numpy.array([1, numpy.nan, 1], "f4"), "factors")], ["y"]))
        found = octet("run", path, data(2), "--json").json["results"][0]["not_finite"]["nan"]
        self.assertEqual((found["constant"], found["element"], found["count"]), ("factors", [0, 0, 1], 2))

    def test_infinities(self):
        numpy = need("numpy")
        small = Small()
        x = small.feed("x", numpy.ones((1, 2, 3), "f4"))
        path = small.save(small.node("Relu", [small.node("Exp", [small.node("Exp", [x])])], ["y"]))
        result = octet("run", path, data(2), "--json")
        found = result.json["results"][0]["not_finite"]
        self.assertIsNone(found["nan"])
        self.assertEqual((found["infinity"]["op"], found["infinity"]["count"]), ("Exp", 5))
        self.assertIn("an infinity first comes from layer", result.err)


if __name__ == "__main__":
    harness.main()
