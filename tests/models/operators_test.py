# SPDX-License-Identifier: Apache-2.0
"""Operators whose reference is not covered by ONNX's node tests in all its modes, against ONNX Runtime on random data."""

import itertools
import unittest

import harness
from harness import need
from nodes import Small, expected, got


def compare(small, outputs, rtol=1e-4, atol=1e-5):
    numpy = need("numpy")
    path = small.save(*outputs)
    want, (have, _) = expected(path, small.feeds), got(path, small.feeds)
    for name in outputs:
        numpy.testing.assert_allclose(have[name], want[name], rtol=rtol, atol=atol)


class Sampling(unittest.TestCase):
    def test_cubic_beyond_the_border(self):
        """ONNX's own evaluator moves the position instead, and no node test has this."""
        numpy = need("numpy")
        rng = numpy.random.default_rng(5)
        for padding, align in itertools.product(("border", "reflection", "zeros"), (0, 1)):
            with self.subTest(f"{padding} align_corners={align}"):
                small = Small(opset=20)
                inputs = [small.feed("x", rng.normal(0, 1, (2, 3, 7, 9)).astype("f")),
                          small.feed("grid", rng.uniform(-1.7, 1.7, (2, 5, 6, 2)).astype("f"))]
                small.node("GridSample", inputs, ["y"], mode="cubic", padding_mode=padding, align_corners=align)
                compare(small, ["y"])


class Recurrent(unittest.TestCase):
    GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

    def model(self, op, direction, lengths=False, peepholes=False, state=True, bias=True, **attrs):
        numpy = need("numpy")
        rng = numpy.random.default_rng(7)
        steps, batch, inputs, hidden = 5, 3, 4, 6
        d, g = 2 if direction == "bidirectional" else 1, self.GATES[op]
        make = lambda *shape: rng.uniform(-0.7, 0.7, shape).astype(numpy.float32)
        small = Small()
        args = [small.feed("x", make(steps, batch, inputs)), small.const(make(d, g * hidden, inputs)),
                small.const(make(d, g * hidden, hidden)), small.const(make(d, 2 * g * hidden)) if bias else "",
                small.feed("lengths", numpy.array([5, 2, 3], numpy.int32)) if lengths else "",
                small.feed("h", make(d, batch, hidden)) if state else ""]
        if op == "LSTM":
            args += [small.feed("c", make(d, batch, hidden)) if state else "", small.const(make(d, 3 * hidden)) if peepholes else ""]
        outputs = ["y", "y_h"] + (["y_c"] if op == "LSTM" else [])
        small.node(op, args, outputs, direction=direction, hidden_size=hidden, **attrs)
        return small, outputs

    def test_directions_lengths_and_states(self):
        for op, direction, lengths, state in itertools.product(
                self.GATES, ("forward", "reverse", "bidirectional"), (False, True), (False, True)):
            with self.subTest(f"{op} {direction} lengths={lengths} state={state}"):
                compare(*self.model(op, direction, lengths, state=state))

    def test_variants(self):
        variants = [
            ("LSTM", dict(peepholes=True)), ("LSTM", dict(input_forget=1)), ("LSTM", dict(clip=0.3)), ("LSTM", dict(bias=False)),
            ("LSTM", dict(activations=["HardSigmoid", "Relu", "Softsign"])),
            ("GRU", dict(linear_before_reset=1)), ("GRU", dict(clip=0.2)), ("GRU", dict(activations=["Sigmoid", "Softplus"])),
            ("GRU", dict(linear_before_reset=1, bias=False)),
            ("RNN", dict(activations=["Relu"])), ("RNN", dict(clip=0.1)),
            ("RNN", dict(activations=["LeakyRelu"], activation_alpha=[0.2])),
            ("RNN", dict(activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1])),
            ("RNN", dict(activations=["ScaledTanh"], activation_alpha=[1.5], activation_beta=[0.5])),
            ("RNN", dict(activations=["ThresholdedRelu"], activation_alpha=[0.1])), ("RNN", dict(activations=["Elu"], activation_alpha=[0.7]))]
        for op, options in variants:
            with self.subTest(f"{op} {options}"):
                compare(*self.model(op, "forward", **options))


class Regions(unittest.TestCase):
    def test_roi_align(self):
        numpy = need("numpy")
        rng = numpy.random.default_rng(3)
        corners = rng.uniform(-2, 20, (7, 2)).astype(numpy.float32)
        rois = numpy.concatenate([corners, corners + rng.uniform(0.1, 15, (7, 2)).astype(numpy.float32)], 1)
        for mode, ratio, coordinates in itertools.product(("avg", "max"), (0, 1, 3), ("half_pixel", "output_half_pixel")):
            with self.subTest(f"{mode} {ratio} {coordinates}"):
                small = Small()
                args = [small.feed("x", rng.normal(size=(2, 3, 13, 11)).astype(numpy.float32)), small.feed("rois", rois),
                        small.feed("images", rng.integers(0, 2, 7))]
                small.node("RoiAlign", args, ["y"], mode=mode, sampling_ratio=ratio, coordinate_transformation_mode=coordinates,
                           output_height=3, output_width=4, spatial_scale=0.7)
                compare(small, ["y"])

    def test_max_unpool(self):
        numpy = need("numpy")
        small = Small()
        x = small.feed("x", numpy.random.default_rng(5).permutation(2 * 3 * 8 * 6).reshape(2, 3, 8, 6).astype(numpy.float32))
        pooled = small.node("MaxPool", [x], ["pooled", "at"], kernel_shape=[2, 3], strides=[2, 3])
        small.node("MaxUnpool", [pooled, "at"], ["y"], kernel_shape=[2, 3], strides=[2, 3])
        compare(small, ["y"], 0, 0)


class Deformable(unittest.TestCase):
    def test_groups_strides_and_mask(self):
        numpy = need("numpy")
        rng = numpy.random.default_rng(11)
        for group, offsets, stride, mask in itertools.product((1, 2), (1, 4), (1, 2), (False, True)):
            with self.subTest(f"group {group} offsets {offsets} stride {stride} mask {mask}"):
                make = lambda *shape: rng.normal(size=shape).astype(numpy.float32)
                height, width = (9, 8) if stride == 1 else (5, 4)
                small = Small(opset=19)
                args = [small.feed("x", make(2, 8, 9, 8)), small.const(make(6, 8 // group, 3, 3)),
                        small.feed("offset", 2 * make(2, offsets * 18, height, width)), small.const(make(6))]
                if mask:
                    args.append(small.feed("mask", make(2, offsets * 9, height, width)))
                small.node("DeformConv", args, ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[stride, stride], group=group,
                           offset_group=offsets)
                path = small.save("y")
                try:
                    want = expected(path, small.feeds)["y"]
                except Exception as error:  # an ONNX Runtime without this operator
                    self.skipTest(str(error).splitlines()[0])
                numpy.testing.assert_allclose(got(path, small.feeds)[0]["y"], want, rtol=1e-4, atol=1e-4)


class Spectra(unittest.TestCase):
    def test_stft(self):
        numpy = need("numpy")
        rng = numpy.random.default_rng(13)
        # Exporters leave the last axis of real signals out.
        for shape, onesided in itertools.product(((2, 61, 1), (2, 61)), (0, 1)):
            small = Small()
            args = [small.feed("x", rng.normal(size=shape).astype(numpy.float32)), small.const(numpy.array(7, numpy.int64)),
                    small.const(numpy.hanning(12).astype(numpy.float32)), small.const(numpy.array(12, numpy.int64))]
            small.node("STFT", args, ["y"], onesided=onesided)
            compare(small, ["y"])


if __name__ == "__main__":
    harness.main()
