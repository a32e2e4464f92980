#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes are started and ended by the supervisor of src/core alone (docs/adr/0023-children.md): no other file of the program, the library or
the Python modules starts, kills or waits for one."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "cli", "programs", "python", "tensorrt")
SUPERVISOR = {f"src/core/{name}.cc" for name in ("child_limits", "confinement", "forked_child", "running_processes", "spawned_child")}
BECOMES = {"cli/commands/exec.cc"}  # leaves its own place to a program, and starts none beside itself
CALLS = {
    ".cc": re.compile(r"(?<![\w.>])(?:std::|::)?(v?fork|exec[lv]p?e?|execvpe|posix_spawnp?|popen|system|kill|waitpid|waitid|wait[34])\s*\("),
    ".py": re.compile(r"\b(subprocess|multiprocessing|os\.(?:fork|system|popen|spawn\w*|exec\w*|posix_spawnp?))\b"),
}


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            kind = ".cc" if path.suffix in (".cc", ".h") else path.suffix
            if kind in CALLS and not path.stem.endswith("_test") and "tests" not in path.parts:
                yield path, CALLS[kind]


def main():
    problems, files, known = [], 0, set()
    for path, calls in sources():
        name = str(path.relative_to(ROOT))
        files += 1
        text = path.read_text() if path.suffix == ".py" else code_of(path.read_text())
        for number, line in enumerate(text.splitlines(), 1):
            code = re.sub(r'"(?:[^"\\]|\\.)*"' if path.suffix != ".py" else r"#.*", "", line)
            if not (found := calls.search(code)):
                continue
            if name in BECOMES and found.group(1) and found.group(1).startswith("exec"):
                continue
            if name in SUPERVISOR:
                known.add(name)
            else:
                problems.append(f"{name}:{number}: {found.group(0).strip()} starts or ends a process beside core/forked_child.h and core/spawned_child.h")
    return verdict(problems, f"{files} files", known)


if __name__ == "__main__":
    sys.exit(main())
