# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's TensorRT provider, unmodified (onnxruntime-gpu 1.31.1, for CUDA 13), over our libraries on a GPU: ResNet-50 of random weights gives what octet
run gives on the GPU, in INT8 also what it gives on a CPU; its times are printed beside octet bench's. OCTET_ONNXRUNTIME_GPU as in onnxruntime_test.py;
libraries of CUDA are looked for beside the wheel and in packages of this Python's."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import harness
from harness import need, need_gpu, octet, scratch
from onnxruntime_test import runtime
from tensorrtx_test import ResNet50, setUpModule  # unittest calls it: NumPy for both

VERSION = "1.31.1"


def cuda_libraries(wheel):
    folders = [folder for place in (wheel, *map(pathlib.Path, sys.path)) for folder in (place / "nvidia").glob("**/lib") if folder.is_dir()]
    return [str(folder) for folder in folders]


class OnGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_gpu()
        cls.wheel = runtime(VERSION)
        cls.np = need("numpy")

    def made(self):
        """A model, an input and a cache of eight more."""
        folder, chance = scratch() / "model", self.np.random.default_rng(3)
        (folder / "calibration").mkdir(parents=True)
        network = ResNet50()
        (folder / "model.onnx").write_bytes(network.model(("data", [1, 3, 224, 224]), [(network.network(), 2)]))
        samples = chance.standard_normal((9, 1, 3, 224, 224), self.np.float32)
        self.np.savez(folder / "input.npz", data=samples[0])
        for index, sample in enumerate(samples[1:]):
            self.np.save(folder / f"calibration/{index}.npy", sample)
        octet("build", folder / "model.onnx", "--int8", "--calib", folder / "calibration", "--calib-cache", folder / "native.cache",
              "-o", folder / "own.octet", "--quiet")
        return folder

    def same(self, folder, way, device):
        engine, = (folder / way).glob("*.engine")
        octet("run", engine, folder.parent / "model/input.npz", "--device", device, "-o", folder / "own.npz", "--force")
        (own,) = self.np.load(folder / "own.npz").values()
        self.assertTrue((own == self.np.load(folder / way / "output.npy")).all(), f"{way} on {device}")
        return engine

    def test_resnet50(self):
        model, folder = self.made(), scratch() / "provider"
        folder.mkdir()
        program = pathlib.Path(__file__).with_name("onnxruntime_gpu_program.py")
        paths = [str(self.wheel), *filter(None, [os.environ.get("PYTHONPATH")])]
        libraries = [*cuda_libraries(self.wheel), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        done = octet("exec", sys.executable, program, model / "model.onnx", model / "input.npz", model / "native.cache", folder, code=None,
                     env={"PYTHONPATH": os.pathsep.join(paths), "LD_LIBRARY_PATH": os.pathsep.join(libraries)})
        self.assertEqual(done.code, 0, done.out + done.err)
        for way in ("fp32", "fp16"):
            self.same(folder, way, "cuda:0")
        engine = self.same(folder, "int8", "cuda:0")
        self.same(folder, "int8", "cpu")
        bench = octet("bench", engine, "--device", "cuda:0", "--no-transfers", "--seconds", 2, "--json").json
        times = json.loads((folder / "times.json").read_text())
        print(f"us: {times}, octet bench: {1e3 * bench['latency_ms']['median']:.1f}")


if __name__ == "__main__":
    harness.main()
