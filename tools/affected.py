#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which of a build's tests changed files can break, by ninja's graph: the unit tests whose program is made of a file (headers count), and
suites that are a changed script themselves. The nearest come first: those of the file's own folder, then those that take the least time. Ninja knows what a
program is made of once it was built; before that, every test is affected.

usage: affected.py [--build FOLDER] [--seconds N] FILE...

Prints `run TEST TARGET` for tests until the N seconds that they took last are spent, and `left TEST SECONDS` for the others."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNKNOWN_SECONDS = 5.0  # of a test that has not run in this build


def said(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def names_of(build, changed):
    """The changed files as ninja may call them."""
    return {name for file in changed for name in (str(ROOT / file), os.path.relpath(ROOT / file, build))}


def objects_of(build, names):
    """Objects that were made of one of the files, as ninja's log of dependencies has it."""
    found, current = set(), ""
    for line in said("ninja", "-C", build, "-t", "deps").splitlines():
        if line[:1].strip():
            current = line.partition(": ")[0]
        elif line.strip() in names:
            found.add(current)
    return found


class Test:
    def __init__(self, entry, build):
        self.name, self.command = entry["name"], entry.get("command", [])
        labels = [p["value"] for p in entry.get("properties", []) if p["name"] == "LABELS"]
        self.labels = set(labels[0]) if labels else set()
        program = pathlib.Path(self.command[0]) if self.command else None
        self.target = str(program.relative_to(build)) if program and program.is_relative_to(build) else ""


def tests_of(build):
    return [Test(entry, build) for entry in json.loads(said("ctest", "--test-dir", build, "--show-only=json-v1"))["tests"]]


def seconds_of(build):
    """What each test took, by ctest's own notes."""
    notes = build / "Testing/Temporary/CTestCostData.txt"
    lines = notes.read_text().splitlines() if notes.exists() else []
    return {name: float(seconds) for name, runs, seconds in re.findall(r"^(\S+) (\d+) ([\d.]+)$", "\n".join(lines), re.M) if runs != "0"}


def affected(build, changed):
    names, programs, found = names_of(build, changed), {}, []
    pieces = names | objects_of(build, names)
    for test in tests_of(build):
        if "proof" in test.labels:
            continue  # of minutes: ./dev prove
        if names & set(test.command[1:2]):
            found.append(test)
        elif "unit" in test.labels and test.target:
            if test.target not in programs:
                programs[test.target] = not pieces.isdisjoint(said("ninja", "-C", build, "-t", "inputs", test.target).splitlines())
            if programs[test.target]:
                found.append(test)
    return found


def is_near(test, changed):
    """A test of a changed file's own folder, such as `ops` of src/ops/, or the changed script itself."""
    folders = {"/".join(file.split("/")[1:-1]) for file in changed}
    return any((folder + "/").startswith(test.name.replace(".", "/") + "/") for folder in folders) or "unit" not in test.labels


def chosen(tests, changed, took, budget):
    """(to run, left), the nearest and quickest first; what is near is run whatever it takes."""
    order = sorted(tests, key=lambda test: (not is_near(test, changed), took.get(test.name, UNKNOWN_SECONDS), test.name))
    run, left, spent = [], [], 0.0
    for test in order:
        seconds = took.get(test.name, UNKNOWN_SECONDS)
        if budget and spent + seconds > budget and not is_near(test, changed):
            left.append((test, seconds))
        else:
            spent += seconds
            run.append(test)
    return run, left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=0, help="0: all of them")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    build, changed = args.build.resolve(), set(args.files)
    run, left = chosen(affected(build, changed), changed, seconds_of(build), args.seconds)
    for test in run:
        print("run", test.name, test.target or "-")
    for test, seconds in left:
        print("left", test.name, f"{seconds:.0f}")


if __name__ == "__main__":
    sys.exit(main())
