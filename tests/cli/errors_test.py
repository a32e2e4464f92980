# SPDX-License-Identifier: Apache-2.0
"""Errors for programs (--json), thresholds in JSON, near misses of names, and the flags of messages that every command has."""

import re
import shutil
import unittest

import harness
from harness import DIGITS, digits, digits_engine, octet, scratch

MODEL = DIGITS / "digits.onnx"
COMMANDS = ("check", "build", "inspect", "run", "eval", "compare", "bench", "export")
BUILD = ("build", MODEL, "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json")


class Json(unittest.TestCase):
    def error(self, *arguments):
        result = octet(*arguments, "--json", code=2)
        self.assertEqual(list(result.json), ["schema", "error"])
        error = result.json["error"]
        self.assertEqual(list(error), ["code", "message", "context"])
        self.assertIn(error["message"].splitlines()[0], result.err)
        self.assertIsInstance(error["context"], list)
        return error

    def test_every_command_answers_with_an_object(self):
        for command in COMMANDS:
            more = {"run": [MODEL], "eval": ["--data", digits()], "compare": ["--against", MODEL, "--calib", digits()],
                    "export": ["--onnx", scratch() / "out.onnx"]}
            error = self.error(command, "no-such-file", *more.get(command, []))
            self.assertEqual(error["code"], "io", command)
            self.assertIn("no-such-file", " ".join([error["message"], *error["context"]]))

    def test_codes(self):
        page = scratch() / "page.onnx"
        page.write_text("<!DOCTYPE html><html><body>404</body></html>")
        self.assertEqual(self.error("build", page)["code"], "invalid_model")
        self.assertEqual(self.error("inspect", digits_engine(), "--shape", "other:1x1x8x8")["code"], "invalid_argument")
        # Memory is refused before it is taken, so this needs none.
        error = self.error("run", digits_engine(), "--max-memory", "1M", *[digits() / "calib/0000.png"], "--shape=x")
        self.assertEqual(error["code"], "usage")

    def test_advice_is_context(self):
        error = self.error("build", MODEL, "--int8", "-o", scratch() / "x.octet")
        self.assertTrue(any("--calib" in line for line in error["context"]), error)

    def test_usage_is_an_object_too(self):
        self.assertEqual(self.error("bulid")["code"], "usage")
        self.assertEqual(self.error("inspect")["code"], "usage")
        self.assertEqual(self.error("bench", digits_engine(), "--threads", "many")["code"], "usage")


class Thresholds(unittest.TestCase):
    def test_eval_says_which(self):
        base = ("eval", digits_engine(), "--data", digits() / "test", "--against", MODEL, "--json")
        self.assertNotIn("passed", octet(*base).json)
        good = octet(*base, "--min-top1", "0.9", "--max-drop", "50").json
        self.assertIs(good["passed"], True)
        result = octet(*base, "--min-top1", "1", "--min-sqnr", "300", "--min-agreement", "0.9", code=1)
        self.assertIs(result.json["passed"], False)
        rows = {row["name"]: row for row in result.json["thresholds"]}
        self.assertEqual({name: row["passed"] for name, row in rows.items()},
                         {"min_top1": False, "min_sqnr": False, "min_agreement": True})
        self.assertEqual(rows["min_sqnr"]["limit"], 300)
        self.assertEqual(rows["min_agreement"]["value"], result.json["agreement"])
        self.assertEqual(result.err.count("failed: "), 2)
        self.assertIn("failed: top-1 is ", result.err)

    def test_compare(self):
        base = ("compare", digits_engine(), "--against", MODEL, "--calib", digits() / "calib", "--json")
        self.assertIs(octet(*base, "--min-sqnr", "1").json["passed"], True)
        failed = octet(*base, "--min-sqnr", "300", code=1).json
        self.assertEqual((failed["passed"], failed["thresholds"][0]["passed"]), (False, False))


class NearMisses(unittest.TestCase):
    def says(self, meant, *arguments):
        err = octet(*arguments, code=2, cwd=scratch()).err
        self.assertIn(f"did you mean '{meant}'?", err)

    def test_commands_and_flags(self):
        self.says("build", "bulid", "x.onnx")
        self.says("inspect", "inspct", "x.octet")
        self.says("build", "help", "biuld")
        self.says("--threads", "bench", digits_engine(), "--thread", "2")
        self.says("--version", "--verison")
        err = octet("inspect", digits_engine(), "--calib", "x", code=2).err
        self.assertIn("octet build", err)

    def test_choices(self):
        self.says("folder", "eval", digits_engine(), "--data", digits() / "test", "--labels", "fodler")
        self.says("minmax", *BUILD, "--calib-method", "min-max")
        self.says("rgb", *BUILD, "--color", "rbg")
        self.says("nchw", *BUILD, "--layout", "nhcw")

    def test_nodes_tensors_and_passes(self):
        node = octet("inspect", digits_engine(), "--json").json["layers"][1]["nodes"][0]
        self.says(node, *BUILD, "--keep-float", node + "x")
        self.says("fold_batchnorm", *BUILD, "--disable-pass", "fold_batch_norm")
        self.says("image", "inspect", digits_engine(), "--shape", "imgae:1x1x8x8")
        self.says("image", "build", MODEL, "--shape", "imgae:1x1x8x8")

    def test_names_are_checked_before_the_data(self):
        folder = scratch() / "damaged"
        shutil.copytree(digits() / "calib", folder)
        (folder / "0000.png").write_bytes(b"no image")
        err = octet("build", MODEL, "--int8", "--calib", folder, "--keep-float", "Covn", code=2, cwd=scratch()).err
        self.assertIn("did you mean 'Conv'?", err)

    def test_two_names_of_one_node_are_both_known(self):
        node = octet("inspect", digits_engine(), "--json").json["layers"][1]["nodes"][0]
        octet(*BUILD, "--keep-float", "Conv", "--keep-float", node, "-o", scratch() / "two.octet", "--quiet")


class Messages(unittest.TestCase):
    def test_help_and_version_as_commands(self):
        self.assertEqual(octet("version").out, octet("--version").out)
        self.assertEqual(octet("help", "build").out, octet("build", "--help").out)
        self.assertEqual(octet("help").out, octet("--help").out)

    def test_every_command_has_them(self):
        for command in COMMANDS:
            text = octet(command, "--help").out
            for flag in ("--quiet", "--verbose", "--log-file"):
                self.assertIn(flag, text, command)

    def test_quiet_and_verbose(self):
        out = ("-o", scratch() / "v.octet")
        self.assertEqual(octet(*BUILD, *out, "--quiet").err, "")
        plain, verbose = octet(*BUILD, *out).err, octet(*BUILD, *out, "--verbose").err
        self.assertIn("calibrate", plain)
        self.assertIn("fold_batchnorm", verbose)
        self.assertNotIn("fold_batchnorm", plain)

    def test_log_file(self):
        log = scratch() / "octet.log"
        octet(*BUILD, "-o", scratch() / "l.octet", "--quiet", "--log-file", log)
        octet("inspect", "none.octet", "--log-file", log, code=2)
        lines = log.read_text().splitlines()
        self.assertEqual(lines[0], "# log of octet")
        for line in lines[1:]:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
        self.assertTrue(any("fold_batchnorm" in line for line in lines))
        self.assertTrue(any("error: " in line and "none.octet" in line for line in lines))

    def test_log_files_of_others_are_left_alone(self):
        other = scratch() / "other.txt"
        other.write_text("mine\n")
        err = octet("inspect", digits_engine(), "--log-file", other, code=2).err
        self.assertIn("no log of Octet's", err)
        self.assertEqual(other.read_text(), "mine\n")
        self.assertTrue(re.search("log-file", octet("inspect", digits_engine(), "--log-file", scratch() / "no/dir.log", code=2).err))


if __name__ == "__main__":
    harness.main()
