#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of ../shared/hostile/found, which hung the program or were accepted; and little address space and small files."""

import pathlib
import resource
import signal
import subprocess
import tempfile
import unittest

from generated_test import BESIDE, MIB, run
from harness import DIGITS, PROGRAM, SHARED, emulated_gpu, main

FOUND = SHARED / "hostile/found"
LIMITS = (64 * MIB, 512 * MIB)


def unpacked(file, folder):
    if file.suffix != ".xz":
        return file
    target = folder / file.stem
    if not target.exists():
        # By another process: what this one ever took counts for those that it starts, too.
        with target.open("wb") as out:
            subprocess.run(["xz", "-dc", file], stdout=out, check=True)
    return target


class Found(unittest.TestCase):
    def setUp(self):
        if not FOUND.is_dir():
            self.skipTest(f"{FOUND} is absent")
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)

    def outcome(self, *arguments, limit, variables=None):
        """The exit code of a command that neither hangs, dies nor takes too much."""
        code, peak, _, text = run([PROGRAM, *arguments, "--max-memory", str(limit)], self.folder, variables)
        with self.subTest(arguments=arguments, limit=limit):
            self.assertIn(code, (0, 2), text[-300:])
            self.assertLess(peak, 1.1 * limit + BESIDE)
        return code

    def test_models(self):
        for packed in sorted([*FOUND.glob("D*.onnx"), *FOUND.glob("D*.onnx.xz")]):
            for limit in LIMITS:
                file = unpacked(packed, self.folder)
                codes = {self.outcome("check", file, limit=limit),
                         self.outcome("build", file, "-o", "e.octet", "--quiet", limit=limit)}
                if "accepted" in packed.name:
                    self.assertEqual(codes, {2}, f"{packed.name} was accepted")
                if packed.name.startswith("D5") and codes == {0}:
                    self.outcome("bench", "e.octet", "--seconds", "0", "--warmup", "0", limit=limit)

    def test_on_the_gpu(self):
        gpu = emulated_gpu()
        if gpu is None:
            self.skipTest("the emulated GPU was not built")
        for packed in sorted(FOUND.glob("D3*.onnx*")):
            file, limit = unpacked(packed, self.folder), LIMITS[1]
            if self.outcome("build", file, "-o", "e.octet", "--quiet", "--force", limit=limit) == 0:
                self.outcome("bench", "e.octet", "--device", "cuda", "--seconds", "0", "--warmup", "0", limit=limit,
                             variables={**gpu, "OCTET_KERNEL_CACHE": str(self.folder / "kernels")})

    def test_images(self):
        for packed in sorted([*FOUND.glob("D1*.png"), *FOUND.glob("D1*.jpg.xz")]):
            for limit in LIMITS:
                code = self.outcome("run", FOUND / "image_engine.octet", unpacked(packed, self.folder), limit=limit)
                if "palette" in packed.name:
                    self.assertEqual(code, 2, "an index outside of the palette was accepted")


class Limited(unittest.TestCase):
    """By the shell, not by --max-memory."""

    def run_limited(self, kind, size, *arguments, cwd):
        def prepare():
            resource.setrlimit(kind, (size, size))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, preexec_fn=prepare, check=False)

    def test_address_space(self):
        with tempfile.TemporaryDirectory() as folder:
            engine = pathlib.Path(folder) / "e.octet"
            subprocess.run([PROGRAM, "build", DIGITS / "digits.onnx", "-o", engine, "--quiet"], capture_output=True, check=True)
            for mib in range(40, 130, 3):
                for arguments in (("bench", engine, "--seconds", "0", "--warmup", "0"), ("check", DIGITS / "digits.onnx")):
                    done = self.run_limited(resource.RLIMIT_AS, mib * MIB, *arguments, cwd=folder)
                    # Not even the libraries could be loaded, or OpenMP's has no memory to begin with.
                    no_program = done.returncode == 127 or "libgomp: Out of memory" in done.stderr
                    self.assertTrue(no_program or done.returncode in (0, 2), f"{mib} MiB: {arguments[0]}: {done.stderr}")

    def test_file_size(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_limited(resource.RLIMIT_FSIZE, 4096, "build", DIGITS / "digits.onnx", "-o", "e.octet", "--quiet",
                                    cwd=folder)
            self.assertNotEqual(done.returncode, -signal.SIGXFSZ)
            self.assertEqual(done.returncode, 2)
            self.assertIn("'e.octet': cannot write: File too large", done.stderr)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    main()
