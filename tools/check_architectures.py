#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What generations of NVIDIA's chips can do is data of src/backends/cuda/arch/ (docs/adr/0027): elsewhere the CUDA backend names no target, compares no compute
capability and has no cost of its own, and every term of costs.def is read by some estimate."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA = ROOT / "src/backends/cuda"
ARCH = CUDA / "arch"
# What it finds, and what to do instead.
FORBIDDEN = (
    (r"\b(sm|compute)_\d", "names a target; ask the chip for an instruction (chip.has())"),
    (r"\bcapability(\(\))?\s*(\.number\(\)\s*)?([<>]|[=!]=)", "compares a compute capability; ask the chip for an instruction (chip.has())"),
    (r"\bArchitectureId::", "asks for one architecture; ask the chip for an instruction, a limit or a cost"),
    (r"constexpr f64 k\w*(Cycles|Rate|Share|Apart|Beside|Alone)\w*\s*=", "has a cost of its own; it is a row of arch/costs.csv"),
)
TERM = re.compile(r"^COST\((\w+), (\w+),", re.M)


def sources():
    for path in sorted(CUDA.rglob("*")):
        if path.suffix in (".cc", ".h") and ARCH not in path.parents and not path.name.endswith("_test.cc"):
            yield path, code_of(path.read_text())


def main():
    problems, all_text = [], ""
    for path, text in sources():
        all_text += text
        for number, line in enumerate(text.split("\n"), 1):
            problems += [f"{path.relative_to(ROOT)}:{number}: {what}" for pattern, what in FORBIDDEN if re.search(pattern, line)]
    terms = [f"{family}_{term}" for family, term in TERM.findall(code_of((ARCH / "costs.def").read_text()))]
    problems += [f"src/backends/cuda/arch/costs.def: no estimate reads {term}" for term in terms if not re.search(rf"\b{term}\b", all_text)]
    problems += [f"src/backends/cuda/arch/costs.def: {term} is there twice" for term in sorted(set(terms)) if terms.count(term) > 1]
    return verdict(problems, f"{len(terms)} terms", terms)


if __name__ == "__main__":
    sys.exit(main())
