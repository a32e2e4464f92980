#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shape of functions: at most five parameters, and control statements at most three deep. A lambda is a function of its
own. tools/shape_exceptions.txt holds what was reviewed and kept, one "PATH:FUNCTION KIND LIMIT REASON" a line (KIND is
`parameters` or `nesting`); an exception that is no longer needed is an error, so the list only shrinks by itself."""

import re
import sys

from cpp_functions import ROOT, compare, functions, read_exceptions, sources
from guard import verdict

BUDGETS = {"parameters": 5, "nesting": 3}
CONTROL = {"if", "for", "while", "switch", "do", "try", "catch"}
TOKEN = re.compile(r"[A-Za-z_]\w*|->|\S")


def closing(tokens, at):
    """Index of the bracket that closes tokens[at]."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opening, depth = tokens[at], 0
    for i in range(at, len(tokens)):
        depth += {opening: 1, pairs[opening]: -1}.get(tokens[i], 0)
        if depth == 0:
            return i
    return len(tokens) - 1


def parameter_count(head):
    """Parameters in a function's head, given from its name on."""
    tokens = TOKEN.findall(head)
    if "(" not in tokens:
        return 0
    start = tokens.index("(")
    if tokens[start - 1] == "operator":
        start = closing(tokens, start) + 1
    inner = tokens[start + 1 : closing(tokens, start)]
    depth, count = 0, 1
    for token in inner:
        depth += {"(": 1, "{": 1, "[": 1, "<": 1, ")": -1, "}": -1, "]": -1, ">": -1}.get(token, 0)
        count += token == "," and depth == 0
    return count if inner and inner != ["void"] else 0


class Body:
    """Walks the statements of a body: how deep its control statements lie in each other."""

    def __init__(self, tokens):
        self.tokens, self.deepest = tokens, 0

    def statement(self, at, depth):
        """Measures the statement at `at`; returns where the next begins."""
        token = self.tokens[at]
        if token == "{":
            return self.block(at, depth)
        if token in CONTROL:
            return self.control(at, depth)
        if token == "else":
            return self.statement(at + 1, depth)
        return self.plain(at, depth)

    def block(self, at, depth):
        end = closing(self.tokens, at)
        at += 1
        while at < end:
            at = self.statement(at, depth)
        return end + 1

    def control(self, at, depth):
        self.deepest = max(self.deepest, depth + 1)
        kind = self.tokens[at]
        at += 1
        if kind == "if" and self.tokens[at] == "constexpr":
            at += 1
        if kind not in ("do", "try"):
            end = closing(self.tokens, at)
            self.lambdas(at, end)
            at = end + 1
        at = self.statement(at, depth + 1)
        while kind == "if" and at < len(self.tokens) and self.tokens[at] == "else":
            # `else if` goes on at the same depth.
            further = self.tokens[at + 1] == "if"
            at = self.statement(at + 1, depth if further else depth + 1)
        return at

    def plain(self, at, depth):
        """An expression or declaration, to its semicolon; the bodies of its lambdas are functions of their own."""
        while at < len(self.tokens) and self.tokens[at] not in (";", "}"):
            if self.tokens[at] in ("(", "{", "["):
                end = closing(self.tokens, at)
                if self.tokens[at] == "{" and self.is_code(at):
                    self.block(at, 0)
                else:
                    self.lambdas(at, end)
                at = end
            at += 1
        return at + 1

    def is_code(self, at):
        """A lambda's or a local type's body, not an initializer list."""
        before = self.tokens[at - 1]
        return before in (")", "]", "mutable", "noexcept", "else") or self.returns_type(at)

    def returns_type(self, at):
        """`[](...) -> Type {`"""
        window = self.tokens[max(0, at - 8) : at]
        return "->" in window and ")" in window

    def lambdas(self, start, end):
        """Bodies of lambdas between two brackets."""
        at = start + 1
        while at < end:
            if self.tokens[at] == "{" and self.is_code(at):
                self.block(at, 0)
                at = closing(self.tokens, at)
            at += 1


def nesting(body):
    tokens = TOKEN.findall(body)
    measured = Body(tokens)
    if tokens and tokens[0] == "{":
        measured.block(0, 0)
    return measured.deepest


def measured():
    """Maps (path:function, kind) to (number, budget)."""
    found = {}
    for path in sources():
        relative = str(path.relative_to(ROOT))
        if relative.endswith("_test.cc"):
            continue
        for function in functions(path.read_text()):
            key = f"{relative}:{function.name}"
            numbers = {"parameters": parameter_count(function.head), "nesting": nesting(function.body)}
            for kind, number in numbers.items():
                found[key, kind] = (max(number, found.get((key, kind), (0, 0))[0]), BUDGETS[kind])
    return found


def main():
    found = measured()
    problems = []
    exceptions = read_exceptions("tools/shape_exceptions.txt", 2)
    for kind in BUDGETS:
        numbers = {key: number for key, number in found.items() if key[1] == kind}
        limits = {key: limit for key, limit in exceptions.items() if key[1] == kind}
        problems += compare(numbers, limits, kind)
    return verdict(problems, f"{len(found) // len(BUDGETS)} functions", found)


if __name__ == "__main__":
    sys.exit(main())
