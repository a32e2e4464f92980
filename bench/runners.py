# SPDX-License-Identifier: Apache-2.0
"""Processes that measure one runtime on one model, and the turns they take. What bench/cpu.py and bench/fp32.py share."""

import contextlib
import json
import math
import os
import pathlib
import platform
import select
import statistics
import subprocess
import sys
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20


def log(text):
    print(text, file=sys.stderr, flush=True)


def last_line(text):
    """The line that says what went wrong: Octet's begins with "error:", a Python exception's stands last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("error: ")] or lines[-1:]
    return telling[0][:200] if telling else "no message"


@contextlib.contextmanager
def pinned(cpus):
    """Processes started inside stay on these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpus_for(threads):
    return set(sorted(os.sched_getaffinity(0))[:threads])


class Times(typing.NamedTuple):
    """One round of one runtime, ms; processor time is that of all its threads, which other programs do not stretch."""

    median: float
    fastest: float
    processor: float


class OctetRunner:
    """`octet bench` is one process per measurement: load, plan, warm up, measure."""

    def __init__(self, octet, engine, threads, cpus):
        self.command = [octet, "bench", str(engine), "--json", "--threads", str(threads)]
        self.cpus = cpus
        self.memory_mib, self.first_result_ms, self.start_ms = None, None, None

    def measure(self, seconds):
        with pinned(self.cpus):
            done = subprocess.run([*self.command, "--seconds", str(seconds)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stderr))
        report = json.loads(done.stdout)
        self.memory_mib = round(report["peak_memory_bytes"] / MIB, 1)
        first = sum(report["start_ms"].values())
        if self.first_result_ms is None or first < self.first_result_ms:
            self.first_result_ms, self.start_ms = round(first, 2), report["start_ms"]
        latency, processor = report["latency_ms"], report["processor_ms"]
        return Times(latency["median"], latency["min"], processor["median"])

    def close(self):
        pass


class PeerRunner:
    """A peer lives in one process that waits between its turns."""

    def __init__(self, runtime, model, threads, cpus, shapes=(), timeout=120):
        self.timeout = timeout
        with pinned(cpus):
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "peer.py"), runtime, str(model), str(threads), *shapes],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            ready = self.read()
        except RuntimeError:
            self.close()
            raise
        self.first_result_ms = round(ready["first_result_ms"], 2)
        self.memory_mib = round(ready["memory_bytes"] / MIB, 1)

    def read(self):
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            raise RuntimeError(f"no answer within {self.timeout} s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with status {self.process.wait()}")
        value = json.loads(line)
        if "error" in value:
            raise RuntimeError(value["error"])
        return value

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        answer = self.read()
        self.memory_mib = round(answer["memory_bytes"] / MIB, 1)
        return Times(answer["ms"], answer["min_ms"], answer["processor_ms"])

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def take_turns(args, runners, failed):
    """The rounds: each runtime measures for a moment, then the next; a failure leaves a reason.

    A runtime whose runs are so long that it has used up `args.patience` seconds takes no further round.
    """
    times, spent = {key: [] for key in runners}, dict.fromkeys(runners, 0.0)
    for _ in range(args.rounds):
        for key in [key for key in runners if key not in failed and spent[key] < args.patience]:
            start = time.monotonic()
            try:
                times[key].append(runners[key].measure(args.seconds))
            except (RuntimeError, OSError) as error:
                failed[key] = str(error)
            spent[key] += time.monotonic() - start
    for runner in runners.values():
        runner.close()
    return {key: values for key, values in times.items() if key not in failed}


def octet_build(program, model, engine, extra):
    """Builds an engine; returns the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([program, "build", str(model), "-o", str(engine), "--quiet", *extra],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr))
    return round(time.monotonic() - start, 2)


def versions(args):
    from importlib import metadata
    octet = subprocess.run([args.octet, "--version"], capture_output=True, text=True)
    found = {"octet": octet.stdout.strip(), "python": platform.python_version()}
    for name in ("onnxruntime", "openvino", "ncnn", "onnx", "numpy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def geomean(values):
    values = [value for value in values if value]
    return round(math.exp(statistics.fmean(map(math.log, values))), 3) if values else None


def add_program_flags(parser):
    parser.add_argument("--octet", required=True, type=program, help="the octet program")
    parser.add_argument("--against", metavar="PROGRAM", type=program, help="an older octet program, in turns with the new one")


def program(path):
    return str(pathlib.Path(path).resolve())


def add_turn_flags(parser):
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="per runtime and round")
    parser.add_argument("--patience", type=float, default=20.0,
                        help="seconds after which a runtime takes no further round of a network [20]")
