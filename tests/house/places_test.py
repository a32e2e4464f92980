# SPDX-License-Identifier: Apache-2.0
"""The table of CONTRIBUTING.md of what an addition touches: each row's example stands in as many files as the row says, and in the places that it names."""

import re
import subprocess
import unittest

import harness

ROW = re.compile(r"^\| ([^|]+) \| (\d+) \| (.+) \| `(.+)` \|$", re.M)
PRODUCT = ("include", "src", "cli", "tensorrt", "integrations", "python", "programs", "cmake")
CODE = (".cc", ".h", ".cu", ".cuh", ".def", ".cmake", ".csv", ".py")


def rows():
    """What is added, how many places, their words, the pattern of the example."""
    table = (harness.ROOT / "CONTRIBUTING.md").read_text().partition("## What an addition touches")[2].partition("\n## ")[0]
    return [(what, int(most), places, re.compile(pattern, re.M)) for what, most, places, pattern in ROW.findall(table)]


def product():
    listed = subprocess.run(["git", "ls-files", "--", *PRODUCT], cwd=harness.ROOT, capture_output=True, text=True, check=False).stdout.split()
    return [name for name in listed if name.endswith(CODE) and "/tests/" not in name and not re.search(r"_test\.\w+$", name)]


class Places(unittest.TestCase):
    def test_each_example_is_where_its_row_says(self):
        names = product()
        if not names:
            self.skipTest("this is no checkout")
        texts = {name: (harness.ROOT / name).read_text(errors="replace") for name in names if (harness.ROOT / name).exists()}
        self.assertGreaterEqual(len(rows()), 8)
        for what, most, _, pattern in rows():
            found = sorted(name for name, text in texts.items() if pattern.search(text))
            self.assertTrue(found, f"{what}: nothing has {pattern.pattern}")
            self.assertLessEqual(len(found), most, f"{what}: {pattern.pattern} is in {found}")

    def test_places_that_are_named_exist(self):
        for what, _, places, _ in rows():
            for place in re.findall(r"`((?:src|cli|cmake|tensorrt)/[\w./-]+)`", places):
                if "NAME" not in place:
                    self.assertTrue((harness.ROOT / place).exists(), f"{what}: {place}")


if __name__ == "__main__":
    harness.main()
