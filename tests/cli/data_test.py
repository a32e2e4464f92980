# SPDX-License-Identifier: Apache-2.0
"""Calibration and evaluation data: what is refused before anything is computed, and what is skipped by name."""

import shutil
import unittest

import harness
from harness import DIGITS, digits, digits_engine, octet, scratch

MODEL = DIGITS / "digits.onnx"
PREPROCESS = ("--preprocess", DIGITS / "preprocess.json")


class BadData(unittest.TestCase):
    def setUp(self):
        self.folder = scratch() / self._testMethodName
        shutil.copytree(digits() / "calib", self.folder)
        self.engine = scratch() / f"{self._testMethodName}.octet"

    def build(self, *flags, code=0):
        return octet("build", MODEL, "--int8", "--calib", self.folder, "-o", self.engine, *PREPROCESS, *flags, code=code)

    def test_empty_folder(self):
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.assertIn(str(self.folder), self.build(code=2).err)
        self.assertFalse(self.engine.exists())

    def test_unreadable_image_is_an_error_or_a_named_skip(self):
        image = self.folder / "0007.png"
        image.write_bytes(image.read_bytes()[:40])
        self.assertIn("0007.png", self.build(code=2).err)
        self.assertFalse(self.engine.exists())
        result = self.build("--skip-bad", "--json", "--quiet")
        self.assertEqual(result.json["calibration"]["samples"], 199)
        self.assertEqual(result.json["calibration"]["skipped"], 1)
        self.assertIn("0007.png", result.json["calibration"]["skipped_files"][0])

    def test_maximum(self):
        self.assertEqual(self.build("--max-samples", "20", "--json").json["calibration"]["samples"], 20)


class Preprocessing(unittest.TestCase):
    def test_flags_and_file_are_one(self):
        by_file, by_flags = scratch() / "file.octet", scratch() / "flags.octet"
        octet("build", MODEL, "--int8", "--calib", digits() / "calib", *PREPROCESS, "-o", by_file)
        octet("build", MODEL, "--int8", "--calib", digits() / "calib", "--color", "gray", "--scale", "240", "-o", by_flags)
        self.assertEqual(by_file.read_bytes(), by_flags.read_bytes())

    def test_bad_values_are_refused(self):
        for flags in (("--resize", "8y8"), ("--color", "cmyk"), ("--scale", "0"), ("--std", "0"), ("--crop", "0x0"),
                      ("--mean", "1,2,3"), ("--letterbox", "8x8:999")):
            err = octet("build", MODEL, "--int8", "--calib", digits() / "calib", "--color", "gray", *flags, code=2,
                        cwd=scratch()).err
            self.assertTrue(err.startswith("error: ") or "\nerror: " in err, err)

    def test_unknown_key_in_the_file(self):
        file = scratch() / "unknown.json"
        file.write_text('{"colour": "gray"}')
        err = octet("build", MODEL, "--int8", "--calib", digits() / "calib", "--preprocess", file, code=2, cwd=scratch()).err
        self.assertIn("colour", err)
        self.assertIn("unknown.json", err)

    def test_engine_remembers(self):
        engine = digits_engine()
        kept = octet("eval", engine, "--data", digits() / "test", "--json").json["top1"]
        wrong = octet("eval", engine, "--data", digits() / "test", "--json", "--scale", "24000").json["top1"]
        self.assertGreater(kept, 0.99)
        self.assertLess(wrong, kept)


class One(unittest.TestCase):
    def test_a_file_that_cannot_be_used_is_its_own_error(self):
        broken = scratch() / "broken.png"
        broken.write_bytes((digits() / "calib/0000.png").read_bytes()[:60])
        error = octet("run", digits_engine(), broken, code=2).err
        self.assertEqual(error, f"error: '{broken}': truncated or corrupt PNG: the file ends too early\n")


if __name__ == "__main__":
    harness.main()
