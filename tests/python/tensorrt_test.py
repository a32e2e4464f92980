# SPDX-License-Identifier: Apache-2.0
"""The Python module tensorrt at both levels, each in a process of its own, and the examples of examples/tensorrt."""

import ast
import os
import subprocess
import sys
import unittest

import harness
from harness import BUILD, DIGITS, ROOT, need, scratch

FOLDER = BUILD / "python"
LEVELS = ("8.6.1", "10.16.1")


def run(level, *command):
    env = {**os.environ, "OCTET_TENSORRT_VERSION": level, "PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT / "tests")])}
    return subprocess.run([sys.executable, *map(str, command)], env=env, capture_output=True, text=True, check=False)


class Levels(unittest.TestCase):
    def setUp(self):
        need("numpy")
        if len(list((FOLDER / "tensorrt").glob("_level*.so"))) < 2:
            self.skipTest(f"{FOLDER} has no module: nanobind or Python's headers are absent; ./dev setup installs them")

    def test_cases(self):
        for cases in sorted((ROOT / "tests/python").glob("trt_*_cases.py")):
            for level in LEVELS:
                done = run(level, cases)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_stubs_name_every_class(self):
        for level in (8, 10):
            stub = ast.parse((FOLDER / f"tensorrt/_level{level}.pyi").read_text())
            classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
            self.assertTrue({"Builder", "ICudaEngine", "IInt8EntropyCalibrator2", "OnnxParser", "Dims"} <= classes)

    def test_another_level_is_refused(self):
        self.assertIn("expected 8.6.1 or 10.x", run("9.2", "-c", "import tensorrt").stderr)

    def test_example(self):
        numpy = need("numpy")
        arrays = numpy.load(DIGITS / "digits.npz")
        images = arrays["train_images"][:64, None].astype(numpy.float32) / 16
        numpy.save(scratch() / "images.npy", images)
        for level in LEVELS:
            plan, cache = scratch() / f"{level}.plan", scratch() / f"{level}.cache"
            outputs = []
            for _ in range(2):  # the second reads the cache
                done = run(level, ROOT / "examples/tensorrt/build_int8.py", DIGITS / "digits.onnx", scratch() / "images.npy", plan, cache)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                outputs.append(done.stdout)
            self.assertEqual(outputs[0], outputs[1])
            self.assertIn("/0/Conv: LayerType.CONVOLUTION, asked for DataType.FLOAT", outputs[0])
            self.assertIn("Int8", outputs[0])
            self.assertIn(f"logits {arrays['train_labels'][:8].tolist()}", outputs[0])
            self.assertTrue(cache.read_bytes().startswith(b"TRT-"))


if __name__ == "__main__":
    harness.main()
