#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Five hundred generated hostile files: no command hangs, dies by a signal, takes more memory than --max-memory allows or leaves a
temporary file, and what is malformed is refused in words that name file and node or tensor. --all runs every case, else every
third of those that may be heavy; --seed N makes others."""

import argparse
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile

import generate
from case import ACCEPTED, REFUSED, Case
from files import ENGINE
from harness import PROGRAM, digits_engine

SECONDS = 10  # of processor time
WAIT_SECONDS = 600  # of a process that waits for nothing it should wait for
MIB = 1 << 20
LIMITS = (64 * MIB, 256 * MIB, 1024 * MIB)
BESIDE = 64 * MIB  # the process itself


def run(arguments, folder, variables=None):
    """Exit code (negative: the signal), peak resident memory, processor time, and what it printed."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(WAIT_SECONDS)

    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(a) for a in arguments], cwd=folder, stdout=out, stderr=out, preexec_fn=prepare,
                                   env={**os.environ, **(variables or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        seconds = usage.ru_utime + usage.ru_stime
        return process.returncode, usage.ru_maxrss * 1024, seconds, out.read().decode(errors="replace")


class Checker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.problems = []
        self.seconds = {}  # of processor time, by case

    def problem(self, case, arguments, what, text=""):
        words = " ".join(str(a) for a in arguments)
        self.problems.append(f"{case.name}: octet {words}: {what}{': ' if text else ''}{text.strip()[-300:]}")

    def command(self, case, arguments, folder):
        """Runs it, notes what no file may do, and returns whether it was accepted."""
        limit = self.rng.choice(LIMITS)
        whole = [*arguments, "--max-memory", str(limit)]
        code, peak, seconds, text = run([PROGRAM, *whole], folder)
        self.seconds[case.name] = self.seconds.get(case.name, 0) + seconds
        if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM):
            self.problem(case, whole, "hung")
        elif code not in (0, 2):
            self.problem(case, whole, f"ended with {code}", text)
        if peak > 1.1 * limit + BESIDE:
            self.problem(case, whole, f"took {peak // MIB} MiB of {limit // MIB}")
        if "this is a bug in Octet" in text:
            self.problem(case, whole, "a bug", text)
        if code == 2 and arguments in case.commands:
            self.check_words(case, whole, text)
        return code == 0

    def check_words(self, case, arguments, text):
        if case.verdict == ACCEPTED:
            self.problem(case, arguments, "refused", text)
        if not any(name in text for name in (*case.files, "out.octet")):
            self.problem(case, arguments, "the error names no file", text)
        for word in case.words:
            if word not in text:
                self.problem(case, arguments, f"the error does not name {word}", text)

    def check(self, case, folder):
        before = {p.name for p in folder.iterdir()}
        for arguments in case.commands:
            accepted = self.command(case, arguments, folder)
            if accepted and case.verdict == REFUSED:
                self.problem(case, arguments, "accepted")
            if accepted and case.run and "build" in arguments:
                self.command(case, ["bench", "out.octet", "--seconds", "0", "--warmup", "0"], folder)
        left = {p.name for p in folder.iterdir()} - before - {"out.octet"}
        if left:
            self.problem(case, case.commands[-1], f"left {sorted(left)}")


def generated(folder, engine, seed):
    """The cases that were written there, those that must be refused first. By another process: what a process ever took counts for
    those that it starts, too."""
    script = pathlib.Path(generate.__file__)
    subprocess.run([sys.executable, script, folder, "--seed", str(seed), "--engine", engine], check=True)
    cases = []
    for place in sorted(folder.iterdir()):
        (place / ENGINE).symlink_to(engine)
        cases.append((Case(**json.loads((place / generate.FACTS).read_text())), place))
    return sorted(cases, key=lambda entry: entry[0].verdict != REFUSED)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=generate.SEED)
    parser.add_argument("--only", default="", help="cases whose names begin so")
    options = parser.parse_args()
    checker = Checker(options.seed)
    with tempfile.TemporaryDirectory() as name:
        cases = generated(pathlib.Path(name), digits_engine(), options.seed)
        chosen = [entry for i, entry in enumerate(cases) if options.all or entry[0].verdict == REFUSED or i % 3 == 0]
        for case, place in chosen:
            if case.name.startswith(options.only):
                checker.check(case, place)
    for problem in checker.problems:
        print(problem, file=sys.stderr)
    slowest = sorted(checker.seconds, key=checker.seconds.get)[-5:]
    print("slowest:", ", ".join(f"{name} {checker.seconds[name]:.1f} s" for name in reversed(slowest)))
    print(f"{len(chosen)} of {len(cases)} cases, {sum(checker.seconds.values()):.0f} s, {len(checker.problems)} problems")
    return 1 if checker.problems or len(cases) < generate.COUNT else 0


if __name__ == "__main__":
    sys.exit(main())
