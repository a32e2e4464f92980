#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stubs.py [FOLDER]: installs the wheels of a folder (build/release-wheels) in an environment of its own and compares the types that they hold with the modules
themselves by mypy's stubtest. Everything is an error but what nanobind makes of every class and function, which no stub can say."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MYPY = "mypy==2.4.1"
MODULES = ("octet", "tensorrt._level8", "tensorrt._level10")
# nanobind's functions are callables of a type of its own, its classes have a metaclass and a layout of their own, and a constructor that takes
# anything and then looks; its enumerations have a mark.
KINDS = re.compile(r" is not a function$| is inconsistent, metaclass differs$| is a disjoint base at runtime, but isn't marked with @disjoint_base in the stub$"
                   r"|\.__init__ is inconsistent, stub does not have \*args parameter \"args\"$| is inconsistent, stub is a staticmethod but runtime is not$"
                   r"|\.__nb_enum__ is not present in stub$")
# What mypy thinks of the package's own code is not asked here: only whether stubs and modules agree.
SETTINGS = "[mypy]\n[mypy-tensorrt.*]\nignore_errors = True\n[mypy-octet.ray.*]\nignore_errors = True\n"
# Python that needs packages which are not installed here.
LEFT_OUT = "octet\\.ray.*\n"


def said(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr


def install(wheels, environment):
    found = [sorted(wheels.glob(f"{project}-*.whl")) for project in ("octet_int8", "octet_tensorrt")]
    if any(len(files) != 1 for files in found):
        raise RuntimeError(f"{wheels} holds no two wheels; ./dev wheel --release makes them")
    for command in ([sys.executable, "-m", "venv", environment],
                    [environment / "bin/pip", "install", "-q", "--disable-pip-version-check", MYPY, *(files[0] for files in found)]):
        code, words = said(*command)
        if code != 0:
            raise RuntimeError(f"{command[0]} ended with {code}: {words.strip()[-600:]}")


def differences(python, module, settings):
    """What stubtest says of a module: (lines of nanobind's kinds, others)."""
    left_out = settings.with_name("left-out.txt")
    left_out.write_text(LEFT_OUT)
    code, words = said(python, "-m", "mypy.stubtest", module, "--concise", "--mypy-config-file", settings, "--allowlist", left_out,
                       "--ignore-unused-allowlist", cwd=settings.parent)
    lines = words.splitlines()
    if any("Traceback" in line or "not checking stubs" in line for line in lines) or (code != 0) != bool(lines):
        raise RuntimeError(f"stubtest of {module} ended with {code}: {words.strip()[-600:]}")
    known = [line for line in lines if KINDS.search(line)]
    return known, [line for line in lines if line not in known]


def main(wheels):
    failed = 0
    with tempfile.TemporaryDirectory(prefix="octet-stubs-") as work:
        folder = pathlib.Path(work)
        environment, settings = folder / "environment", folder / "mypy.ini"
        settings.write_text(SETTINGS)
        install(wheels.absolute(), environment)
        for module in MODULES:
            known, others = differences(environment / "bin/python", module, settings)
            failed += bool(others)
            agreed = f"stub and module agree ({len(known)} differences of nanobind's own)"
            print(f"{module}: {'; '.join(others[:5]) or agreed}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release-wheels"))
    except RuntimeError as error:
        sys.exit(f"error: {error}")
