# SPDX-License-Identifier: Apache-2.0
"""Netron's own readers on what octet export writes: every node, input and output is there. They run in Node, without a window. OCTET_NETRON=fetch fetches
the wheel from PyPI; OCTET_NETRON=FOLDER names the folder `netron` of one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import harness
from harness import digits_engine, need, octet, scratch, shared_model

WHEEL = "netron==9.3.3"  # that docs/tensorrt-api.md speaks of
PROGRAM = pathlib.Path(__file__).with_name("netron_program.mjs")


def netron():
    """A copy of its scripts, which Node takes for modules."""
    asked = os.environ.get("OCTET_NETRON", "")
    if not asked:
        raise unittest.SkipTest("Netron is not had: OCTET_NETRON=fetch fetches it from PyPI")
    if not shutil.which("node"):
        raise unittest.SkipTest("node is absent")
    folder = scratch() / "scripts"
    if folder.is_dir():
        return folder
    if asked == "fetch":
        asked = scratch() / "wheel/netron"
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", asked.parent, WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"the wheel was asked for and cannot be had: {done.stderr.strip()[-200:]}")
    shutil.copytree(asked, folder)
    (folder / "package.json").write_text(json.dumps({"type": "module"}))
    return folder


class Netron(unittest.TestCase):
    def drawn(self, *files):
        """What Netron has of each file: a line."""
        done = subprocess.run(["node", PROGRAM, netron(), *files], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def shows(self, file):
        onnx = need("onnx")
        model = onnx.load(file)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = " ".join(value.name for value in model.graph.input if value.name not in constants)
        outputs = " ".join(value.name for value in model.graph.output)
        types = " ".join(node.op_type for node in model.graph.node if node.op_type != "Constant")
        self.assertEqual(self.drawn(file), [f"{file.name}: ONNX v{model.ir_version}; inputs {inputs}; outputs {outputs}; {types}"])
        self.assertIn("DequantizeLinear", types)

    def test_exports(self):
        netron()
        for habits in ("onnxruntime", "openvino", "tensorrt"):
            file = scratch() / f"{habits}.onnx"
            octet("export", digits_engine(), "--onnx", file, "--for", habits, "--quiet")
            self.shows(file)

    def test_a_model_with_qdq_of_others(self):
        netron()
        engine, file = scratch() / "mobilenet.octet", scratch() / "mobilenet.onnx"
        octet("build", shared_model("mobilenet_v2_imagenet_qdq"), "-o", engine, "--quiet")
        octet("export", engine, "--onnx", file, "--quiet")
        self.shows(file)

    def test_an_engine_is_no_file_of_its(self):
        """It says so, and takes it for nothing else."""
        self.assertEqual(self.drawn(digits_engine()), ["digits.octet: Error loading model.: Unsupported file content."])


if __name__ == "__main__":
    harness.main()
