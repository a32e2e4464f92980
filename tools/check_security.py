#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests that SECURITY.md names exist: `Suite.Test`, `.Test` of the suite named last in the line, and a * at the end for
any rest."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFINED = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
NAMED = re.compile(r"`((?:[A-Z]\w*)?\.(?:\w+\*?|\*))`")
NOT_TESTS = re.compile(r"\.(?:md|cc|h|py|np[yz])$")


def main():
    tests = set()
    for path in ROOT.glob("*/**/*_test.cc"):
        if "build" not in path.relative_to(ROOT).parts:
            tests |= {f"{suite}.{name}" for suite, name in DEFINED.findall(code_of(path.read_text()))}
    problems, count = [], 0
    for number, line in enumerate((ROOT / "SECURITY.md").read_text().splitlines(), 1):
        suite = ""
        for name in NAMED.findall(line):
            if NOT_TESTS.search(name):
                continue
            count += 1
            head, tail = name.split(".", 1)
            suite = head or suite
            wanted = f"{suite}.{tail}"
            found = wanted in tests or (tail.endswith("*") and any(t.startswith(wanted[:-1]) for t in tests))
            if not found:
                problems.append(f"SECURITY.md:{number}: there is no test {wanted}")
    return verdict(problems, f"{count} tests named")


if __name__ == "__main__":
    sys.exit(main())
