#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over files of a configured build. Its commands are g++'s, whose precompiled headers clang cannot read: without them each file
is read as under clang's own builds, which have none for modules.

usage: tidy.py [--build FOLDER] [--jobs N] [--warn] FILE..."""

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
CHECKED = re.compile(r"^(?:src|cli|tensorrt/trtexec)/.*(?<!_test)(?<!_avx2)(?<!_avxvnni)(?<!_vnni)(?<!_bf16)(?<!_amx)\.cc$")

FINDING = re.compile(r"^(/\S+?):(\d+):\d+: (?:error|warning): (.*\[[\w.,-]+\])$", re.M)
# (file or folder, check): why.
REVIEWED = {
    ("include/octet/tensor_view.h", "google-explicit-constructor"): "bytes that may be written are bytes that may be read",
    ("include/octet/plugin.h", "readability-identifier-naming"): "names of the interface in C",
    ("include/octet/octet.h", "readability-identifier-naming"): "names of the interface in C",
    ("src/plan/value_forms.h", "modernize-use-nullptr"): "a comparison that the compiler writes has no literal of ours",
    ("src/capi/handles.h", "readability-identifier-naming"): "names of the interface in C",
    ("src/arch/isa.h", "readability-identifier-naming"): "levels read as the enumerators of features do",
    ("src/backends/cuda/families/bottleneck/weights.cc", "bugprone-misplaced-widening-cast"): "bytes of a tile of shared memory",
    ("src/backends/cpu/kernels/codes/pool/pool_args.h", "google-build-namespaces"): "compiled for each level, none of which may stand for another",
}


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
    """The findings in one file and in the headers that it reads, or what clang-tidy said where it could not read the file."""
    done = subprocess.run(["clang-tidy-14", "-p", folder, "--quiet", file], cwd=ROOT, capture_output=True, text=True, check=False)
    found = [f"{pathlib.Path(path).resolve().relative_to(ROOT)}:{line}: {words}" for path, line, words in FINDING.findall(done.stdout)]
    if done.returncode != 0 and not found:
        return [f"{file}: clang-tidy ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-1000:]}"]
    return [line for line in found if not any(line.startswith(path) and check in line for path, check in REVIEWED)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--warn", action="store_true", help="findings are warnings")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    folder, known = database(args.build.resolve())
    files = [file for file in args.files if CHECKED.match(file)]
    unknown = [file for file in files if str(ROOT / file) not in known]
    files = [file for file in files if file not in unknown]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as workers:
        # A header's findings come with each file that reads it.
        found = sorted({line for lines in workers.map(lambda file: tidy(folder, file), files) for line in lines})
    for line in found:
        print("warning:" if args.warn else "error:", line)
    for file in unknown:
        print(f"{file}: not in this build")
    print(f"clang-tidy: {len(files)} files, {len(found)} findings")
    return 1 if found and not args.warn else 0


if __name__ == "__main__":
    sys.exit(main())
