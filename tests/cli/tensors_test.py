# SPDX-License-Identifier: Apache-2.0
"""inspect says scale and zero point of every tensor of codes: what they were calibrated to, and what weights were made with."""

import unittest

import harness
from harness import DIGITS, digits, digits_engine, need, octet, scratch, shared_model

CODES = ("u8[", "s8[")


def tensors(layers):
    for layer in layers:
        yield from ((layer, tensor) for tensor in layer["inputs"] + layer["outputs"])


class Tensors(unittest.TestCase):
    def test_every_tensor_of_codes(self):
        layers = octet("inspect", digits_engine(), "--json").json["layers"]
        count = 0
        for layer, tensor in tensors(layers):
            if not tensor["type"].startswith(CODES):
                self.assertNotIn("scale", tensor)
                continue
            count += 1
            self.assertGreater(tensor["scale"], 0, layer["name"])
            self.assertTrue(0 <= tensor["zero_point"] <= 255)
        self.assertGreater(count, 3)
        table = octet("inspect", digits_engine(), "--tensors").out
        self.assertIn("ZERO POINT", table)

    def test_scales_of_weights(self):
        """Codes times scales are the weights of the model: to half a step each, and to the largest in its channel."""
        onnx, numpy = need("onnx"), need("numpy")
        helper = onnx.helper
        random = numpy.random.default_rng(1)
        weights = (random.standard_normal((12, 5, 3, 3)) * random.uniform(0.1, 4, (12, 1, 1, 1))).astype("float32")
        graph = helper.make_graph(
            [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], "conv",
            [helper.make_tensor_value_info("x", 1, [1, 5, 8, 8])], [helper.make_tensor_value_info("y", 1, [1, 12, 8, 8])],
            [onnx.numpy_helper.from_array(weights, "w")])
        model, data = scratch() / "weights.onnx", scratch() / "weights.npy"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        numpy.save(data, random.standard_normal((40, 5, 8, 8)).astype("float32"))
        octet("build", model, "--int8", "--calib", data, "-o", scratch() / "weights.octet", "--quiet")
        layers = octet("inspect", scratch() / "weights.octet", "--json").json["layers"]
        (conv,) = [layer for layer in layers if layer["op"] == "QConv"]
        (codes,) = [constant for constant in conv["constants"] if constant["type"] == "s8[12,5,3,3]"]
        numpy.testing.assert_allclose(codes["scale"], abs(weights).max(axis=(1, 2, 3)) / 127, rtol=1e-5)
        self.assertEqual(codes["zero_point"], 0)

    def test_scales_of_a_model_that_brings_its_own(self):
        onnx = need("onnx")
        path = shared_model("mobilenet_v2_imagenet_qdq")
        constants = {value.name: onnx.numpy_helper.to_array(value) for value in onnx.load(path).graph.initializer}
        nodes = onnx.load(path).graph.node
        scales = {float(constants[n.input[1]]) for n in nodes if n.op_type == "QuantizeLinear" and constants[n.input[1]].size == 1}
        found = {tensor["scale"] for _, tensor in tensors(octet("inspect", path, "--json").json["layers"]) if "scale" in tensor}
        self.assertGreater(len(found), 20)
        self.assertEqual({f"{scale:.6g}" for scale in found} - {f"{scale:.6g}" for scale in scales}, set())


if __name__ == "__main__":
    harness.main()
