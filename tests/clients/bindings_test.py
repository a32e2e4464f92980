# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's compiled Python bindings of TensorRT 10, unmodified, over our libraries, on the CPU. They are NVIDIA's, under its licence, and are
fetched only where OCTET_NVIDIA_BINDINGS=fetch asks for it; OCTET_NVIDIA_BINDINGS=FOLDER has them in FOLDER/VERSION/tensorrt_bindings."""

import os
import pathlib
import subprocess
import sys
import unittest

import harness
from harness import BUILD, DIGITS, need, octet, scratch

VERSIONS = ("10.0.1", "10.9.0.34", "10.16.1.11")


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
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder,
               f"tensorrt-cu12-bindings=={version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest(f"the wheel of {version} cannot be had: {done.stderr.strip()[-200:]}")
    return folder


class Bindings(unittest.TestCase):
    def ran(self, version):
        numpy = need("numpy")
        wheel = bindings(version)
        folder = scratch() / version
        folder.mkdir()
        paths = os.pathsep.join([str(wheel), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = dict(os.environ, PYTHONPATH=paths, LD_LIBRARY_PATH=str(BUILD / "tensorrt/lib-10"))
        program = pathlib.Path(__file__).with_name("bindings_program.py")
        done = subprocess.run([sys.executable, program, DIGITS / "digits.onnx", folder], env=env,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith(version), done.stdout)
        octet("run", folder / "client.engine", folder / "input.npz", "-o", folder / "own.npz")
        own, theirs = numpy.load(folder / "own.npz"), numpy.load(folder / "output.npz")
        for name in theirs.files:
            self.assertTrue((own[name] == theirs[name]).all(), name)

    def test_10_0(self):
        self.ran(VERSIONS[0])

    def test_10_9(self):
        self.ran(VERSIONS[1])

    def test_10_16(self):
        self.ran(VERSIONS[2])


if __name__ == "__main__":
    harness.main()
