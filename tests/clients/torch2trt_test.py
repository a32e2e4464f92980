# SPDX-License-Identifier: Apache-2.0
"""torch2trt, unmodified, on a CPU: networks of torchvision converted layer by layer, calibrated and run. OCTET_TORCH2TRT names a Python that has PyTorch and
torchvision, and torch2trt of github.com/NVIDIA-AI-IOT/torch2trt (which PyPI has not) on its path; the three are too large to be fetched here."""

import os
import pathlib
import re
import subprocess
import unittest

import harness
from harness import BUILD, scratch

PROGRAM = pathlib.Path(__file__).with_name("torch2trt_program.py")


class Torch2Trt(unittest.TestCase):
    def test_it_converts_and_runs(self):
        python = os.environ.get("OCTET_TORCH2TRT")
        if not python:
            raise unittest.SkipTest("OCTET_TORCH2TRT names no Python with torch2trt")
        if not list((BUILD / "python/tensorrt").glob("_level10*.so")):
            raise unittest.SkipTest(f"{BUILD}/python has no module: nanobind or Python's headers are absent; ./dev setup installs them")
        env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
        done = subprocess.run([python, "-m", "tensorrt", "--torch-cuda", PROGRAM], cwd=scratch(), env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = re.findall(r"^(.+): loss (\S+), PyTorch (\S+), classes (\S+)$", done.stdout, re.M)
        results = {name: tuple(map(float, numbers)) for name, *numbers in found}
        for name, (loss, own, classes) in results.items():
            print(name, loss, own, classes)
            self.assertEqual(classes, 1, name)
            if name != "INT8":  # sums in another order lose about as much as PyTorch's do
                self.assertLess(loss, 4 * own, name)
        self.assertEqual(len(results), 9)
        # It computes on codes, which reals never lose as much as.
        self.assertGreater(results["INT8"][0], 100 * results["batch 8"][0])
        self.assertIn("loaded", done.stdout)


if __name__ == "__main__":
    harness.main()
