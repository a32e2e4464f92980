# SPDX-License-Identifier: Apache-2.0
"""known_failures.txt names exactly the ONNX node tests that do not pass, each below a reason.

    known_test.py CONFORMANCE_TESTS            compares
    known_test.py CONFORMANCE_TESTS --update   drops what passes now and gives new failures a section by their operators"""

import pathlib
import re
import subprocess
import sys

FILE = pathlib.Path(__file__).resolve().parent / "known_failures.txt"
OLDER = "older edition"
UPDATE = "--update" in sys.argv


def outcomes():
    """Name -> message of each test that does not pass."""
    done = subprocess.run([sys.argv[1], "--verbose"], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 77:
        print(done.stdout)
        sys.exit(77)
    if "onnx-node-tests" not in done.stdout.splitlines()[-1]:
        print("skipped: another edition of the tests than the one that known_failures.txt describes")
        sys.exit(77)
    messages, name = {}, None
    for line in done.stdout.splitlines():
        start = re.match(r"(?:FAIL|skip) (test_\w+): (.*)", line)
        if start:
            name = start[1]
            messages[name] = start[2]
        elif name and line.startswith("  "):
            messages[name] += "\n" + line
        else:
            name = None
    return messages


def read():
    """[(header line, [lines])]"""
    found = []
    for line in FILE.read_text().splitlines():
        if re.match(r"# [^:]+: ", line):
            found.append((line, []))
        elif line and line[0] != "#":
            found[-1][1].append(line)
    return found


def section_of(message):
    """The header of the section that a new failure belongs to."""
    operator = re.search(r"\n  (\w+) \(domain ([\w.]+)", message)
    if operator:
        return f"# {operator[1]}: Octet lacks this operator"
    kind = re.search(r"element type (?:STRING|\w+)", message)
    if kind:
        return "# 2-, 4- and 8-bit float and integer types: not yet read" if "STRING" not in message else "# strings: out of scope"
    return "# others: " + message.splitlines()[0]


def write(sections):
    text = FILE.read_text()
    preamble = text[: text.index("\n# ", 1) + 1] if "\n# " in text else ""
    parts = [preamble.rstrip() + "\n"]
    for header, lines in sections:
        if lines:
            parts.append("\n".join([header, *sorted(lines)]) + "\n")
    FILE.write_text("\n".join(parts))


def main():
    failing = outcomes()
    sections = read()
    listed = {line.split(":")[0] for header, lines in sections if not header.startswith(f"# {OLDER}") for line in lines}
    gone, new = sorted(listed - failing.keys()), sorted(failing.keys() - listed)
    if not UPDATE:
        for name in gone:
            print(f"{name} passes, but known_failures.txt lists it")
        for name in new:
            print(f"{name} does not pass, and known_failures.txt does not say why: {failing[name]}")
        print(f"{len(failing)} tests do not pass, {len(listed)} are listed; known_test.py --update rewrites the list")
        return 1 if gone or new else 0
    kept = [(h, [line for line in lines if h.startswith(f"# {OLDER}") or line.split(":")[0] in failing]) for h, lines in sections]
    by_header = {header: lines for header, lines in kept}
    for name in new:
        header = section_of(failing[name])
        if header not in by_header:
            by_header[header] = []
            kept.append((header, by_header[header]))
        by_header[header].append(name)
    write(kept)
    print(f"{len(gone)} dropped, {len(new)} added")
    return 0


sys.exit(main())
