# SPDX-License-Identifier: Apache-2.0
"""octet bundle and reproduce: a case is built and run again to the byte, every kind of difference is found in the order of causes, and a
case from anywhere is one error at most."""

import io
import json
import os
import shutil
import struct
import subprocess
import unittest
import zipfile

import harness
from harness import DIGITS, digits, need, octet, scratch

MODEL = DIGITS / "digits.onnx"


def build(name, *flags, data=True):
    engine = scratch() / f"{name}.octet"
    if data:
        flags = ("--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json", "--max-samples", "40", *flags)
    octet("build", MODEL, *flags, "-o", engine, "--quiet", "--force")
    return engine


def bundle(engine, *flags, name="case", code=0):
    case = scratch() / f"{name}.zip"
    said = octet("bundle", engine, "-o", case, *flags, "--quiet", code=code)
    return case if code == 0 else said.err


def members(case):
    with zipfile.ZipFile(case) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(case, change=None, files=None, name="changed"):
    """The case with its case.json changed and its files in place of what it holds; hashes stay."""
    held = {**members(case), **(files or {})}
    said = json.loads(held["case.json"])
    if change is not None:
        change(said)
    held["case.json"] = json.dumps(said).encode()
    path = scratch() / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in held.items():
            if data is not None:
                archive.writestr(member, data)
    return path


def reproduce(case, *flags, code=0, env=None):
    got = octet("reproduce", case, *flags, "--json", "--quiet", code=code, env=env).json
    if code == 2:
        return got["error"]
    got["what"] = [one["what"] for one in got["differences"]]
    return got


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = scratch() / "digits.cache"
        cls.engine = build("digits", "--calib-cache", cls.cache)
        cls.case = bundle(cls.engine, "--model", MODEL, "--calib-cache", cls.cache, "--inputs", digits() / "test", "--max-samples", "3",
                          name="digits")


class Reproduced(Digits):
    def test_it_is_built_and_run_again(self):
        got = reproduce(self.case)
        self.assertEqual((got["engine"], got["same_engine"], got["runs"], got["equal_outputs"]), ("rebuilt", True, 3, 3))
        self.assertEqual((got["differences"], got["passed"], got["sqnr_db"]), ([], True, None))
        self.assertIn("no difference", octet("reproduce", self.case, "--quiet").out)

    def test_the_same_gives_the_same_case(self):
        again = bundle(self.engine, "--model", MODEL, "--calib-cache", self.cache, "--inputs", digits() / "test", "--max-samples", "3",
                       "--threads", "2", name="again")
        self.assertEqual(again.read_bytes(), self.case.read_bytes())

    def test_the_case_holds_what_it_says(self):
        held = members(self.case)
        said = json.loads(held["case.json"])
        self.assertEqual(set(said["files"]) | {"case.json"}, set(held))
        self.assertEqual(held["engine.octet"], self.engine.read_bytes())
        self.assertEqual(held["model.onnx"], MODEL.read_bytes())
        self.assertEqual(held["calibration.cache"], self.cache.read_bytes())
        self.assertEqual(len(said["runs"]), 3)
        self.assertTrue(said["commands"][0].startswith("octet build MODEL.onnx --int8 --calib DATA"))
        numpy = need("numpy")
        output = numpy.load(io.BytesIO(held["runs/0/outputs/0.npy"]))
        octet("run", self.engine, digits() / "test" / said["runs"][0], "-o", scratch() / "one.npz")
        self.assertEqual(output.tobytes(), numpy.load(scratch() / "one.npz")[said["outputs"][0]].tobytes())

    def test_another_instruction_set_changes_no_result(self):
        got = reproduce(self.case, env={"OCTET_CPU_ISA": "none"})
        self.assertEqual(got["what"][0], "isa")
        self.assertTrue(got["what"][1].startswith("kernels of"))
        self.assertEqual((got["passed"], got["equal_outputs"]), (True, 3))
        self.assertFalse(any(one["changes_results"] for one in got["differences"]))

    def test_without_engine_and_model_nothing_runs(self):
        case = bundle(self.engine, "--without-engine", "--inputs", digits() / "test", "--max-samples", "1", name="bare")
        self.assertEqual(set(members(case)), {"case.json", "runs/0/inputs/0.npy", "runs/0/outputs/0.npy"})
        got = reproduce(case)
        self.assertEqual((got["engine"], got["runs"], got["differences"]), ("nothing", 0, []))
        self.assertEqual(reproduce(case, "--engine", self.engine)["equal_outputs"], 1)
        self.assertIn("no outputs were compared", reproduce(case, "--min-sqnr", "10", code=2)["message"])

    def test_a_cache_of_other_data_or_another_model_is_refused(self):
        other = scratch() / "other.cache"
        build("other", "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json", "--max-samples", "20",
              "--calib-cache", other, data=False)
        said = bundle(self.engine, "--calib-cache", other, name="other", code=2)
        self.assertIn("is not the cache of the engine's calibration: it was made of other data", said)
        details = json.loads((scratch() / "digits.cache.json").read_text())
        foreign = scratch() / "foreign.cache"
        foreign.write_bytes(self.cache.read_bytes())
        (scratch() / "foreign.cache.json").write_text(json.dumps({**details, "model_hash": "0" * 32}))
        self.assertIn("it was made of another model", bundle(self.engine, "--calib-cache", foreign, name="foreign", code=2))

    def test_a_cache_that_nothing_ties_to_the_engine_is_refused(self):
        bare = scratch() / "bare.cache"
        bare.write_bytes(self.cache.read_bytes())
        said = bundle(self.engine, "--calib-cache", bare, name="bare_cache", code=2)
        self.assertIn("does not say what it was made of", said)
        real = build("real", data=False)
        said = bundle(real, "--calib-cache", self.cache, name="real_cache", code=2)
        self.assertIn("ranges came neither from data nor from a cache", said)

    def test_without_a_cache_the_cases_engine_runs(self):
        case = scratch() / "uncached.zip"
        said = octet("bundle", self.engine, "-o", case, "--model", MODEL, "--inputs", digits() / "test")
        self.assertIn("no calibration cache", said.err)
        got = reproduce(case)
        self.assertEqual((got["engine"], got["same_engine"], got["runs"], got["passed"]), ("kept", True, 10, True))
        self.assertIn("no calibration cache", got["not_rebuilt"])

    def test_a_case_through_a_pipe(self):
        done = subprocess.run([harness.PROGRAM, "bundle", self.engine, "-o", "-"], capture_output=True, check=True)
        self.assertIn("case.json", zipfile.ZipFile(io.BytesIO(done.stdout)).namelist())
        self.assertIn(b"standard output: a case", done.stderr)
        again = subprocess.run([harness.PROGRAM, "reproduce", "-", "--json"], input=done.stdout, capture_output=True, check=True)
        self.assertTrue(json.loads(again.stdout)["same_engine"])


class Rebuilt(unittest.TestCase):
    """Whatever a build was asked for is asked for again."""

    def check(self, *flags, data=True, cache=True):
        own = scratch() / "rebuilt.cache"
        own.unlink(missing_ok=True)
        engine = build("rebuilt", *flags, *(("--calib-cache", own) if data and cache else ()), data=data)
        case = bundle(engine, "--model", MODEL, *(("--calib-cache", own) if data and cache else ()), name="rebuilt")
        got = reproduce(case)
        self.assertEqual((got["engine"], got["same_engine"], got["differences"]), ("rebuilt", True, []), flags)

    def test_types(self):
        self.check(data=False)
        self.check("--fp16", data=False)
        self.check("--bf16", "--precision", "/0/*:f32", data=False)
        self.check("--keep-float", "/0/Conv", "--precision", "/3/*:f32", "--output-type", "*:f32", "--constraints", "none")

    def test_ranges(self):
        for method in ("percentile:99.9", "auto", "image=mse"):
            self.check("--calib-method", method)
        ranges = scratch() / "by_hand.txt"
        ranges.write_text("image: 0 1\n/3/*: -8 8\n")
        self.check("--ranges", ranges)
        self.check("--int8", "--ranges", ranges, data=False)

    def test_graph(self):
        self.check("--disable-pass", "fuse_residual", "--stop-after-rewrites", "7", data=False)
        self.check("--shape", "image:2x1x8x8", data=False)

    def test_a_cache_of_scales_alone(self):
        cache = scratch() / "scales.cache"
        build("from_data", "--calib-cache", cache)
        (scratch() / "scales.cache.json").unlink()
        engine = build("scales", "--int8", "--calib-cache", cache, data=False)
        case = bundle(engine, "--model", MODEL, "--calib-cache", cache, name="scales")
        self.assertTrue(reproduce(case)["same_engine"])
        cache.write_text(cache.read_text().replace(": 3", ": 4"))
        self.assertIn("not the cache", bundle(engine, "--calib-cache", cache, code=2))


class Differences(Digits):
    def first(self, case, *flags, code=1):
        got = reproduce(case, *flags, code=code)
        self.assertEqual(got["passed"], code == 0)
        return got["differences"][0], got

    def test_program_and_machine_change_no_result(self):
        def change(said):
            said.update(octet="9.9", compiler="other", chip="other", isa="other")

        got = reproduce(rewritten(self.case, change))
        self.assertEqual(got["what"], ["octet", "compiler", "chip", "isa"])
        self.assertTrue(got["passed"])
        self.assertEqual(got["differences"][0]["recorded"], "9.9")

    def test_options(self):
        def change(said):
            said["provenance"]["options"]["keep_float"] = ["/0/Conv"]

        first, got = self.first(rewritten(self.case, change))
        self.assertEqual(got["what"][0], "decision of '/0/Conv'")
        self.assertIn("constant_weights", first["recorded"])
        self.assertIn("kept_by_user", first["here"])
        self.assertTrue(any(what.startswith("output ") for what in got["what"]))

    def test_another_engine(self):
        other = build("other", "--calib-method", "minmax", "--keep-float", "/0/Conv")
        first, got = self.first(self.case, "--engine", other)
        self.assertEqual((got["engine"], first["what"]), ("given", "options.keep_float"))
        self.assertEqual((first["recorded"], first["here"]), ("none", '["/0/Conv"]'))
        order = [got["what"].index(what) for what in ("options.keep_float", "methods", "ranges_hash", "decision of '/0/Conv'")]
        self.assertEqual(order, sorted(order))
        self.assertTrue(got["what"][-1].startswith("output 'logits' of "))

    def test_another_model(self):
        onnx = need("onnx")
        model = onnx.load(MODEL)
        for weights in model.graph.initializer:
            if weights.name.endswith("bias"):
                values = onnx.numpy_helper.to_array(weights) + 1
                weights.CopyFrom(onnx.numpy_helper.from_array(values, weights.name))
        path = scratch() / "biased.onnx"
        onnx.save(model, path)
        first, got = self.first(self.case, "--model", path)
        self.assertEqual((got["engine"], first["what"]), ("rebuilt", "model_hash"))
        self.assertIn("not the model", bundle(self.engine, "--model", path, code=2))

    def test_cache_and_decisions(self):
        def change(said):
            said["provenance"]["ranges_hash"] = "0" * 32
            said["decisions"][1]["precision"] = "f32"

        got = reproduce(rewritten(self.case, change), code=1)
        self.assertEqual(got["what"][:2], ["ranges_hash", "decision of '/2/Relu'"])

    def test_outputs(self):
        numpy = need("numpy")
        held = members(self.case)
        output = numpy.load(io.BytesIO(held["runs/1/outputs/0.npy"]))
        output[0, 4] += 0.5
        text = io.BytesIO()
        numpy.save(text, output)
        own = json.loads(held["case.json"])
        # Hashes are checked first: this one is asked of the program itself.
        error = reproduce(rewritten(self.case, files={"runs/1/outputs/0.npy": text.getvalue()}), code=2)["message"]
        hashed = error.split("its hash is ")[1].split(",")[0]

        def change(said):
            said["files"]["runs/1/outputs/0.npy"] = hashed

        case = rewritten(self.case, change, {"runs/1/outputs/0.npy": text.getvalue()})
        first, got = self.first(case)
        self.assertEqual(got["what"], [f"output 'logits' of '{own['runs'][1]}'"])
        self.assertIn("at [4]", first["recorded"])
        self.assertIn("largest difference 0.5", first["here"])
        self.assertEqual((got["equal_outputs"], got["outputs"]), (2, 3))
        self.assertTrue(reproduce(case, "--min-sqnr", "20")["passed"])
        self.assertFalse(reproduce(case, "--min-sqnr", "200", code=1)["passed"])
        said = octet("reproduce", case, "--quiet", code=1)
        self.assertIn("failed: the number of results that differ is 1", said.err)


class Hostile(Digits):
    def refused(self, case, says, *flags):
        before = sorted(os.listdir(scratch()))
        error = reproduce(case, *flags, code=2)
        self.assertIn(says, error["message"])
        self.assertEqual(sorted(os.listdir(scratch())), before)
        return error

    def test_what_is_missing_or_too_much(self):
        for name in ("engine.octet", "model.onnx", "calibration.cache", "runs/2/inputs/0.npy"):
            self.refused(rewritten(self.case, files={name: None}), f"has no '{name}'")
            self.refused(rewritten(self.case, files={name: b"other"}), "than it was made with")
        self.refused(rewritten(self.case, files={"notes.txt": b"x"}), "does not name")
        self.refused(rewritten(self.case, lambda said: said["files"].pop("model.onnx")), "does not name")
        self.refused(rewritten(self.case, lambda said: said["runs"].append("more")), "has no 'runs/3/inputs/0.npy'")

    def test_paths_out_of_the_archive(self):
        for name in ("../evil", "a/../../evil"):
            self.refused(rewritten(self.case, files={name: b"x"}), "path out of the archive")

    def test_fields_of_other_types(self):
        for key in json.loads(members(self.case)["case.json"]):
            for value in (7, [[]], {"a": [None]}):
                def change(said, key=key, value=value):
                    said[key] = value

                error = reproduce(rewritten(self.case, change), code=2)
                self.assertNotEqual(error["code"], "internal")
                self.assertIn("changed.zip", error["message"])
        for text in (b"", b"{", b"[" * 100000, b'{"format":1,"format":1}', b"\xff\xfe"):
            path = scratch() / "text.zip"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("case.json", text)
            self.refused(path, "case.json")

    def test_what_is_no_case(self):
        for name, data, says in (("empty.zip", b"", "empty"), ("text.zip", b"hello", "zip"), ("half.zip", self.case.read_bytes()[:9999], "zip")):
            path = scratch() / name
            path.write_bytes(data)
            self.refused(path, says)
        need("numpy").savez(scratch() / "arrays.npz", x=[1])
        self.refused(scratch() / "arrays.npz", "is no case")

    def test_a_bomb_does_not_go_off(self):
        case = rewritten(self.case, lambda said: said["files"].update({"model.onnx": "0"}), {"model.onnx": bytes(200 << 20)})
        self.assertLess(case.stat().st_size, 2 << 20)
        error = reproduce(case, "--max-memory", "64M", code=2)
        self.assertEqual(error["code"], "out_of_memory")
        self.assertIn("model.onnx", error["message"])

    def test_an_entry_that_claims_more_than_it_holds(self):
        data = bytearray(self.case.read_bytes())
        at = data.index(b"PK\x01\x02")
        struct.pack_into("<II", data, at + 20, 100, 1 << 30)
        path = scratch() / "claims.zip"
        path.write_bytes(bytes(data))
        self.assertNotEqual(reproduce(path, code=2)["code"], "internal")

    def test_options_of_a_case_are_data(self):
        for options, says in (({"no_such": 1}, "'no_such'"), ({"int8": "yes"}, "'int8'"), ({"shapes": {"image": [0]}}, "shape of 'image'"),
                              ({"disabled_passes": ["no_such_pass"]}, "no_such_pass"), ({"keep_float": ["nowhere"]}, "nowhere")):
            def change(said, options=options):
                said["provenance"]["options"].update(options)

            self.refused(rewritten(self.case, change), says)

    def test_bundle_destroys_nothing(self):
        for target in (self.engine, MODEL, self.cache):
            copy = scratch() / f"copy_{target.name}"
            shutil.copy(target, copy)
            said = octet("bundle", self.engine, "--model", MODEL, "-o", copy, code=2).err
            self.assertIn("is a file already", said)
            self.assertEqual(copy.read_bytes(), target.read_bytes())
        self.assertIn("would replace", octet("bundle", self.engine, "-o", self.engine, "--force", code=2).err)


if __name__ == "__main__":
    harness.main()
