# SPDX-License-Identifier: Apache-2.0
"""TREx, the Engine Explorer of TensorRT's open part, unmodified: it builds and profiles engines by `trtexec`, reads their layers and times, draws and
compares them. OCTET_TREX names a Python with its requirements; OCTET_TENSORRT_SOURCE=FOLDER is a checkout of github.com/NVIDIA/TensorRT that still has it
(v10.16 was tried, 11 has it no more). It draws with Graphviz."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

import harness
from harness import BUILD, PROGRAM, octet, scratch, shared_model

ASKED = pathlib.Path(__file__).with_name("trex_program.py")


def explorer():
    python, source = os.environ.get("OCTET_TREX", ""), os.environ.get("OCTET_TENSORRT_SOURCE", "")
    if not python or not source:
        raise unittest.SkipTest("OCTET_TREX and OCTET_TENSORRT_SOURCE name no Python for TREx and no sources of it")
    folder = pathlib.Path(source) / "tools/experimental/trt-engine-explorer"
    if not folder.is_dir():
        raise unittest.SkipTest(f"{folder} is absent: TensorRT 11 has no TREx")
    if not shutil.which("dot"):
        raise unittest.SkipTest("dot is absent; the package graphviz has it")
    if not list((BUILD / "python/tensorrt").glob("_level10*.so")):
        raise unittest.SkipTest(f"{BUILD}/python has no module: nanobind or Python's headers are absent; ./dev setup installs them")
    return python, folder


class Trex(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python, cls.source = explorer()
        programs = scratch() / "programs"
        programs.mkdir()
        (programs / "trtexec").symlink_to(PROGRAM)  # as an installation has it
        modules = (BUILD / "python", cls.source, cls.source / "utils")
        cls.env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(map(str, modules))}

    def ran(self, *arguments):
        done = subprocess.run([self.python, *map(str, arguments)], cwd=scratch(), env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def processed(self, model, *flags):
        out = scratch() / f"{model}-{'-'.join(flags)}".replace(":", "_").replace("=", "_")
        said = self.ran("-m", "bin.trex", "process", shared_model(model), out, *flags, "iterations=5", "warmUp=0", "duration=0")
        self.assertIn("Successfully built the engine.", said)
        self.assertIn("Successfully profiled the engine.", said)
        self.assertIn(".svg", said)
        return out / f"{model}.onnx.engine"

    def asked(self, *engines, shape=()):
        folder = scratch() / f"asked-{engines[0].parent.name}"
        folder.mkdir()
        said = self.ran(ASKED, folder, *engines)
        found = json.loads(said.partition("facts ")[2])
        print(found)
        self.assertEqual((found["unknown"], found["open"]), ([], []))
        self.assertGreater(found["drawn"], 10000)
        self.assertGreater(found["sheet"], 5000)
        self.assertAlmostEqual(found["percent"], 100, delta=0.5)
        self.holds_to_octet(found, engines[0], shape)
        return found

    def holds_to_octet(self, found, engine, shape):
        """Its arithmetic on shapes and kernels is the inspector's own count; its times are those of the profile."""
        tuning = scratch() / "timing.cache"  # that TREx asks for
        as_it_ran = ("--threads", len(os.sched_getaffinity(0)), "--tuning", tuning, *shape)
        layers = octet("inspect", engine, "--json", *as_it_ran).json["layers"]
        windows = [layer for layer in layers if layer["op"].removeprefix("Q") in ("Conv", "ConvTranspose")]
        self.assertEqual(found["macs"], sum(layer["macs"] for layer in windows))
        self.assertEqual(found["tactics"], sorted({layer["kernel"] for layer in windows}))
        profile = json.loads(pathlib.Path(f"{engine}.profile.json").read_text())
        self.assertAlmostEqual(found["time"], sum(record.get("averageMs", 0) for record in profile), delta=0.01 * found["time"])
        self.assertGreater(found["throughput"], 0)

    def test_int8_and_float(self):
        integers, floats = self.processed("yolox_nano", "int8"), self.processed("yolox_nano", "fp16")
        found = self.asked(integers, floats)
        self.assertEqual(found["builder"], "FP32+INT8")
        self.assertEqual([len(names) for names in found["bindings"]], [1, 1])
        self.assertIn("[1, 3, 416, 416]xFP32 NCHW", found["bindings"][0][0])
        self.assertGreater(found["precisions"]["INT8"], 100)
        self.assertGreater(found["matched"], 100)
        self.assertEqual(self.asked(floats)["builder"], "FP32+FP16")
        asked = (f"{integers}.graph.json", f"--profiling_json={integers}.profile.json", "--sort_key=latency", "--group_tactics")
        table = self.ran("-m", "bin.trex", "summary", *asked)
        self.assertIn("conv_", table)

    def test_qdq(self):
        found = self.asked(self.processed("mobilenet_v2_imagenet_qdq", "int8"))
        self.assertGreater(found["kinds"]["Convolution"], 50)

    def test_open_sizes(self):
        """At the sizes of the profile that ran."""
        shapes = [f"{which}=input:1x3x{size}x{size}" for which, size in (("minShapes", 160), ("optShapes", 320), ("maxShapes", 640))]
        found = self.asked(self.processed("yunet_n_dynamic", "int8", *shapes), shape=("--shape", "input:1x3x320x320"))
        self.assertIn("[1, 3, 320, 320]xFP32 NCHW", found["bindings"][0][0])


if __name__ == "__main__":
    harness.main()
