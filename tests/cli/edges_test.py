# SPDX-License-Identifier: Apache-2.0
"""The edges of the process: standard descriptors in every state, special files for whatever is read or written, systems without more
threads. All of it ends with a typed error or the result, never with a signal, a hang, or a message inside of somebody's file."""

import fcntl
import itertools
import os
import re
import resource
import socket
import subprocess
import unittest

import harness
from harness import DIGITS, PROGRAM, digits, digits_engine, octet, scratch

MODEL = DIGITS / "digits.onnx"
GIB = 1 << 30


def start(words, descriptors=None, limits=None, env=None):
    """The program with some of its descriptors closed (None) or replaced by others; what it ended with."""
    descriptors = descriptors or {}

    def before():
        for number, fd in descriptors.items():
            os.close(number) if fd is None else os.dup2(fd, number)
        for limit, value in (limits or {}).items():
            resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))

    return subprocess.run([str(PROGRAM), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=before, check=False, env={**os.environ, **(env or {})})


def image():
    return sorted((digits() / "test").rglob("*.png"))[0]


class Descriptors(unittest.TestCase):
    def setUp(self):
        self.folder = scratch() / self.id().rsplit(".", 1)[-1]
        self.folder.mkdir()
        self.engine, self.arrays, self.log = (self.folder / name for name in ("e.octet", "a.npz", "a.log"))

    def commands(self):
        """What it prints, and what it writes."""
        yield ("build", MODEL, "-o", self.engine), self.engine
        yield ("run", digits_engine(), image(), "-o", self.arrays), self.arrays
        yield ("run", digits_engine(), image(), "--json"), None
        yield ("inspect", self.folder / "none"), None
        yield ("inspect", digits_engine(), "--log-file", self.log, "--verbose"), None
        yield ("run", digits_engine(), "-", "-o", "-"), None
        yield ("run", digits_engine(), image(), "-o", "-"), None
        yield ("--help",), None
        yield ("bild",), None
        yield ("trtexec", f"--loadEngine={digits_engine()}", "--skipInference"), None

    def written(self, path):
        data = path.read_bytes() if path and path.exists() else None
        if path:
            path.unlink(missing_ok=True)
        return data

    def told(self, done):
        """Standard output without the time that it took."""
        return re.sub(rb"built in \S+ \S+", b"built", done.stdout)

    def test_every_combination_of_closed_ones(self):
        for words, path in self.commands():
            expected = start(words)
            whole = self.written(path)
            for count in (1, 2, 3):
                for closed in itertools.combinations((0, 1, 2), count):
                    done = start(words, dict.fromkeys(closed))
                    self.assertIn(done.returncode, (0, 1, 2), (words, closed, done.stderr))
                    if 1 not in closed:
                        self.assertEqual(done.returncode, expected.returncode, (words, closed))
                        if closed == (2,) and words[0] != "trtexec":
                            self.assertEqual(self.told(done), self.told(expected), words)
                    elif words[0] not in ("bild", "trtexec"):
                        self.assertEqual(done.returncode, 2, (words, closed))
                    self.assertIn(self.written(path), (whole, None), (words, closed))

    def test_full_ones(self):
        with open("/dev/full", "wb") as full:
            for words, path in self.commands():
                expected = start(words).returncode
                whole = self.written(path)
                done = start(words, {2: full.fileno()})
                self.assertEqual(done.returncode, expected, words)
                self.assertEqual(self.written(path), whole)
                done = start(words, {1: full.fileno()})
                self.assertIn(done.returncode, (1, 2), words)
                self.assertRegex(done.stderr.decode().lower(), r"error|\[e\]|no space left", words)
                self.assertIn(start(words, {1: full.fileno(), 2: full.fileno()}).returncode, (1, 2), words)

    def test_a_reader_that_has_gone(self):
        """No signal that would end the work in the middle."""
        for words, path in self.commands():
            ends = os.pipe()
            os.close(ends[0])
            for number in (1, 2):
                done = start(words, {number: ends[1]})
                self.assertIn(done.returncode, (0, 1, 2) if number == 2 else (1, 2), (words, number))
            os.close(ends[1])
            self.written(path)

    def test_a_pipe_that_does_not_wait(self):
        """Another program may have made it so: what it does not take at once is written later."""
        ends = os.pipe()
        os.set_blocking(ends[1], False)
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
        words = ("run", digits_engine(), digits() / "test", "--layers", "-o")
        octet(*words, self.arrays)
        self.assertGreater(self.arrays.stat().st_size, 100_000)
        process = subprocess.Popen([str(PROGRAM), *map(str, words), "-"], stdout=ends[1], stderr=subprocess.DEVNULL)
        os.close(ends[1])
        with os.fdopen(ends[0], "rb") as reader:
            got = reader.read()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(got, self.arrays.read_bytes())

    def test_no_message_lands_in_a_file(self):
        """Errors while an output, a log and inputs are open, and the three are closed."""
        for words in (("run", digits_engine(), image(), "-o", self.arrays, "--log-file", self.log, "--top", "3", "--verbose"),
                      ("build", MODEL, "--int8", "-o", self.engine, "--log-file", self.log, "--verbose")):
            start(words, {0: None, 1: None, 2: None})
            for path in (self.arrays, self.engine, self.log):
                data = self.written(path)
                self.assertTrue(data is None or data[:8] in (b"PK\x03\x04\x14\x00\x00\x08", b"OCTETENG", b"# log of"), (words, path, data))


class SpecialFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch() / "special"
        cls.folder.mkdir()
        cls.fifo, cls.socket = cls.folder / "fifo", cls.folder / "socket"
        os.mkfifo(cls.fifo)
        where = os.getcwd()
        os.chdir(cls.folder)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
        os.chdir(where)

    def test_nobody_waits_for_the_other_end(self):
        for path in (self.fifo, self.socket, "/dev/zero", self.folder):
            for words in (("check", path), ("build", path, "-o", self.folder / "x"), ("inspect", path), ("inspect", digits_engine(), "--log-file", path),
                          ("run", digits_engine(), path), ("run", digits_engine(), image(), "--labels", path),
                          ("run", digits_engine(), image(), "--preprocess", path), ("run", digits_engine(), image(), "--tuning", path),
                          ("run", digits_engine(), image(), "--plugin", path), ("build", MODEL, "--int8", "--ranges", path),
                          ("build", MODEL, "--int8", "--calib-cache", path), ("build", MODEL, "--int8", "--calib", path),
                          ("compare", digits_engine(), "--load-outputs", path, "--calib", digits() / "calib"), ("reproduce", path),
                          ("run", digits_engine(), image(), "-o", path), ("plugin", "check", path)):
                said = octet(*words, code=2, cwd=self.folder).err
                self.assertIn("error: ", said, words)
            for flag in ("--loadEngine", "--onnx"):
                octet("trtexec", f"{flag}={path}", code=1)
            said = octet("trtexec", f"--loadEngine={digits_engine()}", f"--loadInputs=image:{path}", code=1).err
            self.assertIn("not a regular file", said)

    def test_the_error_names_what_stands_there(self):
        for path, kind in ((self.fifo, "a pipe"), (self.socket, "a socket"), ("/dev/null", "a device"), (self.folder, "a folder")):
            self.assertIn(kind, octet("inspect", digits_engine(), "--log-file", path, code=2).err)

    def test_a_log_that_fills_up(self):
        log = self.folder / "small.log"
        log.write_text("# log of octet\n" + "x" * 4080 + "\n")
        done = start(("inspect", digits_engine(), "--log-file", log, "--verbose"), limits={resource.RLIMIT_FSIZE: 4100})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(b"its lines end here"), 1)


class Threads(unittest.TestCase):
    """Address space for so many stacks and no more stands for a system that starts no more threads; the superuser has no other limit."""

    STACK = 3 * GIB
    REST = GIB + GIB // 2

    def limited(self, threads, *words):
        return start(words, limits={resource.RLIMIT_STACK: self.STACK, resource.RLIMIT_AS: self.REST + threads * self.STACK})

    def check(self, needed, *words, told=b"the system starts no more threads"):
        for there in (0, 1, needed - 1):
            done = self.limited(there, *words)
            self.assertIn(done.returncode, (1, 2), (there, words, done.stderr))
            self.assertIn(told, done.stderr, (there, words))
        done = self.limited(needed, *words)
        self.assertEqual(done.returncode, 0, (words, done.stderr))

    def test_contexts(self):
        self.check(4, "run", digits_engine(), image(), "--threads", "5")

    def test_calibration(self):
        """Goes on with the threads that are there, and comes to the same ranges."""
        engines = set()
        for there in (0, 1, 3):
            done = self.limited(there, "build", MODEL, "--int8", "--calib", digits() / "calib", "--threads", "4", "-o", scratch() / "threads.octet", "--quiet")
            self.assertEqual(done.returncode, 0, (there, done.stderr))
            engines.add((scratch() / "threads.octet").read_bytes())
        self.assertEqual(len(engines), 1)

    def test_streams(self):
        self.check(4, "bench", digits_engine(), "--streams", "5", "--seconds", "0.01", "--warmup", "1")
        self.check(4, "trtexec", f"--loadEngine={digits_engine()}", "--infStreams=5", "--cpuThreads=1", "--iterations=1", "--duration=0", "--warmUp=0")

    def test_the_advice(self):
        self.assertIn(b"fewer --threads", self.limited(0, "run", digits_engine(), image(), "--threads", "2").stderr)

    def test_more_than_there_are(self):
        usable = len(os.sched_getaffinity(0))
        words = ("bench", digits_engine(), "--seconds", "0.01", "--warmup", "1")
        self.assertIn(f"this process may use {usable} processor" if usable < 64 else "", octet(*words, "--threads", "64").err)
        one = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), str(PROGRAM), *map(str, words), "--threads", "2"],
                             capture_output=True, text=True, check=True).stderr
        self.assertIn("2 threads are asked for, and this process may use 1 processor ", one)
        self.assertNotIn("threads are asked for", octet(*words, "--threads", "1").err)


if __name__ == "__main__":
    harness.main()
