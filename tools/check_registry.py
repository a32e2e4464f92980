#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lists in plain sight match the tree: ops.def lists every operator that src/ops defines, and lowerings.def
every lowering of its folder. A file that nobody lists would compile and never run."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def entries(def_file, macro):
    text = re.sub(r"//.*", "", def_file.read_text())
    return [m.group(1) for m in re.finditer(rf"\b{macro}\(\s*(\w+)", text)]


def defined(folder, pattern):
    found = {}
    for path in sorted(folder.rglob("*.cc")):
        if path.name.endswith("_test.cc"):
            continue
        for match in re.finditer(pattern, path.read_text(), re.M):
            found.setdefault(match.group(1), path)
    return found


def compare(def_file, listed, found, what):
    name = def_file.relative_to(ROOT)
    problems = []
    for entry in sorted(set(listed) - set(found)):
        problems.append(f"{name}: {entry} is listed, but no file of {def_file.parent.relative_to(ROOT)} defines it")
    for entry in sorted(set(found) - set(listed)):
        problems.append(f"{found[entry].relative_to(ROOT)}: defines {what} {entry}, which {name} does not list")
    return problems


def check_lowerings(def_file, operators):
    """LOWERING("Operator", function): one function may serve several operators."""
    text = re.sub(r"//.*", "", def_file.read_text())
    lines = re.findall(r"\bLOWERING\(\s*\"(\w+)\",\s*(\w+)\s*\)", text)
    found = defined(def_file.parent, r"^Offer (\w+)\(const LowerRequest& \w+\) \{")
    problems = compare(def_file, [function for _, function in lines], found, "lowering")
    name = def_file.relative_to(ROOT)
    problems += [f"{name}: there is no operator {op}" for op, _ in lines if op not in operators]
    problems += [f"{name}: {line} is listed twice" for line in sorted(set(lines)) if lines.count(line) > 1]
    return problems, len(found)


def main():
    ops = ROOT / "src/ops/ops.def"
    listed, operators = entries(ops, "OP"), defined(ops.parent, r"\bOpDef k([A-Z]\w*)\s*[{=]")
    problems = compare(ops, listed, operators, "operator")
    problems += [f"src/ops/ops.def: {entry} is listed twice" for entry in sorted(set(listed)) if listed.count(entry) > 1]
    lowerings = 0
    for def_file in sorted(ROOT.glob("src/backends/*/lower/lowerings.def")):
        more, count = check_lowerings(def_file, operators)
        problems += more
        lowerings += count
    for problem in problems:
        print(problem)
    print(f"{len(operators)} operators, {lowerings} lowerings, {len(problems)} problems")
    return 1 if problems or not operators or not lowerings else 0


if __name__ == "__main__":
    sys.exit(main())
