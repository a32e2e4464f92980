#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of src/ include downwards only. RANK is the order of the architecture; the DEPENDS lists in
src/CMakeLists.txt narrow it, and an include that they do not name is an error. Programs over the installed headers
(API_USERS) include nothing else of Octet; those of src/inspect/ (PRODUCTS) and tensorrt/ (TENSORRT) have
walls of their own."""

import pathlib
import re
import sys

from cpp_functions import code_of
from guard import verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANK = {
    "onnx_proto": 0, "core": 0, "arch": 1, "preprocess": 1, "graph": 1, "ops": 2, "data": 2, "plugin": 3,
    "onnx": 3, "passes": 3, "calibrate": 3, "precision": 3,
    "plan": 3, "backends": 3,
    "runtime": 4, "pipeline": 5, "inspect": 6, "capi": 7,
}
COMPILE_SIDE = {"onnx", "passes", "data", "calibrate", "precision"}
RUN_SIDE = {"plan", "backends"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def declared():
    """Folder -> folders that src/CMakeLists.txt lets it use."""
    text = re.sub(r"#.*", "", (ROOT / "src/CMakeLists.txt").read_text())
    depends = {}
    for body in re.findall(r"octet_module\(([^)]*)\)", text):
        words = body.split()
        names = []
        if "DEPENDS" in words:
            for word in words[words.index("DEPENDS") + 1 :]:
                if word.isupper():
                    break
                names.append(word)
        depends[words[0]] = set(names)
    return depends


def order_problems(depends):
    problems = []
    for folder, names in depends.items():
        for name in names:
            across = (folder in COMPILE_SIDE and name in RUN_SIDE) or (
                folder in RUN_SIDE | {"runtime"} and name in COMPILE_SIDE)
            if folder not in RANK or name not in RANK:
                problems.append(f"src/CMakeLists.txt: {folder} or {name} has no rank in tools/check_includes.py")
            elif across or RANK[name] > RANK[folder]:
                problems.append(f"src/CMakeLists.txt: {folder} may not depend on {name}")
    return problems


def folder_of(relative):
    """The module of a file or include below src/, or None for files outside modules."""
    first = relative.split("/")[0]
    return first if "/" in relative else pathlib.PurePath(relative).stem.replace("_test", "")


def include_problems(depends):
    problems, count = [], 0
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        relative = path.relative_to(ROOT / "src").as_posix()
        folder = folder_of(relative)
        for include in INCLUDE.findall(code_of(path.read_text())):
            count += 1
            if "/" not in include and (path.parent / include).exists():
                continue
            target = folder_of(include)
            if target in RANK and target != folder and target not in depends.get(folder, set()):
                problems.append(f"src/{relative}: includes {include}, but {folder} does not depend on {target}")
    return problems, count


# Products of src/inspect/ -> those that they use beside inspect/json.h and the installed headers.
PRODUCTS = {"cases": (), "check": ("lint",), "compare": (), "explain": (), "lint": (), "metrics": (), "report": (), "search": (),
            "tensorrt": ("explain",)}


def product_problems():
    problems = []
    for path in sorted((ROOT / "src/inspect").glob("*/*.*")):
        product = path.parent.name
        allowed = ("inspect/json.h", *(f"inspect/{name}/" for name in (product, *PRODUCTS.get(product, ()))))
        problems += [f"src/inspect/{product}/{path.name}: includes {include}; PRODUCTS in tools/check_includes.py says what {product} may use"
                     for include in INCLUDE.findall(code_of(path.read_text())) if include.startswith("inspect/") and not include.startswith(allowed)]
    return problems


# Folders of programs that see what is installed, and what else they may include.
API_USERS = {"cli": ("cli/", "tensorrt/trtexec/trtexec.h"), "src/capi": ("capi/",), "examples": (), "bench": (), "integrations/onnxruntime": ("integrations/wire/",),
             "integrations/triton": (), "integrations/wire": ("integrations/wire/",), "python": (), "tests/api": (),
             "tensorrt/trtexec": ("tensorrt/trtexec/", "cli/"), "tensorrt/tests": ("Nv", "abi_slots.def", "plain_v3.h"), "tensorrt/python": ("Nv",)}
# They time what has no installed header: kernels by themselves, another library, the middle of the pipeline.
INSIDE = {"bench/conv_bench.cc", "bench/counts.cc", "bench/onednn_bench.cc", "bench/variants_bench.cc"}


def user_problems():
    problems = []
    for folder, own in API_USERS.items():
        paths = [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".cc", ".h")]
        if not paths:
            problems.append(f"{folder}: no C++ file; mend API_USERS in tools/check_includes.py")
        for path in paths:
            relative = path.relative_to(ROOT).as_posix()
            for include in INCLUDE.findall(code_of(path.read_text())):
                beside = (path.parent / include).exists() and (path.parent / include).resolve().is_relative_to(ROOT / folder)
                installed = include.startswith("octet/") and (ROOT / "include" / include).exists()
                if not (installed or beside or include.startswith(own) or relative in INSIDE):
                    problems.append(f"{relative}: includes {include}; {folder} sees the headers of include/octet alone")
    return problems


# Folder of tensorrt/ -> those that it may use beside the installed headers, TensorRT's and integrations/wire. Folders from `network` on do not
# see each other but where one is made of another.
TENSORRT = {
    "shared": (), "plugins": ("shared",), "network": ("shared", "plugins"), "engine": ("shared", "plugins"),
    "parser": ("shared", "plugins", "network"), "builder": ("shared", "plugins", "network", "engine", "parser"),
    "inspector": ("shared", "engine"), "exports": ("shared", "plugins", "network", "engine", "parser", "builder", "inspector"),
}


def tensorrt_problems():
    problems = []
    for folder, below in TENSORRT.items():
        allowed = (*(f"tensorrt/{name}/" for name in (folder, *below)), "integrations/wire/", "Nv", "trt_")
        for path in sorted((ROOT / "tensorrt" / folder).glob("*.*")):
            for include in INCLUDE.findall(code_of(path.read_text())):
                if not include.startswith(allowed) and not (include.startswith("octet/") and (ROOT / "include" / include).exists()):
                    problems.append(f"tensorrt/{folder}/{path.name}: includes {include}; tools/check_includes.py says what {folder} may use")
    return problems


def api_problems():
    problems = []
    for path in sorted((ROOT / "include/octet").glob("*.h")):
        for include in INCLUDE.findall(code_of(path.read_text())):
            if not include.startswith("octet/"):
                problems.append(f"include/octet/{path.name}: includes {include}; installed headers stand alone")
    return problems


def main():
    depends = declared()
    problems, count = include_problems(depends)
    problems += order_problems(depends) + api_problems() + product_problems() + user_problems() + tensorrt_problems()
    return verdict(problems, f"{len(depends)} folders, {count} includes", count)


if __name__ == "__main__":
    sys.exit(main())
