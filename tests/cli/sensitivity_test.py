# SPDX-License-Identifier: Apache-2.0
"""octet sensitivity: its ranking is that of a loop which builds an engine for each layer; it goes on from a journal; what is wrong is one error."""

import unittest

import harness
from harness import DIGITS, digits, need, octet, scratch
from rankings import kendall

MODEL = DIGITS / "digits.onnx"
FLAGS = ("--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json")


def ranked(*flags):
    return octet("sensitivity", MODEL, *FLAGS, "--no-times", "--json", *flags).json


def losses(result, how):
    return {tuple(layer["layers"]): layer[how] for layer in result["layers"]}


class Ranking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.samples = len(list((digits() / "calib").rglob("*.png")))
        cls.all = ("--samples", str(cls.samples), "--max-passes", "1000")
        cls.result = ranked(*cls.all)
        cls.single = [layer["layers"][0] for layer in cls.result["layers"] if len(layer["layers"]) == 1]

    def brute(self, kept):
        engine = scratch() / "brute.octet"
        keep = [flag for name in kept for flag in ("--keep-float", name)]
        octet("build", MODEL, "--int8", *FLAGS, *keep, "-o", engine, "--quiet", "--force")
        return -octet("compare", engine, "--against", MODEL, "--calib", digits() / "calib", "--json").json["sqnr_db"]

    def test_as_a_loop_over_whole_engines(self):
        self.assertGreater(len(self.single), 3)
        self.assertEqual(self.result["samples"], self.samples)
        alone = {(name,): self.brute([other for other in self.single if other != name]) for name in self.single}
        without = {(name,): self.brute([name]) for name in self.single}
        for how, brute in (("alone", alone), ("without", without)):
            found = losses(self.result, how)
            self.assertGreater(kendall(brute, {key: found[key] for key in brute}), 0.8, how)

    def test_most_sensitive_first(self):
        order = [layer["alone"] for layer in self.result["layers"]]
        self.assertEqual(order, sorted(order, reverse=True))
        self.assertTrue(all(layer["macs"] > 0 for layer in self.result["layers"]))

    def test_threads_change_nothing(self):
        self.assertEqual(losses(ranked(*self.all, "--threads", "2"), "without"), losses(self.result, "without"))

    def test_work_is_bounded(self):
        few = ranked("--samples", "40", "--max-passes", "5")
        self.assertLess(few["samples"], 40)
        self.assertLessEqual(few["passes"], 5)

    def test_times_and_words(self):
        text = octet("sensitivity", MODEL, *FLAGS, "--samples", "4", "--top", "2").out
        self.assertRegex(text, r"4 samples, \d+\.\d runs over all; INT8 \d+\.\d+ dB; \d+\.\d+ ms in FP32, \d+\.\d+ in INT8\n")
        self.assertEqual(len([line for line in text.splitlines() if line.rstrip().endswith(" us")]), 2)


class Journals(unittest.TestCase):
    def test_goes_on(self):
        journal = scratch() / "a.journal"
        flags = ("--samples", "4", "--journal", journal)
        first = ranked(*flags)
        self.assertEqual(first["recalled"], 0)
        trials = 2 * len(first["layers"]) + 1
        lines = journal.read_text().splitlines(keepends=True)
        self.assertEqual(len(lines), 1 + trials)
        # Killed in the middle of a line.
        journal.write_text("".join(lines[:4]) + lines[4][:-3])
        again = ranked(*flags)
        self.assertEqual(again["recalled"], 3)
        self.assertEqual(again["layers"], first["layers"])
        self.assertEqual(ranked(*flags, "--metric", "agreement")["recalled"], 0)  # another loss

    def test_results_that_are_infinite(self):
        """The logarithm of what a Relu makes 0: some codes are, some are not."""
        numpy, onnx = need("numpy"), need("onnx")
        from onnx import TensorProto, helper
        random = numpy.random.default_rng(0)
        weights = [onnx.numpy_helper.from_array(random.normal(size=(4, c, 3, 3)).astype(numpy.float32), f"w{c}") for c in (3, 4)]
        nodes = [helper.make_node("Conv", ["x", "w3"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Conv", ["b", "w4"], ["c"]),
                 helper.make_node("Relu", ["c"], ["d"]), helper.make_node("Log", ["d"], ["y"])]
        graph = helper.make_graph(nodes, "logs", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 9, 9])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 5, 5])], weights)
        model, data, journal = scratch() / "logs.onnx", scratch() / "logs.npz", scratch() / "logs.journal"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        numpy.savez(data, x=random.normal(size=(4, 3, 9, 9)).astype(numpy.float32))
        flags = (model, "--calib", data, "--no-times", "--journal", journal, "--json")
        first, again = (octet("sensitivity", *flags).json for _ in range(2))
        self.assertEqual(again["recalled"], 1 + 2 * len(first["layers"]))
        self.assertTrue(all(0 <= layer["alone"] <= 1 for layer in first["layers"]), first)

    def test_what_is_no_journal(self):
        for text, says in (("TRT-8601\n", "first line"), ("octet-journal 1\nx nan\n", "line 2"), ("octet-journal 1\nx 1e999\n", "line 2"),
                           ("octet-journal 1\n\n", "line 2")):
            file = scratch() / "wrong.journal"
            file.write_text(text)
            for more in ((), ("--force",)):
                said = octet("sensitivity", MODEL, *FLAGS, "--journal", file, *more, code=2).err
                self.assertEqual(file.read_text(), text)
                self.assertTrue(more or "--journal" in said or says in said, said)
            self.assertIn(says, said)


class Errors(unittest.TestCase):
    def fails(self, *arguments):
        return octet("sensitivity", *arguments, code=2).err

    def test_metrics(self):
        self.assertEqual(ranked("--samples", "4", "--metric", "agreement")["metric"], "agreement")
        self.assertIn("top1 needs labels", self.fails(MODEL, *FLAGS, "--metric", "top1"))

    def test_no_data(self):
        self.assertIn("give --data, or --calib", self.fails(MODEL, "--ranges", self.ranges()))
        self.assertIn("INT8 needs calibration data", self.fails(MODEL, "--data", digits() / "calib", "--preprocess", DIGITS / "preprocess.json"))

    def test_nothing_to_try(self):
        keep = [word for layer in ranked("--samples", "1")["layers"] for name in layer["layers"] for word in ("--keep-float", name)]
        self.assertIn("no layer of the model that multiplies can be INT8", self.fails(MODEL, *FLAGS, *keep))

    def ranges(self):
        file = scratch() / "ranges.txt"
        file.write_text("*: 3\n")
        return file


if __name__ == "__main__":
    harness.main()
