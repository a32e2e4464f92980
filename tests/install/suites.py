#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""suites.py: the installed wheel against the development build (build/release), which the suites of ./dev test hold to recorded bytes. At each level of instruction
sets that the machine has: every ONNX node test (libonnx-testdata) and, calibrated, the digits are built by both
commands, and both run them with the same random inputs: engines and answers are the same to the byte, refusals the same words. The digits are of
INT8 and --reproducible: convolutions in floats are oneDNN's, of which releases hold another version (docs/install.md)."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import stubs

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVELOPMENT = ROOT / "build/release/octet"
DIGITS = ROOT / "examples/digits"
NODES = pathlib.Path(os.environ.get("OCTET_ONNX_TESTS", "/usr/share/libonnx-testdata/data/node"))
LEVELS = ("none", "avx2", "avxvnni", "vnni", "amx")


def result(program, model, folder, level, flags):
    """What a command makes of a model: hashes of engine and answers, or how it refuses."""
    folder.mkdir()
    environment = {**os.environ, "OCTET_CPU_ISA": level, "OCTET_KERNEL_CACHE": "off"}
    engine, answers = folder / "engine.octet", folder / "answers.npz"
    hashes = []
    for command, file in ((["build", model, *flags, "-o", engine, "--quiet"], engine), (["run", engine, "--random", "1", "-o", answers], answers)):
        done = subprocess.run([str(part) for part in (program, *command)], capture_output=True, text=True, errors="replace", env=environment, check=False)
        if done.returncode < 0:
            raise RuntimeError(f"{program} {command[0]} of {model} ended by signal {-done.returncode}")
        if done.returncode != 0:
            return (*hashes, done.returncode, done.stderr.replace(str(folder), ""))
        hashes.append(hashlib.sha256(file.read_bytes()).hexdigest())
        if file == answers:
            engine.unlink()
            answers.unlink()
    return tuple(hashes)


def levels(program):
    """Those that this machine has: the command refuses the others."""
    for level in LEVELS:
        done = subprocess.run([str(program), "devices"], capture_output=True, text=True, env={**os.environ, "OCTET_CPU_ISA": level}, check=False)
        if done.returncode == 0:
            yield level


def node_tests():
    nodes = sorted(NODES.glob("*/model.onnx"))
    if len(nodes) < 900:
        raise RuntimeError(f"{NODES} holds {len(nodes)} node tests; install libonnx-testdata, or name another folder in OCTET_ONNX_TESTS")
    return nodes


def compare(program, level, chosen, work, flags):
    """(models that both run alike, that both refuse alike, those that differ)."""
    def one(numbered):
        number, model = numbered
        pair = [result(which, model, work / f"{level}-{number}-{name}", level, flags) for name, which in (("wheel", program), ("development", DEVELOPMENT))]
        return model, pair[0] == pair[1], len(pair[0]) == 2 and all(isinstance(part, str) for part in pair[0])
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(one, enumerate(chosen)))
    differing = [str(model) for model, same, _ in found if not same]
    return sum(same and ran for _, same, ran in found), sum(same and not ran for _, same, ran in found), differing


def main():
    if not DEVELOPMENT.exists():
        raise RuntimeError(f"{DEVELOPMENT} is missing: ./dev build makes it")
    nodes = node_tests()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="octet-suites-") as name:
        work = pathlib.Path(name)
        stubs.install(ROOT / "build/release-wheels", work / "environment")
        program = work / "environment/bin/octet"
        subprocess.run([sys.executable, DIGITS / "export.py", DIGITS / "digits.npz", work / "data"], check=True, stdout=subprocess.DEVNULL)
        calibrated = ("--int8", "--calib", work / "data/calib", "--preprocess", DIGITS / "preprocess.json", "--reproducible")
        for level in levels(program):
            for what, chosen, flags in (("node tests", nodes, ()), ("INT8 engine of the digits", [DIGITS / "digits.onnx"], calibrated)):
                (work / what).mkdir(exist_ok=True)
                ran, refused, differing = compare(program, level, chosen, work / what, flags)
                failed += bool(differing) or not ran
                print(f"{level}: {ran} {what} with the development build's bytes, {refused} refused alike, {len(differing)} differ"
                      f"{': ' + ', '.join(differing[:5]) if differing else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        sys.exit(f"error: {error}")
