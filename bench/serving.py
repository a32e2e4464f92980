#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One model in Triton through Octet's backend, beside `octet bench --streams` and ONNX Runtime in its own process, in one run.

usage: serving.py --octet build/release/octet --onnx MODEL_QDQ.onnx --server-cpus 0-7 --load-cpus 8-15 [--batch 8] [--seconds 5]

The model has an open batch and carries its Q/DQ nodes, so that all compute the same. The server has --server-cpus, the load generator
--load-cpus: requests of one row over gRPC, whose tensors lie in system shared memory. Its processor time is printed, so that one sees
whether the server or the load was the limit."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

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
    """Requests of one row, each outstanding one with a place in shared memory."""

    def __init__(self, port, name, shape, places):
        import numpy
        import tritonclient.grpc as client
        import tritonclient.utils.shared_memory as shared
        self.grpc, self.shared, self.name = client, shared, name
        self.client = client.InferenceServerClient(f"127.0.0.1:{port}")
        metadata = self.client.get_model_metadata(name)
        self.input, self.output = metadata.inputs[0].name, metadata.outputs[0]
        self.row = numpy.random.default_rng(1).random([1, *shape], dtype=numpy.float32)
        self.bytes_out = 4 * int(numpy.prod([abs(int(d)) for d in self.output.shape]))
        self.key = f"/octet-load-{os.getpid()}"
        size = self.row.nbytes + places * self.bytes_out
        self.region = shared.create_shared_memory_region("load", self.key, size)
        shared.set_shared_memory_region(self.region, [self.row])
        self.client.register_system_shared_memory("load", self.key, size)
        self.free = threading.Semaphore(places)
        self.requests = [self.request(i) for i in range(places)]
        self.idle, self.latencies, self.failures = list(self.requests), [], 0
        self.lock = threading.Lock()

    def request(self, place):
        tensor = self.grpc.InferInput(self.input, list(self.row.shape), "FP32")
        tensor.set_shared_memory("load", self.row.nbytes)
        output = self.grpc.InferRequestedOutput(self.output.name)
        output.set_shared_memory("load", self.bytes_out, self.row.nbytes + place * self.bytes_out)
        return tensor, output

    def send(self, due):
        self.free.acquire()
        with self.lock:
            mine = self.idle.pop()

        def done(result, error):  # called by these names
            del result
            with self.lock:
                self.latencies.append(time.perf_counter() - due)
                self.failures += error is not None
                self.idle.append(mine)
            self.free.release()

        self.client.async_infer(self.name, [mine[0]], done, outputs=[mine[1]])

    def run(self, seconds, rate=None):
        """Rows per second, quantiles of latency in ms, processor seconds of this process for each second."""
        self.latencies, self.failures = [], 0
        start, spent, count = time.perf_counter(), time.process_time(), 0
        while (now := time.perf_counter()) - start < seconds:
            due = now
            if rate:
                due = start + count / rate
                if due > now:
                    time.sleep(due - now)
            self.send(due)
            count += 1
        for _ in self.requests:
            self.free.acquire()
        took = time.perf_counter() - start
        for _ in self.requests:
            self.free.release()
        ordered = sorted(self.latencies)
        at = lambda q: 1e3 * ordered[min(len(ordered) - 1, int(q * len(ordered)))]
        return {"rows_per_second": count / took, "p50_ms": at(0.5), "p99_ms": at(0.99), "failures": self.failures,
                "load_cpu": (time.process_time() - spent) / took}

    def close(self):
        self.client.unregister_system_shared_memory("load")
        self.shared.destroy_shared_memory_region(self.region)


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
    shape = [int(size) for size in options.shape.split("x")]
    with tempfile.TemporaryDirectory(prefix="octet-serving-") as folder:
        engine = pathlib.Path(folder) / "model.octet"
        subprocess.run([options.octet, "build", options.onnx, "-o", str(engine), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        repository = pathlib.Path(folder) / "repository"
        tritons.add_model(repository, "model", {"model.octet": engine}, CONFIG % (options.batch, options.delay_us, streams, 1))
        direct, latency = octet_streams(options, engine, streams)
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cpus(options.server_cpus))  # which the server inherits
        with tritons.Server(repository) as server:
            os.sched_setaffinity(0, cpus(options.load_cpus))
            load = Load(server.grpc, "model", shape, 2 * streams * options.batch)
            try:
                load.run(options.seconds / 4)
                full = load.run(options.seconds)
                half = load.run(options.seconds, full["rows_per_second"] / 2)
                padded = server.metric("octet_padded_rows_total") / server.metric("octet_rows_total")
                executions = server.metric("nv_inference_exec_count")
                batch = server.metric("nv_inference_count") / executions
            finally:
                load.close()
        os.sched_setaffinity(0, everywhere)
        peer = onnxruntime_streams(options, streams)
    print(f"{streams} instances of 1 thread, batches of {options.batch}, {options.seconds:g} s each\n")
    print(f"{'WHAT':44}{'ROWS/S':>10}{'P50 MS':>9}{'P99 MS':>9}")
    print(f"{'octet bench --streams':44}{direct:10.1f}{latency:9.2f}")
    print(f"{'Triton, octet, full load':44}{full['rows_per_second']:10.1f}{full['p50_ms']:9.2f}{full['p99_ms']:9.2f}")
    print(f"{'Triton, octet, half of it':44}{half['rows_per_second']:10.1f}{half['p50_ms']:9.2f}{half['p99_ms']:9.2f}")
    print(f"{'ONNX Runtime in its own process':44}{peer:10.1f}")
    print(f"\nof octet bench: {full['rows_per_second'] / direct:.3f}; p99 at half load is {half['p99_ms'] / latency:.2f} of a batch's latency; "
          f"{batch:.1f} rows an execution, {100 * padded:.1f} % padding; the load took {full['load_cpu']:.2f} processors; "
          f"{full['failures'] + half['failures']} failures")


if __name__ == "__main__":
    main()
