#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/serving_load against Triton's real server: it counts what the server counts, holds answers to their bytes, keeps to its rate, and leaves nothing."""

import json
import pathlib
import subprocess
import unittest

import harness
import tritons
from harness import BUILD, digits_engine, need, octet, scratch

LOAD = BUILD / "bench/serving_load"


class Load(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tritons.need()
        if not LOAD.exists():
            raise unittest.SkipTest(f"{LOAD} was not built (bench_programs)")
        numpy = need("numpy")
        repository = scratch() / "repository"
        config = 'backend: "octet"\nmax_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 500 }\n'
        tritons.add_model(repository, "digits", {"model.octet": digits_engine()}, config)
        cls.server = tritons.Server(repository)
        row = numpy.random.default_rng(2).random((1, 1, 8, 8), dtype=numpy.float32)
        numpy.savez(scratch() / "row.npz", image=row)
        octet("run", digits_engine(), scratch() / "row.npz", "-o", scratch() / "want.npz")
        row.tofile(scratch() / "row")
        with numpy.load(scratch() / "want.npz") as want:
            want["logits"].tofile(scratch() / "want")
            (want["logits"] + 1).tofile(scratch() / "other")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def load(self, *flags, model="digits", code=0):
        command = [LOAD, self.server.http, model, "--warm-up", 0, "--seconds", 0.4, *flags]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual([path.name for path in pathlib.Path("/dev/shm").glob("octet-load-*")], [])
        self.assertEqual(self.server.json("/v2/systemsharedmemory/status")[1], [])
        return json.loads(done.stdout) if done.stdout else done.stderr

    def files(self, expected="want"):
        return "--inputs", scratch() / "row", "--expect", scratch() / expected

    def test_it_counts_what_the_server_counts(self):
        for connections in 1, 12:
            before = self.server.metric("nv_inference_count")
            found = self.load("--connections", connections, *self.files())
            self.assertEqual((found["loop"], found["failures"], found["wrong"]), ("closed", 0, 0))
            self.assertEqual(self.server.metric("nv_inference_count") - before, found["requests"])
            self.assertGreaterEqual(found["requests"], connections)
            self.assertTrue(0 < found["p50_ms"] <= found["p99_ms"] <= found["max_ms"], found)
            self.assertGreater(found["processor_seconds"], 0)
        self.assertEqual(self.load("--connections", 2, "--rows", 3)["failures"], 0)

    def test_an_open_loop_keeps_to_its_rate(self):
        """As many requests as are due, however long the server takes."""
        found = self.load("--connections", 16, "--rate", 200, *self.files())
        self.assertEqual((found["loop"], found["requests"], found["failures"], found["wrong"]), ("open", 80, 0, 0))
        self.assertGreater(self.load("--connections", 16, "--rate", 200, "--poisson", *self.files())["requests"], 20)

    def test_what_is_wrong_is_told(self):
        found = self.load("--connections", 2, *self.files("other"), code=1)
        self.assertEqual(found["wrong"], found["requests"])
        self.assertIn("no_such", self.load("--connections", 1, model="no_such", code=2))
        self.assertIn("there is no flag", self.load("--nonsense", 1, code=2))
        self.assertIn("expected a number", self.load("--connections", "many", code=2))
        self.assertIn("bytes", self.load("--inputs", scratch() / "want", code=2))
        # A batch that the model refuses.
        found = self.load("--connections", 1, "--rows", 9, code=1)
        self.assertEqual(found["failures"], found["requests"])
        self.assertIn("batch", found["first_failure"])


if __name__ == "__main__":
    harness.main()
