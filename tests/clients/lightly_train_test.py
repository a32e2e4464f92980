# SPDX-License-Identifier: Apache-2.0
"""LightlyTrain's TensorRT exporter, unmodified, on a CPU: detectors, a classifier and a segmentation network built by the module tensorrt of Octet, and run
beside ONNX Runtime on the ONNX files that it exports. OCTET_LIGHTLY_TRAIN names a Python that has LightlyTrain with PyTorch, ONNX, ONNX Script and onnxslim."""

import os
import pathlib
import subprocess
import unittest

import harness
from harness import BUILD, need, octet, onnxruntime_session, scratch

PROGRAM = pathlib.Path(__file__).with_name("lightly_train_program.py")


def feeds_of(onnxruntime):
    """Two images; what else is asked for is their size."""
    chance, feeds = np.random.default_rng(1), {}
    for info in onnxruntime.get_inputs():
        shape = [2 if isinstance(size, str) else size for size in info.shape]
        real = {"tensor(float)": np.float32, "tensor(float16)": np.float16}.get(info.type)
        feeds[info.name] = chance.standard_normal(shape).astype(real) if real else np.full(shape, 256, np.int64)
    return feeds


def loss(got, want):
    """Of all real outputs, relative: the largest."""
    pairs = [(np.float64(got[name]), np.float64(want[name])) for name in want if want[name].dtype.kind == "f"]
    return max(np.linalg.norm(g - w) / np.linalg.norm(w) for g, w in pairs)


class LightlyTrain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = os.environ.get("OCTET_LIGHTLY_TRAIN")
        if not python:
            raise unittest.SkipTest("OCTET_LIGHTLY_TRAIN names no Python with LightlyTrain")
        if not list((BUILD / "python/tensorrt").glob("_level10*.so")):
            raise unittest.SkipTest(f"{BUILD}/python has no module: nanobind or Python's headers are absent; ./dev setup installs them")
        env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
        done = subprocess.run([python, PROGRAM, scratch()], cwd=scratch(), env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def results(self, name):
        """Octet's of the engine; ONNX Runtime's of the exported model, with its optimizations and without."""
        model = scratch() / f"{name}.onnx"
        plain, fast = onnxruntime_session(model), onnxruntime_session(model, optimized=True)
        feeds, names = feeds_of(plain), [info.name for info in plain.get_outputs()]
        np.savez(scratch() / "in.npz", **feeds)
        octet("run", scratch() / f"{name}.engine", scratch() / "in.npz", "-o", scratch() / "out.npz", "--quiet")
        with np.load(scratch() / "out.npz") as got:
            return {n: got[n] for n in names}, dict(zip(names, plain.run(None, feeds))), dict(zip(names, fast.run(None, feeds)))

    def test_fp32(self):
        for name in ("picodet", "classifier", "segmentation", "detr"):
            got, want, other = self.results(f"{name}-fp32")
            print(f"{name}: loss {loss(got, want):.3g}, of ONNX Runtime's optimizations {loss(other, want):.3g}")
            self.assertLess(loss(got, want), max(4 * loss(other, want), 2.0**-20), name)
            for output, values in want.items():
                if values.dtype.kind != "f":  # the class of a pixel may be a tie
                    self.assertGreater((got[output] == values).mean(), 0.9999, output)

    def test_fp16(self):
        """By the model's types, or by the builder's flag where the exported model stays FP32: within LightlyTrain's own tolerance of the latter."""
        for name in ("picodet", "classifier", "segmentation"):
            got, want, _ = self.results(f"{name}-fp16")
            print(f"{name}: loss in FP16 {loss(got, want):.3g}")
            for output, values in want.items():
                if values.dtype.kind == "f":
                    np.testing.assert_allclose(np.float32(got[output]), np.float32(values), rtol=1e-1, atol=5e-3, err_msg=output)
                else:
                    self.assertGreater((got[output] == values).mean(), 0.99, output)


def setUpModule():
    global np
    np = need("numpy")


if __name__ == "__main__":
    harness.main()
