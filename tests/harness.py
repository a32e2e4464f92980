# SPDX-License-Identifier: Apache-2.0
"""What the Python suites share: running the program, temporary folders, the bundled digits, ../shared, and skipping.

A suite ends with SKIPPED (77, which ctest reads so) when none of its tests could run, and prints why."""

import functools
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DIGITS = ROOT / "examples/digits"
BUILD = pathlib.Path(os.environ.get("OCTET_BUILD", ROOT / "build/release"))
PROGRAM = pathlib.Path(os.environ.get("OCTET", BUILD / "octet"))
EMULATOR = BUILD / "tests/gpu/emulator"
SKIPPED = 77


def emulated_gpu():
    """The variables by which --device cuda is the emulated GPU, or None where that was not built."""
    libraries = {"OCTET_CUDA_DRIVER": EMULATOR / "libcuda_emulated.so", "OCTET_NVRTC": EMULATOR / "libnvrtc_emulated.so"}
    return {name: str(path) for name, path in libraries.items()} if all(path.exists() for path in libraries.values()) else None


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)


def octet(*arguments, code=0, env=None, cwd=None):
    """Runs the program and insists on its exit code, where one is named."""
    done = subprocess.run(
        [str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, errors="surrogateescape",
        env={**os.environ, **(env or {})}, cwd=cwd, check=False)
    if done.returncode != code and not (code is None and done.returncode in (0, 1)):
        raise AssertionError(
            f"octet {' '.join(map(str, arguments))}\nended with {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    if nested := re.search(r"^.*[^\s(=]''.*$", done.stderr, re.M):
        raise AssertionError(f"octet {' '.join(map(str, arguments))}\nsays quotes within quotes: {nested.group()}")
    return Result(done)


def command(*arguments):
    """What any other program prints; insists that it succeeds."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def commands():
    """The program's commands, as its help lists them."""
    listed = octet("--help").out.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return tuple(line.split()[0] for line in listed.splitlines())


@functools.cache
def flags_of(name):
    """The long flags of a command, as its help lists them."""
    listed = re.findall(r"^  (?:-\w,)?(--[\w-]+(?:,--[\w-]+)*)", octet(name, "--help").out, re.M)
    return frozenset(flag for names in listed for flag in names.split(","))


@functools.cache
def scratch():
    """A folder for this process, removed at its end."""
    folder = tempfile.TemporaryDirectory(prefix="octet-test-")
    scratch.keep = folder
    return pathlib.Path(folder.name)


@functools.cache
def digits():
    """The digits as PNG folders: digits()/calib, digits()/test/LABEL."""
    out = scratch() / "digits"
    subprocess.run([sys.executable, DIGITS / "export.py", DIGITS / "digits.npz", out], check=True)
    return out


@functools.cache
def digits_engine():
    engine = scratch() / "digits.octet"
    octet("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib",
          "--preprocess", DIGITS / "preprocess.json", "-o", engine, "--quiet")
    return engine


@functools.cache
def shared_model(name):
    """Unpacks one of ../shared/models; skips the test where that folder is absent."""
    packed = SHARED / "models" / f"{name}.onnx.xz"
    if not packed.exists():
        raise unittest.SkipTest(f"{packed} is absent")
    model = scratch() / f"{name}.onnx"
    model.write_bytes(lzma.decompress(packed.read_bytes()))
    return model


def shared_data(name):
    path = SHARED / "data" / name
    if not path.exists():
        raise unittest.SkipTest(f"{path} is absent")
    return path


def onnx_tests(part):
    """A folder of ONNX's own tests, "node" or "light"; skips the test where ../shared is absent."""
    archive = SHARED / "conformance/onnx-node-tests.tar.xz"
    if not archive.exists():
        raise unittest.SkipTest(f"{archive} is absent")
    folder = scratch() / part
    if not folder.exists():
        command("tar", "-xJf", archive, "-C", scratch(), part)
    return folder


def need(*modules):
    """The named Python packages, or a skip."""
    try:
        found = [__import__(module, fromlist=["_"]) for module in modules]
        for module in found:
            # Test data that Debian installs below the name of a package is not the package.
            if getattr(module, "__file__", None) is None:
                raise ImportError(f"No module named '{module.__name__}'")
    except ImportError as error:
        raise unittest.SkipTest(f"{error}; ./dev setup installs it") from error
    return found[0] if len(found) == 1 else found


@functools.cache
def has_gpu():
    return all(device["usable"] for device in octet("devices", "--json").json["devices"][:2])


def need_gpu():
    """A GPU that is not emulated, or a skip."""
    if not has_gpu():
        raise unittest.SkipTest("this machine has no GPU")


def has_vnni():
    """Whether ONNX Runtime's sums of u8 by s8 are exact: without such instructions they saturate in s16."""
    return re.search(r"\b(avx512_vnni|avx_vnni|asimddp)\b", pathlib.Path("/proc/cpuinfo").read_text()) is not None


SATURATES = "ONNX Runtime's sums of u8 by s8 saturate on this processor"


def need_vnni():
    """A processor on which ONNX Runtime's own integer kernels are exact, or a skip."""
    if not has_vnni():
        raise unittest.SkipTest(SATURATES)


def onnxruntime_session(model, optimized=False, exact_sums=False):
    """ONNX Runtime on the CPU; not `optimized`, without its own rewrites: the model as written. `model`: a path, or bytes. `exact_sums`: of u8 by s8
    on any processor, for which a rewrite of its own makes weights u8; a skip where that does not take the model."""
    runtime = need("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    if exact_sums and not has_vnni():
        options.log_severity_level = 4
        options.add_session_config_entry("session.x64quantprecision", "1")
        try:
            return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise unittest.SkipTest(SATURATES) from error
    if not optimized:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def main(whole=False):
    """`whole`: a case that was skipped makes the suite skipped, as of a proof, which has not held then."""
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun <= len(result.skipped) or (whole and result.skipped):
        print("not all could run" if whole else "nothing could run")
        sys.exit(SKIPPED)
