#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files are opened in src/core alone, by what waits for nobody, takes regular files only, and never gives a file the number of a standard
descriptor; threads are started there alone, where one that the system refuses is an Error. Programs that only show the API may do both."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "cli", "python/src", "tensorrt", "integrations/triton", "integrations/wire")
OPENS = re.compile(r"\bstd::(?:[io]?fstream|basic_[io]?fstream|filebuf)\b|\b(?:fopen|freopen|creat)\s*\(|(?<!\w)::open(?:64)?\s*\(")
STARTS = re.compile(r"\bstd::(?:jthread\b|async\b|thread\s+\w+\s*[({]|thread\s*[({])|\bpthread_create\b|\bvector<std::j?thread>")
# The place itself, and what tests are made of.
ELSEWHERE = ("src/core/", "tensorrt/tests/")
# The system's own files, whose names no user gives.
SYSTEM = re.compile(r'"/(?:proc|sys)/')
# PATH: why.
REVIEWED = {
    "src/pipeline/observe.cc": "calibration goes on with the threads that are there",
    "cli/process.cc": "opens /dev/null in place of a standard descriptor that is closed",
}


def main():
    problems, files = [], 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            relative = path.relative_to(ROOT).as_posix()
            if path.suffix not in (".cc", ".h") or "test" in path.stem or relative.startswith(ELSEWHERE) or relative in REVIEWED:
                continue
            files += 1
            for number, line in enumerate(code_of(path.read_text()).splitlines(), 1):
                if not SYSTEM.search(line) and (found := OPENS.search(re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))):
                    problems.append(f"{relative}:{number}: {found.group(0).strip()} opens a file past src/core: octet/input.h, core/file.h or "
                                    "core/descriptor.h do it")
                if found := STARTS.search(line):
                    problems.append(f"{relative}:{number}: {found.group(0).strip()} starts a thread past src/core: octet/threads.h or "
                                    "core/start_thread.h do it")
    return verdict(problems, f"{files} files", files >= 300)


if __name__ == "__main__":
    sys.exit(main())
