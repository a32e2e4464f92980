# SPDX-License-Identifier: Apache-2.0
"""octet eval --detector --boxes: labels lie where the images were put, however their preparation is told, and what cannot be mapped is refused."""

import json
import unittest

import harness
from harness import need, octet, scratch


def detector():
    """Of 64x64 images, it always sees the same box, which is the label's in a letterbox in the middle."""
    numpy, helper, onnx = need("numpy"), need("onnx.helper"), need("onnx")
    numpy_helper = need("onnx.numpy_helper")
    constants = {"zero": numpy.zeros((1, 3, 1, 1), "float32"), "flat": numpy.array([1, 1, 3]),
                 "weights": numpy.zeros((1, 3, 4), "float32"), "score": numpy.zeros((1, 3, 1), "float32"),
                 "box": numpy.array([[[8, 20, 24, 28]]], "float32"), "sure": numpy.array([[[0.9]]], "float32")}
    nodes = [helper.make_node("GlobalAveragePool", ["image"], ["mean"]), helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
             helper.make_node("Reshape", ["nothing", "flat"], ["row"]),
             helper.make_node("MatMul", ["row", "weights"], ["no_box"]), helper.make_node("Add", ["no_box", "box"], ["boxes"]),
             helper.make_node("MatMul", ["row", "score"], ["no_score"]), helper.make_node("Add", ["no_score", "sure"], ["scores"])]
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "detector", [helper.make_tensor_value_info("image", floats, [1, 3, 64, 64])],
                              [helper.make_tensor_value_info("boxes", floats, [1, 1, 4]), helper.make_tensor_value_info("scores", floats, [1, 1, 1])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    path = scratch() / "detector.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def labels(names):
    """One box of each image of 64x32 pixels."""
    path = scratch() / "labels.json"
    path.write_text(json.dumps({
        "images": [{"id": i, "file_name": name, "width": 64, "height": 32} for i, name in enumerate(names)],
        "categories": [{"id": 1}],
        "annotations": [{"image_id": i, "category_id": 1, "bbox": [8, 4, 16, 8]} for i in range(len(names))]}))
    return path


class Labels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, image_module = detector(), need("PIL.Image")
        cls.data = scratch() / "images"
        for name in ("day/a.png", "day/b.png", "night/a.png"):
            (cls.data / name).parent.mkdir(parents=True, exist_ok=True)
            image_module.new("RGB", (64, 32), (90, 120, 30)).save(cls.data / name)
        description = scratch() / "detector.json"
        description.write_text(json.dumps({"boxes": {"output": "boxes"}, "classes": {"output": "scores"}}))
        cls.flags = ("--detector", description, "--boxes", labels(["day/a.png", "day/b.png", "night/a.png"]), "--json")

    def found(self, engine, *flags, data=".", code=0):
        return octet("eval", engine, "--data", self.data / data, *self.flags, *flags, code=code)

    def test_an_engine_knows_where_images_lie(self):
        engine = scratch() / "detector.octet"
        octet("build", self.model, "--preprocess", "yolo", "-o", engine)
        found = self.found(engine).json["detection"]
        self.assertEqual((found["boxes"], found["true_boxes"]), (3, 3))
        self.assertAlmostEqual(found["map"], 1, 12)

    def test_a_preset_follows_the_input_here_too(self):
        self.assertAlmostEqual(self.found(self.model, "--preprocess", "yolo").json["detection"]["map"], 1, 12)
        self.assertAlmostEqual(self.found(self.model, "--letterbox", "64x64:114:center").json["detection"]["map"], 1, 12)
        # The same box of images that fill the input is another one.
        self.assertLess(self.found(self.model, "--preprocess", "keras").json["detection"]["map"], 0.5)

    def test_images_of_one_name(self):
        self.assertIn("several images", self.found(self.model, data="night", code=2).err)

    def test_a_crop_is_refused(self):
        self.assertIn("not mapped through a crop", self.found(self.model, "--preprocess", "torchvision", code=2).err)


if __name__ == "__main__":
    harness.main()
