#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/record.json says what a real GPU found of these kernels: it is made anew (tests/gpu/run) whenever a kernel's source changes, and
everything in it holds: no test failed, all networks gave the CPU's bytes, no tool found an error."""

import hashlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA = ROOT / "src/backends/cuda"
RECORD = ROOT / "tests/gpu/record.json"


def kernel_files():
    """What a kernel's compiler reads: texts, what they include, and specs."""
    found = {CUDA / "contract.h"}
    for pattern in ("device/*", "families/*/*.h", "families/*/*.cu", "families/*/*.cuh"):
        found |= set(CUDA.glob(pattern))
    return sorted(found)


def kernels_hash():
    whole = hashlib.sha256()
    for file in kernel_files():
        whole.update(str(file.relative_to(CUDA)).encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def problems_of(record):
    if record.get("kernels_hash") != kernels_hash():
        yield f"the kernels have changed since {record.get('commit')}: run tests/gpu/run on a machine with a GPU, and commit its record"
    for name, suite in record.get("kernels", {}).items():
        if suite["failed"] or suite["exit"] or not suite["passed"]:
            yield f"{name}: {suite}"
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
            if isinstance(found, dict) and found.get("unfinished"):
                print(f"{name}: ended by time: {found['unfinished']}")
            if isinstance(found, dict) and isinstance(found.get("failed"), list):
                print(f"{name}: found nothing, but tests failed themselves: {found['failed']}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
