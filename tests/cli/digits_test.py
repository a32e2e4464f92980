# SPDX-License-Identifier: Apache-2.0
"""The whole job on the bundled digits: accuracy, the JSON that scripts rely on, thresholds, and reproducible bytes."""

import json
import os
import shutil
import unittest

import harness
from harness import DIGITS, ROOT, digits, digits_engine, octet, scratch

MODEL = DIGITS / "digits.onnx"
BUILD = ("build", MODEL, "--int8", "--preprocess", DIGITS / "preprocess.json", "--quiet")
ISA_LEVELS = ("none", "avx2", "avx_vnni", "vnni")


class Accuracy(unittest.TestCase):
    def test_top1(self):
        result = octet("eval", digits_engine(), "--data", digits() / "test", "--against", MODEL, "--json").json
        self.assertEqual(result["samples"], 500)
        self.assertGreaterEqual(result["top1"], 0.99)
        self.assertGreaterEqual(result["reference_top1"], 0.99)
        self.assertGreaterEqual(result["agreement"], 0.99)

    def test_float_engine_equals_the_model(self):
        engine = scratch() / "float.octet"
        octet("build", MODEL, "-o", engine)
        result = octet("eval", engine, "--data", digits() / "test", "--against", MODEL, "--json",
                       "--preprocess", DIGITS / "preprocess.json").json
        self.assertEqual(result["agreement"], 1)
        self.assertIsNone(result["sqnr_db"])  # exact

    def test_thresholds_decide_the_exit_code(self):
        base = ("eval", digits_engine(), "--data", digits() / "test", "--against", MODEL)
        octet(*base, "--min-top1", "0.9", "--min-agreement", "0.9", "--max-drop", "5", "--min-sqnr", "10")
        for flags in (("--min-top1", "1"), ("--max-drop", "-50"), ("--min-sqnr", "300")):
            result = octet(*base, *flags, code=1)
            self.assertIn("failed: ", result.err)
            self.assertIn("top-1", result.out)
        octet("compare", digits_engine(), "--against", MODEL, "--calib", digits() / "calib", "--min-sqnr", "300", code=1)


class Json(unittest.TestCase):
    def test_inspect(self):
        result = octet("inspect", digits_engine(), "--json").json
        self.assertEqual(result["coverage"]["layers"], 1)
        self.assertEqual(result["coverage"]["macs"], 1)
        # 16 filters of 3x3 over one channel at 8x8, by hand.
        first = next(layer for layer in result["layers"] if "/0/Conv" in layer["nodes"])
        self.assertEqual(first["macs"], 16 * 9 * 64)
        for layer in result["layers"]:
            for key in ("name", "op", "precision", "kernel", "reason", "nodes"):
                self.assertIn(key, layer)
            self.assertTrue(layer["kernel"] and layer["precision"] and layer["reason"], layer)

    def test_every_onnx_node_is_in_exactly_one_layer(self):
        onnx = harness.need("onnx")
        nodes = [node.name for node in onnx.load(MODEL).graph.node if node.op_type != "Constant"]
        layers = octet("inspect", digits_engine(), "--json").json["layers"]
        inside = [name for layer in layers for name in layer["nodes"]]
        self.assertEqual(sorted(nodes), sorted(inside))

    def test_compare_worst_first(self):
        layers = octet("compare", digits_engine(), "--against", MODEL, "--calib", digits() / "calib", "--layers",
                       "--json").json["layers"]
        self.assertGreater(len(layers), 8)
        errors = [layer["sqnr_db"] for layer in layers if not layer["exact"]]
        self.assertEqual(errors, sorted(errors))

    def test_bench(self):
        result = octet("bench", digits_engine(), "--seconds", "0.05", "--batch", "3", "--json").json
        self.assertGreater(result["latency_ms"]["median"], 0)
        self.assertGreaterEqual(result["latency_ms"]["p99"], result["latency_ms"]["median"])
        self.assertEqual(["load", "prepare", "first_run"], list(result["start_ms"]))
        self.assertTrue(all(value > 0 for value in result["start_ms"].values()))
        self.assertGreater(result["peak_memory_bytes"], 1 << 20)
        self.assertGreater(result["throughput"], 0)
        self.assertEqual(result["batch"], 3)

    def test_bench_streams_take_the_device_and_no_layers(self):
        refused = octet("bench", digits_engine(), "--streams", "2", "--layers", code=2)
        self.assertIn("--layers", refused.err)
        refused = octet("bench", digits_engine(), "--streams", "2", "--device", "nowhere", code=2)
        self.assertIn("nowhere", refused.err)

    def test_devices_side_by_side(self):
        """A fast one and a slow one: counts and order are those of one; and a device is named once, whatever the name."""
        for command in (("bench", digits_engine()), ("eval", digits_engine(), "--data", digits() / "test")):
            self.assertIn("'test:0,test' names test:0 twice", octet(*command, "--device", "test:0,test", code=2).err)
            for names in ("cpu,", ",cpu"):
                self.assertIn("no device ''", octet(*command, "--device", names, code=2).err)
        for more in ((), ("--against", DIGITS / "digits.onnx")):
            evaluated = ("eval", digits_engine(), "--data", digits() / "test", "--json", *more)
            self.assertEqual(octet(*evaluated, "--device", "cpu,test:1").json, octet(*evaluated).json)

    def test_bench_streams(self):
        result = octet("bench", digits_engine(), "--streams", "3", "--seconds", "0.05", "--batch", "2", "--json").json
        self.assertEqual(len(result["streams"]), 3)
        for stream in result["streams"]:
            times = [stream["latency_ms"][key] for key in ("min", "median", "p90", "p95", "p99", "max")]
            self.assertEqual(times, sorted(times))
        self.assertAlmostEqual(result["throughput"], sum(stream["throughput"] for stream in result["streams"]))
        self.assertEqual((result["batch"], result["threads"]), (2, 1))

    def test_run_on_images(self):
        images = sorted((digits() / "test/7").glob("*.png"))[:3]
        names = scratch() / "names.txt"
        names.write_text("".join(f"digit {i}\n" for i in range(10)))
        results = octet("run", digits_engine(), *images, "--top", "2", "--labels", names, "--json").json["results"]
        self.assertEqual(len(results), 3)
        top = results[0]["outputs"][0]["top"]
        self.assertEqual(len(top), 2)
        self.assertEqual(top[0]["label"], f"digit {top[0]['index']}")

    def test_run_with_the_file_mapped(self):
        image = next((digits() / "test/7").glob("*.png"))
        for more in ([], ["--layers"]):
            read, mapped = scratch() / "read.npz", scratch() / "mapped.npz"
            octet("run", digits_engine(), image, "-o", read, *more)
            octet("run", digits_engine(), image, "-o", mapped, "--mmap", *more)
            self.assertEqual(mapped.read_bytes(), read.read_bytes())
        self.assertIn("not a regular file", octet("run", scratch(), image, "--mmap", code=2).err)
        self.assertIn("--mmap has no effect", octet("run", DIGITS / "digits.onnx", "--random", "1", "--mmap").err)

    def test_summary_of_build(self):
        engine = scratch() / "summary.octet"
        result = octet(*BUILD, "--calib", digits() / "calib", "-o", engine, "--json").json
        self.assertEqual(result["bytes"], engine.stat().st_size)
        self.assertEqual(result["calibration"]["samples"], 200)
        self.assertEqual(result["coverage"]["macs"], 1)


class Arrays(unittest.TestCase):
    def test_npz_in_npz_out(self):
        numpy = harness.need("numpy")
        images = numpy.load(DIGITS / "digits.npz")["test_images"][:7].astype(numpy.float32)[:, None] / 16
        source, target = scratch() / "in.npz", scratch() / "out.npz"
        numpy.savez(source, image=images)
        octet("run", digits_engine(), source, "-o", target)
        logits = numpy.load(target)["logits"]
        self.assertEqual(logits.shape, (7, 10))
        one = scratch() / "one.npz"
        for i in range(7):
            numpy.savez(one, image=images[i : i + 1])
            octet("run", digits_engine(), one, "-o", target)
            numpy.testing.assert_array_equal(numpy.load(target)["logits"][0], logits[i])


class Reproducible(unittest.TestCase):
    def outputs(self, engine, **env):
        threads = env.pop("threads", 1)
        result = octet("run", engine, *sorted((digits() / "test/3").glob("*.png"))[:10], "--top", "10", "--threads", threads,
                       "--json", env=env)
        return json.dumps(result.json["results"])

    def test_order_and_threads_do_not_change_a_byte(self):
        expected = digits_engine().read_bytes()
        shuffled = scratch() / "shuffled"
        shuffled.mkdir()
        for i, image in enumerate(sorted((digits() / "calib").glob("*.png"))):
            shutil.copy(image, shuffled / f"{i * 7919 % 200:04}.png")
        engine = scratch() / "again.octet"
        for calib, threads in ((shuffled, 1), (digits() / "calib", 2), (shuffled, 2)):
            octet(*BUILD, "--calib", calib, "--threads", threads, "-o", engine)
            self.assertEqual(engine.read_bytes(), expected)

    def test_instruction_sets_and_threads_give_one_answer(self):
        engine = digits_engine()
        expected = self.outputs(engine)
        for isa in ISA_LEVELS:
            self.assertEqual(self.outputs(engine, OCTET_CPU_ISA=isa), expected, isa)
        for threads in (2, 3):
            self.assertEqual(self.outputs(engine, threads=threads), expected, threads)

    def test_unknown_instruction_set_is_refused(self):
        self.assertIn("OCTET_CPU_ISA", octet("inspect", digits_engine(), code=2, env={"OCTET_CPU_ISA": "sse9"}).err)


class Options(unittest.TestCase):
    def test_keep_float(self):
        engine = scratch() / "keep.octet"
        octet(*BUILD, "--calib", digits() / "calib", "--keep-float", "/4/c2/Conv", "-o", engine)
        layers = octet("inspect", engine, "--json").json["layers"]
        kept = next(layer for layer in layers if "/4/c2/Conv" in layer["nodes"])
        self.assertEqual(kept["precision"], "f32")
        self.assertEqual(kept["reason_code"], "kept_by_user")
        self.assertTrue(kept["reason"])
        others = [layer for layer in layers if layer["op"] == "QConv"]
        self.assertEqual(len(others), 8)
        self.assertEqual({layer["reason_code"] for layer in others}, {"constant_weights"})
        table = (ROOT / "docs/reasons.md").read_text()
        for layer in layers:
            self.assertIn(f"| `{layer['reason_code']}` | ", table)

    def test_disabled_pass_and_stop(self):
        engine = scratch() / "passes.octet"
        octet(*BUILD, "--calib", digits() / "calib", "--disable-pass", "fuse_activation", "-o", engine)
        octet(*BUILD, "--calib", digits() / "calib", "--stop-after-rewrites", "0", "-o", engine)
        result = octet("eval", engine, "--data", digits() / "test", "--json").json
        self.assertGreaterEqual(result["top1"], 0.99)
        octet(*BUILD, "--calib", digits() / "calib", "--disable-pass", "no_such_pass", "-o", engine, code=2)

    def test_minmax_differs_from_entropy(self):
        engine = scratch() / "minmax.octet"
        octet(*BUILD, "--calib", digits() / "calib", "--calib-method", "minmax", "-o", engine)
        self.assertNotEqual(engine.read_bytes(), digits_engine().read_bytes())

    def test_engine_is_written_whole_or_not_at_all(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        folder = scratch() / "readonly"
        folder.mkdir(mode=0o500)
        octet(*BUILD, "--calib", digits() / "calib", "-o", folder / "x.octet", code=2)
        self.assertEqual(list(folder.iterdir()), [])


if __name__ == "__main__":
    harness.main()
