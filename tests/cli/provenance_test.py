# SPDX-License-Identifier: Apache-2.0
"""What an engine says of its making: the same whatever is only a name, a folder or an order, and enough to make it again."""

import shlex
import unittest

import harness
from harness import DIGITS, digits, need, octet, scratch

MODEL = DIGITS / "digits.onnx"
HASHES = ("model_hash", "data_hash", "ranges_hash")


def build(*flags, name="e", calib=True):
    engine = scratch() / f"{name}.octet"
    data = ("--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json") if calib else ()
    octet("build", MODEL, *data, *flags, "-o", engine, "--quiet")
    return engine


def said(engine):
    return octet("inspect", engine, "--provenance", "--json").json


class Provenance(unittest.TestCase):
    def test_it_says_program_command_and_hashes(self):
        engine = build("--keep-float", "/0/Conv", "--max-samples", "20")
        got = said(engine)
        of = got["provenance"]
        self.assertEqual(of["octet"], octet("version").out.split()[1])
        self.assertEqual((of.get("model"), of["samples"], of["methods"]), (None, 20, "entropy"))
        self.assertEqual(of["options"], {"int8": True, "keep_float": ["/0/Conv"]})
        for name in HASHES:
            self.assertRegex(of[name], r"^[0-9a-f]{32}$")
        kept = {d["node"]: d for d in got["decisions"] if d["reason_code"] == "kept_by_user"}
        self.assertTrue(kept)
        self.assertEqual({d["precision"] for d in kept.values()}, {"f32"})
        text = octet("inspect", engine, "--provenance").out
        for part in (got["command"], got["engine_hash"], *(of[name] for name in HASHES)):
            self.assertIn(part, text)

    def test_the_command_builds_the_engine_again(self):
        ranges = scratch() / "ranges.txt"
        ranges.write_text("image: 0 1\n")
        for name, flags in (("plain", ()), ("kept", ("--keep-float", "/3/c1/Conv", "--keep-float", "/0/Conv")),
                            ("unequal", ("--equalize", "off")), ("favored", ("--favor", "accuracy")), ("method", ("--calib-method", "percentile:99.9", "--disable-pass", "fuse_residual")),
                            ("typed", ("--precision", "/0/*:f32,Conv:int8", "--output-type", "*:f32", "--ranges", ranges, "--fp16"))):
            engine = build(*flags, name=name)
            places = {"DATA": digits() / "calib", "RANGES": ranges, "MODEL.onnx": MODEL}
            words = [places.get(word, word) for word in shlex.split(said(engine)["command"])][1:]
            octet(*words, "-o", scratch() / "again.octet", "--quiet")
            self.assertEqual((scratch() / "again.octet").read_bytes(), engine.read_bytes(), name)

    def test_several_methods_have_a_place_in_the_command(self):
        engine = build("--calib-method", "image=minmax", name="several")
        self.assertIn("--calib DATA --calib-method METHODS", said(engine)["command"])

    def test_a_float_engine_has_no_data(self):
        of = said(build(calib=False, name="float"))["provenance"]
        self.assertEqual(of["options"], {})
        self.assertFalse({"data_hash", "ranges_hash", "samples", "preprocess"} & set(of))

    def test_data_and_options_are_told_apart(self):
        first = said(build())["provenance"]
        fewer = said(build("--max-samples", "50"))["provenance"]
        self.assertEqual(first["model_hash"], fewer["model_hash"])
        self.assertNotEqual(first["data_hash"], fewer["data_hash"])
        other = said(build("--calib-method", "minmax"))["provenance"]
        self.assertEqual(first["data_hash"], other["data_hash"])
        self.assertNotEqual(first["ranges_hash"], other["ranges_hash"])

    def test_scales_of_a_cache_have_its_hash(self):
        cache = scratch() / "own.cache"
        build("--calib-cache", cache)
        (scratch() / "own.cache.json").unlink()
        engine = scratch() / "cached.octet"
        octet("build", MODEL, "--int8", "--calib-cache", cache, "-o", engine, "--quiet")
        of = said(engine)["provenance"]
        self.assertRegex(of["cache_hash"], r"^[0-9a-f]{32}$")
        self.assertNotIn("data_hash", of)
        self.assertIn("--calib-cache CACHE", said(engine)["command"])

    def test_the_order_of_samples_in_runs_of_several_counts_for_nothing(self):
        numpy, onnx = need("numpy", "onnx")
        weights = onnx.numpy_helper.from_array(numpy.eye(3, dtype=numpy.float32), "w")
        info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 3]) for name in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weights])
        model = scratch() / "four.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
        rows = numpy.random.default_rng(5).normal(size=(10, 3)).astype(numpy.float32)
        engines = []
        for name, data in (("given", rows), ("turned", rows[::-1])):
            numpy.savez(scratch() / f"{name}.npz", x=data)
            engines.append(scratch() / f"{name}.octet")
            octet("build", model, "--int8", "--calib", scratch() / f"{name}.npz", "-o", engines[-1], "--quiet")
        self.assertEqual(engines[0].read_bytes(), engines[1].read_bytes())

    def test_a_model_says_it_too(self):
        self.assertEqual(said(MODEL)["command"], "octet build MODEL.onnx")


if __name__ == "__main__":
    harness.main()
