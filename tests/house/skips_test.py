# SPDX-License-Identifier: Apache-2.0
"""tools/skips.py finds every skip of one of ctest's reports, and holds it to tests/skips.txt."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import skips  # noqa: E402


def report(*programs):
    """What ctest itself writes of programs (name, output, exit code)."""
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for name, output, code in programs:
            (pathlib.Path(folder) / name).write_text(output)
            lines += [f'add_test([=[{name}]=] "sh" "-c" "cat {name}; exit {code}")', f"set_tests_properties([=[{name}]=] PROPERTIES SKIP_RETURN_CODE 77)"]
        (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        written = pathlib.Path(folder) / "report.xml"
        subprocess.run(["ctest", "--output-junit", written, "--test-output-size-passed", "65536"], cwd=folder, stdout=subprocess.DEVNULL, check=False)
        return written.read_bytes()


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
        self.assertEqual(self.found(report(("gpu", GTEST, 0))), ["gpu:Gpu.Skips/3: the chip has no wgmma", "gpu:Gpu.Last: no reason"])

    def test_cases_of_python(self):
        self.assertEqual(self.found(report(("a.b", PYTHON, 0))), ["a.b:test_a (__main__.A.test_a): zsh is absent",
                                                          "a.b:setUpClass (__main__.B): /x/shared/models is absent",
                                                          "a.b:test_c (__main__.C.test_c) [of two] (a=1): why: so"])

    def test_whole_programs(self):
        text = report(("one", "words\nskipped: no models\n", 77), ("two", "libnvrtc) is missing\n", 77), ("three", "skipped: not by ctest's count\n", 0))
        self.assertEqual(self.found(text), ["one: no models", "two: libnvrtc) is missing"])

    def run_with(self, listed, text, *flags):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "list").write_text(listed)
            (pathlib.Path(folder) / "report").write_bytes(text)
            with mock.patch.object(skips, "LIST", pathlib.Path(folder) / "list"), contextlib.redirect_stdout(io.StringIO()) as said, \
                    mock.patch.object(sys, "argv", ["skips.py", *flags, str(pathlib.Path(folder) / "report")]):
                return skips.main(), said.getvalue()

    def test_only_what_is_listed_may_be_skipped(self):
        absent = "skipped test_a (__main__.A.test_a): zsh is absent\n"
        self.assertEqual(self.run_with(LIST, report(("a.b", absent, 0)), "--strict")[0], 0)
        code, said = self.run_with(LIST, report(("gpu", GTEST, 0), ("a.b", absent, 0)), "--strict")
        self.assertEqual(code, 1)
        self.assertIn("error: not in tests/skips.txt: gpu:Gpu.Last: no reason", said)
        self.assertIn("3 skips, 1 that nobody expects", said)
        self.assertEqual(self.run_with(LIST, report(("gpu", GTEST, 0)))[0], 0)
        # Of another test, the same reason is not listed.
        self.assertEqual(self.run_with(LIST, report(("c.d", absent, 0)), "--strict")[0], 1)

    def test_conditions(self):
        text, listed = report(("a.b", "skipped test_a (__main__.A.test_a): mine\n", 0)), "a.b | mine | root | why\n"
        for user, code in ((0, 0), (1000, 1)):
            with mock.patch.object(skips.os, "geteuid", lambda user=user: user):
                self.assertEqual(self.run_with(listed, text, "--strict")[0], code)

    def test_a_line_that_says_no_reason(self):
        for line in ("a.b | mine | always", "a.b | mine | sometimes | why", "a.b |  | always | why"):
            with self.assertRaises(SystemExit):
                self.run_with(line + "\n", report())

    def test_the_list_itself(self):
        self.assertGreater(len(skips.allowed()), 10)


if __name__ == "__main__":
    harness.main()
