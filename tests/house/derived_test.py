#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The derived table of docs/gpu.md is of today's boards and costs, has every board, and says what was measured."""

import importlib.util
import re
import sys
import unittest

import harness
from harness import ROOT

spec = importlib.util.spec_from_file_location("gpu_derived", ROOT / "bench/gpu_derived.py")
derived = importlib.util.module_from_spec(spec)
spec.loader.exec_module(derived)


class Derived(unittest.TestCase):
    def test_the_page_is_of_today(self):
        harness.command(sys.executable, ROOT / "bench/gpu_derived.py", "--check")

    def test_every_board_has_a_row(self):
        names = re.findall(r'^    \{"(\w+)"', (ROOT / "src/backends/cuda/arch/boards.cc").read_text(), re.M)
        rows = [line.split("|")[1].strip() for line in derived.table().splitlines()[2:] if line.startswith("|")]
        self.assertEqual(rows, names)
        self.assertLessEqual(derived.PUBLISHED.keys(), set(names))

    def test_the_arithmetic(self):
        """Of a chip with twice the multiprocessors and memory, twice as many; of one with an endless memory, its products alone."""
        costs, board = derived.Costs(), derived.boards()["a100"]
        architecture, multiprocessors, hertz, bandwidth = board
        twice = derived.images_per_second((architecture, 2 * multiprocessors, hertz, 2 * bandwidth), costs)
        one = derived.images_per_second(board, costs)
        self.assertTrue(1.8 < twice / one < 2, twice / one)
        products = costs.of("sm_80", "rate", "mma_s8") * multiprocessors * hertz / sum(macs for macs, _, _ in derived.layers())
        endless = derived.images_per_second((architecture, multiprocessors, hertz, 1e18), costs)
        self.assertTrue(0.9 < endless / products < 1, endless / products)

    def test_a_term_comes_from_whom_the_costs_are(self):
        costs = derived.Costs()
        self.assertEqual(costs.of("sm_75", "rate", "mma_s8"), costs.of("sm_86", "rate", "mma_s8"))
        self.assertEqual(costs.of("sm_87", "kernel", "start"), costs.of("sm_90", "kernel", "start"))


if __name__ == "__main__":
    harness.main()
