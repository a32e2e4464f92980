# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a command is said before its long work, all of it at once; and the bytes of an engine depend on nothing but what it was made of."""

import shutil
import unittest

import harness
from harness import DIGITS, digits, octet, scratch

MODEL = DIGITS / "digits.onnx"


def build(*flags, code=0, model=MODEL, name="built", env=None):
    return octet("build", model, "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json", "--max-samples", 8,
                 "-o", scratch() / f"{name}.octet", "--force", *flags, code=code, env=env)


class BeforeTheWork(unittest.TestCase):
    def test_a_pattern_that_matches_no_tensor(self):
        for flags in (("--calib-method", "nothing*=mse"), ("--ranges", self.ranges())):
            said = build(*flags, code=2).err
            self.assertIn("'nothing*'", said)
            self.assertNotRegex(said, r"(?m)^calibrate ")

    def ranges(self):
        path = scratch() / "ranges.txt"
        path.write_text("nothing*: -1 1\n")
        return path

    def test_every_wrong_constraint(self):
        said = build("--precision", "Conv:int9", "--precision", "Gemm:int8,/0/Conv:f33", "--output-type", "Conv:g16", code=2).err
        for wrong in ("int9", "f33", "g16"):
            self.assertIn(f"'{wrong}' is no type of layers", said)

    def test_data_of_a_report(self):
        said = octet("report", MODEL, "--calib", digits() / "calib", "--data", scratch() / "nowhere", code=2).err
        self.assertIn("does not exist", said)
        self.assertNotRegex(said, r"(?m)^import ")

    def test_a_flag_without_effect(self):
        self.assertIn("--fix-subnormals has no use without --fp16", build("--fix-subnormals", code=2).err)


class Bytes(unittest.TestCase):
    def test_a_copy_of_a_model_gives_the_same_engine(self):
        shutil.copy(MODEL, scratch() / "copy of it.onnx")
        build(name="of_it")
        build(name="of_copy", model=scratch() / "copy of it.onnx")
        self.assertEqual((scratch() / "of_it.octet").read_bytes(), (scratch() / "of_copy.octet").read_bytes())

    def test_reproducible_needs_data(self):
        said = octet("build", DIGITS / "digits.onnx", "--reproducible", "-o", scratch() / "no.octet", code=2).err
        self.assertIn("--reproducible has no use without --calib", said)

    def test_reproducible_builds_do_not_depend_on_the_instruction_set(self):
        engines = []
        for isa in ("none", "avx2", "avx_vnni", "vnni", "amx"):
            told = build("--reproducible", "--json", name=isa, env={"OCTET_CPU_ISA": isa}).json
            self.assertEqual(told["calibration"]["level"], "none")
            engines.append((scratch() / f"{isa}.octet").read_bytes())
        self.assertEqual(len(set(engines)), 1)
        self.assertIn("the same on every machine", build("--reproducible").out)
        self.assertIn("calibrated on f32 kernels of level", build(env={"OCTET_CPU_ISA": "avx2"}).out)


if __name__ == "__main__":
    harness.main()
