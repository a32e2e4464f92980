# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/plugins.md, as a reader would run them."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import harness
from harness import BUILD, PROGRAM, ROOT, command, need, scratch

PAGE = ROOT / "docs/plugins.md"


class Page(unittest.TestCase):
    def test_its_commands_run(self):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is absent")
        need("onnx", "numpy")
        prefix, folder = scratch() / "prefix", scratch() / "reader"
        folder.mkdir()
        command("cmake", "--install", BUILD, "--prefix", prefix)
        blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 4)
        path = os.pathsep.join([str(prefix / "bin"), str(os.path.dirname(sys.executable)), os.environ["PATH"]])
        done = subprocess.run(["bash", "-e", "-c", "".join(blocks)], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": path, "CMAKE_PREFIX_PATH": str(prefix)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Leaky:int8", done.stdout)
        self.assertIn("100% tests passed", done.stdout)
        self.assertIn("no loaded plugin has it; it came from 'Leaky' 0.1.0", done.stderr)
        self.assertTrue((folder / "y.npz").exists())

    def test_what_it_names_exists(self):
        text = PAGE.read_text()
        for path in re.findall(r"`((?:examples|include|tests)/[\w/.]+)`", text):
            self.assertTrue((ROOT / path).exists(), path)
        self.assertTrue(PROGRAM.exists())


if __name__ == "__main__":
    harness.main()
