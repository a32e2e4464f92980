# SPDX-License-Identifier: Apache-2.0
"""The wheels that ./dev wheel left: what is in them, and that one does the job where nothing else of Octet is."""

import re
import subprocess
import sys
import unittest
import zipfile

import harness
from harness import DIGITS, ROOT, command, need, scratch

WHEELS = sorted((ROOT / "build/wheels").glob("*.whl"))

JOB = """
import numpy as np
import octet
digits = np.load("digits.npz")
images = digits["train_images"][:, None].astype(np.float32) / 16
engine = octet.compile("digits.onnx", calibration=images[:200])
assert (octet.Context(engine).run(images)[0].argmax(1) == digits["train_labels"]).mean() > 0.98
assert engine.inspect()["coverage"]["macs"] == 1
print(octet.__file__)
"""


class Wheels(unittest.TestCase):
    def setUp(self):
        need("numpy")
        if not WHEELS:
            self.skipTest("build/wheels has none; ./dev wheel makes them")

    def test_what_lies_in_them(self):
        for wheel in WHEELS:
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
            self.assertRegex(wheel.name, r"-(cp3\d+-cp3\d+|cp312-abi3)-manylinux_2_\d+_x86_64\.whl$")
            self.assertEqual([name for name in names if name.startswith(("lib/", "bin/", "include/", "share/"))], [])
            version = re.search(r"project\(Octet VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
            self.assertIn(f"\nVersion: {version}\n", metadata)
            self.assertTrue(any(name.endswith("py.typed") for name in names) and any(name.endswith(".pyi") for name in names))

    def test_one_does_the_job(self):
        tag = f"cp3{sys.version_info.minor}"
        fits = [w for w in WHEELS if w.name.startswith("octet-") and (f"-{tag}-{tag}-" in w.name or ("abi3" in w.name and sys.version_info >= (3, 12)))]
        if not fits:
            self.skipTest(f"no wheel is for {tag}")
        target = scratch() / "installed"
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("pip is absent")
        command(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, fits[0])
        (scratch() / "job.py").write_text(f"import os, sys\nsys.path.insert(0, {str(target)!r})\nos.chdir({str(DIGITS)!r})\n{JOB}")
        self.assertIn(str(target), command(sys.executable, "-W", "ignore", scratch() / "job.py"))


if __name__ == "__main__":
    harness.main()
