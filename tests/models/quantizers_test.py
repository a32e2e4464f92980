# SPDX-License-Identifier: Apache-2.0
"""Q/DQ as quantizers write it: each form runs on integer kernels and gives what ONNX Runtime gives."""

import unittest

import harness
from harness import need
from nodes import Small, expected, got

CONVERSIONS = ("QuantizeLinear", "DequantizeLinear", "Reorder", "Reshape")


class Form(Small):
    """A graph in some quantizer's manner."""

    def __init__(self, seed=0, opset=17):
        super().__init__(opset)
        self.rng = need("numpy").random.default_rng(seed)

    def pair(self, value, scale, zero, outputs=None, **attrs):
        """QuantizeLinear and DequantizeLinear; `zero` says the type of the codes."""
        numpy = need("numpy")
        parameters = [self.const(numpy.asarray(scale, numpy.float32)), self.const(numpy.asarray(zero))]
        codes = self.node("QuantizeLinear", [value, *parameters], **attrs)
        return self.node("DequantizeLinear", [codes, *parameters], outputs, **attrs)

    def picture(self, *shape):
        return self.feed("x", self.rng.normal(size=shape).astype(need("numpy").float32))

    def weights(self, *shape, size=1.0):
        """s8 codes with a scale for each output channel."""
        numpy = need("numpy")
        codes = self.const(self.rng.integers(-127, 128, shape).astype(numpy.int8))
        scales = self.const((self.rng.uniform(0.5, 1, shape[0]) * size / 127).astype(numpy.float32))
        return self.node("DequantizeLinear", [codes, scales, self.const(numpy.zeros(shape[0], numpy.int8))], axis=0)

    def clip(self, value, low, high):
        numpy = need("numpy")
        return self.node("Clip", [value, self.const(numpy.float32(low)), self.const(numpy.float32(high))])


class Quantizers(unittest.TestCase):
    def expect_integers(self, form, outputs=("y",), atol=0.0, float_ops=()):
        """All layers in INT8, none on the reference; the outputs those of ONNX Runtime, on every instruction set."""
        numpy = need("numpy")
        path = form.save(*outputs)
        wanted = expected(path, form.feeds)
        for level in "none", "avx2", "avx_vnni", "vnni", "amx":
            with self.subTest(level):
                result, layers = got(path, form.feeds, env={"OCTET_CPU_ISA": level})
                for name in outputs:
                    numpy.testing.assert_allclose(result[name], wanted[name], rtol=0, atol=atol)
        for layer in layers:
            if layer["op"] not in CONVERSIONS + tuple(float_ops):
                self.assertEqual(layer["precision"], "int8", layer)
            self.assertNotEqual(layer["kernel"], "reference", layer)
        return layers

    def depthwise_after(self, bound):
        """NNCF: a scale and a zero point for each channel before a depthwise convolution; a channel that was never alive has others."""
        numpy = need("numpy")
        form = Form()
        x = form.pair(form.picture(2, 8, 9, 7), 1 / 32, numpy.uint8(128))
        value = form.node("Conv", [x, form.weights(24, 8, 1, 1)])
        value = form.clip(value, 0, bound) if bound else form.node("Relu", [value])
        scales = form.rng.uniform(1, 4, 24) / 255
        zeros = numpy.full(24, -128, numpy.int8)
        scales[[3, 17]], zeros[[3, 17]] = 6.3e-6, 0
        value = form.pair(value, scales, zeros, axis=1)
        value = form.node("Conv", [value, form.weights(24, 1, 3, 3)], group=24, pads=[1] * 4, strides=[2, 2])
        form.pair(form.node("Relu", [value]), 1 / 16, numpy.uint8(0), ["y"])
        return form

    def test_nncf_depthwise_of_relu(self):
        layers = self.expect_integers(self.depthwise_after(0), atol=1 / 16)  # a tie of rounding is one code
        self.assertEqual([layer["op"] for layer in layers if layer["precision"] == "int8"].count("QConv"), 2)

    def test_nncf_depthwise_of_relu6(self):
        for bound in 1.5, 6:
            self.expect_integers(self.depthwise_after(bound), atol=1 / 16)

    def test_u8_weights_with_zero_points(self):
        """TFLite's: one zero point for all weights; ONNX Runtime's: one for each channel."""
        numpy = need("numpy")
        for each in False, True:
            form = Form(2)

            def weights(*shape):
                codes = form.const(form.rng.integers(0, 256, shape).astype(numpy.uint8))
                count = shape[0] if each else 1
                scales = form.rng.uniform(0.5, 1, count).astype(numpy.float32) / 256
                zeros = form.rng.integers(90, 160, count).astype(numpy.uint8)
                parameters = [form.const(v if each else v[0]) for v in (scales, zeros)]
                return form.node("DequantizeLinear", [codes, *parameters], **({"axis": 0} if each else {}))

            x = form.pair(form.picture(2, 8, 11, 9), 1 / 32, numpy.uint8(128))
            x = form.pair(form.clip(form.node("Conv", [x, weights(24, 8, 1, 1)]), 0, 6), 6 / 255, numpy.uint8(0))
            for stride, kernel, dilation in ((1, 3, 1), (2, 3, 1), (1, 5, 1), (1, 3, 2)):
                pads = [dilation * (kernel // 2)] * 4
                x = form.node("Conv", [x, weights(24, 1, kernel, kernel)], group=24, pads=pads, strides=[stride] * 2, dilations=[dilation] * 2)
                x = form.pair(x, 1 / 16, numpy.uint8(100))
            form.pair(form.node("Conv", [x, weights(4, 24, 1, 1)]), 1 / 8, numpy.uint8(128), ["y"])
            layers = self.expect_integers(form, atol=1 / 4)
            kernels = [layer["kernel"] for layer in layers if layer["name"].endswith("_Conv")]
            self.assertEqual(sum("depthwise" in kernel for kernel in kernels), 4, kernels)

    def test_modelopt_between_layers_in_f16(self):
        """ModelOpt converts all that it does not quantize to f16, and the scales with it."""
        numpy = need("numpy")
        form = Form(4, opset=19)

        def pair(value, scale, zero, outputs=None, **attrs):
            half, zero = form.const(numpy.asarray(scale, numpy.float16)), form.const(numpy.asarray(zero))
            codes = form.node("QuantizeLinear", [value, half, zero], **attrs)
            return form.node("DequantizeLinear", [codes, half, zero], outputs, **attrs)

        def conv(value, *shape, **attrs):
            weights = form.const((form.rng.normal(size=shape) / 8).astype(numpy.float16))
            weights = pair(weights, numpy.full(shape[0], 1 / 256), numpy.zeros(shape[0], numpy.int8), axis=0)
            bias = form.const(form.rng.normal(size=shape[0]).astype(numpy.float16))
            return form.node("Relu", [form.node("Conv", [value, weights, bias], pads=[1] * 4, **attrs)])

        x = pair(form.node("Cast", [form.picture(1, 8, 9, 7)], to=10), 1 / 32, numpy.int8(0))
        x = pair(conv(x, 16, 8, 3, 3), 1 / 16, numpy.int8(0))
        y = pair(form.node("Add", [pair(conv(x, 16, 16, 3, 3), 1 / 16, numpy.int8(0)), x]), 1 / 8, numpy.int8(0))
        y = pair(conv(y, 16, 1, 3, 3, group=16), 1 / 8, numpy.int8(0))
        form.node("Cast", [y], ["y"], to=1)
        self.expect_integers(form, atol=1 / 2, float_ops=["Cast"])

    def test_brevitas_clips_codes(self):
        """QCDQ: fewer bits and narrow ranges as a Clip between QuantizeLinear and DequantizeLinear, of weights too."""
        numpy = need("numpy")
        form = Form(5)

        def clipped(value, scale, zero, low, high, outputs=None, **attrs):
            zero = numpy.asarray(zero)
            parameters = [form.const(numpy.asarray(scale, numpy.float32)), form.const(zero)]
            codes = form.node("QuantizeLinear", [value, *parameters], **attrs)
            bounds = [form.const(numpy.array(bound, zero.dtype)) for bound in (low, high)]
            return form.node("DequantizeLinear", [form.node("Clip", [codes, *bounds]), *parameters], outputs, **attrs)

        def conv(value, *shape, **attrs):
            weights = form.const((form.rng.normal(size=shape) / 8).astype(numpy.float32))
            weights = clipped(weights, numpy.full(shape[0], 1 / 32), numpy.zeros(shape[0], numpy.int8), -7, 7, axis=0)
            return form.node("Conv", [value, weights], pads=[1] * 4, **attrs)

        x = clipped(form.picture(1, 8, 9, 7), 1 / 32, numpy.int8(0), -127, 127)
        x = clipped(form.node("Relu", [conv(x, 16, 8, 3, 3)]), 1 / 8, numpy.uint8(0), 0, 15)
        x = clipped(conv(x, 16, 1, 3, 3, group=16), 1 / 8, numpy.int8(0), -8, 7)
        clipped(form.node("Add", [clipped(conv(x, 16, 16, 3, 3), 1 / 8, numpy.int8(0), -8, 7), x]), 1 / 8, numpy.int8(0), -8, 7, ["y"])
        self.expect_integers(form, atol=1 / 4, float_ops=["Clip"])

    def test_activations_without_codes_before_them(self):
        """All quantizers: none between a convolution and its SiLU, GELU or HardSwish, which only their results leave as codes."""
        numpy = need("numpy")
        form = Form(6)
        x = form.pair(form.picture(2, 8, 9, 7), 1 / 32, numpy.uint8(128))
        value = form.node("Conv", [x, form.weights(24, 8, 1, 1)])
        value = form.node("Mul", [value, form.node("Sigmoid", [value])])
        value = form.node("Conv", [form.pair(value, 1 / 32, numpy.uint8(9)), form.weights(24, 24, 3, 3, size=0.2)], pads=[1] * 4)
        scaled = form.node("Erf", [form.node("Div", [value, form.const(numpy.float32(numpy.sqrt(2)))])])
        gate = form.node("Add", [scaled, form.const(numpy.float32(1))])
        value = form.node("Mul", [form.node("Mul", [value, gate]), form.const(numpy.float32(0.5))])
        value = form.node("Conv", [form.pair(value, 1 / 32, numpy.int8(-120)), form.weights(8, 24, 1, 1)])
        form.pair(form.node("HardSwish", [value]), 1 / 16, numpy.uint8(6), ["y"])
        layers = self.expect_integers(form, atol=1 / 8)
        self.assertFalse([layer["op"] for layer in layers if layer["op"] == "QFunction"])
        self.assertEqual(sum("of finer codes" in layer["reason"] for layer in layers), 3)

    def test_feature_pyramid(self):
        """Bilinear Resize between Q/DQ, in every usual transformation, by scales and by sizes."""
        numpy = need("numpy")
        for coordinates in "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel":
            for mode in "linear", "cubic":
                form = Form(3)
                x = form.pair(form.picture(2, 8, 7, 6), 1 / 32, numpy.uint8(128))
                top = form.pair(form.node("Conv", [x, form.weights(24, 8, 1, 1)], strides=[2, 2]), 1 / 32, numpy.uint8(128))
                side = form.pair(form.node("Conv", [x, form.weights(24, 8, 1, 1)]), 1 / 32, numpy.uint8(120))
                sizes = form.const(numpy.array([2, 24, 7, 6]))
                up = form.node("Resize", [top, "", "", sizes], mode=mode, coordinate_transformation_mode=coordinates)
                up = form.pair(up, 1 / 32, numpy.uint8(120))
                value = form.pair(form.node("Add", [up, side]), 1 / 16, numpy.uint8(128))
                scales = form.const(numpy.array([1, 1, 2, 1.5], numpy.float32))
                value = form.node("Resize", [value, "", scales], mode=mode, coordinate_transformation_mode=coordinates)
                form.pair(value, 1 / 16, numpy.uint8(128), ["y"])
                self.expect_integers(form, atol=3 / 16)

    def test_batch_normalization_after_weights_in_codes(self):
        numpy = need("numpy")
        form = Form(1)
        x = form.pair(form.picture(1, 8, 6, 6), 1 / 32, numpy.int8(0))
        value = form.node("Conv", [x, form.weights(16, 8, 3, 3, size=0.2)], pads=[1] * 4)
        factors = form.rng.normal(size=16)
        factors[5] = 0
        parts = [factors, form.rng.normal(size=16), form.rng.normal(size=16), form.rng.uniform(0.5, 2, 16)]
        value = form.node("BatchNormalization", [value, *[form.const(part.astype(numpy.float32)) for part in parts]])
        form.pair(form.node("Relu", [value]), 1 / 16, numpy.uint8(0), ["y"])
        self.expect_integers(form, atol=1 / 16)


if __name__ == "__main__":
    harness.main()
