# SPDX-License-Identifier: Apache-2.0
"""Explicit Q/DQ models keep their own scales, fuse, and give what ONNX Runtime gives."""

import unittest

import harness
from harness import need, octet, onnxruntime_session, scratch, shared_model
from models import MODELS, prepared_images
from nodes import Small, expected, got


def build(name, *flags):
    engine = scratch() / f"{name}.octet"
    octet("build", shared_model(name), "--int8", "-o", engine, "--quiet", *flags)
    return engine, octet("inspect", engine, "--json").json["layers"]


class Explicit(unittest.TestCase):
    def test_convolutions_become_integer(self):
        _, layers = build("mobilenet_v2_imagenet_qdq")
        operators = [layer["op"] for layer in layers]
        self.assertIn("QConv", operators)
        self.assertNotIn("Conv", operators)

    def test_one_scale_for_each_channel_of_an_activation(self):
        numpy = need("numpy")
        engine, _ = build("polygraphy_qdq_conv")
        session = onnxruntime_session(shared_model("polygraphy_qdq_conv"))
        source, target = scratch() / "none.npz", scratch() / "conv.npz"
        numpy.savez(source, unused=numpy.zeros(1, numpy.float32))  # the model has no input
        octet("run", engine, source, "-o", target)
        name = session.get_outputs()[0].name
        numpy.testing.assert_allclose(numpy.load(target)[name], session.run(None, {})[0], rtol=1e-3, atol=1e-7)

    def test_residual_block_is_int8_from_end_to_end(self):
        model = MODELS["mobilenet_v2_imagenet"]
        _, layers = build("polygraphy_residual_block", "--calib", model.calib, *model.flags, "--max-samples", "8")
        for layer in layers:
            if layer["op"] not in ("QuantizeLinear", "DequantizeLinear", "Reorder"):
                self.assertEqual(layer["precision"], "int8", layer)

    def test_mobilenet_answers_as_onnx_runtime(self):
        numpy = need("numpy")
        engine, _ = build("mobilenet_v2_imagenet_qdq")
        session = onnxruntime_session(shared_model("mobilenet_v2_imagenet_qdq"))
        source, target = scratch() / "qdq_in.npz", scratch() / "qdq_out.npz"
        agree, images = 0, list(prepared_images(MODELS["mobilenet_v2_imagenet"], 20))
        for image in images:
            expected = session.run(None, {"input": image})[0]
            numpy.savez(source, input=image)
            octet("run", engine, source, "-o", target)
            got = numpy.load(target)[session.get_outputs()[0].name]
            agree += int(got.argmax() == expected.argmax())
        self.assertEqual(agree, len(images))

    def test_real_bias_over_a_dead_channel(self):
        """In units of that channel's scale the bias passes 32 bits: saturated it would be gone."""
        numpy = need("numpy")
        rng = numpy.random.default_rng(4)
        for op, shape, axis in (("Conv", (4, 3, 2, 2), 0), ("ConvTranspose", (3, 4, 2, 2), 1)):
            with self.subTest(op):
                small = Small()

                def pair(value, scale, outputs=None):
                    parameters = [small.const(numpy.float32(scale)), small.const(numpy.uint8(128))]
                    return small.node("DequantizeLinear", [small.node("QuantizeLinear", [value, *parameters]), *parameters], outputs)

                x = pair(small.feed("x", rng.normal(size=(1, 3, 6, 6)).astype(numpy.float32)), 1 / 16)
                codes = small.const(rng.integers(-127, 128, shape).astype(numpy.int8))
                scales = small.const(numpy.array([1 / 64, 1e-12, 1 / 64, 1 / 64], numpy.float32))
                weights = small.node("DequantizeLinear", [codes, scales, small.const(numpy.zeros(4, numpy.int8))], axis=axis)
                bias = small.const(numpy.array([0.3, -2.5, 1, 0.2], numpy.float32))
                pair(small.node(op, [x, weights, bias], strides=[2, 2]), 1 / 8, ["y"])
                path = small.save("y")
                result, _ = got(path, small.feeds)
                wanted = expected(path, small.feeds)["y"]
                self.assertEqual(set(wanted[0, 1].flat), {-2.5})
                numpy.testing.assert_allclose(result["y"], wanted, rtol=0, atol=1 / 8)  # a tie of rounding is one code

    def test_padded_convolutions_of_the_pieces_of_a_split(self):
        """Each piece has a border of its own zero points."""
        numpy = need("numpy")
        rng = numpy.random.default_rng(6)
        small = Small()

        def pair(value, scale, zero=128, outputs=None):
            parameters = [small.const(numpy.float32(scale)), small.const(numpy.uint8(zero))]
            return small.node("DequantizeLinear", [small.node("QuantizeLinear", [value, *parameters]), *parameters], outputs)

        def conv(value, shape, output, **attrs):
            codes = small.const(rng.integers(-90, 91, shape).astype(numpy.int8))
            weights = small.node("DequantizeLinear", [codes, small.const(numpy.float32(1 / 128))])
            pair(small.node("Conv", [value, weights], pads=[1] * 4, **attrs), 1 / 4, outputs=[output])

        x = pair(small.feed("x", rng.normal(size=(2, 24, 9, 7)).astype(numpy.float32)), 1 / 16, 100)
        small.node("Split", [x, small.const(numpy.array([4, 16, 4]))], ["unread", "a", "b"], axis=1)
        conv("a", (16, 1, 3, 3), "depthwise", group=16)
        conv("b", (8, 4, 3, 3), "dense")
        path = small.save("depthwise", "dense")
        wanted = expected(path, small.feeds)
        for level in "none", "avx2", "vnni", "amx":
            with self.subTest(level):
                result, _ = got(path, small.feeds, env={"OCTET_CPU_ISA": level})
                for name, value in wanted.items():
                    numpy.testing.assert_array_equal(result[name], value)


class Operators(unittest.TestCase):
    def test_shufflenet_equals_onnx_runtime(self):
        """QLinearConv, QLinearMatMul and QLinearAdd with what lies between them: the same numbers, none from the reference."""
        numpy = need("numpy")
        feeds = {"input": numpy.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(numpy.float32)}
        path = shared_model("shufflenet_v2_imagenet_qoperator")
        have, layers = got(path, feeds)
        numpy.testing.assert_array_equal(have["output"], expected(path, feeds)["output"])
        self.assertEqual([layer["name"] for layer in layers if layer["kernel"] == "reference"], [])


if __name__ == "__main__":
    harness.main()
