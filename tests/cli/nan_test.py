# SPDX-License-Identifier: Apache-2.0
"""Float attributes and statistics that no data have are refused."""

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


if __name__ == "__main__":
    harness.main()
