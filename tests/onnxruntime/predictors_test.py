# SPDX-License-Identifier: Apache-2.0
"""Ultralytics' and Optimum's predictors on the provider, unchanged but for the line that names it: Octet's bytes. OCTET_PREDICTORS names a Python that has
both (optimum-onnx) with PyTorch, torchvision and ONNX Runtime, which are too large to be fetched here."""

import os
import pathlib
import subprocess
import unittest

import harness
import provider
from harness import need, scratch

PROGRAM = pathlib.Path(__file__).with_name("predictors_program.py")
LIBRARY = provider.PACKAGE / "onnxruntime_ep_octet/liboctet_onnxruntime.so"


class Predictors(unittest.TestCase):
    def test_only_the_providers_line_is_changed(self):
        python = os.environ.get("OCTET_PREDICTORS")
        if not python:
            raise unittest.SkipTest("OCTET_PREDICTORS names no Python with Ultralytics and Optimum")
        np = need("numpy")
        env = {**os.environ, "HF_HUB_OFFLINE": "1", "YOLO_OFFLINE": "1", "YOLO_CONFIG_DIR": str(scratch())}
        done = subprocess.run([python, PROGRAM, LIBRARY, scratch()], cwd=scratch(), env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in "yolov8n", "bert":
            with np.load(scratch() / f"{name}.npz") as feeds:
                want = next(iter(provider.run_octet(scratch() / f"{name}.onnx", dict(feeds)).values()))
            self.assertEqual(want.tobytes(), np.load(scratch() / f"{name}.npy").tobytes(), name)


if __name__ == "__main__":
    harness.main()
