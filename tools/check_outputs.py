#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command writes files through cli/output/outputs.cc alone, where every output is checked before the work begins: no other file of cli/
or tensorrt/trtexec/ calls a writer of the library or of the system."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include/octet"
WRITER = re.compile(r"(?:^|[.>\s])((?:save|write)\w*)\([^;]*?std::filesystem::path&", re.M)
SYSTEM = re.compile(
    r"(?<!\w)::open\s*\(|\bLineLog\b|\bstd::(?:ofstream|fstream|rename|remove|tmpfile)\b|\b(?:fopen|freopen|creat|mkstemp|unlink|rename|copy_file|resize_file)\s*\(")
THE_PLACE = "outputs.cc"
# --log-file and --journal (a flag of Outputs) only add lines, to a new file or to one that begins as theirs.
APPENDS = ("messages.cc", "journal.cc", "journal.h")
# Opens /dev/null in place of a descriptor that the program was started without.
FILLS = "process.cc"


def writers():
    """Functions of the installed headers that take the path of a file to write."""
    found = set()
    for path in sorted(HEADERS.glob("*.h")):
        found |= set(WRITER.findall(code_of(path.read_text())))
    return found


def main():
    names = writers()
    calls = re.compile(r"(?:\b|[.>])(" + "|".join(sorted(names)) + r")\s*\(")
    problems, files = [], 0
    for path in sorted([*(ROOT / "cli").rglob("*"), *(ROOT / "tensorrt/trtexec").rglob("*")]):
        if path.suffix not in (".cc", ".h") or path.name in (THE_PLACE, *APPENDS, FILLS):
            continue
        files += 1
        for number, line in enumerate(code_of(path.read_text()).splitlines(), 1):
            code = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
            for pattern in (calls, SYSTEM):
                if found := pattern.search(code):
                    problems.append(f"{path.relative_to(ROOT)}:{number}: {found.group(0).strip()} writes past cli/{THE_PLACE}: make the file a flag "
                                    "of Outputs and give it to write()")
    return verdict(problems, f"{files} files, writers: {', '.join(sorted(names))}", len(names) >= 4)


if __name__ == "__main__":
    sys.exit(main())
