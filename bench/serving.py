#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One model in Triton through Octet's backend, beside `octet bench --streams` and ONNX Runtime in its own process, in one run.

usage: serving.py --octet build/release/octet --onnx MODEL_QDQ.onnx --server-cpus 0-7 --load-cpus 8-15 [--batch 8] [--seconds 5]

The model has an open batch and carries its Q/DQ nodes, so that all compute the same. The server has --server-cpus, the load generator
(serving_load.cc, a target of bench_programs) --load-cpus: requests of one row over HTTP, whose tensors lie in system shared memory, first as many as can be
outstanding, then half of that rate at random times. Its processor time is printed, so that one sees whether the server or the load was the limit."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/integrations"))

CONFIG = """backend: "octet"
max_batch_size: %d
dynamic_batching { max_queue_delay_microseconds: %d }
instance_group [ { count: %d } ]
parameters { key: "threads" value: { string_value: "%d" } }
"""


def cpus(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def bound(cores):
    """For preexec_fn: the child runs on these processors."""
    return lambda: os.sched_setaffinity(0, cores)


class Load:
    """build/release/bench/serving_load on processors of its own: requests of one row, whose answers must have the bytes that `octet run` gives."""

    def __init__(self, options, engine, folder, server):
        import numpy
        self.options, self.port = options, server.http
        shape = [int(size) for size in options.shape.split("x")]
        row = numpy.random.default_rng(1).random([1, *shape], dtype=numpy.float32)
        _, described = server.json("/v2/models/model")
        (name,), output = [tensor["name"] for tensor in described["inputs"]], described["outputs"][0]["name"]
        numpy.savez(folder / "row.npz", **{name: row})
        subprocess.run([options.octet, "run", engine, folder / "row.npz", "-o", folder / "want.npz"], check=True, stdout=subprocess.DEVNULL)
        row.tofile(folder / "row.bytes")
        with numpy.load(folder / "want.npz") as want:
            want[output].tofile(folder / "want.bytes")
        self.files = ["--inputs", folder / "row.bytes", "--expect", folder / "want.bytes"]

    def run(self, connections, rate=None):
        """What serving_load prints; fails where an answer was none or another."""
        command = [self.options.load, self.port, "model", "--connections", connections, "--seconds", self.options.seconds, "--warm-up",
                   self.options.seconds / 4, "--shape", self.options.shape, *self.files]
        if rate:
            command += ["--rate", rate, "--poisson"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, preexec_fn=bound(cpus(self.options.load_cpus)))
        if done.returncode != 0:
            raise SystemExit(f"serving_load: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)


def octet_streams(options, engine, streams):
    command = [options.octet, "bench", engine, "--streams", streams, "--threads", 1, "--batch", options.batch, "--seconds", options.seconds, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, preexec_fn=bound(cpus(options.server_cpus)))
    measured = json.loads(done.stdout)
    return measured["throughput"], max(stream["latency_ms"]["median"] for stream in measured["streams"])


def onnxruntime_streams(options, streams):
    """As many sessions of one thread, each with its own batches, as in the server."""
    script = """
import json, sys, threading, time, numpy, onnxruntime as ort
path, streams, batch, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
options = ort.SessionOptions(); options.intra_op_num_threads = 1
sessions = [ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for _ in range(streams)]
info = sessions[0].get_inputs()[0]
data = {info.name: numpy.random.default_rng(1).random([batch, *info.shape[1:]], dtype=numpy.float32)}
counts = [0] * streams
def run(i):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sessions[i].run(None, data); counts[i] += 1
for session in sessions: session.run(None, data)
start = time.perf_counter()
threads = [threading.Thread(target=run, args=(i,)) for i in range(streams)]
[t.start() for t in threads]; [t.join() for t in threads]
print(json.dumps(sum(counts) * batch / (time.perf_counter() - start)))
"""
    done = subprocess.run([sys.executable, "-c", script, options.onnx, str(streams), str(options.batch), str(options.seconds)],
                          capture_output=True, text=True, check=True, preexec_fn=bound(cpus(options.server_cpus)))
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--octet", default=str(ROOT / "build/release/octet"))
    parser.add_argument("--load", default=str(ROOT / "build/release/bench/serving_load"))
    parser.add_argument("--onnx", required=True)
    parser.add_argument("--server-cpus", required=True)
    parser.add_argument("--load-cpus", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--delay-us", type=int, default=2000)
    parser.add_argument("--shape", default="3x224x224", help="of one row")
    options = parser.parse_args()
    import tritons
    tritons.need()
    streams = len(cpus(options.server_cpus))
    with tempfile.TemporaryDirectory(prefix="octet-serving-") as folder:
        engine = pathlib.Path(folder) / "model.octet"
        subprocess.run([options.octet, "build", options.onnx, "-o", str(engine), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        repository = pathlib.Path(folder) / "repository"
        tritons.add_model(repository, "model", {"model.octet": engine}, CONFIG % (options.batch, options.delay_us, streams, 1))
        direct, latency = octet_streams(options, engine, streams)
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cpus(options.server_cpus))  # which the server inherits
        try:
            server = tritons.Server(repository)
        finally:
            os.sched_setaffinity(0, everywhere)
        with server:
            load = Load(options, engine, pathlib.Path(folder), server)
            connections = 2 * streams * options.batch
            full = load.run(connections)
            half = load.run(connections, full["rows_per_second"] / 2)
            padded = server.metric("octet_padded_rows_total") / server.metric("octet_rows_total")
            batch = server.metric("nv_inference_count") / server.metric("nv_inference_exec_count")
            compiled = server.metric("octet_compilations_total")
        peer = onnxruntime_streams(options, streams)
    print(f"{streams} instances of 1 thread, batches of {options.batch}, {options.seconds:g} s each; load average {os.getloadavg()[0]:.1f}\n")
    print(f"{'WHAT':44}{'ROWS/S':>10}{'P50 MS':>9}{'P99 MS':>9}{'LOAD CPU':>10}")
    print(f"{'octet bench --streams':44}{direct:10.1f}{latency:9.2f}")
    for what, run in ("Triton, octet, closed loop", full), ("Triton, octet, open loop at half of it", half):
        print(f"{what:44}{run['rows_per_second']:10.1f}{run['p50_ms']:9.2f}{run['p99_ms']:9.2f}{run['processor_seconds'] / run['seconds']:10.2f}")
    print(f"{'ONNX Runtime in its own process':44}{peer:10.1f}")
    print(f"\nof octet bench: {full['rows_per_second'] / direct:.3f}; p99 at half load is {half['p99_ms'] / latency:.2f} of a batch's latency; "
          f"{batch:.1f} rows an execution, {100 * padded:.1f} % padding, {compiled:.0f} plans made after readiness; all of {full['requests']} and "
          f"{half['requests']} answers have the bytes of octet run")


if __name__ == "__main__":
    main()
