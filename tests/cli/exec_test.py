# SPDX-License-Identifier: Apache-2.0
"""octet exec: a program with Octet's libraries under TensorRT's names, whose words and exit code are its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import BUILD, PROGRAM, command, octet, scratch

LIBRARIES = BUILD / "tensorrt/lib-10"
ASKS = """
import ctypes, os, sys
print(os.environ["LD_LIBRARY_PATH"])
print(ctypes.CDLL("libnvinfer.so.10").getInferLibVersion(), *sys.argv[1:])
sys.exit(7)
"""


class Exec(unittest.TestCase):
    def test_the_program_finds_the_libraries(self):
        if not (LIBRARIES / "libnvinfer.so.10").exists():
            self.skipTest(f"{LIBRARIES} has no libraries")
        env = dict(os.environ, LD_LIBRARY_PATH="/before")
        done = octet("exec", sys.executable, "-c", ASKS, "--help", "--json", code=7, env=env)
        folders, words = done.out.splitlines()
        self.assertTrue(folders.startswith(str(LIBRARIES.resolve())), folders)
        self.assertTrue(folders.endswith(":/before"), folders)
        self.assertEqual(words, "101601 --help --json")

    def test_what_cannot_be_started(self):
        if not LIBRARIES.is_dir():
            self.skipTest(f"{LIBRARIES} is absent")
        self.assertIn("program /no/such cannot be started", octet("exec", "/no/such", code=2).err)
        self.assertIn("program is required", octet("exec", code=2).err)
        self.assertIn("program is required", octet("exec", "--", code=2).err)
        self.assertIn("program --help cannot be started", octet("exec", "--", "--help", code=2).err)
        self.assertNotEqual(octet("exec", "--nosuch", "true", code=2).err, "")

    def test_octets_flags_end(self):
        if not LIBRARIES.is_dir():
            self.skipTest(f"{LIBRARIES} is absent")
        self.assertEqual(octet("exec", "--", "echo", "--", "--help").out, "-- --help\n")

    def ignored(self, *start):
        """The signals that a program is started with as ignored, of those that octet ignores."""
        said = command(*start, PROGRAM, "exec", "cat", "/proc/self/status")
        mask = int(re.search(r"^SigIgn:\s*(\w+)$", said, re.M).group(1), 16)
        return {number for number in (signal.SIGPIPE, signal.SIGXFSZ) if mask >> (number - 1) & 1}

    def test_signals_are_as_they_were(self):
        if not LIBRARIES.is_dir():
            self.skipTest(f"{LIBRARIES} is absent")
        self.assertEqual(self.ignored(), set())
        self.assertEqual(self.ignored("sh", "-c", "trap '' PIPE; exec \"$@\"", "sh"), {signal.SIGPIPE})

    def test_a_runtime_of_the_host_where_there_is_no_gpu(self):
        gpu = harness.emulated_gpu()
        if not (LIBRARIES.parent / "cudart").is_dir() or gpu is None:
            self.skipTest("no libcudart or no emulated GPU was built")
        asks = ("exec", "printenv", "LD_LIBRARY_PATH")
        folders = octet(*asks, env={"OCTET_CUDA_DRIVER": "/no/such"}).out.strip().split(":")
        runtime = LIBRARIES.parent.resolve() / "cudart"
        self.assertEqual(folders[1:3], [str(runtime), str(runtime / "libraries")])
        self.assertNotIn("/cudart", octet(*asks, env=gpu).out)

    def test_a_program_without_the_libraries(self):
        """It says what has them, and finds those of a wheel in its environment."""
        program = scratch() / "bin/octet"
        program.parent.mkdir()
        shutil.copy(PROGRAM, program)
        done = subprocess.run([program, "exec", "true"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for part in ("Debian package octet-tensorrt", "wheel octet-tensorrt", "archive", "cmake --install BUILD --component tensorrt"):
            self.assertIn(part, done.stderr)
        module = scratch() / "lib/python3.11/site-packages/tensorrt"
        (module / "lib-10").mkdir(parents=True)
        self.assertEqual(command(program, "exec", "printenv", "LD_LIBRARY_PATH").split(":")[0].strip(), str(module / "lib-10"))


if __name__ == "__main__":
    harness.main()
