# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's compiled Python bindings of TensorRT 10, unmodified, over our libraries, on the CPU. They are NVIDIA's, under its licence, and are
fetched only where OCTET_NVIDIA_BINDINGS=fetch asks for it; OCTET_NVIDIA_BINDINGS=FOLDER has them in FOLDER/VERSION/tensorrt_bindings."""

import os
import pathlib
import subprocess
import sys
import unittest

import harness
from harness import DIGITS, need, octet, scratch

VERSIONS = ("10.0.1", "10.9.0.34", "10.16.1.11", "10.8.0.43")


def bindings(version):
    asked = os.environ.get("OCTET_NVIDIA_BINDINGS", "")
    if not asked:
        raise unittest.SkipTest("NVIDIA's bindings are not had: OCTET_NVIDIA_BINDINGS=fetch fetches them from PyPI")
    if asked != "fetch":
        folder = pathlib.Path(asked) / version
        if not (folder / "tensorrt_bindings").is_dir():
            raise unittest.SkipTest(f"{folder} has no tensorrt_bindings")
        return folder
    folder = scratch() / f"bindings-{version}"
    if folder.is_dir():
        return folder
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder,
               f"tensorrt-cu12-bindings=={version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"the wheel of {version} was asked for and cannot be had: {done.stderr.strip()[-200:]}")
    return folder


class Bindings(unittest.TestCase):
    def python(self, folders, *arguments):
        """What Python says, started by octet exec with these folders of modules."""
        paths = os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = octet("exec", sys.executable, *arguments, code=None, env={"PYTHONPATH": paths})
        self.assertEqual(done.code, 0, done.out + done.err)
        return done

    def ran(self, version):
        numpy = need("numpy")
        wheel = bindings(version)
        folder = scratch() / version
        folder.mkdir()
        program = pathlib.Path(__file__).with_name("bindings_program.py")
        done = self.python([wheel], program, DIGITS / "digits.onnx", folder)
        self.assertTrue(done.out.startswith(version), done.out)
        octet("run", folder / "client.engine", folder / "input.npz", "-o", folder / "own.npz")
        own, theirs = numpy.load(folder / "own.npz"), numpy.load(folder / "output.npz")
        for name in theirs.files:
            self.assertTrue((own[name] == theirs[name]).all(), name)

    def test_10_0(self):
        self.ran(VERSIONS[0])

    def test_10_8(self):
        """Whose networks have an order of their own."""
        self.ran(VERSIONS[3])

    def test_10_9(self):
        self.ran(VERSIONS[1])

    def test_10_16(self):
        self.ran(VERSIONS[2])

    def ran_plugins(self, version, *what):
        """Classes of plugins, and functions, under the name that the package tensorrt has."""
        need("numpy")
        module = scratch() / f"plugins-{version}/tensorrt"
        module.parent.mkdir()
        module.symlink_to(bindings(version) / "tensorrt_bindings")
        done = self.python([module.parent], pathlib.Path(__file__).with_name("plugins_program.py"), *what)
        said = [line for line in done.out.splitlines() if "[TRT]" not in line]
        self.assertEqual(said, ["IPluginV2DynamicExt", "IPluginV3", *what])

    def test_plugins_10_0(self):
        self.ran_plugins(VERSIONS[0])

    def test_plugins_10_8(self):
        self.ran_plugins(VERSIONS[3])

    def test_plugins_10_9(self):
        """Its functions need a NumPy below 2: these bindings read newer arrays wrongly."""
        self.ran_plugins(VERSIONS[1])

    def test_plugins_10_16(self):
        self.ran_plugins(VERSIONS[2], "functions")

    def test_polygraphy(self):
        """Over the compiled bindings, within its own tolerance of ONNX Runtime."""
        need("polygraphy", "onnxruntime")
        wheel = bindings(VERSIONS[2])
        module = scratch() / "module/tensorrt"  # as the package tensorrt_cu12 names the bindings
        module.mkdir(parents=True)
        names = "from tensorrt_bindings import *\nfrom tensorrt_bindings import __version__\n"
        (module / "__init__.py").write_text(names)
        folders = [wheel, module.parent]
        tool = ["-c", "from polygraphy.tools import main; raise SystemExit(main())"]
        model, plan = DIGITS / "digits.onnx", scratch() / "polygraphy.engine"
        done = self.python(folders, *tool, "run", model, "--trt", "--onnxrt", "--save-engine", plan)
        self.assertIn("PASSED", done.out)
        done = self.python(folders, *tool, "run", model, "--trt", "--int8", "--calibration-cache", scratch() / "poly.cache")
        self.assertTrue((scratch() / "poly.cache").read_bytes().startswith(b"TRT-"))
        done = self.python(folders, *tool, "inspect", "model", plan, "--model-type", "engine", "--show", "layers")
        self.assertIn("Layer 0", done.out)


if __name__ == "__main__":
    harness.main()
