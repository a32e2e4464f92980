# SPDX-License-Identifier: Apache-2.0
"""Nodes that are legal and enormous: a run is refused before it computes for hours, with the name of the node and the flag that allows it."""

import time
import unittest

import harness
from harness import need, octet, scratch


class Work(unittest.TestCase):
    def setUp(self):
        self.onnx, self.numpy = need("onnx"), need("numpy")
        self.helper = self.onnx.helper

    def saved(self, name, nodes, inputs, outputs, constants=()):
        infos = [[self.helper.make_tensor_value_info(n, t, s) for n, t, s in values] for values in (inputs, outputs)]
        graph = self.helper.make_graph(nodes, name, *infos, [self.onnx.numpy_helper.from_array(a, n) for n, a in constants])
        path = scratch() / f"{name}.onnx"
        self.onnx.save(self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 17)], ir_version=8), path)
        engine = path.with_suffix(".octet")
        octet("build", path, "-o", engine, "--quiet")
        return engine

    def refused(self, node, *arguments):
        begin = time.monotonic()
        error = octet(*arguments, code=2).err
        self.assertIn(node, error)
        self.assertIn("--max-work", error)
        self.assertIn("steps", error)
        return time.monotonic() - begin

    def determinant(self, sides):
        node = self.helper.make_node("Det", ["x"], ["y"], name="enormous")
        return self.saved("det", [node], [("x", 1, [None, *sides])], [("y", 1, [None])])

    def test_a_determinant(self):
        engine = self.determinant([None, None])
        octet("run", engine, "--random", "1", "--shape", "x:1x8x8")
        for command in (["run", "--random", "1"], ["bench", "--iterations", "1"]):
            self.assertLess(self.refused("enormous", command[0], engine, *command[1:], "--shape", "x:1x9000x9000"), 10)
        self.refused("enormous", "run", engine, "--random", "1", "--shape", "x:1x200x200", "--max-work", "1000")
        octet("run", engine, "--random", "1", "--shape", "x:1x200x200", "--max-work", "1e9")

    def test_boxes_that_all_differ(self):
        """The size of the result depends on data: the node is refused as its turn comes."""
        node = self.helper.make_node("NonMaxSuppression", ["boxes", "scores", "most"], ["chosen"], name="enormous")
        most = self.numpy.array([1 << 30])
        engine = self.saved("nms", [node], [("boxes", 1, [1, None, 4]), ("scores", 1, [1, 80, None])], [("chosen", 7, [None, 3])],
                            [("most", most)])
        octet("run", engine, "--random", "1", "--shape", "boxes:1x20x4", "--shape", "scores:1x80x20")
        begin = time.monotonic()
        self.refused("enormous", "run", engine, "--random", "1", "--shape", "boxes:1x60000x4", "--shape", "scores:1x80x60000")
        self.assertLess(time.monotonic() - begin, 20)

    def test_constants_that_are_too_much_to_fold(self):
        """Fifty transforms of a constant: the file asks for them, and its user has not said so."""
        nodes = [self.helper.make_node("ConstantOfShape", ["shape"], ["t0"])]
        nodes += [self.helper.make_node("DFT", [f"t{i}", "", "axis"], [f"t{i + 1}"], name=f"transform{i}") for i in range(50)]
        nodes += [self.helper.make_node("ReduceSum", ["t50"], ["total"], keepdims=0), self.helper.make_node("Add", ["x", "total"], ["y"])]
        infos = [[self.helper.make_tensor_value_info(name, 1, [1])] for name in "xy"]
        constants = [("shape", self.numpy.array([1, 10_000, 2])), ("axis", self.numpy.array(1))]
        graph = self.helper.make_graph(nodes, "constants", *infos, [self.onnx.numpy_helper.from_array(a, n) for n, a in constants])
        model, engine = scratch() / "constants.onnx", scratch() / "constants.octet"
        self.onnx.save(self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 20)], ir_version=9), model)
        octet("build", model, "-o", engine, "--quiet")
        octet("check", model)
        for command in (["run", engine, "--random", "1"], ["bench", engine, "--iterations", "1"]):
            error = octet(*command, code=2).err
            self.assertRegex(error, "transform[0-9]+.* depends on constants alone")
            self.assertIn("--max-work", error)

    def test_what_a_loop_repeats(self):
        """Each round is small; all of them are not."""
        nodes = [self.helper.make_node("Det", ["x"], ["d"], name="repeated"), self.helper.make_node("Identity", ["on"], ["still"]),
                 self.helper.make_node("Add", ["s", "d"], ["next"])]
        scalar = self.helper.make_tensor_value_info
        body = self.helper.make_graph(
            nodes, "body", [scalar("i", 7, []), scalar("on", 9, []), scalar("s", 1, [1])], [scalar("still", 9, []), scalar("next", 1, [1])])
        loop = self.helper.make_node("Loop", ["trips", "", "start"], ["y"], body=body)
        engine = self.saved("loop", [loop], [("x", 1, [1, 60, 60])], [("y", 1, [1])],
                            [("trips", self.numpy.array(100000)), ("start", self.numpy.zeros(1, "float32"))])
        self.refused("repeated", "run", engine, "--random", "1", "--max-work", "1e8")


if __name__ == "__main__":
    harness.main()
