#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the stages of .ci/run took beside their budgets, which are the table of CONTRIBUTING.md. It warns: another machine takes other times, and
caches are cold or warm; who adds minutes takes as many away.

usage: budget.py FILE, of lines STAGE SECONDS"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) \|", re.M)


def budgets(text):
    """Stage -> minutes, in the order of the table."""
    table = text.partition("## The minutes of CI")[2].partition("\n## ")[0]
    return {stage: int(minutes) for stage, minutes in ROW.findall(table)}


def taken(text):
    """Stage -> seconds; a stage may come in several pieces."""
    found = {}
    for line in text.splitlines():
        stage, seconds = line.split()
        found[stage] = found.get(stage, 0) + int(seconds)
    return found


def report(allowed, seconds):
    lines = [f"{'stage':18} minutes  budget"]
    for stage in [*allowed, *sorted(seconds.keys() - allowed.keys())]:
        took, budget = seconds.get(stage), allowed.get(stage)
        over = "  over its budget" if took is not None and (budget is None or took > 60 * budget) else ""
        lines.append(f"{stage:18} {'not run' if took is None else f'{took / 60:7.1f}'}  {'none' if budget is None else budget:>6}{over}")
    total = sum(seconds.values())
    lines.append(f"{'in all':18} {total / 60:7.1f}  {sum(allowed.values()):>6}{'  over the budget' if total > 60 * sum(allowed.values()) else ''}")
    return lines


def main():
    print("\n".join(["", *report(budgets((ROOT / "CONTRIBUTING.md").read_text()), taken(pathlib.Path(sys.argv[1]).read_text()))]))


if __name__ == "__main__":
    main()
