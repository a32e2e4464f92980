# SPDX-License-Identifier: Apache-2.0
"""The wheels that ./dev wheel left: what is in them, and that one does the job where nothing else of Octet is."""

import re
import subprocess
import sys
import unittest
import zipfile

import harness
from harness import DIGITS, ROOT, command, need, scratch

VERSION = re.search(r"project\(Octet VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
WHEELS = sorted((ROOT / "build/wheels").glob(f"*-{VERSION}-*.whl"))

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

TENSORRT_JOB = """
import ctypes
import tensorrt as trt
builder = trt.Builder(logger := trt.Logger())
network = builder.create_network(1)
assert trt.OnnxParser(network, logger).parse_from_file("digits.onnx")
profile = builder.create_optimization_profile()
profile.set_shape("image", *[(1, 1, 8, 8)] * 3)
config = builder.create_builder_config()
config.add_optimization_profile(profile)
assert builder.build_serialized_network(network, config).nbytes > 1000
ctypes.CDLL(trt.cudart_folder + "/libcudart.so").cudaDeviceSynchronize()
if trt.stand_ins_folder in sys.path:
    import pycuda.autoinit
    import pycuda.driver
    from cuda.bindings import driver, nvrtc, runtime
    assert pycuda.driver.mem_alloc(64).size == 64
print(trt.__file__)
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
            self.assertRegex(wheel.name, r"-cp31[01]-abi3-manylinux_\S+_x86_64\.whl$")
            self.assertEqual([name for name in names if name.startswith(("lib/", "bin/", "include/", "share/"))], [])
            self.assertIn(f"\nVersion: {VERSION}\n", metadata)
            self.assertTrue(any(name.endswith("py.typed") for name in names) and any(name.endswith(".pyi") for name in names))

    def installed(self, project):
        fits = [w for w in WHEELS if w.name.startswith(f"{project}-")]
        self.assertEqual(len(fits), 1, f"wheels of {project}")
        need("nanobind_backend")
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("pip is absent")
        target = scratch() / project
        command(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, fits[0])
        return target

    def done(self, target, job):
        (scratch() / "job.py").write_text(f"import os, sys\nsys.path.insert(0, {str(target)!r})\nos.chdir({str(DIGITS)!r})\n{job}")
        return command(sys.executable, "-W", "ignore", scratch() / "job.py")

    def test_octet_does_the_job(self):
        target = self.installed("octet_int8")
        self.assertIn(str(target), self.done(target, JOB))

    def test_the_page_of_octet_runs(self):
        blocks = (ROOT / "docs/python.md").read_text().split("```python\n")[1:]
        page = "".join(block.split("```")[0] for block in blocks)
        self.done(self.installed("octet_int8"), page.replace('engine.save("digits.octet")', f"engine.save({str(scratch() / 'digits.octet')!r})"))
        self.assertTrue((scratch() / "digits.octet").exists())

    def test_the_examples_of_tensorrt_run(self):
        target, numpy = self.installed("octet_tensorrt"), need("numpy")
        numpy.save(scratch() / "images.npy", numpy.load(DIGITS / "digits.npz")["train_images"][:64, None].astype("float32") / 16)
        for program, arguments in {"build_int8.py": (DIGITS / "digits.onnx", "images.npy", "out.plan", "out.cache"),
                                   "python_plugin.py": ("out.plan",), "quick_plugin.py": ("out.plan",)}.items():
            given = [program, *map(str, arguments)]
            run = f"os.chdir({str(scratch())!r})\nimport runpy\nsys.argv = {given}\nrunpy.run_path({str(ROOT / 'examples/tensorrt' / program)!r}, run_name='__main__')"
            self.assertTrue(self.done(target, run), program)

    def test_tensorrt_builds_and_brings_its_libraries(self):
        target = self.installed("octet_tensorrt")
        for level in ("8.6.1", "10"):
            out = self.done(target, f"os.environ['OCTET_TENSORRT_VERSION'] = {level!r}\n{TENSORRT_JOB}")
            self.assertIn(str(target), out)


if __name__ == "__main__":
    harness.main()
