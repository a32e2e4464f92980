#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/serving_load against Triton's real server: it counts what the server counts, holds answers to their bytes, keeps to its rate, and leaves nothing."""

import ctypes.util
import http.server
import json
import pathlib
import signal
import subprocess
import threading
import time
import unittest

import harness
import tritons
from harness import BUILD, digits_engine, need, octet, scratch

LOAD = BUILD / "bench/serving_load"


def until(held):
    """Looks until something holds, ten seconds at most: the server counts and forgets a request after its answer has left."""
    for _ in range(200):
        if held():
            return
        time.sleep(0.05)


def shared_memory(process):
    return pathlib.Path(f"/dev/shm/octet-load-{process.pid}")


class Refuses(http.server.BaseHTTPRequestHandler):
    """A server with one model and no room for shared memory."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        tensors = [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
        self.answer(200, json.dumps({"inputs": tensors, "outputs": tensors}).encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(400, b"no room")

    def log_message(self, *_):
        pass


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
        self.assertFalse(shared_memory(process).exists())
        self.expect_nothing_registered()
        return json.loads(out) if out else errors

    def counted(self, model, least=0):
        """What the server counts, at the latest when it is so much."""
        until(lambda: self.server.metric("nv_inference_count", model=model) >= least)
        return self.server.metric("nv_inference_count", model=model)

    def expect_nothing_registered(self):
        status = "/v2/systemsharedmemory/status"
        until(lambda: self.server.json(status) == (200, []))
        self.assertEqual(self.server.json(status), (200, []))

    def files(self, expected="want"):
        return "--inputs", scratch() / "row", "--expect", scratch() / expected

    def test_it_counts_what_the_server_counts(self):
        before, sent = self.counted("counted"), 0
        for connections in 1, 12:
            found = self.load("--connections", connections, *self.files(), model="counted")
            sent += found["requests"]
            self.assertEqual((found["loop"], found["failures"], found["wrong"]), ("closed", 0, 0))
            self.assertEqual(self.counted("counted", before + sent), before + sent)
            self.assertGreaterEqual(found["requests"], connections)
            self.assertTrue(0 < found["p50_ms"] <= found["p99_ms"] <= found["max_ms"], found)
            self.assertGreater(found["processor_seconds"], 0)
        self.assertEqual(self.load("--connections", 2, "--rows", 3)["failures"], 0)

    def test_it_asks_by_grpc(self):
        """Messages, settings and headers by hand: the server takes them, counts them, and its answers and failures are told as those of HTTP are."""
        by = "--grpc", self.server.grpc
        before, sent = self.counted("counted"), 0
        for flags in (("--connections", 1), ("--connections", 12), ("--connections", 8, "--rate", 200, "--poisson")):
            found = self.load(*by, *flags, *self.files(), model="counted")
            sent += found["requests"]
            self.assertEqual((found["failures"], found["wrong"]), (0, 0))
        self.assertEqual(self.counted("counted", before + sent), before + sent)
        found = self.load(*by, "--connections", 2, *self.files("other"), code=1)
        self.assertEqual(found["wrong"], found["requests"])
        found = self.load(*by, "--connections", 2, "--rows", 9, code=1)
        self.assertEqual(found["failures"], found["requests"])
        self.assertIn("batch", found["first_failure"])
        self.assertIn("error", self.load("--grpc", self.server.http, "--connections", 1, code=2))

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
        if ctypes.util.find_library("cuda") is None:
            self.assertIn("no driver of CUDA", self.load("--gpu", 0, "--connections", 1, code=2))
        # A batch that the model refuses.
        found = self.load("--connections", 1, "--rows", 9, code=1)
        self.assertEqual(found["failures"], found["requests"])
        self.assertIn("batch", found["first_failure"])

    def test_a_signal_ends_it(self):
        command = [LOAD, self.server.http, "digits", "--connections", 2, "--warm-up", 0, "--seconds", 600]
        for number, rate in ((signal.SIGINT, 0), (signal.SIGTERM, 5)):
            flags = ("--rate", rate) if rate else ()
            with subprocess.Popen(list(map(str, [*command, *flags])), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                self.counted("digits", self.counted("digits") + 3)
                process.send_signal(number)
                out, errors = process.communicate()
            self.assertEqual((process.returncode, out, errors), (2, "", f"error: ended by signal {number:d}\n"))
            self.assertFalse(shared_memory(process).exists())
            self.expect_nothing_registered()

    def test_a_server_that_refuses_its_memory(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with subprocess.Popen([LOAD, str(server.server_port), "any"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                out, errors = process.communicate()
            server.shutdown()
        self.assertEqual((process.returncode, out, errors), (2, "", "error: the server answers 400: no room\n"))
        self.assertFalse(shared_memory(process).exists())


if __name__ == "__main__":
    harness.main()
