#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared hostile models through `octet build`, and what builds through one run, each in a process of its own with
little address space and processor time (promises P1, P2 and P3). --json prints the counts as one object."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

from harness import PROGRAM, SHARED, emulated_gpu, scratch

GENERATOR = SHARED / "hostile/make_hostile_models.py"
# Of processor time, so that a busy machine makes no difference; a process that waits for nothing meets the second.
SECONDS = 30
WAIT_SECONDS = 120
ADDRESS_SPACE = 6 << 30
MAX_MEMORY = 2 << 30
# What a process needs beside what it counts: its code and libraries.
OVERHEAD = 64 << 20
BAD_INPUT = 2

# Not malformed: legal ONNX whose oddity inference survives. Everything else that is accepted is listed as a fault.
LEGAL = {
    "i06_nested_if_20": "20 branches within branches are within the limit of 64",
    "i46_q_scale_denorm": "a denormal scale is a number; the build warns",
    "i50_name_bad_utf8": "names are bytes; they are escaped wherever they are shown",
    "i50_name_hostile": "names are bytes; they are escaped wherever they are shown",
    "i51_nodes_200k": "many nodes are no fault",
    "i54_nan_weights": "NaN is a float; the build warns and calibration refuses it",
}


class Outcome:
    """How one command ended: its exit code, whether it hung, its peak memory and its errors."""

    def __init__(self, arguments, folder, variables=None):
        # An emulated GPU takes the time of one that is not there.
        seconds = SECONDS if variables is None else 2 * SECONDS
        self.hung = False
        self.reports = "check" in arguments  # its list of problems is its output
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [str(a) for a in arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, **(variables or {})},
                preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
                                    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1)),
                                    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))))
            deadline = time.monotonic() + WAIT_SECONDS
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline and not self.hung:
                    self.hung = True
                    process.kill()
                time.sleep(0.002)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.code = process.returncode
            self.hung = self.hung or self.code == -signal.SIGXCPU
            self.peak = usage.ru_maxrss * 1024
            errors.seek(0)
            self.errors = errors.read().decode(errors="replace")

    @property
    def died(self):
        return not self.hung and self.code not in (0, BAD_INPUT)

    @property
    def overran(self):
        return self.peak > 1.1 * MAX_MEMORY + OVERHEAD

    @property
    def is_clear(self):
        """One error line, and no bug of ours."""
        lines = [line for line in self.errors.splitlines() if line.startswith("error: ")]
        return "this is a bug in Octet" not in self.errors and (self.code == 0 or self.reports or len(lines) == 1)


def generate(folder):
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([python, GENERATOR, folder], capture_output=True, check=False)
        if done.returncode == 0:
            return sorted(pathlib.Path(folder).glob("*.onnx"))
    return []


def run_on_gpu(engine, folder):
    """The outcome of one run on the emulated GPU, in a list; of none where that was not built."""
    gpu = emulated_gpu()
    if gpu is None:
        return []
    room = {"OCTET_EMULATED_MEMORY_MB": "512", "OCTET_KERNEL_CACHE": str(scratch() / "kernels")}
    return [Outcome([PROGRAM, "bench", engine, "--device", "cuda", "--seconds", 0, "--warmup", 0, "--max-memory", MAX_MEMORY], folder,
                    {**gpu, **room})]


def run_model(model, folder, run=True, gpu=True):
    """The outcomes of build, of check and, where build succeeds, of one run on the CPU and one on the GPU; and what was written that nobody
    named."""
    engine = folder / "out.octet"
    outcomes = [Outcome([PROGRAM, "build", model, "-o", engine, "--quiet", "--max-memory", MAX_MEMORY], folder)]
    outcomes.append(Outcome([PROGRAM, "check", model, "--max-memory", MAX_MEMORY], folder))
    left = sorted(p.name for p in folder.iterdir() if p != engine)
    if outcomes[0].code == 0 and run:
        outcomes.append(Outcome([PROGRAM, "bench", engine, "--seconds", 0, "--warmup", 0, "--max-memory", MAX_MEMORY],
                                folder))
        outcomes += run_on_gpu(engine, folder) if gpu else []
    if outcomes[0].code == 0:
        engine.unlink()
    elif engine.exists():
        left.append(engine.name)
        engine.unlink()
    return outcomes, left


def counts(models):
    result = {"models": len(models), "signals": 0, "hangs": 0, "overruns": 0, "malformed_accepted": []}
    problems = []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            outcomes, left = run_model(model, pathlib.Path(folder))
        name = model.stem
        result["signals"] += any(o.died for o in outcomes)
        result["hangs"] += any(o.hung for o in outcomes)
        result["overruns"] += any(o.overran for o in outcomes)
        accepted = all(o.code == 0 for o in outcomes if not o.reports)
        if accepted and name not in LEGAL and not name.startswith("valid_"):
            result["malformed_accepted"].append(name)
        if not accepted and (name in LEGAL or name.startswith("valid_")):
            problems.append(f"{name} is legal and was refused: {outcomes[-1].errors.strip()}")
        for o in outcomes:
            if o.died or o.hung or o.overran or not o.is_clear:
                ending = "hung" if o.hung else f"ended with {o.code}"
                if o.code < 0 and not o.hung:
                    ending += f" ({signal.Signals(-o.code).name})"
                problems.append(f"{name} {ending}, {o.peak >> 20} MiB: {o.errors.strip()[:300]}")
        problems += [f"{name} left {file} behind" for file in left]
    return result, problems


def main():
    if not GENERATOR.exists():
        print(f"skipped: {GENERATOR} is absent")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        models = generate(folder)
        if not models:
            print("skipped: no Python with the packages onnx and numpy")
            return 77
        result, problems = counts(models)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(json.dumps(result))
    return 1 if problems or result["malformed_accepted"] else 0


if __name__ == "__main__":
    sys.exit(main())
