# SPDX-License-Identifier: Apache-2.0
"""Polygraphy from PyPI, unmodified, over the Python module tensorrt: compare with ONNX Runtime, convert, inspect, debug, at both levels."""

import os
import subprocess
import sys
import unittest

import harness
from harness import BUILD, DIGITS, ROOT, need, scratch, shared_data, shared_model

FOLDER = BUILD / "python"
OLD = ROOT / ".venv/polygraphy-0.49.26"

CIFAR = """
import glob
import numpy as np
from PIL import Image

def load_data():
    for file in sorted(glob.glob({folder!r} + "/calib/**/*.*", recursive=True))[:{count}]:
        pixels = np.asarray(Image.open(file).convert("RGB"), np.float32) / 255
        pixels = (pixels - [0.4914, 0.4822, 0.4465]) / [0.2470, 0.2435, 0.2616]
        yield {{"input": np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32)}}
"""
DIGIT = """
import numpy as np

def load_data():
    for image in np.load({file!r})["train_images"][:64]:
        yield {{"image": image[None, None].astype(np.float32) / 16}}
"""
TOLERANCE = ("--check-error-stat", "mean", "--atol", "0.1", "--rtol", "0.1")


class Polygraphy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need("numpy", "onnx", "onnxruntime", "polygraphy")
        if not list((FOLDER / "tensorrt").glob("_level10*.so")):
            raise unittest.SkipTest(f"{FOLDER} has no module tensorrt: nanobind or Python's headers are absent; ./dev setup installs them")
        (scratch() / "digits.py").write_text(DIGIT.format(file=str(DIGITS / "digits.npz")))

    def polygraphy(self, *arguments, old=False, level="10.16.1", code=0):
        if old and not OLD.exists():
            self.skipTest(f"{OLD} is absent; ./dev setup makes it")
        folders = [*([str(OLD)] if old else []), str(FOLDER)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "OCTET_TENSORRT_VERSION": level}
        done = subprocess.run([sys.executable, "-c", "from polygraphy.tools import main; raise SystemExit(main())", *map(str, arguments)],
                              env=env, cwd=scratch(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout + done.stderr

    def compared(self, model, data, *more, **how):
        return self.polygraphy("run", model, "--onnxrt", "--trt", "--int8", "--precision-constraints", "obey", "--data-loader-script", data, *TOLERANCE,
                               *more, **how)

    def cifar(self, count):
        data = scratch() / f"cifar{count}.py"
        data.write_text(CIFAR.format(folder=str(shared_data("cifar10")), count=count))
        return data

    def test_resnet20_with_real_data(self):
        model, data = shared_model("cifar10_resnet20"), self.cifar(64)
        for old, level in ((False, "10.16.1"), (True, "8.6.1")):
            cache = scratch() / f"resnet20.{level}.cache"
            self.assertIn("Pass Rate: 100.0", self.compared(model, data, "--calibration-cache", cache, old=old, level=level))
            self.assertTrue(cache.read_text().startswith("TRT-"))

    def test_residual_models(self):
        # One image's mean error in the transformer is 0.094 to 0.123 by the last bits of what calibration adds, which differ with the level of instructions.
        for name, most in (("cifar10_silunet", 0.1), ("cifar10_vit", 0.15)):
            self.assertIn("Pass Rate: 100.0", self.compared(shared_model(name), self.cifar(32), "--atol", most))
        out = self.polygraphy("run", shared_model("polygraphy_residual_block"), "--onnxrt", "--trt", "--int8", "--precision-constraints", "obey", *TOLERANCE)
        self.assertIn("Pass Rate: 100.0", out)

    def test_every_tensor_of_residual_models(self):
        for name in ("cifar10_resnet20_batchnorm", "cifar10_silunet"):
            out = self.polygraphy("run", shared_model(name), "--onnxrt", "--trt", "--trt-outputs", "mark", "all", "--onnx-outputs", "mark", "all",
                                  "--data-loader-script", self.cifar(1), "--atol", "1e-3", "--rtol", "1e-3")
            self.assertIn("Pass Rate: 100.0", out)

    def test_debug_precision_of_a_residual_model(self):
        cache = scratch() / "debug.cache"
        out = self.polygraphy("debug", "precision", shared_model("cifar10_resnet20"), "--int8", "--data-loader-script", self.cifar(32), "--calibration-cache",
                              cache, "-p", "float32", "--mode", "bisect", "--check", "true")
        self.assertRegex(out, r"Passed: (\d+)/\1 ")
        self.assertTrue(cache.read_text().startswith("TRT-"))

    def test_digits(self):
        for old, level in ((False, "8.6.1"), (True, "10.16.1")):
            self.assertIn("Pass Rate: 100.0", self.compared(DIGITS / "digits.onnx", scratch() / "digits.py", old=old, level=level))

    def test_convert_inspect_and_run_the_engine(self):
        for old, level in ((False, "10.16.1"), (True, "8.6.1")):
            engine = scratch() / "digits.engine"
            self.polygraphy("convert", DIGITS / "digits.onnx", "--int8", "--data-loader-script", scratch() / "digits.py", "-o", engine, old=old,
                            level=level)
            shown = self.polygraphy("inspect", "model", engine, "--model-type", "engine", "--show", "layers", "attrs", old=old, level=level)
            self.assertIn("dtype=int8", shown)
            self.assertIn("/0/Conv", shown)
            self.polygraphy("run", engine, "--model-type", "engine", "--trt", old=old, level=level)
            network = self.polygraphy("inspect", "model", DIGITS / "digits.onnx", "--display-as", "trt", "--show", "layers", old=old, level=level)
            self.assertIn("LayerType.CONVOLUTION", network)

    def test_inspect_a_plan_of_trtexec(self):
        for old, level in ((False, "10.16.1"), (True, "8.6.1")):
            plan = scratch() / "trtexec.engine"
            harness.octet("trtexec", f"--onnx={DIGITS / 'digits.onnx'}", "--minShapes=image:1x1x8x8", "--optShapes=image:4x1x8x8",
                          "--maxShapes=image:16x1x8x8", "--profilingVerbosity=detailed", f"--saveEngine={plan}", "--skipInference")
            shown = self.polygraphy("inspect", "model", plan, "--model-type", "engine", "--show", "layers", "attrs", old=old, level=level)
            self.assertNotIn("[Op: Unknown]", shown)
            self.assertRegex(shown, r"min=[\[(]1, 1, 8, 8[\])], opt=[\[(]4, 1, 8, 8[\])], max=[\[(]16, 1, 8, 8[\])]")

    def test_every_tensor_as_an_output(self):
        out = self.polygraphy("run", DIGITS / "digits.onnx", "--onnxrt", "--trt", "--trt-outputs", "mark", "all", "--onnx-outputs", "mark", "all",
                              "--atol", "1e-4", "--rtol", "1e-4")
        self.assertIn("PASSED", out)

    def test_layer_precisions(self):
        self.compared(DIGITS / "digits.onnx", scratch() / "digits.py", "--layer-precisions", "/0/Conv:float32")

    def test_debug_precision(self):
        out = self.polygraphy("debug", "precision", DIGITS / "digits.onnx", "--int8", "--data-loader-script", scratch() / "digits.py", "-p", "float32",
                              "--check", "true")
        self.assertIn("Pass Rate: 100.0", out)

    def test_its_verdict_is_real(self):
        out = self.polygraphy("run", DIGITS / "digits.onnx", "--onnxrt", "--trt", "--int8", "--data-loader-script", scratch() / "digits.py", "--atol", "1e-7",
                              "--rtol", "1e-7", code=1)
        self.assertIn("FAILED", out)


if __name__ == "__main__":
    harness.main()
