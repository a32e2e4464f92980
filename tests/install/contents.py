#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contents.py [WHEEL...]: what must hold for a wheel that is published (without any: those of build/release-wheels), whatever machine it is looked
at on. One line for each; exit code 1 when one fails."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build/release-python/bin"
GLIBC = (2, 28)
MOST_BYTES = 30 << 20
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}  # in readelf's words
PROGRAMS = {"octet_int8": (".data/scripts/octet", ".data/data/libexec/octet/octet-kernel-compiler", "octet/octet-kernel-compiler"),
            "octet_tensorrt": ("tensorrt/libexec/octet/octet-kernel-compiler",),
            "onnxruntime_ep_octet": ("onnxruntime_ep_octet/liboctet_onnxruntime.so", "onnxruntime_ep_octet/octet-kernel-compiler")}
NAMES = re.compile(r"octet_(int8|tensorrt)-[\d.]+-cp31[01]-abi3-manylinux_\S*2_28_(x86_64|aarch64)\.whl|"
                   r"onnxruntime_ep_octet-[\d.]+-py3-none-manylinux_\S*2_28_(x86_64|aarch64)\.whl")
# Without a module for Python there is nothing to have stubs of, and no interface of Python's that could be too new.
PURE = "onnxruntime_ep_octet"
# What a file may ask the system for: glibc's own libraries and the unwinder.
SYSTEM = re.compile(r"lib(c|m|dl|pthread|rt|gcc_s)\.so\.\d+|ld-linux-(x86-64\.so\.2|aarch64\.so\.1)")


def said(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def told(*command):
    """What a tool tells of a file: where it tells nothing, nothing would be found wrong."""
    code, words = said(*command)
    if code != 0:
        raise OSError(f"{command[0]} fails on {pathlib.Path(command[-1]).name}: {words.strip()[-300:]}")
    return words


def native_files(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def check_native(path, own, machine):
    """What is wrong with a program or library; `own`: libraries that the wheel itself holds."""
    if not re.search(rf"Machine: +{machine}$", told("readelf", "-hW", path), re.M):
        yield f"{path.name} is not for {machine}"
    dynamic = told("readelf", "-dW", path)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not SYSTEM.fullmatch(name) and name not in own:
            yield f"{path.name} needs {name}"
    symbols = told("objdump", "-T", path)
    asked = [tuple(map(int, version.split("."))) for version in re.findall(r"\*UND\*.*GLIBC_([\d.]+)", symbols)]
    if asked and max(asked)[:2] > GLIBC:
        yield f"{path.name} asks for glibc {'.'.join(map(str, max(asked)))}"
    if re.search(r"\*UND\*.*(GLIBCXX|CXXABI)_", symbols):
        yield f"{path.name} asks for libstdc++"
    if path.name.endswith(".abi3.so"):
        defined = told("nm", "-D", "--defined-only", path)
        shown = [line.split()[-1] for line in defined.splitlines()]
        if len(shown) != 1 or not shown[0].startswith("PyInit_"):
            yield f"{path.name} shows other symbols than its entry point: {', '.join(shown[:3])}"
    sections = told("readelf", "-SW", path)
    if ".debug_info" in sections or ".symtab" in sections:
        yield f"{path.name} is not stripped"
    if str(ROOT).encode() in path.read_bytes():
        yield f"{path.name} holds the folder that it was built in"


def problems(wheel):
    pure = wheel.name.startswith(PURE)
    if not NAMES.fullmatch(wheel.name):
        yield f"its tags: {wheel.name}"
    if wheel.stat().st_size > MOST_BYTES:
        yield f"{wheel.stat().st_size >> 20} MiB, and {MOST_BYTES >> 20} are allowed"
    with tempfile.TemporaryDirectory() as folder:
        unpacked = pathlib.Path(folder)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        native = native_files(unpacked)
        if not native:
            yield "no program and no library"
        own = {path.name for path in native}
        machine = next((words for name, words in MACHINES.items() if wheel.stem.endswith(name)), "a processor that the name tells")
        for path in native:
            yield from check_native(path, own, machine)
        names = [str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()]
        boms = [name for name in names if name.endswith(".dist-info/sboms/octet.cdx.json")]
        if len(boms) != 1 or len(json.loads((unpacked / boms[0]).read_text())["components"]) < 10:
            yield "no complete SBOM"
        for what, pattern in {"licences": r"\.dist-info/licenses/.*copyright$", "licence of Octet": r"\.dist-info/licenses/LICENSE$", "types": r"\.pyi$",
                              "py.typed": r"/py\.typed$"}.items():
            if pure and what == "types":
                continue
            if not any(re.search(pattern, name) for name in names):
                yield f"no {what}"
        for end in PROGRAMS.get(wheel.name.split("-")[0], ()):
            if not any(name.endswith(end) for name in names):
                yield f"no {end}"
    for tool in ([] if pure else [["abi3audit", "--strict"]]) + [["twine", "check", "--strict"]]:
        if not (TOOLS / tool[0]).exists():
            yield f"{tool[0]} is missing: ./dev wheel --release installs it"
            continue
        code, words = said(TOOLS / tool[0], *tool[1:], wheel)
        if code != 0:
            yield f"{tool[0]}: {words.strip()[-600:]}"


def main(wheels):
    failed = 0
    if not wheels:
        print("error: no wheel; ./dev wheel --release makes them", file=sys.stderr)
        return 1
    for wheel in map(pathlib.Path, wheels):
        try:
            found = list(problems(wheel))
        except (OSError, zipfile.BadZipFile) as error:
            found = [str(error)]
        failed += bool(found)
        print(f"{wheel.name}: {'; '.join(found) or f'right, {wheel.stat().st_size / 1e6:.1f} MB'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or sorted((ROOT / "build/release-wheels").glob("*.whl"))))
