#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of a module can be compiled as one (cmake/OctetScratch.cmake): names of unnamed namespaces meet there, and ./dev demo would
fail for who begins with it. The compiler parses each module as one file, whatever the batches of a build are.

usage: check_merged.py BUILD_FOLDER"""

import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def alone():
    """The files that are never merged."""
    pattern = re.search(r'set\(OCTET_ALONE "(.*)"\)', (ROOT / "cmake/OctetScratch.cmake").read_text()).group(1)
    return re.compile(pattern.replace("\\\\.", "\\."))


def modules(build):
    """Module -> (folder, command without source and output, its merged sources)."""
    found, skip = collections.OrderedDict(), alone()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        module = re.search(r"(?:^|/)CMakeFiles/(octet_\w+)\.dir/", output)
        source = pathlib.Path(entry["file"])
        if not module or not {ROOT / "src", ROOT / "cli", ROOT / "tensorrt/trtexec"} & set(source.parents) or skip.search(str(source)):
            continue
        command = [word for word in words if word not in ("-c", entry["file"]) and "ccache" not in word]
        at = command.index("-o")
        del command[at:at + 2]
        if "-include" in command:
            at = command.index("-include")
            del command[at:at + 2]
        found.setdefault(module.group(1), (entry["directory"], command, []))[2].append(source)
    return found


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release"
    if not (build / "compile_commands.json").exists():
        print(f"{build} was not configured")
        return 77
    if re.search(r"^OCTET_SCRATCH:\w+=ON$", (build / "CMakeCache.txt").read_text(), re.MULTILINE):
        print(f"{build} compiles them so")
        return 0
    problems, files = 0, 0
    for module, (folder, command, sources) in modules(build).items():
        files += len(sources)
        text = "".join(f'#include "{source}"\n' for source in sorted(sources))
        done = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=text, cwd=folder, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            problems += 1
            errors = [line for line in done.stderr.splitlines() if " error: " in line]
            print(f"{module}: its files cannot be compiled as one; give these names of their own:")
            print("\n".join(errors[:6] or done.stderr.splitlines()[:6]))
    print(f"{files} files, {problems} problems")
    return 1 if problems or files < 100 else 0


sys.exit(main())
