# SPDX-License-Identifier: Apache-2.0
"""Standard output that cannot be written, standard input that is closed, readers that leave, signals: the right end, one error, and no file left."""

import os
import signal
import subprocess
import unittest

import harness
from harness import DIGITS, PROGRAM, digits, digits_engine, scratch

MODEL = DIGITS / "digits.onnx"


def started(*arguments, **more):
    return subprocess.Popen([str(PROGRAM), *map(str, arguments)], stderr=subprocess.PIPE, text=True, **more)


def errors(text):
    return [line for line in text.splitlines() if line.startswith("error: ")]


class Output(unittest.TestCase):
    def test_one_error_where_it_is_full(self):
        engine = digits_engine()
        image = digits() / "calib/0000.png"
        for command in (("--version",), ("--help",), ("help", "build"), ("inspect", engine), ("inspect", engine, "--json"), ("run", engine, image),
                        ("run", engine, image, "-o", "-"), ("check", MODEL), ("devices",), ("completion", "bash"), ("manual", "bench"),
                        ("bench", engine, "--seconds", "0.01"), ("build", MODEL, "-o", "-"), ("inspect", "nowhere", "--json")):
            with open("/dev/full", "w") as full:
                done = started(*command, stdout=full)
                said = done.communicate()[1]
            self.assertEqual((done.returncode, len(errors(said))), (2, 1), (command, said))

    def test_trtexec_fails_in_its_own_words(self):
        for flags in (("--help",), (f"--onnx={MODEL}", "--duration=0", "--warmUp=0", "--iterations=1")):
            with open("/dev/full", "w") as full:
                done = started("trtexec", *flags, stdout=full)
                said = done.communicate()[1]
            self.assertEqual(done.returncode, 1, said)
            self.assertIn("[E] ", said)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        read, write = os.pipe()
        os.close(read)
        done = started("inspect", digits_engine(), "--json", stdout=write, restore_signals=True)
        os.close(write)
        self.assertEqual((done.communicate()[1], done.returncode), ("", 2))


class Input(unittest.TestCase):
    def test_closed_or_empty(self):
        for command in (f"'{PROGRAM}' build - -o x.octet <&-", f"'{PROGRAM}' build - -o x.octet </dev/null", f"'{PROGRAM}' run '{digits_engine()}' - </dev/null"):
            done = subprocess.run(["bash", "-c", command], cwd=scratch(), capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, len(errors(done.stderr))), (2, 1), done.stderr)
            self.assertRegex(done.stderr, "Bad file descriptor" if "<&-" in command else "empty")
        self.assertFalse((scratch() / "x.octet").exists())


class Signals(unittest.TestCase):
    """Each is sent when the first line of progress is there."""

    def ended(self, number, folder, *command):
        """Once more where it was done before the signal came."""
        for _ in range(50):
            done = started(*command, cwd=folder, stdout=subprocess.DEVNULL)
            first = done.stderr.readline()
            done.send_signal(number)
            said = first + done.stderr.read()
            done.wait()
            done.stderr.close()
            self.assertEqual(errors(said), [])
            if done.returncode != 0:
                self.assertEqual(done.returncode, -number, said)
                return
            for path in folder.iterdir():
                path.unlink()
        self.fail("it was never ended")

    def test_nothing_is_left(self):
        data = ("--calib", digits() / "calib")
        for i, (number, *command) in enumerate((
                (signal.SIGINT, "build", MODEL, "--int8", *data, "--calib-method", "auto", "-o", "x.octet", "--report", "x.html", "--calib-cache", "x.cache"),
                (signal.SIGINT, "bench", digits_engine(), "--seconds", "600", "--export-runs", "runs.json"),
                (signal.SIGINT, "report", MODEL, *data, "--seconds", "600", "--report", "x.html"),
                (signal.SIGTERM, "bench", digits_engine(), "--seconds", "600"))):
            folder = scratch() / f"ended{i}"
            folder.mkdir()
            self.ended(number, folder, *command)
            self.assertEqual(list(folder.iterdir()), [], command)

    def test_a_file_that_was_there_stays(self):
        folder, kept = scratch() / "kept", scratch() / "kept.octet"
        folder.mkdir()
        kept.write_bytes(digits_engine().read_bytes())
        # What replaces it is the same engine, so that it is whole however late the signal came.
        self.ended(signal.SIGINT, folder, "build", MODEL, "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json", "-o", kept)
        self.assertEqual(kept.read_bytes(), digits_engine().read_bytes())


class Disk(unittest.TestCase):
    def test_a_full_one_leaves_nothing(self):
        folder = scratch() / "full"
        folder.mkdir()
        engine = digits_engine()
        small = f"ulimit -f 4; exec '{PROGRAM}' "
        for command in (f"build '{MODEL}' -o x.octet", f"export '{engine}' --onnx x.onnx", f"bundle '{engine}' -o x.zip", f"build '{MODEL}' --report x.html -o y.octet",
                        f"run '{engine}' '{digits()}/calib' --layers -o x.npz"):
            done = subprocess.run(["bash", "-c", small + command], cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, len(errors(done.stderr))), (2, 1), (command, done.stderr))
            self.assertIn("cannot write", done.stderr)
            self.assertEqual(list(folder.iterdir()), [], command)


if __name__ == "__main__":
    harness.main()
