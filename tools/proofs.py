#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proofs that take too long for every run of CI. CI runs two of them, which the commit's hash chooses; `./dev prove` runs all of
them, or those that are named, and writes into tests/proofs.json what was found, of which inputs and when. tools/check_proofs.py holds the record
to the tree: a proof that failed, or whose inputs have changed and that is older than MOST_DAYS, fails there.

usage: proofs.py list | sample [COMMIT] | run [NAME|GROUP...]"""

import argparse
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

from cpp_functions import code_of
from sample import head, pick

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests/proofs.json"
# In which the samples of CI go through every group several times.
MOST_DAYS = 14
CODE = (".cc", ".h", ".cu", ".cuh", ".def")


@dataclasses.dataclass(frozen=True)
class Proof:
    name: str
    group: str
    what: str
    preset: str
    targets: tuple  # none: the command builds what it needs
    command: str
    inputs: tuple  # globs below the root
    since: str  # the day it was added, from which a first record is due
    minutes: int  # on two cores, when all is built
    leaves: str = ""  # a file of JSON that the command writes, which goes into the record: what was made, and of what


def tests(preset, *names):
    """They ran, that is, and were not skipped."""
    pattern = "|".join(name.replace(".", r"\.") for name in names)
    return (f"set -o pipefail; log=$(mktemp); ctest --test-dir build/{preset} --output-on-failure --no-tests=error -R '^({pattern})$' | tee $log"
            r" && ! grep -E '\*\*\*(Skipped|Not Run)' $log; held=$?; rm -f $log; exit $held")


def threads(name, inputs):
    return Proof(f"threads.{name}", "threads", f"unit tests of {name} under the thread sanitizer", "tsan", (f"{name}_tests",), tests("tsan", name),
                 (*inputs, "CMakePresets.json"), ADDED, 4)


def released(name, what, inputs, minutes):
    """A test of the release build with the label `proof`, which leaves it out of ./dev test."""
    return Proof(name, "released", what, "release", ("release_tests",), tests("release", name), inputs, ADDED, minutes)


ADDED = "2026-11-27"
CORE = ("src/core/**/*",)
PLAN = (*CORE, "src/graph/**/*", "src/ops/**/*", "src/plan/**/*")
RUN = (*PLAN, "src/backends/**/*", "src/runtime/**/*")
# What a release is made by and tried by; what Octet itself is changes with every commit, and is held by its own tests.
RELEASE = ("packaging/*", "cmake/*", "CMakePresets.json", "python/pyproject.toml", "tensorrt/python/pyproject.toml", "tests/install/*")
AARCH64 = ("tools/aarch64.sh", "cmake/aarch64.cmake", "cmake/OctetFlags.cmake", "CMakePresets.json")
CUDA = (*RUN, "tests/gpu/**/*.cc", "tests/gpu/**/*.h", "tests/gpu/CMakeLists.txt")
PLUGINS = (*CORE, "tests/harness.py", "tests/plugins.py", "src/plugin/**/*", "cli/commands/plugin.cc", "cli/flags/plugin_flags.*", "tests/plugin_faults/*", "tests/cli/plugin_check*")
PROOFS = (
    threads("core", CORE),
    threads("plan", PLAN),
    threads("runtime", RUN),
    threads("triton", (*RUN, "integrations/triton/**/*")),
    released("cli.plugin_check", "octet plugin check finds each of the planted faults", PLUGINS, 5),
    released("cli.plugin_check_cuda", "and those of kernels on a GPU", PLUGINS, 2),
    released("hostile.large", "models that ask for more memory, time and files than there are", ("src/onnx/**/*", "src/core/**/*", "tests/hostile/*"), 3),
    released("models.sensitivity", "octet sensitivity ranks layers as a loop over whole engines does, on three networks",
             (*RUN, "src/passes/**/*", "src/precision/**/*", "src/calibrate/**/*", "src/pipeline/**/*", "src/inspect/search/*", "cli/commands/sensitivity.cc",
              "tests/models/sensitivity_test.py", "tests/rankings.py"), 7),
    released("gpu.sweeps_9.0", "the emulated Hopper with three times the cases of a run of CI", CUDA, 4),
    Proof("chips", "chips", "kernels of eleven networks and of the GPU's tests as machine code of eleven architectures", "release",
          ("octet_cli", "gpu_tests", "cuda_emulated"), ".venv/bin/python tests/gpu/chips.py", (*CUDA, "tests/gpu/chips.py"), ADDED, 15, "build/chips.json"),
    released("onnxruntime.models_all", "every model of ../shared in ONNX Runtime, equal to octet run to the byte",
             (*RUN, "src/onnx/**/*", "src/passes/**/*", "src/precision/**/*", "src/calibrate/**/*", "src/pipeline/**/*", "integrations/onnxruntime/**/*",
              "integrations/wire/*", "tests/onnxruntime/*"), 8),
    released("integrations.ray_cluster", "calibration, evaluation and searches on clusters of which nodes are lost and workers killed, equal to one machine's",
             ("python/octet/*.py", "python/octet/ray/*", "python/src/observation*", "python/src/search.cc", "src/inspect/search/*", "src/pipeline/observ*", "src/calibrate/**/*", "tests/integrations/ray*"), 6),
    Proof("gpu_faults_9.0", "instrumented", "every call of the driver fails in turn on a Hopper, under the address sanitizer", "sanitizers",
          ("gpu_faults_tests",), tests("sanitizers", "gpu_faults_9.0"), CUDA, ADDED, 2),
    # The sample of CI is the lowest folders, where features of processors are told, and the kernels; all else is built when the whole is proved.
    Proof("aarch64.core", "aarch64", "the lowest folders' unit tests and the kernels of every level pass on aarch64 under QEMU", "release", (),
          "./dev aarch64 --core", (*CORE, *AARCH64, "src/arch/**/*", "src/graph/**/*", "src/backends/cpu/kernels/**/*"), ADDED, 4),
    Proof("aarch64", "aarch64", "operators, backends and whole models give the same bytes on aarch64 under QEMU", "release", (), "./dev aarch64",
          (*RUN, *AARCH64, "src/arch/**/*", "tests/exactness/*"), ADDED, 100),
    Proof("aarch64.release", "aarch64", "wheels, packages and archives for aarch64 are made, and work in Debian's roots under QEMU with the bytes of here", "release",
          ("octet_cli",), "./dev release --arch aarch64 && .venv/bin/python tests/install/contents.py build/release-wheels-aarch64/*.whl && .venv/bin/python tests/install/run.py --arch aarch64",
          RELEASE, "2026-11-28", 60, "build/release-artifacts-aarch64/release.json"),
    Proof("release", "release", "wheels, packages and archives are made of Debian's and PyPI's sources, and work where strangers install them", "release",
          ("octet_cli",), "./dev release && .venv/bin/python tests/install/contents.py && .venv/bin/python tests/install/run.py", RELEASE, ADDED, 100,
          "build/release-artifacts/release.json"),
)


def content_of(path):
    """What of a file a proof is of: words beside its code void nothing."""
    if path.suffix in CODE:
        return " ".join(code_of(path.read_text()).split()).encode()
    return path.read_bytes()


def files_of(proof):
    found = {path for glob in proof.inputs for path in ROOT.glob(glob) if path.is_file() and path.suffix != ".md" and "__pycache__" not in path.parts}
    return sorted(found)


def inputs_hash(proof):
    whole = hashlib.sha256(f"{proof.command}\0".encode())
    for path in files_of(proof):
        whole.update(str(path.relative_to(ROOT)).encode() + b"\0" + content_of(path) + b"\0")
    return whole.hexdigest()[:16]


def read_record():
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def write_record(name, entry):
    RECORD.write_text(json.dumps({**read_record(), name: entry}, indent=2, sort_keys=True) + "\n")


def run(proof):
    """Whether it held; what was built and said goes to the terminal."""
    print(f"\n== proof {proof.name}: {proof.what} (about {proof.minutes} minutes)", flush=True)
    jobs = str(os.cpu_count())
    build = (["cmake", "--preset", proof.preset], ["cmake", "--build", f"build/{proof.preset}", "-j", jobs, "--target", *proof.targets])
    steps = (*(build if proof.targets else ()), ["bash", "-c", proof.command])
    for step in steps:
        quiet = {"stdout": subprocess.DEVNULL} if step[0] == "cmake" and step[1] == "--preset" else {}
        if subprocess.run(step, cwd=ROOT, check=False, **quiet).returncode != 0:
            print(f"proof {proof.name} does not hold: {' '.join(step)}", flush=True)
            return False
    return True


def prove(proofs, keep):
    failed = []
    for proof in proofs:
        start, before = time.monotonic(), inputs_hash(proof)
        held = run(proof)
        failed += [] if held else [proof.name]
        if keep:
            entry = {"inputs": before, "date": datetime.date.today().isoformat(), "commit": head()[:8], "held": held,
                     "seconds": round(time.monotonic() - start)}
            if held and proof.leaves:
                entry["left"] = json.loads((ROOT / proof.leaves).read_text())
            write_record(proof.name, entry)
    print(f"\n{len(proofs)} proofs, {len(failed)} do not hold{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


def named(words):
    """The proofs of names and groups; all without any."""
    unknown = [word for word in words if not any(word in (proof.name, proof.group) for proof in PROOFS)]
    if unknown:
        raise SystemExit(f"error: there is no proof {', '.join(unknown)}; proofs.py list names them")
    return [proof for proof in PROOFS if not words or proof.name in words or proof.group in words]


# Of a sample's proofs. What they build is not in the cache of a first run: threads.runtime builds nearly everything, threads.plan a third.
SAMPLED_MINUTES = 4
SAMPLED_THREADS = ("threads.core",)


def sampled(commit):
    """One proof of the thread sanitizer's, and one of all others, of those that CI has the minutes for."""
    groups = {}
    for proof in PROOFS:
        if proof.minutes > SAMPLED_MINUTES or proof.group == "threads" and proof.name not in SAMPLED_THREADS:
            continue
        groups.setdefault(proof.group == "threads", {})[proof.name] = proof
    return [found[pick(found, commit)] for found in groups.values()]


def due(proof, record, today):
    """What is wrong with a proof's record (None: nothing), and what is only to be known."""
    entry = record.get(proof.name)
    if entry and not entry["held"]:
        return f"{proof.name} does not hold since {entry['date']} ({entry['commit']}): {proof.what}", None
    if entry and entry["inputs"] == inputs_hash(proof):
        return None, None
    last = datetime.date.fromisoformat(entry["date"] if entry else proof.since)
    end = last + datetime.timedelta(days=MOST_DAYS)
    state = f"its inputs have changed since {last}" if entry else "it was never run"
    if today > end:
        return f"{proof.name}: {state}; ./dev prove {proof.name}, and commit tests/proofs.json", None
    return None, f"{proof.name}: {state}; due by {end}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("list", "sample", "run"))
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    if args.verb == "list":
        for proof in PROOFS:
            print(f"{proof.name:24} {proof.minutes:3} min  {proof.what}")
        return 0
    if args.verb == "sample":
        return prove(sampled(args.words[0] if args.words else head()), keep=False)
    return prove(named(args.words), keep=True)


if __name__ == "__main__":
    sys.exit(main())
