# SPDX-License-Identifier: Apache-2.0
"""Sizes that a model leaves open: what a build takes them for, and what its data had."""

import unittest

import harness
from harness import DIGITS, digits, need, octet, scratch

SIZES = ((24, 40), (32, 20))


def convolution(name):
    """[N,3,H,W] -> Conv."""
    onnx, numpy = need("onnx", "numpy")
    helper = onnx.helper
    weights = onnx.numpy_helper.from_array(numpy.full((8, 3, 3, 3), 0.1, "float32"), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    infos = [helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, ["N", channels, "H", "W"]) for value, channels in (("x", 3), ("y", 8))]
    graph = helper.make_graph([node], name, infos[:1], infos[1:], initializer=[weights])
    path = scratch() / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def images_of(sizes):
    numpy = need("numpy")
    folder = scratch() / "sizes"
    folder.mkdir(exist_ok=True)
    for i in range(40):
        shape = (3, *sizes[i % len(sizes)])
        numpy.save(folder / f"{i}.npy", numpy.random.default_rng(i).normal(size=shape).astype("float32"))
    return folder


class OpenSizes(unittest.TestCase):
    def test_a_batch(self):
        flags = ("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "-o", scratch() / "sizes.octet")
        built = octet(*flags, "--json").json
        self.assertEqual(built["inputs"], [{"name": "image", "type": "f32[?,1,8,8]", "assumed": "1x1x8x8"}])
        (seen,) = built["calibration"]["inputs"]
        self.assertEqual((seen["smallest"], seen["largest"]), ([1, 1, 8, 8], [1, 1, 8, 8]))
        text = octet(*flags).out
        self.assertIn("open sizes   image: ?x1x8x8, looked at as 1x1x8x8\n", text)
        self.assertIn("image: 1x1x8x8, ", text)

    def test_images_of_several_sizes(self):
        flags = ("build", convolution("open"), "--int8", "--calib", images_of(SIZES), "-o", scratch() / "open.octet")
        built = octet(*flags, "--json").json
        self.assertEqual(built["inputs"], [{"name": "x", "type": "f32[?,3,?,?]", "assumed": "1x3x224x224"}])
        (seen,) = built["calibration"]["inputs"]
        self.assertEqual((seen["smallest"], seen["largest"]), ([1, 3, 24, 20], [1, 3, 32, 40]))
        self.assertEqual(built["warnings"], [])
        self.assertIn("x: 1x3x24x20 to 1x3x32x40, ", octet(*flags).out)

    def test_a_size_that_preprocessing_tells(self):
        built = octet("build", convolution("told"), "--letterbox", "96x64", "-o", scratch() / "told.octet", "--json").json
        self.assertEqual(built["inputs"][0]["assumed"], "1x3x64x96")
        layers = octet("inspect", scratch() / "told.octet", "--json").json["coverage"]["total_macs"]
        self.assertEqual(built["coverage"]["total_macs"], layers)

    def test_one_size_that_a_model_takes_is_said_with_the_node_that_wants_it(self):
        onnx, numpy = need("onnx", "numpy")
        helper = onnx.helper
        weights = [onnx.numpy_helper.from_array(numpy.full((8, 3, 16, 16), 0.1, "float32"), "w"),
                   onnx.numpy_helper.from_array(numpy.array([0, 8, 576], "int64"), "tokens"),  # of 384x384, patches of 16
                   onnx.numpy_helper.from_array(numpy.ones((1, 8, 576), "float32"), "positions")]
        nodes = [helper.make_node("Conv", ["x", "w"], ["p"], "patches", strides=[16, 16]), helper.make_node("Reshape", ["p", "tokens"], ["t"], "flatten"),
                 helper.make_node("Add", ["t", "positions"], ["y"], "place")]
        infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes) for name, sizes in (("x", ["N", 3, "H", "W"]), ("y", ["N", 8, 576]))]
        graph = helper.make_graph(nodes, "vit", infos[:1], infos[1:], initializer=weights)
        path = scratch() / "vit.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        note = "sizes that the model leaves open are fixed: input 'x' ?x3x?x? is ?x3x384x384 now; others it refuses: "
        for command in (("check", path), ("build", path, "-o", scratch() / "vit.octet")):
            (said,) = octet(*command, "--json").json["warnings"]
            self.assertTrue(said.startswith(note), said)
            self.assertIn("flatten", said)
            shown = octet(*command)
            self.assertEqual((shown.out + shown.err).count(note), 1, shown.err)
            self.assertEqual(octet(*command, "--shape", "x:1x3x384x384", "--json").json["warnings"], [])

    def test_sizes_that_are_given_are_not_open(self):
        flags = ("build", convolution("given"), "--shape", "x:2x3x16x16", "-o", scratch() / "given.octet")
        self.assertEqual(octet(*flags, "--json").json["inputs"], [{"name": "x", "type": "f32[2,3,16,16]", "assumed": "2x3x16x16"}])
        self.assertNotIn("open sizes", octet(*flags).out)
        twice = octet(*flags, "--shape", "x:1x3x8x8", code=2).err
        self.assertIn("--shape x:1x3x8x8: the size of 'x' is given before, as 2x3x16x16\n", twice)


if __name__ == "__main__":
    harness.main()
