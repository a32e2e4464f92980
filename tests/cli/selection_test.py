# SPDX-License-Identifier: Apache-2.0
"""octet bench --assert-selection: every kernel that accepts a layer runs, and all give one answer."""

import unittest

import harness
from harness import digits_engine, octet

# So far beyond what one kernel can lose against another in a layer of the digits that no busy machine reaches it.
FAR = "10"


class Selection(unittest.TestCase):
    def test_every_level_gives_one_answer(self):
        for level in ("none", "avx2", "vnni", "amx"):
            with self.subTest(level):
                said = octet("bench", digits_engine(), "--assert-selection", "--tolerance", FAR, "--json",
                             env={"OCTET_CPU_ISA": level}).json
                self.assertEqual((said["wrong"], said["different"]), (0, 0))
                self.assertEqual(said["tolerance"], float(FAR))
                layers = octet("inspect", digits_engine(), "--json", env={"OCTET_CPU_ISA": level}).json["layers"]
                planned = {layer["name"]: layer for layer in layers if layer["op"] != "Reorder"}
                self.assertEqual(len(said["layers"]) + said["single"], len(planned))
                for layer in said["layers"]:
                    names = [kernel["kernel"] for kernel in layer["kernels"]]
                    self.assertEqual(names[0], layer["chosen"])
                    self.assertEqual(planned[layer["name"]]["kernel"], layer["chosen"])
                    self.assertEqual(len(set(names)), len(names))
                    self.assertGreater(len(names), 1)
                    self.assertIn(layer["fastest"], names)
                    self.assertGreaterEqual(layer["ratio"], 1)

    def test_every_other_kernel_has_a_reason(self):
        layers = octet("inspect", digits_engine(), "--json").json["layers"]
        for layer in layers:
            self.assertTrue(all(": " in reason for reason in layer["rejected_kernels"]), layer)
        if octet("bench", digits_engine(), "--seconds", "0", "--json").json["isa"] == "amx":
            convolutions = [layer for layer in layers if layer["op"] == "QConv"]
            self.assertTrue(any("times as much as" in reason for layer in convolutions for reason in layer["rejected_kernels"]))
        self.assertIn("NOT TAKEN", octet("inspect", digits_engine(), "--wide").out)

    def test_text(self):
        out = octet("bench", digits_engine(), "--assert-selection", "--tolerance", FAR).out
        self.assertIn("choices wrong", out)

    def test_tolerance_is_a_share(self):
        octet("bench", digits_engine(), "--assert-selection", "--tolerance", "-1", code=2)


if __name__ == "__main__":
    harness.main()
