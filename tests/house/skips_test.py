# SPDX-License-Identifier: Apache-2.0
"""tools/skips.py finds every skip of one of ctest's logs, and holds it to tests/skips.txt."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import skips  # noqa: E402

LINE = "-" * 58


def log(name, output, end="Test Passed."):
    return (f'1/2 Testing: {name}\n1/2 Test: {name}\nCommand: "/a/b"\nDirectory: /a\n"{name}" start time: Nov 26 19:51 UTC\nOutput:\n{LINE}\n'
            f'{output}<end of output>\nTest time =   0.10 sec\n{LINE}\n{end}\n"{name}" end time: Nov 26 19:51 UTC\n{LINE}\n\n')


GTEST = """[ RUN      ] Gpu.Runs
[       OK ] Gpu.Runs (0 ms)
[ RUN      ] Gpu.Skips/3
a word of the program
../../tests/gpu/conv_test.cc:154: Skipped
the chip has no wgmma

[  SKIPPED ] Gpu.Skips/3 (0 ms)
[ RUN      ] Gpu.Last
../../a_test.cc:1: Skipped
[  SKIPPED ] Gpu.Last (1 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Gpu.Skips/3
[  SKIPPED ] Gpu.Last
"""
PYTHON = """test_a (__main__.A.test_a) ... skipped 'zsh is absent'
skipped test_a (__main__.A.test_a): zsh is absent
skipped setUpClass (__main__.B): /x/shared/models is absent
skipped test_c (__main__.C.test_c) [of two] (a=1): why: so
"""
LIST = """# words
a.* | ^zsh is absent$ | always | no package
gpu | ^the chip has no | always | another chip has
"""


class Skips(unittest.TestCase):
    def found(self, text):
        return [str(skip) for skip in skips.skips_of(text)]

    def test_cases_of_gtest(self):
        self.assertEqual(self.found(log("gpu", GTEST)), ["gpu:Gpu.Skips/3: the chip has no wgmma", "gpu:Gpu.Last: no reason"])

    def test_cases_of_python(self):
        self.assertEqual(self.found(log("a.b", PYTHON)), ["a.b:test_a (__main__.A.test_a): zsh is absent",
                                                          "a.b:setUpClass (__main__.B): /x/shared/models is absent",
                                                          "a.b:test_c (__main__.C.test_c) [of two] (a=1): why: so"])

    def test_whole_programs(self):
        # ctest writes "Test Passed." of a test that returns 77.
        text = log("one", "words\nskipped: no models\n") + log("two", "libnvrtc) is missing\n") + log("three", "skipped: not by ctest's own count\n") + \
            "ctest skipped: one\nctest skipped: two\n"
        self.assertEqual(self.found(text), ["one: no models", "two: libnvrtc) is missing"])

    def run_with(self, listed, text, *flags):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("list", listed), ("log", text)):
                (pathlib.Path(folder) / name).write_text(content)
            with mock.patch.object(skips, "LIST", pathlib.Path(folder) / "list"), contextlib.redirect_stdout(io.StringIO()) as said, \
                    mock.patch.object(sys, "argv", ["skips.py", *flags, str(pathlib.Path(folder) / "log")]):
                return skips.main(), said.getvalue()

    def test_only_what_is_listed_may_be_skipped(self):
        listed = log("a.b", "skipped test_a (__main__.A.test_a): zsh is absent\n")
        self.assertEqual(self.run_with(LIST, listed, "--strict")[0], 0)
        code, said = self.run_with(LIST, log("gpu", GTEST) + listed, "--strict")
        self.assertEqual(code, 1)
        self.assertIn("error: not in tests/skips.txt: gpu:Gpu.Last: no reason", said)
        self.assertIn("3 skips, 1 that nobody expects", said)
        self.assertEqual(self.run_with(LIST, log("gpu", GTEST))[0], 0)
        # Of another test, the same reason is not listed.
        self.assertEqual(self.run_with(LIST, listed.replace("a.b", "c.d"), "--strict")[0], 1)

    def test_conditions(self):
        text, listed = log("a.b", "skipped test_a (__main__.A.test_a): mine\n"), "a.b | mine | root | why\n"
        for user, code in ((0, 0), (1000, 1)):
            with mock.patch.object(skips.os, "geteuid", lambda user=user: user):
                self.assertEqual(self.run_with(listed, text, "--strict")[0], code)

    def test_a_line_that_says_no_reason(self):
        for line in ("a.b | mine | always", "a.b | mine | sometimes | why", "a.b |  | always | why"):
            with self.assertRaises(SystemExit):
                self.run_with(line + "\n", "")

    def test_the_list_itself(self):
        self.assertGreater(len(skips.allowed()), 10)


if __name__ == "__main__":
    harness.main()
