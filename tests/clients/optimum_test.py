# SPDX-License-Identifier: Apache-2.0
"""Networks that Optimum exports and quantizes by ONNX Runtime, built and run for sentences of several lengths with masks, beside ONNX Runtime
without its optimizations, which compute other numbers. OCTET_OPTIMUM names a Python that has optimum-onnx with PyTorch and datasets, which are too large to
be fetched here."""

import os
import pathlib
import subprocess
import unittest

import harness
from harness import need, octet, onnxruntime_session, scratch

PROGRAM = pathlib.Path(__file__).with_name("optimum_program.py")
SIZES = ((1, 16), (3, 32), (2, 77))


def sentences(chance, rows, length):
    feeds = {name: np.zeros((rows, length), np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    for row in range(rows):
        words = int(chance.integers(length // 2, length + 1))
        feeds["input_ids"][row, :words] = chance.integers(5, 1000, words)
        feeds["attention_mask"][row, :words] = 1
    return feeds


def loss(got, want):
    return float(np.linalg.norm(np.float64(got) - want) / np.linalg.norm(np.float64(want)))


class Optimum(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = os.environ.get("OCTET_OPTIMUM")
        if not python:
            raise unittest.SkipTest("OCTET_OPTIMUM names no Python with optimum-onnx")
        env = {**os.environ, "HF_HUB_OFFLINE": "1"}
        done = subprocess.run([python, PROGRAM, scratch()], cwd=scratch(), env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def model(self, name):
        return scratch() / name / ("model_quantized.onnx" if "-" in name else "model.onnx")

    def ran(self, engine, feeds):
        np.savez(scratch() / "in.npz", **feeds)
        octet("run", engine, scratch() / "in.npz", "-o", scratch() / "out.npz", "--quiet")
        with np.load(scratch() / "out.npz") as got:
            return got["logits"]

    def holds(self, name, feeds_of_all):
        """One engine for all sizes: what it loses of FP32 is what ONNX Runtime loses."""
        engine, float_engine = scratch() / f"{name}.octet", scratch() / f"{name}-float.octet"
        own, fast = onnxruntime_session(self.model(name)), onnxruntime_session(self.model(name), optimized=True)
        network = name.partition("-")[0]
        octet("build", self.model(name), "-o", engine, "--quiet")
        octet("build", self.model(network), "-o", float_engine, "--quiet")
        real = onnxruntime_session(self.model(network))
        for feeds in feeds_of_all:
            got, want, truth = self.ran(engine, feeds), own.run(None, feeds)[0], real.run(None, feeds)[0]
            codes, floats = loss(got, want), loss(self.ran(float_engine, feeds), truth)
            print(f"{name} {next(iter(feeds.values())).shape}: from ONNX Runtime {codes:.3g}, in FP32 {floats:.3g}; from FP32 {loss(got, truth):.3g}")
            # A real sum in another order may turn one code into the next, and random weights keep what comes of it: ONNX Runtime's own do.
            self.assertLessEqual(codes, max(loss(fast.run(None, feeds)[0], want), 0.001 * loss(want, truth)), name)
            self.assertLess(floats, 2.0**-18, name)
        return engine

    def test_bert(self):
        chance = np.random.default_rng(9)
        for flow in ("dynamic", "static", "arm64", "tensorrt"):
            self.holds(f"bert-{flow}", [sentences(chance, *size) for size in SIZES])

    def test_vit(self):
        chance = np.random.default_rng(9)
        images = [{"pixel_values": chance.standard_normal((rows, 3, 64, 64)).astype(np.float32)} for rows in (1, 4)]
        for flow in ("static", "tensorrt"):
            self.holds(f"vit-{flow}", images)

    def test_masks_hide(self):
        """What a mask hides changes nothing, to the bit."""
        engine = self.holds("bert-static", [])
        feeds = sentences(np.random.default_rng(2), 2, 24)
        feeds["attention_mask"][:, 18:] = 0
        other = {**feeds, "input_ids": np.where(feeds["attention_mask"] == 1, feeds["input_ids"], 7)}
        self.assertTrue((other["input_ids"] != feeds["input_ids"]).any())
        self.assertTrue((self.ran(engine, feeds) == self.ran(engine, other)).all())

    def test_through_tensorrt(self):
        """trtexec takes the Q/DQ model with a profile; at its sizes the plan gives what the engine gives."""
        model, plan = self.model("bert-tensorrt"), scratch() / "bert.plan"
        shapes = [f"--{which}Shapes=" + ",".join(f"{name}:{size}" for name in ("input_ids", "attention_mask", "token_type_ids"))
                  for which, size in (("min", "1x8"), ("opt", "2x32"), ("max", "4x128"))]
        said = octet("trtexec", f"--onnx={model}", "--int8", *shapes, f"--saveEngine={plan}", "--iterations=2", "--warmUp=0", "--duration=0").out
        self.assertIn("&&&& PASSED", said)
        chance, engine = np.random.default_rng(9), scratch() / "bert-of-build.octet"
        octet("build", model, "-o", engine, "--quiet")
        for size in SIZES:
            feeds = sentences(chance, *size)
            self.assertTrue((self.ran(plan, feeds) == self.ran(engine, feeds)).all(), size)


def setUpModule():
    global np
    np = need("numpy")


if __name__ == "__main__":
    harness.main()
