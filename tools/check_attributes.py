#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attributes are read and written as members of a struct (docs/adr/0033): attribute_of<&ConvAttributes::group>(node). Their names stand in that struct, and in what an operator's
`parse` does with ONNX's form; a name in quotes, or one that comes as an argument, is a second reading anywhere else. A constant (kName) stands once, and is none."""

import pathlib
import re
import sys

from cpp_functions import code_of, functions
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The maps themselves, ONNX's files on both ways, and plugins, whose attributes their own declarations name.
FREE = ("src/graph/", "src/onnx/", "src/plugin/", "src/ops/shared/node_parser.cc")
TEST = re.compile(r"(_test\.cc|test\w*\.h|_case\.h)$")
NO_CONSTANT = r"\((?!\s*(?:std::string\()?k[A-Z])"
BY_NAME = re.compile(r"attrs(?:\(\))?\s*\.\s*(?:i|f|s|ints|floats|tensor|graph|find|has|set|erase)" + NO_CONSTANT)
OF_ANOTHER_NAME = re.compile(r"\bAttrs (\w+);")


def uses(code):
    found = len(BY_NAME.findall(code))
    for name in {name for name in OF_ANOTHER_NAME.findall(code) if not name.endswith("attrs")}:
        found += len(re.findall(rf"\b{name}\.(?:set|erase)" + NO_CONSTANT, code))
    return found


def in_parse(text):
    """Functions that are handed a NodeParser see ONNX's form."""
    return sum(uses(function.body) for function in functions(text) if "NodeParser&" in function.head)


def counted(name, text):
    if name.startswith(FREE) or TEST.search(name):
        return 0
    return uses(code_of(text)) - (in_parse(text) if name.startswith("src/ops/") else 0)


def main():
    problems = []
    for path in sorted([*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h")]):
        name = path.relative_to(ROOT).as_posix()
        if found := counted(name, path.read_text()):
            problems.append(f"{name}: {found} attributes by name; a struct of src/ops/attributes/ or of the operator's own file has them as members (src/graph/attributes.h)")
    structs = sum(len(re.findall(r"^struct \w+Attributes\b", path.read_text(), re.M)) for path in ROOT.glob("src/ops/**/*") if path.suffix in (".h", ".cc"))
    return verdict(problems, f"{structs} structs", structs)


if __name__ == "__main__":
    sys.exit(main())
