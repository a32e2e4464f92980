#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries that misbehave towards the system, not only towards their tensors: octet plugin check ends by itself, with a verdict that they cannot
write, and leaves no process behind. --count N tries as many combinations of misbehavior and moment; --seed makes others."""

import argparse
import json
import os
import random
import subprocess
import sys
import unittest

import harness
from harness import PROGRAM, ROOT
from plugins import plugin
from processes import Tag

MOMENTS = ("load", "entry", "infer", "create", "run", "destroy")
# What is no fault by itself: nothing comes of it.
HARMLESS = ("closes_descriptors", "forges", "blocks_signals", "kills_ancestors", "stops_ancestors", "ends_ancestors", "limits_ancestors",
            "traces_ancestors", "fills_output", "opens_files")
# What a finding says of the rest, as a pattern.
FATAL = {
    "forks": "leaves 1 of its processes behind",
    "forks_twice": "leaves 1 of its processes behind",
    "forks_under_a_reaper": "leaves [12] of its processes behind",
    "forks_many": "starts more than 64 processes",
    "forges_in_memory": "does not give the results that it should have|declares nothing",
    "kills_its_group": "the process dies: Killed",
    "stops_itself": "does not return within 1 s",
    "takes_memory": "takes more than 256 MiB of memory|does not return within 1 s",
    "takes_shared_memory": "takes more than 256 MiB of memory|does not return within 1 s",
    "spins": "does not return within 1 s|processor time",
    "spins_in_threads": "does not return within 1 s|processor time",
    "fills_a_file": "writes a file of more than",
    "exits": "it ends the process with 0",
    "exits_at_once": "it ends the process with 0",
    "aborts": "Aborted|dies",
    "never_returns": "does not return within 1 s",
}
WAIT_SECONDS = 600  # of a run that would never end


def rogue():
    return plugin(ROOT / "tests/plugin_faults/rogue.c", "-pthread")


def check(library, behaviors):
    """What is wrong with how the check of such a library went, and its findings."""
    tag = Tag()
    process = subprocess.Popen(
        [str(PROGRAM), "plugin", "check", str(library), "--seconds", "1", "--threads", "1", "--max-memory", "256M", "--json"],
        env={**os.environ, **tag.env, "OCTET_TEST_ROGUE": ",".join(behaviors)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        tag.end()
        return ["hung"], []
    left = tag.end()
    problems = [f"left {left} processes"] if left else []
    if process.returncode not in (0, 1):
        return [*problems, f"ended with {process.returncode}: {err.decode(errors='replace')[-300:]}"], []
    try:
        result = json.loads(out)
    except ValueError:
        return [*problems, f"printed {out[:200]!r}"], []
    kinds = {behavior.split(":")[1] for behavior in behaviors}
    if kinds & set(FATAL) and result["passed"]:
        problems.append("passed")
    if kinds <= set(HARMLESS) and not result["passed"]:
        problems.append(f"did not pass: {[f for f in result['findings'] if not f['passed']]}")
    return problems, result["findings"]


def combinations(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        moments = rng.sample(MOMENTS, rng.randint(1, 3))
        yield [f"{moment}:{rng.choice((*HARMLESS, *FATAL))}" for moment in moments]


class Rogue(unittest.TestCase):
    def holds(self, *behaviors):
        problems, findings = check(rogue(), behaviors)
        self.assertEqual(problems, [], behaviors)
        return [f["message"] for f in findings if not f["passed"]]

    def test_harmless_all_at_once(self):
        self.holds(*(f"run:{name}" for name in HARMLESS if name != "opens_files"), "destroy:opens_files")
        self.holds("load:closes_descriptors", "entry:forges", "infer:kills_ancestors", "create:blocks_signals")

    def test_a_verdict_cannot_be_written(self):
        for moment in ("load", "run"):
            with self.subTest(moment):
                self.assertRegex("\n".join(self.holds(f"{moment}:forges_in_memory")), FATAL["forges_in_memory"])

    def test_a_sample_of_combinations(self):
        for behaviors in combinations(1, 6):
            with self.subTest(behaviors):
                self.holds(*behaviors)


def finds(behavior, words):
    def test(self):
        moment = "load" if behavior in ("exits_at_once", "never_returns", "spins_in_threads") else "create"
        self.assertRegex("\n".join(self.holds(f"{moment}:{behavior}")), words)
    return test


for behavior_, words_ in FATAL.items():
    if behavior_ != "forges_in_memory":
        setattr(Rogue, f"test_finds_{behavior_}", finds(behavior_, words_))


def try_many(count, seed):
    problems = 0
    for behaviors in combinations(seed, count):
        for problem in check(rogue(), behaviors)[0]:
            print(f"{','.join(behaviors)}: {problem}", file=sys.stderr, flush=True)
            problems += 1
    print(f"{count} combinations, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options, _ = parser.parse_known_args()
    if options.count:
        sys.exit(try_many(options.count, options.seed))
    harness.main()
