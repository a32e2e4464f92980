#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of ctest skipped: whole tests, and single cases of gtest's programs and of Python's suites, each with its reason. tests/skips.txt
lists what may be skipped, and why: --strict fails on any other, so that a tool that is missing in CI is seen.

usage: skips.py [--strict] REPORT...    reports as `ctest --output-junit REPORT --test-output-size-passed BYTES` writes them"""

import argparse
import dataclasses
import fnmatch
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/skips.txt"
GTEST = re.compile(r"^\[ RUN      \] (?P<case>\S+)\n(?P<output>(?:(?!\[ RUN ).*\n)*?)\[  SKIPPED \] (?P=case)", re.M)
PYTHON = re.compile(r"^skipped (?P<case>\w+ \([^)]*\)(?: [\[(].*?[\])])*): (?P<reason>.*)$", re.M)
# What a program prints that ran nothing, and the words of harness.py after the skips themselves.
PROGRAM = re.compile(r"^skipped: (?P<reason>.*)$", re.M)


@dataclasses.dataclass(frozen=True)
class Skip:
    test: str
    case: str
    reason: str

    def __str__(self):
        return f"{self.test}{':' + self.case if self.case else ''}: {self.reason}"


@dataclasses.dataclass
class Allowed:
    test: str
    reason: re.Pattern
    when: str
    line: int

    def covers(self, skip):
        return fnmatch.fnmatchcase(skip.test, self.test) and self.reason.search(skip.reason) and CONDITIONS[self.when](skip)


CONDITIONS = {
    "always": lambda skip: True,
    "no shared": lambda skip: not (ROOT.parent / "shared/models").is_dir(),
    "no gpu": lambda skip: not pathlib.Path("/dev/nvidiactl").exists(),
    "gpu": lambda skip: pathlib.Path("/dev/nvidiactl").exists(),
    "root": lambda skip: os.geteuid() == 0,
    "not root": lambda skip: os.geteuid() != 0,
}


def gtest_reason(output):
    """The words after `file:line: Skipped`."""
    lines = output.splitlines()
    at = next((i for i, line in enumerate(lines) if re.search(r":\d+: Skipped$", line)), None)
    words = " ".join(line for line in lines[at + 1:] if line.strip()) if at is not None else ""
    return words or "no reason"


def skips_of(report):
    """Every skip of one of ctest's reports."""
    for test in xml.etree.ElementTree.fromstring(report).iter("testcase"):
        name, output = test.get("name"), test.findtext("system-out") or ""
        found = [Skip(name, case["case"], gtest_reason(case["output"])) for case in GTEST.finditer(output)]
        found += [Skip(name, case["case"], case["reason"]) for case in PYTHON.finditer(output)]
        if not found and test.find("skipped") is not None:
            last = PROGRAM.findall(output) or [line for line in output.splitlines() if line.strip()][-1:]
            found = [Skip(name, "", last[-1] if last else "no reason")]
        yield from found


def allowed():
    """The lines of tests/skips.txt: TEST | REASON | WHEN | WHY."""
    found = []
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" | ")]
        if len(fields) != 4 or not all(fields) or fields[2] not in CONDITIONS:
            raise SystemExit(f"{LIST.name}:{number}: expected TEST | REASON | WHEN | WHY, with WHEN one of {', '.join(CONDITIONS)}")
        found.append(Allowed(fields[0], re.compile(fields[1]), fields[2], number))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true", help="fail on a skip that tests/skips.txt does not list")
    parser.add_argument("reports", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    listed, skips = allowed(), [skip for report in args.reports for skip in skips_of(report.read_bytes())]
    surprises = [skip for skip in skips if not any(entry.covers(skip) for entry in listed)]
    # One reason a line: hundreds of cases may share it.
    groups = {}
    for skip in skips:
        groups.setdefault((skip.test, skip.reason), []).append(skip.case)
    for (test, reason), cases in sorted(groups.items()):
        print(f"skipped {test}{f' ({len(cases)} cases)' if any(cases) else ''}: {reason}")
    for skip in surprises:
        print(f"{'error' if args.strict else 'warning'}: not in tests/skips.txt: {skip}")
    print(f"{len(skips)} skips, {len(surprises)} that nobody expects")
    return 1 if surprises and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
