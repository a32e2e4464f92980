#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library knows no flag of the command line: no string of src/ or include/ names one. An error that an option or a limit
could cure names the member of the API (fail_about, "Limits.memory"); cli/advice.cc has the flag for each of these."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
FLAG = re.compile(r"(?<![\w-])--[a-z]")
FIELD = re.compile(r'"([A-Z]\w+\.[a-z]\w*)"')


def library():
    for folder in ("src", "include"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".def") and not path.stem.endswith(("_test", "_testing", "test_support")):
                yield path


def members():
    """'Struct.member' of every struct of the installed headers."""
    found = set()
    for path in sorted((ROOT / "include/octet").glob("*.h")):
        text = code_of(path.read_text())
        for name, body in re.findall(r"^struct (\w+)(?: : \w+)? \{\n(.*?)^\};", text, re.M | re.S):
            found |= {f"{name}.{member}" for member in re.findall(r"(\w+)(?: =[^;]*|\{[^;]*)?;", body)}
    return found


def main():
    problems, fields, files = [], {}, 0
    for path in library():
        files += 1
        text, name = code_of(path.read_text()), path.relative_to(ROOT)
        problems += [f"{name}: {string} names a flag of the command line" for string in STRING.findall(text) if FLAG.search(string)]
        for field in FIELD.findall(text):
            fields.setdefault(field, name)
    known, advised = members(), set(FIELD.findall(code_of((ROOT / "cli/advice.cc").read_text())))
    problems += [f"{fields[field]}: the installed headers have no {field}" for field in sorted(set(fields) - known)]
    problems += [f"cli/advice.cc: no flag for {field} of {fields[field]}" for field in sorted(set(fields) - advised)]
    problems += [f"cli/advice.cc: no error names {field}" for field in sorted(advised - set(fields))]
    return verdict(problems, f"{files} files, {len(fields)} fields")


sys.exit(main())
