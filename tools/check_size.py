#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The size budget: file 400 lines, function 40, function of a kernel file 120. tools/size_exceptions.txt holds what
was reviewed and kept larger, one "PATH LIMIT REASON" or "PATH:FUNCTION LIMIT REASON" a line; an exception that is no
longer needed is an error, so the list only shrinks by itself."""

import sys

from cpp_functions import ROOT, compare, functions, read_exceptions, sources

FILE_LINES, FUNCTION_LINES, KERNEL_LINES = 400, 40, 120


def measured():
    """Maps "path" and "path:function" to (lines, budget)."""
    sizes = {}
    for path in sources():
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        sizes[name] = (text.count("\n"), FILE_LINES)
        if name.endswith("_test.cc"):
            continue
        budget = KERNEL_LINES if "/kernels/" in name else FUNCTION_LINES
        for function in functions(text):
            key = f"{name}:{function.name}"
            sizes[key] = (max(function.lines, sizes.get(key, (0, 0))[0]), budget)
    return sizes


def main():
    sizes = measured()
    problems = compare(sizes, read_exceptions("tools/size_exceptions.txt", 1), "lines")
    for problem in problems:
        print(problem)
    print(f"{len(sizes)} files and functions, {len(problems)} problems")
    return 1 if problems or not sizes else 0


if __name__ == "__main__":
    sys.exit(main())
