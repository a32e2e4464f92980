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


def run(level, *command, python=sys.executable, **more):
    env = {**os.environ, "OCTET_TENSORRT_VERSION": level, "PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT / "tests")]), **more}
    return subprocess.run([python, *map(str, command)], env=env, capture_output=True, text=True, check=False)


def python_with(module):
    """An interpreter that has it and loads our native modules: this one, or the system's, whose packages may be Debian's."""
    tag = f"import sys, {module}; print(sys.implementation.cache_tag)"
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([python, "-c", tag], capture_output=True, text=True, check=False)
        if done.stdout.strip() == sys.implementation.cache_tag:
            return python
    raise unittest.SkipTest(f"no Python of this version has {module}")


def stands_in(**env):
    """Whether importing the module provides pycuda and cuda-python."""
    return run("10", "-c", "import sys, tensorrt; print(tensorrt.stand_ins_folder in sys.path)", **env).stdout == "True\n"


class Built(unittest.TestCase):
    def setUp(self):
        need("numpy")
        if len(list((FOLDER / "tensorrt").glob("_level*.so"))) < 2:
            self.skipTest(f"{FOLDER} has no module: nanobind or Python's headers are absent; ./dev setup installs them")


class Levels(Built):
    def test_cases(self):
        for cases in sorted((ROOT / "tests/python").glob("trt_*_cases.py")):
            ended = [run(level, cases) for level in LEVELS]
            for done in ended:
                self.assertIn(done.returncode, (0, harness.SKIPPED), done.stdout + done.stderr)
            self.assertIn(0, [done.returncode for done in ended], f"{cases.name} ran at no level")

    def test_stubs_name_every_class(self):
        for level in (8, 10):
            stub = ast.parse((FOLDER / f"tensorrt/_level{level}.pyi").read_text())
            classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
            self.assertTrue({"Builder", "ICudaEngine", "IInt8EntropyCalibrator2", "OnnxParser", "Dims"} <= classes)

    def test_another_level_is_refused(self):
        self.assertIn("expected 8.6.1 or 10.x", run("9.2", "-c", "import tensorrt").stderr)

    def test_another_tensorrt_in_the_same_folder_is_refused(self):
        site = scratch() / "site"
        site.mkdir()
        (site / "tensorrt").symlink_to(FOLDER / "tensorrt")
        for name, refused in (("octet_tensorrt-0.1.0.dist-info", False), ("tensorrt_lean-10.3.dist-info", False),
                              ("tensorrt-10.3.0.dist-info", True), ("tensorrt_cu12_bindings-10.3.0.dist-info", True)):
            (site / name).mkdir()
            said = run("10", "-c", "import tensorrt", PYTHONPATH=os.pathsep.join([str(site), str(FOLDER)])).stderr
            self.assertEqual("are both installed" in said, refused, said)
            (site / name).rmdir()

    def test_what_is_absent_says_what_to_do(self):
        for level, name, text in ((10, "IAlgorithmSelector", "IBuilderConfig.set_timing_cache"), (8, "UffParser", "convert the model to ONNX")):
            done = run(f"{level}.6", "-c", f"import tensorrt; assert not hasattr(tensorrt, {name!r}); tensorrt.{name}")
            self.assertRegex(done.stderr, f"AttributeError: module 'tensorrt' has no attribute '{name}': .*{text}")

    def test_another_order_of_imports(self):
        program = scratch() / "first.py"
        program.write_text("import sys\nimport pycuda.autoinit\nfrom cuda import cudart\nimport tensorrt\nprint(sys.argv[1:])\n")
        if stands_in():
            self.assertEqual(run("10", "-m", "tensorrt", program, "--flag", "x").stdout, "['--flag', 'x']\n")
        self.assertIn("usage: python -m tensorrt", run("10", "-m", "tensorrt").stderr)

    def test_a_command_is_found_beside_a_folder_of_its_name(self):
        folder = scratch() / "commands"
        (folder / "mine").mkdir(parents=True)
        (folder / "bin").mkdir()

        def ended(text):
            (folder / "bin/mine").write_bytes(text)
            (folder / "bin/mine").chmod(0o755)
            start = f"import os, runpy, sys; os.chdir({str(folder)!r}); sys.argv = ['tensorrt', 'mine', 'x']; runpy.run_module('tensorrt', alter_sys=True)"
            done = run("10", "-c", start, PATH=f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
            return done.returncode, done.stdout + done.stderr

        python = b"import sys\nprint(sys.argv[1:])\n"
        for text in (python, b"#!/usr/bin/env python3\n" + python, b"#!/bin/sh\n'''exec' python3 \"$0\" \"$@\"\n' '''\n" + python):
            self.assertEqual(ended(text), (0, "['x']\n"))
        for text in (b"#!/bin/sh\nexec true \"$@\"\n", b"\x7fELF\x02\x01\0\0"):
            status, words = ended(text)
            self.assertEqual(status, 1)
            self.assertRegex(words, "^python -m tensorrt: .*/mine is not written in Python: expected [^\\n]*\\n$")
        self.assertIn("nowhere: no such file or command", run("10", "-m", "tensorrt", "nowhere").stderr)

    def test_a_device_of_cuda_for_pytorch(self):
        """Tensors "on it" say so, what is computed of them too; a graph of CUDA runs an engine again, and has nothing of PyTorch."""
        if not stands_in():
            self.skipTest("there is a GPU: it would be used")
        python = python_with("torch")
        done = run("10", "-m", "tensorrt", "--torch-cuda", ROOT / "tests/python/torch_cuda_program.py", "x", python=python)
        self.assertEqual((done.returncode, done.stdout), (0, "['x']\n"), done.stderr)

    def test_a_gpu_needs_no_stand_ins(self):
        self.assertTrue(stands_in(OCTET_TENSORRT_DEVICE="cpu"))
        self.assertFalse(stands_in(OCTET_TENSORRT_DEVICE="cuda:0"))


class Examples(Built):
    """Each is run twice: the second time reads the cache."""

    def setUp(self):
        super().setUp()
        arrays = need("numpy").load(DIGITS / "digits.npz")
        images = arrays["train_images"][:64, None].astype("float32") / 16
        need("numpy").save(scratch() / "images.npy", images)
        self.labels = arrays["train_labels"][:8].tolist()

    def twice(self, level, program, *files, python=sys.executable):
        cache = scratch() / f"{program}.{level}.cache"
        outputs = []
        for _ in range(2):
            done = run(level, ROOT / "examples/tensorrt" / program, DIGITS / "digits.onnx", scratch() / "images.npy", *files, cache, python=python)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            outputs.append(done.stdout)
        self.assertEqual(outputs[0], outputs[1])
        self.assertTrue(cache.read_bytes().startswith(b"TRT-"))
        return outputs[0]

    def test_plugins(self):
        for program in ("python_plugin.py", "quick_plugin.py"):
            done = run("10", ROOT / "examples/tensorrt" / program, scratch() / "plugin.plan")
            self.assertEqual(done.stdout, "[[5, 3, 4, 5, 3], [2, 0, 1, 2, 0], [5, 3, 4, 5, 3], [2, 0, 1, 2, 0]]\n", done.stderr)

    def test_numpy(self):
        for level in LEVELS:
            output = self.twice(level, "build_int8.py", scratch() / f"{level}.plan")
            self.assertIn("/0/Conv: LayerType.CONVOLUTION, asked for DataType.FLOAT", output)
            self.assertIn("Int8", output)
            self.assertIn(f"logits {self.labels}", output)

    def test_pycuda(self):
        if not stands_in():
            self.skipTest("there is a GPU: pycuda itself would be used")
        for level in LEVELS:
            self.assertEqual(self.twice(level, "int8_pycuda.py"), f"{self.labels}\n")

    def test_torch(self):
        python = python_with("torch")
        for level in LEVELS:
            self.assertEqual(self.twice(level, "int8_torch.py", python=python), f"{self.labels}\n")


if __name__ == "__main__":
    harness.main()
