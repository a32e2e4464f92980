#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What has grown: files over 400 lines of code, functions over 40, of a kernel's file over 120. It warns and forbids nothing: code is cut
where a thing ends, and a number does not know where that is."""

import sys

from cpp_functions import ROOT, code_lines, functions, sources

FILE_LINES, FUNCTION_LINES, KERNEL_LINES = 400, 40, 120


def budget_of(name):
    return KERNEL_LINES if "/kernels/" in name or "/families/" in name else FUNCTION_LINES


def measured():
    """(what, lines, budget) of every file, and of every function outside of tests."""
    for path in sources():
        name, text = str(path.relative_to(ROOT)), path.read_text()
        yield name, code_lines(text), FILE_LINES
        if not name.endswith("_test.cc"):
            for function in functions(text):
                yield f"{name}:{function.name}", function.lines, budget_of(name)


def main():
    sizes = list(measured())
    grown = [(what, lines, budget) for what, lines, budget in sizes if lines > budget]
    for what, lines, budget in grown:
        print(f"warning: {what}: {lines} lines, where most have at most {budget}; is it one thing?")
    print(f"{len(sizes)} files and functions, {len(grown)} warnings")
    return 0 if sizes else 1


if __name__ == "__main__":
    sys.exit(main())
