# SPDX-License-Identifier: Apache-2.0
"""torch-tensorrt, unmodified, on a GPU: a small network and a ResNet-50 in FP32 and FP16, by both of its runtimes: FP16 loses to f64 what PyTorch's own
kernels lose, FP32 differs from these by sums in another order. OCTET_TORCH_TENSORRT names a Python that has PyTorch for CUDA, torch-tensorrt of its release (2.11 was tried) and NVIDIA's bindings
(tensorrt_cu13_bindings 10.15.1) without tensorrt_cu13_libs."""

import json
import os
import pathlib
import unittest

import harness
from harness import need_gpu, octet, scratch

# Sums in another order: of the largest value.
ORDER = 2e-6


class TorchTensorRT(unittest.TestCase):
    def test_networks(self):
        python = os.environ.get("OCTET_TORCH_TENSORRT")
        if not python:
            raise unittest.SkipTest("OCTET_TORCH_TENSORRT names no Python with torch-tensorrt")
        need_gpu()
        program = pathlib.Path(__file__).with_name("torch_tensorrt_program.py")
        done = octet("exec", python, program, scratch(), code=None)
        self.assertEqual(done.code, 0, done.out[-4000:] + done.err[-4000:])
        results = json.loads((scratch() / "results.json").read_text())
        self.assertTrue(results.pop("version").startswith("2."))
        self.assertEqual(len(results), 8)
        for name, got in results.items():
            with self.subTest(name):
                print(name, got)
                self.assertLess(got["error"], 1.2 * got["error of PyTorch"] + ORDER * got["range"])


if __name__ == "__main__":
    harness.main()
