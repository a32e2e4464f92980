# SPDX-License-Identifier: Apache-2.0
"""P3: nothing is written but the named outputs, also when a command fails, and outputs are replaced as a whole."""

import os
import pathlib
import resource
import subprocess
import unittest

import harness
from harness import DIGITS, PROGRAM, digits, scratch


class Sandbox:
    """A folder to run in, and empty ones that stand for every other place where programs like to write."""

    def __init__(self, name):
        self.root = scratch() / name
        self.work = self.root / "work"
        self.env = {**os.environ}
        for variable in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
            (self.root / variable).mkdir(parents=True)
            self.env[variable] = str(self.root / variable)
        self.work.mkdir()

    def run(self, *arguments, limit=None):
        def limits():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run([str(PROGRAM), *map(str, arguments)], cwd=self.work, env=self.env, capture_output=True,
                              text=True, check=False, preexec_fn=limits, restore_signals=False)

    def files(self):
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if not path.is_dir()}


def quantize(*more):
    return ("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "--preprocess",
            DIGITS / "preprocess.json", "--quiet", *more)


class Outputs(unittest.TestCase):
    def test_p3_only_what_was_named(self):
        box = Sandbox("named")
        done = box.run(*quantize("-o", "a.octet", "--report", "a.html"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(box.files(), {"work/a.octet", "work/a.html"})
        image = next((digits() / "test").rglob("*.png"))
        for command in (("inspect", "a.octet"), ("run", "a.octet", image),
                        ("bench", "a.octet", "--seconds", "0"),
                        ("eval", "a.octet", "--data", digits() / "test", "--against", DIGITS / "digits.onnx"),
                        ("compare", "a.octet", "--against", DIGITS / "digits.onnx", "--calib", digits() / "calib")):
            done = box.run(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(box.files(), {"work/a.octet", "work/a.html"}, command)
        done = box.run("run", "a.octet", image, "-o", "out.npz")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(box.files(), {"work/a.octet", "work/a.html", "work/out.npz"})

    def test_p3_nothing_when_a_command_fails(self):
        box = Sandbox("fails")
        for command in (quantize("-o", "a.octet", "--max-samples", "1", "--keep-float", "no such node"),
                        ("build", "none.onnx", "-o", "a.octet"),
                        ("build", DIGITS / "preprocess.json", "-o", "a.octet", "--report", "a.html")):
            self.assertEqual(box.run(*command).returncode, 2)
            self.assertEqual(box.files(), set())

    def test_e13_outputs_stay_whole_when_writing_fails(self):
        box = Sandbox("full")
        (box.work / "a.octet").write_text("what was there")
        (box.work / "a.html").write_text("what was there")
        # The limit on the size of a file stands for a full disk; Python ignores SIGXFSZ, and so does its child.
        done = box.run(*quantize("-o", "a.octet", "--report", "a.html", "--force"), limit=4096)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("cannot write", done.stderr)
        self.assertEqual(box.files(), {"work/a.octet", "work/a.html"})
        self.assertEqual({pathlib.Path(p).read_text() for p in box.work.iterdir()}, {"what was there"})


if __name__ == "__main__":
    harness.main()
