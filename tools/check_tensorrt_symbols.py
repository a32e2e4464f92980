#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public symbol of TensorRT's headers (tensorrt/include) is called, or overridden, by a test of tensorrt/tests. A
symbol that does not do what it does in TensorRT is named there, in a comment before the test that shows it:

    // accepted without effect: IBuilderConfig::setDLACore, IBuilderConfig::getDLACore: there is no DLA

The states are `better`, `accepted without effect` and `refused`; NAME::* is a whole class. All others are the same.
tools/generate_docs.py makes the table of docs/tensorrt.md of this."""

import collections
import pathlib
import re
import sys

from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "tensorrt/include"
TESTS = ROOT / "tensorrt/tests"
STATES = ("better", "accepted without effect", "refused")
BOTH = "8.6 and 10"
# Members of values, and what the library's own classes are made of.
NOT_SYMBOLS = {"changed", "OctetSize", "OctetTable", "defined"}
PROPERTY = re.compile(r"^  OCTET_TRT_(VALUE|DIMS|HW|WEIGHTS)\(([^()]*)")
WINDOW = {"OCTET_TRT_WINDOW": ("PrePadding", "PostPadding", "PaddingMode", "StrideNd", "PaddingNd"),
          "OCTET_TRT_WINDOW_HW": ("Stride", "Padding")}
# A function that is virtual at one level and calls a table at the other (trt_base.h).
FORWARDED = re.compile(r"^  OCTET_TRT_(?:CALL|ASK)(?:_AS|_OWN)?(_ON)?\((.*)")
METHOD = re.compile(r"^  (?:virtual |explicit |static )?[A-Za-z][\w:<>*& ]*[ *&](\w+)\(")
FUNCTION = re.compile(r"^(?:extern \"C\" |inline )?[A-Za-z][\w:<>*& ]*[ *&](\w+)\([^;]*noexcept")


def level_of(stack):
    for condition in stack:
        if condition in (">= 10", "not < 10"):
            return "10"
        if condition in ("< 10", "not >= 10"):
            return "8.6"
    return BOTH


class Header:
    """The classes of one file with their public members, each with the levels that have it."""

    def __init__(self, text):
        self.symbols, self.name, self.shown, self.stack = {}, None, False, []
        # A function's name may stand in the line behind its result.
        text = re.sub(r"^(  OCTET_TRT_(?:CALL|ASK)\w*\()\n +", r"\1", text, flags=re.M)
        text = re.sub(r"^(  OCTET_TRT_(?:CALL|ASK)\w*\([^,\n]*(?:,[^,\n]*)?,)\n +", r"\1 ", text, flags=re.M)
        for line in text.split("\n"):
            self.read(line)

    def read(self, line):
        if line.startswith("#"):
            return self.directive(line)
        head = re.match(r"^(class|struct) (\w+)(?!.*;$)", line)
        if head and not line.startswith("  "):
            self.name, self.shown = head[2], head[1] == "struct"
        elif line.startswith("};"):
            self.name = None
        elif re.match(r"^ (public|private|protected):", line):
            self.shown = "public" in line
        elif self.name is None:
            self.function(line)
        else:
            self.member(line)

    def directive(self, line):
        if line.startswith("#if"):
            found = re.search(r"NV_TENSORRT_MAJOR (>= 10|< 10)", line)
            self.stack.append(found[1] if found else "")
        elif line.startswith("#else") and self.stack[-1]:
            self.stack[-1] = "not " + self.stack[-1]
        elif line.startswith("#endif"):
            self.stack.pop()

    def add(self, symbol):
        level = level_of(self.stack)
        self.symbols[symbol] = BOTH if self.symbols.get(symbol, level) != level else level

    def function(self, line):
        found = FUNCTION.match(line)
        is_own = found and found[1].startswith("octet")  # what our own modules ask beside the interface
        if found and not is_own and not line.startswith("  ") and "constexpr" not in line:
            self.add(("functions", found[1]))

    def member(self, line):
        made = PROPERTY.match(line)
        window = WINDOW.get(line.strip())
        if made or window:
            suffix = "Weights" if made and made[1] == "WEIGHTS" else ""
            words = [word.strip() for word in made[2].split(",")] if made else []
            names = window or [words[1] if made[1] == "VALUE" else words[0]]
            for name in names:
                self.add((self.name, f"set{name}{suffix}"))
                self.add((self.name, f"get{name}{suffix}"))
            return
        forwarded = FORWARDED.match(line)
        if forwarded:
            words = [word.strip() for word in forwarded[2].split(",")]
            return self.add((self.name, words[2 if forwarded[1] else 1]))
        found = METHOD.match(line)
        if not found or not self.shown or "operator" in line or "~" in line or " return " in f" {line.strip()} "[:9]:
            return
        if found[1] not in NOT_SYMBOLS | {self.name} and not line.strip().startswith(("if ", "for ", "return")):
            self.add((self.name, found[1]))


def symbols():
    """(class, member) -> levels, in the order of the headers."""
    found = {}
    for path in sorted(HEADERS.glob("*.h")):
        for symbol, level in Header(path.read_text()).symbols.items():
            found[symbol] = BOTH if found.get(symbol, level) != level else level
    return found


def test_text():
    return "\n".join(path.read_text() for path in sorted(TESTS.iterdir()) if path.suffix in (".cc", ".h"))


def called(text):
    code = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    names = set(re.findall(r"\b(\w+)(?:<[\w:, ]*>)?\(", code))
    for name in re.findall(r"\bEXPECT_KEPT\w*\(\s*[^,]+,\s*(\w+),", code):
        names |= {f"set{name}", f"get{name}"}
    return names


def states(text):
    """(class, member) -> (state, reason), of the comments."""
    found = {}
    joined = re.sub(r"\n// (?!(?:%s): )" % "|".join(STATES), " ", text)
    for state, list_, reason in re.findall(r"^// (%s): ((?:\w+::[\w*]+(?:, )?)+): (.*)$" % "|".join(STATES), joined, re.M):
        for symbol in list_.split(", "):
            found[tuple(symbol.split("::"))] = (state, reason.strip())
    return found


def state_of(symbol, differing):
    return differing.get(symbol) or differing.get((symbol[0], "*")) or ("same", "")


def table():
    """The passage of docs/tensorrt.md."""
    all_symbols, differing = symbols(), states(test_text())
    groups = collections.OrderedDict()
    same = collections.OrderedDict()
    for symbol, level in all_symbols.items():
        state, reason = state_of(symbol, differing)
        mark = "" if level == BOTH else f" ({level})"
        if state == "same":
            same.setdefault(symbol[0], []).append(symbol[1] + mark)
        else:
            groups.setdefault((STATES.index(state), symbol[0], reason), []).append(symbol[1] + mark)
    lines = ["| class | symbols | here |", "|---|---|---|"]
    for (state, owner, reason), names in sorted(groups.items(), key=lambda group: group[0][0]):
        lines.append(f"| {owner} | {', '.join(names)} | {STATES[state]}: {reason} |")
    count = sum(len(names) for names in same.values())
    lines += ["", f"The same as there, {count} of {len(all_symbols)}:", "", "| class | symbols |", "|---|---|"]
    lines += [f"| {owner} | {', '.join(names)} |" for owner, names in same.items()]
    return "\n".join(lines) + "\n"


def main():
    text = test_text()
    all_symbols, names, differing = symbols(), called(text), states(text)
    problems = [f"tensorrt/tests: nothing calls {owner}::{name}" for owner, name in all_symbols
                if name not in names and state_of((owner, name), differing)[0] != "refused"]
    owners = {owner for owner, _ in all_symbols}
    for owner, name in differing:
        if (owner, name) not in all_symbols and not (name == "*" and owner in owners):
            problems.append(f"tensorrt/tests: the headers have no {owner}::{name}, whose state is told")
    return verdict(problems, f"{len(all_symbols)} symbols, {len(differing)} that differ", all_symbols)


if __name__ == "__main__":
    sys.exit(main())
