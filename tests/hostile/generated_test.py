#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Five hundred generated hostile files: no command hangs, dies by a signal, takes more memory than --max-memory allows or leaves a
temporary file, and what is malformed is refused in words that name file and node or tensor. --all runs every case, else every
third of those that may be heavy; --seed N makes others."""

import argparse
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile

import generate
from case import ACCEPTED, REFUSED
from files import ENGINE
from harness import PROGRAM, digits_engine

SECONDS = 10  # of processor time
WAIT_SECONDS = 600  # of a process that waits for nothing it should wait for
MIB = 1 << 20
LIMITS = (64 * MIB, 256 * MIB, 1024 * MIB)
BESIDE = 64 * MIB  # the process itself


def run(arguments, folder):
    """Exit code (negative: the signal), peak resident memory, and what it printed."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(WAIT_SECONDS)

    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(a) for a in arguments], cwd=folder, stdout=out, stderr=out, preexec_fn=prepare)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return process.returncode, usage.ru_maxrss * 1024, out.read().decode(errors="replace")


class Checker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.problems = []

    def problem(self, case, arguments, what, text=""):
        words = " ".join(str(a) for a in arguments)
        self.problems.append(f"{case.name}: octet {words}: {what}{': ' if text else ''}{text.strip()[-300:]}")

    def command(self, case, arguments, folder):
        """Runs it, notes what no file may do, and returns whether it was accepted."""
        limit = self.rng.choice(LIMITS)
        whole = [*arguments, "--max-memory", str(limit)]
        code, peak, text = run([PROGRAM, *whole], folder)
        if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM):
            self.problem(case, whole, "hung")
        elif code not in (0, 2):
            self.problem(case, whole, f"ended with {code}", text)
        if peak > 1.1 * limit + BESIDE:
            self.problem(case, whole, f"took {peak // MIB} MiB of {limit // MIB}")
        if "this is a bug in Octet" in text:
            self.problem(case, whole, "a bug", text)
        if code == 2:
            self.check_words(case, whole, text)
        return code == 0

    def check_words(self, case, arguments, text):
        if case.verdict == ACCEPTED:
            self.problem(case, arguments, "refused", text)
        read = next(name for a in arguments for name in case.files if name == a)
        for word in (read, *case.words):
            if word not in text:
                self.problem(case, arguments, f"the error does not name {word}", text)

    def check(self, case, engine):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / ENGINE).symlink_to(engine)
            for file, data in case.files.items():
                (folder / file).write_bytes(data)
            before = set(folder.iterdir())
            for arguments in case.commands:
                accepted = self.command(case, arguments, folder)
                if accepted and case.verdict == REFUSED:
                    self.problem(case, arguments, "accepted")
                if accepted and case.run and "build" in arguments:
                    self.command(case, ["bench", "out.octet", "--seconds", "0", "--warmup", "0"], folder)
            left = {p.name for p in folder.iterdir()} - {p.name for p in before} - {"out.octet"}
            if left:
                self.problem(case, case.commands[-1], f"left {sorted(left)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=generate.SEED)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    engine = digits_engine()
    cases = [c for c in generate.cases(options.seed, engine.read_bytes()) if c.name.startswith(options.only)]
    chosen = [c for i, c in enumerate(cases) if options.all or c.verdict == REFUSED or i % 3 == 0]
    checker = Checker(options.seed)
    for case in chosen:
        checker.check(case, engine)
    for problem in checker.problems:
        print(problem, file=sys.stderr)
    print(f"{len(chosen)} of {len(cases)} cases, {len(checker.problems)} problems")
    return 1 if checker.problems or len(cases) < generate.COUNT and not options.only else 0


if __name__ == "__main__":
    sys.exit(main())
