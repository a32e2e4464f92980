# SPDX-License-Identifier: Apache-2.0
"""Help, exit codes, and errors: one clear message on stderr, nothing on stdout, no terminal escapes."""

import gzip
import unittest

import harness
from harness import DIGITS, digits, digits_engine, octet, scratch

COMMANDS = ("check", "build", "inspect", "run", "eval", "compare", "bench", "plugin", "export", "bundle", "reproduce", "warm")


class Help(unittest.TestCase):
    def test_lists_every_command(self):
        text = octet("--help").out
        for command in COMMANDS:
            self.assertIn(command, text)
        self.assertIn("Exit codes", text)

    def test_every_command_has_examples(self):
        for command in COMMANDS:
            text = octet(command, "--help").out
            self.assertIn("Examples:", text)
            self.assertIn(f"octet {command} ", text)
            self.assertIn("--json", text)

    def test_version(self):
        self.assertRegex(octet("--version").out, r"^octet \d+\.\d+\.\d+\n$")


class Usage(unittest.TestCase):
    def fails(self, *arguments):
        result = octet(*arguments, code=2)
        self.assertEqual(result.out, "")
        errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, result.err)
        return result.err

    def test_no_command(self):
        self.fails()

    def test_unknown_command_and_flags(self):
        self.fails("bulid")
        self.fails("build", "--int9", "x.onnx")
        self.fails("inspect")
        self.fails("bench", digits_engine(), "--threads", "0")

    def test_a_misspelled_flag_is_named_before_what_is_missing_for_it(self):
        self.assertIn("octet eval has no flag --dat; did you mean '--data'?\n", self.fails("eval", "x.octet", "--dat", "photos"))
        self.assertIn("octet export has no flag --onx; did you mean '--onnx'?\n", self.fails("export", "x.octet", "--onx", "y.onnx"))
        self.assertIn("octet build has no flag --int9; did you mean '--int8'?\n", self.fails("build", "--int9"))
        self.assertIn("--data is required\n", self.fails("eval", "x.octet"))

    def test_a_file_whose_name_begins_with_a_dash(self):
        (scratch() / "-model.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())
        result = octet("build", "-model.onnx", code=2, cwd=scratch())
        self.assertIn("octet build has no flag -model.onnx; the file of that name is ./-model.onnx\n", result.err)
        octet("build", "./-model.onnx", "-o", "dash.octet", cwd=scratch())

    def test_numbers_that_are_out_of_range(self):
        model = DIGITS / "digits.onnx"
        self.assertIn("--max-samples: -3 is not from 0 on\n", self.fails("build", model, "--max-samples", "-3"))
        self.assertIn("--seconds: 0 is not from 0.001 to 3600\n", self.fails("report", model, "--seconds", "0"))
        self.assertIn("--min-coverage: 101 is not from 0 to 100, or 0% to 100%\n", self.fails("build", model, "--min-coverage", "101"))
        self.assertIn("--threads: 'two' is no whole number\n", self.fails("bench", model, "--threads", "two"))
        self.assertIn("--threads: 'nan' is no whole number\n", self.fails("bench", model, "--threads", "nan"))
        self.assertIn("--seconds: 'nan' is no number\n", self.fails("bench", model, "--seconds", "nan"))
        self.assertIn("--min-sqnr: 'nan' is no number\n", self.fails("compare", model, "--calib", DIGITS, "--min-sqnr", "nan"))

    def test_shares_in_the_unit_of_another_flag(self):
        """With a percent sign they mean the same everywhere; without one, what looks like the other unit is refused with both forms."""
        model = DIGITS / "digits.onnx"
        evaluate, compare = ("eval", model, "--data", digits() / "test"), ("compare", model, "--calib", DIGITS, "--top-k", "2")
        for command, flag in ((evaluate, "--min-top1"), (evaluate, "--min-agreement"), (compare, "--min-top-k"), (("bench", model), "--tolerance")):
            said = self.fails(*command, flag, "89")
            self.assertIn(f"{flag}: 89 looks like per cent, and the flag counts fractions of one; expected 0.89 or 89%\n", said)
            for value in ("-0.1", "-1%", "1001%", "101%" if flag != "--tolerance" else "1000.1%"):
                self.assertIn(f"{flag}: {value} is not from 0 to 1", self.fails(*command, flag, value))
            for value in ("nan", "%", "9%%", "% 9", "many", "inf"):
                self.assertIn(f"'{value}' is no number; expected 0 to 1", self.fails(*command, f"{flag}={value}"))
        for value, better in (("0.9", "90 or 90%, or 0.9%"), ("1", "100 or 100%, or 1%")):
            self.assertIn(f"--min-coverage: {value} looks like a fraction, and the flag counts per cent; expected {better}\n",
                          self.fails("build", model, "--min-coverage", value))
        self.assertIn("--max-drop: 101% is not from -100 to 100, or -100% to 100%\n", self.fails(*evaluate, "--max-drop", "101%"))

    def test_shares_in_both_forms(self):
        base = ("eval", digits_engine(), "--data", digits() / "test", "--json")
        for one, other in (("0.9", "90%"), ("1", "100%"), ("0", "0%"), ("0.005", "0.5%")):
            limits = [octet(*base, "--min-top1", value, code=None).json["thresholds"][0]["limit"] for value in (one, other)]
            self.assertEqual(*limits)
        for one, other in (("50", "50%"), ("33.5", "33.5%"), ("0", "0%")):
            rows = [octet("build", DIGITS / "digits.onnx", "-o", scratch() / "share.octet", "--json", "--quiet", "--min-coverage", value, code=None)
                    .json["thresholds"][0]["limit"] for value in (one, other)]
            self.assertEqual(*rows)
            self.assertEqual(rows[1], float(other[:-1]))

    def test_missing_files_are_named(self):
        self.assertIn("nowhere.onnx", self.fails("build", "nowhere.onnx"))
        self.assertIn("nowhere.octet", self.fails("inspect", "nowhere.octet"))
        self.assertIn("nowhere", self.fails("eval", digits_engine(), "--data", "nowhere"))

    def test_int8_without_data(self):
        self.assertIn("--calib", self.fails("build", DIGITS / "digits.onnx", "--int8", "-o", scratch() / "x.octet"))
        self.assertFalse((scratch() / "x.octet").exists())

    def test_a_name_that_no_layer_has(self):
        error = self.fails("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "--keep-float", "no_such_layer",
                           "-o", scratch() / "x.octet")
        self.assertIn("'no_such_layer'", error)
        self.assertIn("--keep-float", error)

    def test_data_without_int8(self):
        self.assertIn("--int8", self.fails("build", DIGITS / "digits.onnx", "--calib", digits() / "calib"))

    def test_things_given_as_a_model_are_named_for_what_they_are(self):
        lfs = scratch() / "lfs.onnx"
        lfs.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
        page = scratch() / "page.onnx"
        page.write_text("<!DOCTYPE html><html><body>404</body></html>")
        packed = scratch() / "packed.onnx"
        packed.write_bytes(gzip.compress(b"x" * 100))
        self.assertRegex(self.fails("build", lfs), "(?i)lfs")
        self.assertRegex(self.fails("build", page), "(?i)html")
        self.assertRegex(self.fails("build", packed), "(?i)gzip")
        self.assertRegex(self.fails("build", digits_engine()), "(?i)engine")

    def test_escapes_in_names_do_not_reach_the_terminal(self):
        err = self.fails("build", "evil\x1b[31m\u009b31m.onnx")
        self.assertNotIn("\x1b", err)
        self.assertNotIn("\u009b", err)
        self.assertIn("\\x1b[31m", err)

    def test_shapes(self):
        engine = digits_engine()
        for text in ("image", "image:", ":1x1x8x8", "image:1x0x8x8", "image:1x1x8x8x", "image:1xax8", "image:-1x1x8x8"):
            self.assertIn("--shape", self.fails("inspect", engine, "--shape", text))
        self.assertIn("image", self.fails("inspect", engine, "--shape", "other:1x1x8x8"))
        self.fails("inspect", engine, "--shape", "image:1x3x8x8")
        octet("inspect", engine, "--shape", "image:5x1x8x8")

    def test_damaged_engines(self):
        whole = digits_engine().read_bytes()
        damaged = scratch() / "damaged.octet"
        for keep in (0, 1, 7, 8, 40, len(whole) // 2, len(whole) - 1):
            damaged.write_bytes(whole[:keep])
            self.fails("inspect", damaged)
        for at in range(0, len(whole), max(1, len(whole) // 40)):
            damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            self.fails("inspect", damaged)


if __name__ == "__main__":
    harness.main()
