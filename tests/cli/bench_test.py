# SPDX-License-Identifier: Apache-2.0
"""octet bench: what it says of a measurement, how it is bounded, what it writes, and models given as they are."""

import json
import pathlib
import sys
import unittest

import harness
from harness import DIGITS, digits_engine, need, octet, scratch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
from nodes import Small  # noqa: E402  pylint: disable=wrong-import-position

MODEL = DIGITS / "digits.onnx"


class Bench(unittest.TestCase):
    def bench(self, *flags, subject=None):
        seconds = () if "--seconds" in flags else ("--seconds", "0.05")
        return octet("bench", subject or digits_engine(), *seconds, "--json", *flags).json

    def test_what_was_measured_and_where(self):
        result = self.bench("--threads", "1")
        self.assertRegex(result["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(result["model"], str(digits_engine()))
        self.assertEqual(result["precision"], "int8")
        self.assertEqual(result["coverage"]["macs"], 1)
        self.assertTrue(result["cpu"])
        self.assertTrue(result["isa"])

    def test_percentiles_are_in_order(self):
        latency = self.bench()["latency_ms"]
        values = [latency[name] for name in ("min", "median", "p90", "p95", "p99", "max")]
        self.assertEqual(values, sorted(values))
        text = octet("bench", digits_engine(), "--seconds", "0.05").out
        for name in ("median", "p90", "p95", "p99"):
            self.assertIn(name, text)

    def test_a_batch_that_is_not_taken(self):
        subject = (digits_engine(), "--shape", "image:2x1x8x8", "--batch", "3")
        wholes = [("bench", *subject, *flags) for flags in (("--iterations", "1"), ("--seconds", "0.05", "--layers"), ("--seconds", "0.05", "--streams", "2"))]
        for command in (*wholes, ("run", *subject, "--random", "1")):
            said = octet(*command).err
            self.assertEqual(said.count("--batch 3 has no effect: input 'image' is 2x1x8x8"), 1, said)
        self.assertNotIn("no effect", octet("run", digits_engine(), "--batch", "3", "--random", "1").err)

    def test_iterations(self):
        self.assertEqual(self.bench("--iterations", "7")["runs"], 7)

    def test_the_warm_up_is_bounded_in_time(self):
        result = self.bench("--warmup", "1000000000", "--iterations", "1")
        self.assertLess(result["warmup_runs"], 1000000000)
        self.assertEqual(self.bench("--warmup", "3", "--seconds", "5", "--iterations", "1")["warmup_runs"], 3)

    def test_every_run_is_exported(self):
        runs, trace = scratch() / "runs.json", scratch() / "trace.json"
        result = self.bench("--iterations", "5", "--export-runs", runs, "--export-trace", trace)
        written = json.loads(runs.read_text())
        self.assertEqual(written["format"], "octet-runs")
        self.assertEqual(len(written["runs"]), 5)
        times = sorted(run["ms"] for run in written["runs"])
        self.assertEqual(times[2], result["latency_ms"]["median"])
        begins = [run["begin_ms"] for run in written["runs"]]
        self.assertEqual(begins, sorted(begins))
        events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(len(events), 5)
        for event, run in zip(events, written["runs"]):
            self.assertAlmostEqual(event["dur"], run["ms"] * 1e3)
            self.assertAlmostEqual(event["ts"], run["begin_ms"] * 1e3)
        # Its own files are replaced, others are not.
        self.bench("--iterations", "2", "--export-runs", runs, "--export-trace", trace)
        other = scratch() / "other.json"
        other.write_text("{}")
        octet("bench", digits_engine(), "--export-runs", other, code=2)
        self.assertEqual(other.read_text(), "{}")

    def test_a_model_is_compiled_in_memory(self):
        result = self.bench(subject=MODEL)
        self.assertEqual(result["precision"], "f32")
        self.assertEqual(result["model"], str(MODEL))

    def test_arrays_of_a_file(self):
        numpy = need("numpy")

        def arrays(name, shape):
            numpy.save(scratch() / name, numpy.zeros(shape, "f4"))
            return "--data", scratch() / name

        batch = arrays("batch.npy", (4, 1, 8, 8))
        self.assertEqual(self.bench(*batch)["batch"], 4)
        self.assertEqual(self.bench(*batch, "--streams", "2")["batch"], 4)
        layers = self.bench(*batch, "--layers")["layers"]
        self.assertTrue(any("[4," in layer["signature"] for layer in layers), layers)
        # What would be dropped is refused, and so is what is no run.
        octet("bench", digits_engine(), *batch, "--batch", "2", code=2)
        self.assertIn("expected 'image'", octet("bench", digits_engine(), *arrays("sizes.npy", (1, 1, 9, 8)), code=2).err)
        self.assertIn("nothing.npz", octet("bench", digits_engine(), "--data", scratch() / "nothing.npz", code=2).err)

    def test_outputs_that_are_not_finite_are_told(self):
        numpy = need("numpy")
        small, zeros, ones = Small(), scratch() / "zeros.npy", scratch() / "ones.npy"
        model = small.save(small.node("Log", [small.feed("x", numpy.ones(4, "f4"))], ["y"]))
        numpy.save(zeros, numpy.zeros(4, "f4"))
        numpy.save(ones, numpy.ones(4, "f4"))
        said = "outputs are NaN or infinite"
        for more in ((), ("--device", "test", "--no-transfers")):
            command = ("bench", model, "--seconds", "0.01", *more, "--data")
            self.assertIn(said, octet(*command, zeros).err)
            self.assertNotIn(said, octet(*command, ones).err)

    def test_exports_are_of_one_caller(self):
        octet("bench", digits_engine(), "--streams", "2", "--iterations", "3", code=2)

    def test_progress_names_the_stages(self):
        err = octet("bench", digits_engine(), "--seconds", "0.05").err
        for stage in ("load", "plan", "warm up"):
            self.assertIn(stage, err)


if __name__ == "__main__":
    harness.main()
