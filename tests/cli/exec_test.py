# SPDX-License-Identifier: Apache-2.0
"""octet exec: a program with Octet's libraries under TensorRT's names, whose words and exit code are its own."""

import os
import sys
import unittest

import harness
from harness import BUILD, octet

LIBRARIES = BUILD / "tensorrt/lib-10"
ASKS = """
import ctypes, os, sys
print(os.environ["LD_LIBRARY_PATH"])
print(ctypes.CDLL("libnvinfer.so.10").getInferLibVersion(), *sys.argv[1:])
sys.exit(7)
"""


class Exec(unittest.TestCase):
    def test_the_program_finds_the_libraries(self):
        if not (LIBRARIES / "libnvinfer.so.10").exists():
            self.skipTest(f"{LIBRARIES} has no libraries")
        env = dict(os.environ, LD_LIBRARY_PATH="/before")
        done = octet("exec", sys.executable, "-c", ASKS, "--help", "--json", code=7, env=env)
        folders, words = done.out.splitlines()
        self.assertTrue(folders.startswith(str(LIBRARIES.resolve())), folders)
        self.assertTrue(folders.endswith(":/before"), folders)
        self.assertEqual(words, "101601 --help --json")

    def test_what_cannot_be_started(self):
        if not LIBRARIES.is_dir():
            self.skipTest(f"{LIBRARIES} is absent")
        self.assertIn("program /no/such cannot be started", octet("exec", "/no/such", code=2).err)
        self.assertIn("program is required", octet("exec", code=2).err)


if __name__ == "__main__":
    harness.main()
