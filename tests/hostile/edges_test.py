# SPDX-License-Identifier: Apache-2.0
"""A sample of edges.py: ill-treated processes end by themselves, say why, and leave everything as it was."""

import unittest

import edges
import harness


class Edges(unittest.TestCase):
    def test_a_sample(self):
        self.assertEqual("\n".join(edges.failures(seed=25, cases=80)), "")

    def test_every_command_is_treated(self):
        self.assertEqual(set(edges.valid_commands()), set(harness.commands()))
        for command, words in edges.valid_commands().items():
            if command not in ("plugin", "trtexec", "warm"):
                harness.octet(command, *(str(word).replace("{out}", str(harness.scratch())) for word in words))


if __name__ == "__main__":
    harness.main()
