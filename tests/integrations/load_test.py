#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/serving_load against Triton's real server: it counts what the server counts, holds answers to their bytes, keeps to its rate, and leaves nothing."""

import json
import pathlib
import subprocess
import time
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
        for name in "digits", "counted":
            tritons.add_model(repository, name, {"model.octet": digits_engine()}, config)
        row = numpy.random.default_rng(2).random((1, 1, 8, 8), dtype=numpy.float32)
        numpy.savez(scratch() / "row.npz", image=row)
        octet("run", digits_engine(), scratch() / "row.npz", "-o", scratch() / "want.npz")
        row.tofile(scratch() / "row")
        with numpy.load(scratch() / "want.npz") as want:
            want["logits"].tofile(scratch() / "want")
            (want["logits"] + 1).tofile(scratch() / "other")
        cls.server = tritons.Server(repository)
        cls.addClassCleanup(cls.server.close)

    def load(self, *flags, model="digits", code=0):
        command = [LOAD, self.server.http, model, "--warm-up", 0, "--seconds", 0.4, *flags]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            out, errors = process.communicate()
        self.assertEqual(process.returncode, code, out + errors)
        self.assertFalse(pathlib.Path(f"/dev/shm/octet-load-{process.pid}").exists())
        self.assertEqual(self.server.json("/v2/systemsharedmemory/status")[1], [])
        return json.loads(out) if out else errors

    def files(self, expected="want"):
        return "--inputs", scratch() / "row", "--expect", scratch() / expected

    def test_it_counts_what_the_server_counts(self):
        before, sent = self.server.metric("nv_inference_count", model="counted"), 0
        for connections in 1, 12:
            found = self.load("--connections", connections, *self.files(), model="counted")
            sent += found["requests"]
            self.assertEqual((found["loop"], found["failures"], found["wrong"]), ("closed", 0, 0))
            # The server counts a request after its answer has left.
            for _ in range(200):
                if (counted := self.server.metric("nv_inference_count", model="counted") - before) >= sent:
                    break
                time.sleep(0.05)
            self.assertEqual(counted, sent)
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
