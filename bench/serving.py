#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One model in Triton through Octet's backend, beside `octet bench --streams`, ONNX Runtime in its own process, and ONNX Runtime in Triton's Python
backend, in one run.

usage: serving.py --octet build/release/octet --onnx MODEL_QDQ.onnx --server-cpus 0-7 --load-cpus 8-15 [--batch 8] [--seconds 5] [--http] [--gpu 0]

The model has an open batch and carries its Q/DQ nodes, so that all compute the same. The server has --server-cpus, the load generator
(serving_load.cc, a target of bench_programs) --load-cpus: requests of one row over gRPC, or HTTP, whose tensors lie in system shared memory, first as
many as can be outstanding, then half of that rate at random times. Bench and server take turns, --rounds times, and medians count: processors of a
virtual machine differ from second to second. The load's processor time is printed, so that one sees whether the server or the load was the limit, and
the server's for each row: of the threads that compute, and of all others. With --gpu there are --instances on that GPU, and requests of a whole batch in its memory (CUDA shared memory), beside `octet bench
--no-transfers`; --onnx may then be an engine."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests/integrations"))

CONFIG = """backend: "octet"
max_batch_size: %d
dynamic_batching { max_queue_delay_microseconds: %d }
instance_group [ { count: %d%s } ]
parameters { key: "threads" value: { string_value: "%d" } }
"""
PYTHON_CONFIG = """backend: "python"
max_batch_size: %d
input [ { name: "%s" data_type: TYPE_FP32 dims: %s } ]
output [ { name: "%s" data_type: TYPE_FP32 dims: %s } ]
dynamic_batching { max_queue_delay_microseconds: %d }
instance_group [ { count: %d kind: KIND_CPU } ]
"""
PYTHON_MODEL = """
import os
import sys
sys.path[:0] = %r
import numpy
import onnxruntime
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.input, self.output = self.session.get_inputs()[0].name, self.session.get_outputs()[0].name

    def execute(self, requests):
        rows = [triton.get_input_tensor_by_name(request, self.input).as_numpy() for request in requests]
        got, first, responses = self.session.run([self.output], {self.input: numpy.concatenate(rows)})[0], 0, []
        for row in rows:
            responses.append(triton.InferenceResponse([triton.Tensor(self.output, got[first:first + len(row)])]))
            first += len(row)
        return responses
"""


def cpus(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def thread_seconds(pid):
    """Processor time of each thread of a process so far."""
    seconds = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it ended meanwhile
            continue
        seconds[task.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def bound(cores):
    """For preexec_fn: the child runs on these processors."""
    return lambda: os.sched_setaffinity(0, cores)


class Load:
    """build/release/bench/serving_load on processors of its own: requests whose answers must have the bytes that `octet run` gives, or any (`same`)."""

    def __init__(self, options, engine, folder, server, instances, same=True):
        import numpy
        self.options, self.server, self.instances, self.model = options, server, instances, "model"
        self.rows = 1 if options.gpu is None else options.batch
        shape = [int(size) for size in options.shape.split("x")]
        rows = numpy.random.default_rng(1).random([self.rows, *shape], dtype=numpy.float32)
        _, described = server.json(f"/v2/models/{self.model}")
        (name,), output = [tensor["name"] for tensor in described["inputs"]], described["outputs"][0]["name"]
        numpy.savez(folder / "row.npz", **{name: rows})
        subprocess.run([options.octet, "run", engine, folder / "row.npz", "-o", folder / "want.npz", "--force", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        rows.tofile(folder / "row.bytes")
        with numpy.load(folder / "want.npz") as want:
            want[output].tofile(folder / "want.bytes")
            self.dims = list(want[output].shape[1:])
        self.input, self.output = name, output
        self.files = ["--inputs", folder / "row.bytes", *(["--expect", folder / "want.bytes"] if same else [])]

    def run(self, connections, rate=None):
        """What serving_load prints; fails where an answer was none or another."""
        command = [self.options.load, self.server.http, self.model, "--connections", connections, "--seconds", self.options.seconds, "--warm-up",
                   self.options.seconds / 4, "--shape", self.options.shape, "--rows", self.rows, *self.files]
        if not self.options.http:
            command += ["--grpc", self.server.grpc]
        if self.options.gpu is not None:
            command += ["--gpu", self.options.gpu]
        if rate:
            command += ["--rate", rate, "--poisson"]
        before, rows = thread_seconds(self.server.process.pid), self.server.metric("nv_inference_count", model=self.model)
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, preexec_fn=bound(cpus(self.options.load_cpus)))
        if done.returncode != 0:
            raise SystemExit(f"serving_load: {done.stdout}{done.stderr}")
        spent = sorted(seconds - before.get(task, 0) for task, seconds in thread_seconds(self.server.process.pid).items())
        rows = self.server.metric("nv_inference_count", model=self.model) - rows
        return json.loads(done.stdout) | {"us_of_row": [1e6 * sum(part) / rows for part in (spent[-self.instances:], spent[:-self.instances])]}


def octet_bench(options, engine, *flags):
    command = [options.octet, "bench", engine, "--batch", options.batch, "--seconds", options.seconds, "--json", *flags]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, preexec_fn=bound(cpus(options.server_cpus)))
    return json.loads(done.stdout)


def octet_streams(options, engine, streams):
    measured = octet_bench(options, engine, "--streams", streams, "--threads", 1)
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


def served(options, repository, *flags, env=None):
    """The server on its processors, which it inherits."""
    import tritons
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus(options.server_cpus))
    try:
        return tritons.Server(repository, *flags, env=env)
    finally:
        os.sched_setaffinity(0, everywhere)


def counts(server):
    return {"padded": server.metric("octet_padded_rows_total") / server.metric("octet_rows_total"),
            "batch": server.metric("nv_inference_count", model="model") / server.metric("nv_inference_exec_count", model="model"),
            "rows": server.metric("octet_rows_total"), "compiled": server.metric("octet_compilations_total"), "copied": server.metric("octet_copied_bytes_total")}


def row(what, rate, run=None, latency=None):
    middle = f"{latency:9.2f}" if latency is not None else ""
    if run:
        middle = f"{run['p50_ms']:9.2f}{run['p99_ms']:9.2f}{run['processor_seconds'] / run['seconds']:10.2f}{run['us_of_row'][0]:12.0f}{run['us_of_row'][1]:10.0f}"
    print(f"{what:50}{rate:10.1f}{middle}", flush=True)


def build(options, folder):
    engine = folder / "model.octet"
    if options.onnx.endswith(".octet"):
        engine.write_bytes(pathlib.Path(options.onnx).read_bytes())
    else:
        subprocess.run([options.octet, "build", options.onnx, "-o", str(engine), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return engine


HEAD = f"{'WHAT':50}{'ROWS/S':>10}{'P50 MS':>9}{'P99 MS':>9}{'LOAD CPU':>10}{'COMPUTE US':>12}{'OTHER US':>10}"


def python_model(options, folder, load, streams):
    """ONNX Runtime in Triton's Python backend, with as many instances of one thread and the same batching."""
    import tritons
    repository = folder / "python"
    config = PYTHON_CONFIG % (options.batch, load.input, [int(size) for size in options.shape.split("x")], load.output, load.dims, options.delay_us, streams)
    model = folder / "model.py"
    model.write_text(PYTHON_MODEL % sys.path)
    tritons.add_model(repository, "model", {"model.py": model, "model.onnx": options.onnx}, config)
    backend = folder / "backends/python"
    shutil.copytree(tritons.HOME / "backends/python", backend)
    shutil.copy(tritons.HOME / f"python_backend_stubs/{sys.version_info.major}.{sys.version_info.minor}/triton_python_backend_stub", backend)
    libraries = os.pathsep.join(filter(None, [str(tritons.FOLDER / "nvidia_pytriton.libs"), os.environ.get("LD_LIBRARY_PATH")]))
    env = {"LD_LIBRARY_PATH": libraries, "PYTHONHOME": sys.base_prefix}  # of the stub, which is no child of this Python
    with served(options, repository, f"--backend-directory={backend.parent}", env=env) as server:
        return Load(options, folder / "model.octet", folder, server, streams, same=False).run(2 * streams * options.batch)


def on_processors(options, folder):
    import tritons
    streams, engine = len(cpus(options.server_cpus)) if options.instances is None else options.instances, build(options, folder)
    # By default Triton places instances on GPUs, where there are any.
    config = CONFIG % (options.batch, options.delay_us, streams, " kind: KIND_CPU", 1)
    for key, _, value in (text.partition("=") for text in options.parameter):
        config += f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}\n'
    tritons.add_model(folder / "repository", "model", {"model.octet": engine}, config)
    way = "HTTP" if options.http else "gRPC"
    print(f"{streams} instances of 1 thread, batches of {options.batch}, {way}, {options.seconds:g} s each; load average {os.getloadavg()[0]:.1f}\n")
    print(HEAD)
    benched, asked = [], []  # bench, and the server under full load, in turns
    connections = options.connections or 2 * streams * options.batch
    with served(options, folder / "repository", *options.server_flag) as server:
        load = Load(options, engine, folder, server, streams)
        for _ in range(options.rounds):
            benched.append(octet_streams(options, engine, options.bench_streams or streams))
            row("octet bench --streams", benched[-1][0], latency=benched[-1][1])
            asked.append(load.run(connections))
            row("Triton, octet, closed loop", asked[-1]["rows_per_second"], asked[-1])
        found = counts(server)
        rate, latency = statistics.median(run["rows_per_second"] for run in asked), statistics.median(latency for _, latency in benched)
        half = None if options.full_load_alone else load.run(connections, rate / 2)
        if half:
            row("Triton, octet, open loop at half of it", half["rows_per_second"], half)
    if not options.full_load_alone:
        row("ONNX Runtime in its own process", onnxruntime_streams(options, streams))
    if options.python_model:
        peer = python_model(options, folder, load, streams)
        row("Triton, ONNX Runtime in a Python model", peer["rows_per_second"], peer)
    benched.append(octet_streams(options, engine, options.bench_streams or streams))
    row("octet bench --streams, again", benched[-1][0], latency=benched[-1][1])
    direct = statistics.median(rate for rate, _ in benched)
    print(f"\nof octet bench: {rate / direct:.3f} (medians of {options.rounds} rounds: {rate:.0f} and {direct:.0f} rows/s); {found['batch']:.1f} rows an execution, "
          f"{100 * found['padded']:.1f} % padding, {found['copied'] / found['rows'] / 1e6:.2f} MB copied for a row, {found['compiled']:.0f} plans made after "
          f"readiness; all of {sum(run['requests'] for run in asked)} answers have the bytes of octet run")
    if half:
        print(f"p99 at half load is {half['p99_ms'] / latency:.2f} of a batch's latency")


def on_gpu(options, folder):
    import tritons
    engine, device = build(options, folder), ("--device", f"cuda:{options.gpu}")
    instances = options.instances or 2
    placed = f" kind: KIND_GPU gpus: [ {options.gpu} ]"
    config = CONFIG.replace("dynamic_batching { max_queue_delay_microseconds: %d }\n", "") % (options.batch, instances, placed, 1)
    tritons.add_model(folder / "repository", "model", {"model.octet": engine}, config + 'parameters { key: "batch_sizes" value: { string_value: "%d" } }\n' % options.batch)
    print(f"{instances} instances on a GPU, requests of {options.batch} rows in its memory, {options.seconds:g} s each\n")
    print(HEAD)
    direct = octet_bench(options, engine, *device, "--no-transfers")["throughput"]
    row("octet bench --no-transfers", direct)
    row("octet bench, data from the host and back", octet_bench(options, engine, *device)["throughput"])
    with served(options, folder / "repository") as server:
        load = Load(options, engine, folder, server, instances)
        full = {}
        for connections in sorted({1, instances, 2 * instances, 4 * instances}):
            full[connections] = load.run(connections)
            row(f"Triton, octet, {connections} outstanding", full[connections]["rows_per_second"], full[connections])
        found = counts(server)
    best = max(run["rows_per_second"] for run in full.values())
    print(f"\nof octet bench --no-transfers: {best / direct:.3f}; {found['compiled']:.0f} plans made after readiness, {found['copied']:.0f} bytes copied; all of "
          f"{sum(run['requests'] for run in full.values())} answers have the bytes of octet run on the processor")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--octet", default=str(ROOT / "build/release/octet"))
    parser.add_argument("--load", default=str(ROOT / "build/release/bench/serving_load"))
    parser.add_argument("--onnx", required=True)
    parser.add_argument("--server-cpus", required=True)
    parser.add_argument("--load-cpus", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--instances", type=int, help="of one thread each; by default one for each of --server-cpus, 2 on a GPU")
    parser.add_argument("--bench-streams", type=int, help="of octet bench; by default as many as instances")
    parser.add_argument("--connections", type=int, help="requests outstanding under full load; by default two batches of each instance")
    parser.add_argument("--parameter", action="append", default=[], metavar="KEY=VALUE", help="of the model's configuration: batch_sizes=8")
    parser.add_argument("--server-flag", action="append", default=[], help="of tritonserver")
    parser.add_argument("--rounds", type=int, default=5, help="of bench and server in turns")
    parser.add_argument("--full-load-alone", action="store_true", help="neither half of the load nor peers")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--delay-us", type=int, default=2000)
    parser.add_argument("--shape", default="3x224x224", help="of one row")
    parser.add_argument("--http", action="store_true", help="requests by HTTP; by default gRPC")
    parser.add_argument("--gpu", type=int, help="number of the GPU")
    parser.add_argument("--python-model", action="store_true", help="ONNX Runtime in Triton's Python backend, too")
    options = parser.parse_args()
    import tritons
    tritons.need()
    with tempfile.TemporaryDirectory(prefix="octet-serving-") as folder:
        (on_processors if options.gpu is None else on_gpu)(options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
