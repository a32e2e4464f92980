#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over files of a configured build. Its commands are g++'s, whose precompiled headers clang cannot read: without them each file
is read as under clang's own builds, which have none for modules.

usage: tidy.py [--build FOLDER] [--jobs N] FILE..."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Tests are checked by running; of kernels with an instruction set's flags clang knows other warnings than g++.
CHECKED = re.compile(r"^(?:src|cli)/.*(?<!_test)(?<!_avx2)(?<!_avxvnni)(?<!_vnni)(?<!_amx)\.cc$")


def without_precompiled(command):
    """The command of one file without `-include .../cmake_pch.hxx`."""
    words = shlex.split(command)
    while "-include" in words and "cmake_pch" in words[words.index("-include") + 1]:
        at = words.index("-include")
        del words[at:at + 2]
    return shlex.join(word for word in words if word not in ("-Winvalid-pch", "-Werror"))


def database(build):
    """A folder with the commands of `build` as clang reads them; the files that they name."""
    folder, entries = build / "tidy", json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = without_precompiled(entry["command"])
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder, {entry["file"] for entry in entries}


def tidy(folder, file):
    done = subprocess.run(["clang-tidy-14", "-p", folder, "--quiet", file], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stdout or done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    folder, known = database(args.build.resolve())
    files = [file for file in args.files if CHECKED.match(file)]
    unknown = [file for file in files if str(ROOT / file) not in known]
    files = [file for file in files if file not in unknown]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as workers:
        found = [words for words in workers.map(lambda file: tidy(folder, file), files) if words]
    print("\n".join(found + [f"{file}: not in this build" for file in unknown] + [f"clang-tidy: {len(files)} files, {len(found)} with problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
