#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/integrations/run leaves out no suite of an integration, and README's first page shows each of them in few lines whose words are those of its page."""

import re
import sys
import unittest

import harness
from harness import ROOT

RUN = ROOT / "tests/integrations/run"
FIRST_PAGE = 80  # lines
SHOWN = {"docs/serving.md": 5, "docs/onnxruntime.md": 5, "docs/ray.md": 5}  # lines of code at most


class Integrations(unittest.TestCase):
    def test_every_suite_is_in_the_table(self):
        listed = harness.command(sys.executable, RUN, "--list")
        for folder in "integrations", "onnxruntime":
            for script in (ROOT / f"tests/{folder}").glob("*_test.py"):
                self.assertIn(str(script), listed)
        self.assertEqual({line.split()[0] for line in listed.splitlines()}, {"triton", "onnxruntime", "ray", "others"})
        self.assertEqual(len(harness.command(sys.executable, RUN, "--list", "ray").splitlines()), 2)

    def test_the_first_page_shows_three(self):
        lines = (ROOT / "README.md").read_text().splitlines()[:FIRST_PAGE]
        for page, most in SHOWN.items():
            at = next((i for i, line in enumerate(lines) if f"({page})" in line and line.startswith(("In ", "On "))), None)
            self.assertIsNotNone(at, f"README.md introduces {page} within its first {FIRST_PAGE} lines")
            code = []
            for line in lines[at + 2 :]:
                if not line.startswith("    "):
                    break
                code.append(line.strip())
            self.assertTrue(0 < len(code) <= most, (page, code))
            # What README calls is what the page explains.
            text = (ROOT / page).read_text()
            for call in re.findall(r"[\w.]+(?=\()", "\n".join(code)) + re.findall(r"--[\w-]+", "\n".join(code)):
                self.assertIn(call.rsplit(".", 1)[-1], text, f"{page} says nothing of {call}")


if __name__ == "__main__":
    harness.main()
