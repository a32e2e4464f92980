#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/record.json says what a real GPU found of these kernels: it is made anew (tests/gpu/run) whenever a kernel's source changes, and
everything in it holds: no test failed, all networks gave the CPU's bytes, no tool found an error."""

import hashlib
import json
import pathlib
import sys

from cpp_functions import code_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA = ROOT / "src/backends/cuda"
RECORD = ROOT / "tests/gpu/record.json"
FORM = 2


def texts():
    """What kernels are written in: the contract, texts, what these include, and specs."""
    found = {CUDA / "contract.h"}
    for pattern in ("device/*", "families/*/*.h", "families/*/*.cu", "families/*/*.cuh"):
        found |= set(CUDA.glob(pattern))
    return found


def makers():
    """What decides what the compiler sees of them: lowerings, which fill specs; what writes a spec down and names the target and its flags."""
    found = {CUDA / name for name in ("kernel.cc", "kernel.h", "nvrtc.cc", "compile_apart.cc")}
    for pattern in ("families/*/*.cc", "lower/*", "arch/*.h", "arch/*.cc", "arch/architectures.def"):
        found |= set(CUDA.glob(pattern))
    return {path for path in found if not path.stem.endswith(("_test", "_bench")) and path.suffix != ".md" and not path.stem.startswith("costs")}


def bytes_of(path):
    """A file's code: words beside it and the width of its lines change no kernel."""
    return " ".join(code_of(path.read_text()).split()).encode()


def hash_of(files, content):
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(str(file.relative_to(CUDA)).encode() + b"\0" + content(file) + b"\0")
    return whole.hexdigest()[:16]


def kernels_hash(form=FORM):
    """Form 1 took the bytes of texts alone; a record names its form, and one without a name is of form 1."""
    return hash_of(texts() | makers(), bytes_of) if form == FORM else hash_of(texts(), pathlib.Path.read_bytes)


def unfinished(found):
    """Tests of a part that were ended by time: nothing is known of them."""
    return found.get("unfinished", []) if isinstance(found, dict) else []


def problems_of(record):
    if record.get("kernels_hash") != kernels_hash(record.get("hash_form", 1)):
        yield f"the kernels have changed since {record.get('commit')}: run tests/gpu/run on a machine with a GPU, and commit its record"
    for name, suite in record.get("kernels", {}).items():
        if suite["failed"] or suite["exit"] or not suite["passed"]:
            yield f"{name}: {suite}"
    for part in ("kernels", "sanitizer"):
        for name, found in record.get(part, {}).items():
            for test in unfinished(found):
                yield f"{name}: {test} was ended by time, and counts as failed"
    for name, network in record.get("networks", {}).items():
        if network["same_bytes"] != network["inputs"]:
            yield f"{name}: {network}"
    for tool, found in record.get("sanitizer", {}).items():
        if isinstance(found, dict) and (found["errors"] or found["exit"] or not found["tests"]):
            yield f"{tool}: {found}"
    if record.get("node_tests", {}).get("exit"):
        yield f"node tests: {record['node_tests']}"


def main():
    if not RECORD.exists():
        print(f"{RECORD} is missing: run tests/gpu/run on a machine with a GPU")
        return 1
    record = json.loads(RECORD.read_text())
    problems = list(problems_of(record))
    print("\n".join(problems) or "the record holds for these kernels")
    for part in ("kernels", "sanitizer"):
        for name, found in record.get(part, {}).items():
            if isinstance(found, dict) and isinstance(found.get("failed"), list):
                print(f"{name}: found nothing, but tests failed themselves: {found['failed']}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
