#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A header of include/octet belongs to the folder of src/ that implements it: who may not use the folder (DEPENDS in
src/CMakeLists.txt) may not use the header either, or the installed headers would be a way around the order of the folders."""

import sys

from check_includes import INCLUDE, ROOT, declared, folder_of
from cpp_functions import code_of
from guard import verdict

OWNERS = {
    "core": {"closest", "constraints", "device_memory", "error", "input", "limits", "line_log", "machine", "output", "precision", "progress", "range", "tensor", "tensor_view", "threads", "work_limit"},
    "onnx": {"weights"},
    "preprocess": {"input_profile", "preprocess"},
    "data": {"data", "npz"},
    "plugin": {"plugin", "plugin_cpp", "plugin_view", "plugins", "tensorrt_bridge"},
    "calibrate": {"calibrate", "calibration_cache"},
    "backends": {"gpus"},
    "plan": {"tuning"},
    "runtime": {"attachment", "engine", "image_sizes", "mapped_engine", "output_types", "plans", "rows", "spread", "warm"},
    "pipeline": {"clipping", "compile", "export", "extract", "half_weights", "observation", "provenance", "refit", "simulate", "source_model", "value_types"},
    "inspect": {"case", "check", "detection", "error_stats", "inspect", "json", "metric_program", "nan_trace", "onnxruntime", "operators", "output_comparison", "profile", "qdq_lint", "report",
                 "reproduce", "saved_outputs", "search", "selection", "selftest", "sensitivity", "tensorrt_inspector", "tensorrt_plan", "tolerances"},
    "capi": {"octet"},
}
# (folder, header): reviewed, with what it is that they share.
SHARED = {
    ("backends", "warm"): "KnownGpu: a chip that plans are made for; what is not kept of its kernels",
    ("calibrate", "engine"): "TensorInfo: what the data are for",
    ("data", "engine"): "TensorInfo: what the data are for",
    ("onnx", "extract"): "ExtractOptions: where a model is cut",
    ("passes", "compile"): "PassTrace: what a pass tells its caller",
    ("precision", "compile"): "PrecisionPlan: what a build is asked for",
    ("runtime", "calibrate"): "Preprocess: an engine remembers its own",
}


def owner_of(header):
    return next((folder for folder, headers in OWNERS.items() if header in headers), None)


def include_problems(depends):
    problems, count = [], 0
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".cc", ".h") or "test" in path.stem:
            continue
        relative = path.relative_to(ROOT / "src").as_posix()
        folder = folder_of(relative)
        for include in INCLUDE.findall(code_of(path.read_text())):
            if not include.startswith("octet/"):
                continue
            count += 1
            header = include.removeprefix("octet/").removesuffix(".h")
            owner = owner_of(header)
            allowed = owner in {folder, "core"} | depends.get(folder, set()) or (folder, header) in SHARED
            if owner in depends and not allowed:
                problems.append(f"src/{relative}: includes {include}, which is {owner}'s; {folder} does not depend on it")
    return problems, count


def main():
    headers = sorted(path.stem for path in (ROOT / "include/octet").glob("*.h"))
    problems, count = include_problems(declared())
    problems += [f"include/octet/{name}.h has no owner in tools/check_owners.py" for name in headers if not owner_of(name)]
    return verdict(problems, f"{len(headers)} headers, {count} includes", count)


if __name__ == "__main__":
    sys.exit(main())
