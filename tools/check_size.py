#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The size budget: file 400 lines, function 40, function of a kernel file 120. tools/size_exceptions.txt holds what
was reviewed and kept larger, one "PATH LIMIT REASON" or "PATH:FUNCTION LIMIT REASON" a line; an exception that is no
longer needed is an error, so the list only shrinks by itself."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES, FUNCTION_LINES, KERNEL_LINES = 400, 40, 120
NOT_A_FUNCTION = re.compile(r"^\s*(?:namespace|struct|class|union|enum|extern\s+\"C\")\b|=\s*$")
FUNCTION_NAME = re.compile(r"([~\w]+(?:\s*[=<>!+\-*/()\[\]]{1,2})?)\s*\(")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def without_comments(text):
    """Comments, strings and preprocessor lines become blanks; every line stays where it was."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', blank, text, flags=re.S)
    token = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", " ", text)
    text = re.sub(token, blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def head_name(head):
    """The function's name, or None when `head` opens a type, a namespace or an initializer."""
    head = re.sub(r"\btemplate\s*<[^{}]*?>(?=\s*[\w\[])", " ", head)
    if NOT_A_FUNCTION.search(head.strip()) or "(" not in head:
        return None
    match = FUNCTION_NAME.search(re.sub(r"__attribute__\s*\(\(.*?\)\)|\balignas\s*\([^)]*\)", " ", head))
    return match.group(1) if match else None


def functions(text):
    """Yields (name, first line, lines of the body) of every outermost function."""
    text = without_comments(text)
    line, head, depth, open_at = 1, "", 0, None
    for char in text:
        if char == "\n":
            line += 1
        if open_at is not None:
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 0:
                name, first = open_at
                yield name, first, line - first
                open_at, head = None, ""
            continue
        if char == "{":
            name = head_name(head)
            if name:
                open_at, depth = (name, line), 1
            head = ""
        elif char in ";}":
            head = ""
        else:
            head += char


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.cc", "*.h"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]
    folders = ("include", "src", "cli", "tests", "bench", "examples")
    return sorted(p for f in folders for s in ("*.cc", "*.h") for p in (ROOT / f).rglob(s))


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
        for function, _, lines in functions(text):
            key = f"{name}:{function}"
            sizes[key] = (max(lines, sizes.get(key, (0, 0))[0]), budget)
    return sizes


def read_exceptions():
    limits = {}
    for line in (ROOT / "tools/size_exceptions.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            key, limit, reason = line.split(None, 2)
            limits[key] = int(limit)
            assert reason
    return limits


def main():
    sizes, exceptions, problems = measured(), read_exceptions(), []
    for key, (lines, budget) in sorted(sizes.items()):
        limit = exceptions.pop(key, None)
        if limit is not None and lines <= budget:
            problems.append(f"{key}: {lines} lines fit the budget of {budget}; remove its exception")
        elif lines > (limit or budget):
            problems.append(f"{key}: {lines} lines, budget {limit or budget}")
    problems += [f"{key}: has an exception, but does not exist" for key in exceptions]
    for problem in problems:
        print(problem)
    print(f"{len(sizes)} files and functions, {len(problems)} problems")
    return 1 if problems or not sizes else 0


if __name__ == "__main__":
    sys.exit(main())
