# SPDX-License-Identifier: Apache-2.0
"""A family of kernels says in the last line of its README where its tests are and which costs its estimate reads: both are there, and none is left out."""

import re
import unittest

from harness import ROOT, main

GPU = ROOT / "src/backends/cuda/families"
CPU = ROOT / "src/backends/cpu/kernels"
LAST = re.compile(r"^Tests: (?P<tests>`[^.]+\.cc`(?:, `[^.]+\.cc`)*)\. Costs: (?P<costs>.+)\. \[How to time it\]\((?P<bench>[./]+README\.md)#bench\)\.$")


def folders():
    return sorted(path for parent in (GPU, CPU / "codes") for path in parent.iterdir() if path.is_dir()) + [CPU / "float"]


def last_line(folder):
    found = LAST.match((folder / "README.md").read_text().splitlines()[-1])
    assert found, f"{folder}/README.md: its last line says no tests and costs"
    return found


def words(text):
    return re.findall(r"`([^`]+)`", text)


class Families(unittest.TestCase):
    def test_what_they_name_is_there(self):
        self.assertGreater(len(folders()), 45)
        for folder in folders():
            last = last_line(folder)
            for test in words(last["tests"]):
                self.assertTrue((ROOT / test).is_file(), f"{folder}: {test}")
            self.assertIn("\n## Bench\n", (folder / last["bench"]).read_text(), folder)

    def test_costs_are_those_that_are_read(self):
        listed = re.findall(r"^COST\((\w+), (\w+),", (ROOT / "src/backends/cuda/arch/costs.def").read_text(), re.M)
        self.assertGreater(len(listed), 40)
        for folder in (path for path in folders() if path.is_relative_to(GPU)):
            code = "".join(path.read_text() for path in folder.iterdir() if path.suffix in (".cc", ".h"))
            read = [name for name in map("_".join, listed) if re.search(rf"\b{name}\b", code)]
            self.assertEqual(sorted(words(last_line(folder)["costs"])), sorted(read), folder)

    def test_the_table_of_the_cpu_has_every_family(self):
        text = (CPU / "README.md").read_text()
        for folder in (path for path in folders() if path.is_relative_to(CPU)):
            self.assertIn(f"({folder.relative_to(CPU)}/README.md)", text)


if __name__ == "__main__":
    main()
