# SPDX-License-Identifier: Apache-2.0
"""octet extract: the part computes what the whole model computes there, names that are wrong are listed at once, and weights files come inside."""

import pathlib
import unittest

import harness
from harness import DIGITS, need, octet, onnxruntime_session, scratch

MODEL = DIGITS / "digits.onnx"


def extract(*flags, code=0, model=MODEL, name="part"):
    return octet("extract", model, *flags, "-o", scratch() / f"{name}.onnx", "--force", "--json", code=code).json


class Extracted(unittest.TestCase):
    def setUp(self):
        self.numpy, self.onnx = need("numpy"), need("onnx")

    def run_model(self, path, feeds, outputs=None):
        """Without rewrites of the graph, which differ where a part ends."""
        return onnxruntime_session(path).run(outputs, feeds)

    def middle(self, after):
        """The tensor that a node of that kind gives, and every tensor of the model."""
        model = self.onnx.load(MODEL)
        return [node.output[0] for node in model.graph.node if node.op_type == after]

    def test_both_halves_are_the_whole(self):
        cut = self.middle("Relu")[2]
        head = extract("--outputs", cut, name="head")
        tail = extract("--inputs", cut, name="tail")
        self.assertEqual(head["nodes"] + tail["nodes"], head["all_nodes"])
        self.assertEqual([one["name"] for one in tail["inputs"]], [cut])
        self.assertRegex(tail["inputs"][0]["type"], r"f32\[\?,\d+,\d+,\d+\]")
        x = self.numpy.random.default_rng(1).normal(size=(2, 1, 8, 8)).astype("float32")
        middle = self.run_model(scratch() / "head.onnx", {"image": x})
        whole = self.run_model(MODEL, {"image": x})
        joined = self.run_model(scratch() / "tail.onnx", {cut: middle[0]})
        self.assertEqual(joined[0].tobytes(), whole[0].tobytes())
        # And Octet reads what it wrote.
        octet("build", scratch() / "tail.onnx", "-o", scratch() / "tail.octet", "--force")

    def test_all_names_that_are_wrong_are_said_at_once(self):
        said = extract("--inputs", "imag", "--outputs", "logit,nobody", code=2)["error"]["message"]
        self.assertIn("'imag' is no tensor that the graph computes; did you mean 'image'?", said)
        self.assertIn("'logit' is no tensor that the graph computes; did you mean 'logits'?", said)
        self.assertIn("'nobody'", said)
        self.assertIn("'logits' is named twice", extract("--outputs", "logits,logits", code=2)["error"]["message"])
        relu = self.middle("Relu")
        said = extract("--inputs", relu[-1], "--outputs", relu[0], code=2)["error"]["message"]
        self.assertIn("is not needed for the outputs", said)
        self.assertIn("the outputs also need 'image', an input of the model", said)

    def test_bodies_read_from_outside(self):
        helper, kind = self.onnx.helper, self.onnx.TensorProto
        info = helper.make_tensor_value_info
        branch = [helper.make_graph([helper.make_node(op, ["a", "b"], [op])], op, [], [info(op, kind.FLOAT, [2])]) for op in ("Add", "Mul")]
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"]), helper.make_node("Abs", ["x"], ["unused"]),
                 helper.make_node("If", ["c"], ["y"], then_branch=branch[0], else_branch=branch[1])]
        graph = helper.make_graph(nodes, "g", [info("x", kind.FLOAT, [2]), info("c", kind.BOOL, [])], [info("y", kind.FLOAT, [2]), info("unused", kind.FLOAT, [2])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.onnx.save(model, scratch() / "if.onnx")
        part = extract("--outputs", "y", model=scratch() / "if.onnx")
        self.assertEqual((part["nodes"], [one["name"] for one in part["inputs"]]), (3, ["x", "c"]))
        inner = extract("--inputs", "a,b,c", "--outputs", "y", model=scratch() / "if.onnx")
        self.assertEqual((inner["nodes"], [one["type"] for one in inner["inputs"]]), (1, ["f32[2]", "f32[2]", "bool[]"]))
        a = self.numpy.array([1, 2], "float32")
        got = self.run_model(scratch() / "part.onnx", {"a": a, "b": -a, "c": self.numpy.array(False)})
        self.assertEqual(got[0].tolist(), [-1, -4])

    def test_weights_files_come_inside(self):
        folder = pathlib.Path(scratch()) / "external"
        folder.mkdir(exist_ok=True)
        self.onnx.save(self.onnx.load(MODEL), folder / "digits.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        extract(model=folder / "digits.onnx", name="inside")
        x = self.numpy.ones((1, 1, 8, 8), "float32")
        self.assertEqual(self.run_model(scratch() / "inside.onnx", {"image": x})[0].tobytes(), self.run_model(MODEL, {"image": x})[0].tobytes())
        # Weights of Constant nodes too.
        model = self.onnx.load(MODEL)
        for weights in list(model.graph.initializer):
            model.graph.node.insert(0, self.onnx.helper.make_node("Constant", [], [weights.name], value=weights))
        del model.graph.initializer[:]
        self.onnx.save(model, folder / "constants.onnx", save_as_external_data=True, location="constants.bin", size_threshold=0, convert_attribute=True)
        extract(model=folder / "constants.onnx", name="constants_inside")
        (folder / "constants.bin").unlink()
        self.assertEqual(self.run_model(scratch() / "constants_inside.onnx", {"image": x})[0].tobytes(),
                         self.run_model(MODEL, {"image": x})[0].tobytes())
        (folder / "weights.bin").unlink()
        self.assertIn("weights.bin", extract(model=folder / "digits.onnx", code=2)["error"]["message"])


if __name__ == "__main__":
    harness.main()
