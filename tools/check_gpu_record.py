#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/record.json says what a real GPU found of these kernels: it is made anew (tests/gpu/run) whenever a kernel's source changes, and
everything in it holds: no test failed, all networks gave the CPU's bytes, no tool found an error.

A file may be given back the code that an earlier record tested, where the newer code failed: "restored" names it, both digests, that record's commit, why,
and the tests that failed of the newer code."""

import hashlib
import json
import pathlib
import sys

from cpp_functions import code_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA = ROOT / "src/backends/cuda"
RECORD = ROOT / "tests/gpu/record.json"
FORM = 3


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


def digest_of(content):
    return hashlib.sha256(content).hexdigest()[:16]


def hash_of(contents):
    """Of each file's name, below src/backends/cuda, and bytes."""
    whole = hashlib.sha256()
    for name, content in sorted(contents.items()):
        whole.update(name.encode() + b"\0" + content + b"\0")
    return whole.hexdigest()[:16]


def contents_of(files, content):
    return {str(file.relative_to(CUDA)): content(file) for file in files}


def kernels_hash(form=FORM, restored=None):
    """Form 1 took the bytes of texts alone, form 2 those of code, form 3 their digests; a record names its form, and one without a name is of form 1.
    Restored files count as they were recorded, where they have the code that they were given back."""
    if form == 1:
        return hash_of(contents_of(texts(), pathlib.Path.read_bytes))
    found = contents_of(texts() | makers(), bytes_of)
    if form == FORM:
        found = {name: digest_of(content) for name, content in found.items()}
        for name, entry in (restored or {}).items():
            if found.get(name) == entry["now"]:
                found[name] = entry["recorded"]
        found = {name: digest.encode() for name, digest in found.items()}
    return hash_of(found)


def unfinished(found):
    """Tests of a part that were ended by time: nothing is known of them."""
    return found.get("unfinished", []) if isinstance(found, dict) else []


def problems_of(record):
    restored = record.get("restored", {})
    if record.get("kernels_hash") != kernels_hash(record.get("hash_form", 1), restored):
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
        of_newer_code = {test for entry in restored.values() for test in entry["tests"]}
        for test in set(found.get("failed", [])) - of_newer_code if isinstance(found, dict) else ():
            yield f"{tool}: {test} failed"
    if record.get("node_tests", {}).get("exit"):
        yield f"node tests: {record['node_tests']}"


def main():
    if not RECORD.exists():
        print(f"{RECORD} is missing: run tests/gpu/run on a machine with a GPU")
        return 1
    record = json.loads(RECORD.read_text())
    problems = list(problems_of(record))
    print("\n".join(problems) or "the record holds for these kernels")
    for name, entry in record.get("restored", {}).items():
        print(f"{name} has the code that the record of {entry['commit']} tested: {entry['why']}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
