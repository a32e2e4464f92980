#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lists in plain sight match the tree: ops.def lists every operator that src/ops defines, lowerings.def
every lowering of its folder, and backends.def every folder that has devices. A file that nobody lists would compile and never run.
And there are no other lists: what is known of operators is a trait in the operator's file (docs/adr/0014). A pass may ask
for one operator by name; elsewhere a name only says what is made (find_op)."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent


def entries(def_file, macro):
    text = code_of(def_file.read_text())
    return [m.group(1) for m in re.finditer(rf"\b{macro}\(\s*(\w+)", text)]


def defined(folder, pattern):
    found = {}
    for path in sorted(folder.rglob("*.cc")):
        if path.name.endswith("_test.cc"):
            continue
        for match in re.finditer(pattern, code_of(path.read_text()), re.M):
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
    """LOWERING("Operator", function, "kernels for f32"): one function may serve several operators. CHAIN("name", find, offer), or FORKED_CHAIN, in chains.def."""
    text = code_of(def_file.read_text())
    lines = re.findall(r"\bLOWERING\(\s*\"(\w+)\",\s*(\w+),\s*\"[^\"]*\"\s*\)", text)
    found = defined(def_file.parent.parent, r"^Offer (\w+)\(const LowerRequest& \w+\) \{")
    chains_file = def_file.with_name("chains.def")
    chains = re.findall(r"^(?:FORKED_)?CHAIN\(\"\w+\",\s*\w+,\s*(\w+)\)", code_of(chains_file.read_text()), re.M) if chains_file.exists() else []
    problems = compare(def_file, [function for _, function in lines] + chains, found, "lowering")
    name = def_file.relative_to(ROOT)
    problems += [f"{name}: there is no operator {op}" for op, _ in lines if op not in operators]
    problems += [f"{name}: {line} is listed twice" for line in sorted(set(lines)) if lines.count(line) > 1]
    return problems, len(found)


def check_kinds(def_file, macro, operators):
    """KIND("Operator", function): TensorRT's names of layers; GROWING("Operator", ...): what a plan for many lengths makes of it."""
    listed = re.findall(rf"^{macro}\(\"(\w+)\",", code_of(def_file.read_text()), re.M)
    name = def_file.relative_to(ROOT)
    problems = [f"{name}: there is no operator {op}" for op in listed if op not in operators]
    return problems + [f"{name}: {op} is listed twice" for op in sorted(set(listed)) if listed.count(op) > 1]


MATCHING = ("src/passes/", "src/precision/")  # folders that match operators by name
# By operator, by lowering, by the names of a foreign format.
LISTING = ("src/ops/", "src/backends/", "src/onnx/", "src/inspect/tensorrt/")


def named_in(statement, operators):
    """Operators whose names a statement holds, those aside of which it makes nodes."""
    statement = re.sub(r"\bfind_op\(\"\w+\"\)", "", statement)
    return {name for name in re.findall(r"\"(\w+)\"", statement) if name in operators}


def check_names(path, operators):
    name = str(path.relative_to(ROOT))
    text = code_of(path.read_text())
    problems = [f"{name}: compares op->name; ask is_op() in a pass, else a trait" for _ in re.findall(r"op->name\s*[=!]=\s*\"", text)]
    allowed = 1 if name.startswith(MATCHING) else 0
    for statement in text.split(";"):
        found = named_in(statement, operators)
        if len(found) > allowed:
            problems.append(f"{name}: names {', '.join(sorted(found))} at once; this is a trait (src/graph/op_traits.h)")
    return problems


def check_side_lists(operators):
    problems = []
    for folder in ("src", "cli", "tensorrt/trtexec"):
        for path in sorted((ROOT / folder).rglob("*")):
            listing = str(path.relative_to(ROOT)).startswith(LISTING) or re.search(r"_test(ing)?\.", path.name)
            if path.suffix in (".cc", ".h") and not listing:
                problems += check_names(path, operators)
    return problems


def main():
    ops = ROOT / "src/ops/ops.def"
    listed, operators = entries(ops, "OP"), defined(ops.parent, r"\bOpDef k([A-Z]\w*)\s*[{=]")
    problems = compare(ops, listed, operators, "operator")
    problems += [f"src/ops/ops.def: {entry} is listed twice" for entry in sorted(set(listed)) if listed.count(entry) > 1]
    problems += check_side_lists(operators)
    problems += check_kinds(ROOT / "src/inspect/tensorrt/kinds.def", "KIND", operators)
    problems += check_kinds(ROOT / "src/plan/growing.def", "GROWING", operators)
    backends = ROOT / "src/backends/backends.def"
    problems += compare(backends, entries(backends, "BACKEND"),
                        defined(backends.parent, r"^const Device\* find_(\w+)_device\(std::string_view \w+\) \{"), "devices of")
    lowerings = 0
    for def_file in sorted(ROOT.glob("src/backends/*/lower/lowerings.def")):
        more, count = check_lowerings(def_file, operators)
        problems += more
        lowerings += count
    return verdict(problems, f"{len(operators)} operators, {lowerings} lowerings", operators and lowerings)


if __name__ == "__main__":
    sys.exit(main())
