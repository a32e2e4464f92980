#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What INT8 loses in Octet (as it stands, by other settings, and by searches of two efforts), in ONNX Runtime's quantizer and, where it is installed, in
NNCF: the same arrays calibrate and judge all of them, in one run.

    bench/accuracy.py [--octet PROGRAM] [--work WORK] [--networks NAME,...] [--json]     # needs ../shared; pip install onnxruntime onnx pillow nncf

Classifiers: top-1 by labels / agreement with FP32. Detectors: FP32's boxes that are found / boxes that are right / both at an overlap of .9. Text
detectors: the overlap of the masks; readers of text: characters that are FP32's. `--work` keeps the models of PyPI's packages, and what the peers
measured, which do not change with Octet. Of the other settings, and of each peer's methods, the best counts, judged by the same images."""

import argparse
import contextlib
import hashlib
import importlib.util
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models")]

# What a user may ask for without a search. The last: `{depthwise}` is every depthwise convolution.
SETTINGS = {"minmax": ["--calib-method", "minmax"], "percentile": ["--calib-method", "percentile:99.99"], "mse": ["--calib-method", "mse"],
            "auto": ["--calib-method", "auto"], "entropy": ["--calib-method", "entropy"], "depthwise in f32": ["{depthwise}"]}


def run_octet(case, engine):
    target = harness.scratch() / "out.npz"
    octet("run", engine, case.files["test"], "-o", target, "--force", "--threads", "2")
    with harness.need("numpy").load(target) as outputs:
        arrays = dict(outputs)
    rows = {name: len(array) // len(case.test) for name, array in arrays.items()}
    return [{name: array[i * rows[name] : (i + 1) * rows[name]] for name, array in arrays.items()} for i in range(len(case.test))]


def run_onnxruntime(case, path):
    runtime = harness.need("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 2, 3
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(None, {case.input: image}))) for image in case.test]


def depthwise_of(case):
    onnx = harness.need("onnx")
    model = onnx.load(str(case.path))
    shapes = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    found = []
    for node in model.graph.node:
        group = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        if node.op_type == "Conv" and group > 1 and shapes.get(node.input[1], [0, 0])[1] == 1:
            found.append(node.name)
    return found


def by_octet(case, flags):
    engine = harness.scratch() / f"{case.name}.octet"
    if "{depthwise}" in flags:
        names = depthwise_of(case)
        if not names or not all(names):
            return None
        flags = [flag for name in names for flag in ("--keep-float", name)]
    octet("build", case.path, "--int8", "--calib", case.files["calibration"], "-o", engine, "--quiet", "--threads", "2", "--force", *flags)
    result = case.value(run_octet(case, engine))
    layers = octet("inspect", engine, "--json").json
    return {**result, "int8_macs": layers["coverage"]["macs"]}


def search_flags(case, effort):
    """By FP32's answers or boxes: the labels of the test images are not for choosing. None: of such outputs a search has no metric."""
    if case.detector is not None:
        return ["--metric", "boxes", "--detector", case.detector, "--max-drop", "1", "--effort", str(effort)]
    return ["--metric", "agreement", "--max-drop", "1", "--effort", str(effort)] if case.judge.metric == "top1" else None


def by_onnxruntime(case, method):
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter(case.calibration)

        def get_next(self):
            image = next(self.left, None)
            return None if image is None else {case.input: image}

    prepared, target = (harness.scratch() / f"{case.name}.{end}.onnx" for end in ("prepared", "ort"))
    try:
        quant_pre_process(str(case.path), str(prepared), skip_symbolic_shape=True)
    except Exception:  # what it cannot prepare is quantized as it is
        prepared = case.path
    quantize_static(str(prepared), str(target), Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8, calibrate_method=getattr(CalibrationMethod, method))
    return case.value(run_onnxruntime(case, target))


def by_nncf(case, preset):
    nncf, onnx = harness.need("nncf", "onnx")
    target = harness.scratch() / f"{case.name}.nncf.onnx"
    samples = nncf.Dataset([{case.input: image} for image in case.calibration])
    onnx.save(nncf.quantize(onnx.load(str(case.path)), samples, preset=getattr(nncf.QuantizationPreset, preset),
                            subset_size=len(case.calibration)), str(target))
    return case.value(run_onnxruntime(case, target))


def peers():
    found = {"onnxruntime": (by_onnxruntime, ["MinMax", "Entropy", "Percentile"])}
    if importlib.util.find_spec("nncf"):
        found["nncf"] = (by_nncf, ["PERFORMANCE", "MIXED"])
    return found


def timed(work, seconds, name):
    begin = time.monotonic()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # peers tell their progress
            return work()
    except Exception as error:  # a peer that refuses a network is a result
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
        return None
    finally:
        seconds[name] = round(time.monotonic() - begin, 2)


def kept(work, key, make):
    """What was measured before on the same model and images."""
    file = work / "peers.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if key not in known:
        begin = time.monotonic()
        known[key] = [make(), round(time.monotonic() - begin, 2)]
        file.write_text(json.dumps(known, indent=1))
    return known[key]


def best_of(tried):
    """Of equal ones the one that is nearer to FP32."""
    rank = lambda result: (result["value"], result.get("agreement", result.get("close", 0)))
    found = [(rank(result), name) for name, result in tried.items() if result is not None]
    return max(found)[1] if found else None


def fingerprint(case):
    whole = hashlib.sha256(case.path.read_bytes())
    for array in [*case.calibration, *case.test]:
        whole.update(array.tobytes())
    return whole.hexdigest()[:16]


def measure(name, chosen):
    case, seconds = accuracy_cases.case_of(name, chosen.work), {}
    # Without it there is nothing to hold the others against.
    begin = time.monotonic()
    fp32 = case.value(run_onnxruntime(case, case.path))
    seconds["fp32"] = round(time.monotonic() - begin, 2)
    result = {"name": name, "metric": case.judge.metric, "images": len(case.test), "fp32": fp32, "octet": {}, "settings": {}, "peers": {},
              "seconds": seconds}
    tools = chosen.tools.split(",")
    if "default" in tools:
        result["octet"]["default"] = timed(lambda: by_octet(case, chosen.flags.split()), seconds, "default")
    for effort in (2, 3):
        if f"effort{effort}" not in tools:
            continue
        flags = search_flags(case, effort)  # None: said as what has no answer
        result["octet"][f"effort{effort}"] = flags and timed(lambda: by_octet(case, flags), seconds, f"effort{effort}")
    if "settings" in tools:
        result["settings"] = {key: timed(lambda: by_octet(case, flags), seconds, key) for key, flags in SETTINGS.items()}
    if "peers" in tools:
        key = fingerprint(case)
        for peer, (quantize, methods) in peers().items():
            for method in methods:
                value, took = kept(chosen.work, f"{name} {key} {peer} {method}", lambda: timed(lambda: quantize(case, method), {}, f"{peer} {method}"))
                result["peers"].setdefault(peer, {})[method] = value
                seconds[f"{peer} {method}"] = took
    result["text"] = case.judge.text
    return result


def cell(result, tried):
    best = best_of(tried)
    return "" if best is None else f"{result['text'](tried[best])} ({best})"


def row_of(result):
    own = [result["text"](one) if one else "" for one in result["octet"].values()]
    settings = [cell(result, result["settings"])] if result["settings"] else []
    return [f"{result['name']} ({result['metric']})", *own, *settings, *(cell(result, tried) for tried in result["peers"].values())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(accuracy_cases.USUAL),
                        help="also those of bench/kinds.py, whose weights bench/train_kinds.py leaves in --work")
    parser.add_argument("--tools", help="of default, settings, effort2, effort3, peers [all with --json; without it no efforts, which take long]")
    parser.add_argument("--flags", default="", help="of octet build, added to the default")
    parser.add_argument("--work", type=pathlib.Path, help="where models of packages and what the peers measured are kept")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    chosen.tools = chosen.tools or "default,settings,peers" + (",effort2,effort3" if chosen.json else "")
    chosen.work = chosen.work or harness.scratch()
    chosen.work.mkdir(parents=True, exist_ok=True)
    networks = []
    for name in chosen.networks.split(","):
        networks.append(measure(name, chosen))
        row = networks[-1]
        if not chosen.json:
            if len(networks) == 1:
                names = ["network", *row["octet"], *(["best setting"] if row["settings"] else []), *row["peers"]]
                print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
            print("| " + " | ".join(row_of(row)) + " |", flush=True)
        row.pop("text")
    if chosen.json:
        print(json.dumps({"networks": networks}))


import octet_flag  # noqa: E402, F401  (before harness, which reads OCTET)

import accuracy_cases  # noqa: E402
import harness  # noqa: E402
from harness import octet  # noqa: E402

if __name__ == "__main__":
    main()
