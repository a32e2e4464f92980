#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What INT8 loses in Octet (as it stands, and by searches of two efforts), in ONNX Runtime's quantizer and, where it is installed, in NNCF: the same
arrays calibrate and judge all of them, in one run.

    bench/accuracy.py [--octet PROGRAM] [--networks NAME,...] [--json]     # needs ../shared and .venv

Classifiers: top-1 by labels. Detectors: the share of boxes that are FP32's too, at an overlap of .9. `pip install nncf` beside onnxruntime adds NNCF;
of ONNX Runtime's methods the best counts, judged by the same images."""

import argparse
import importlib.util
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models")]

DETECTORS = {"yolox_nano": "yolox", "retinaface_mobilenet025": "retinaface", "ultraface_rfb_320": "ultraface", "yunet_n_dynamic": "yunet"}
CLASSIFIERS = ["cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "mobilenet_v1_025_imagenet", "mobilenet_v2_imagenet"]
CALIBRATION, TEST = 100, 200
OVERLAP = 0.9


class Case:
    """A network with its images as arrays, and what its outputs are worth."""

    def __init__(self, name):
        self.numpy = harness.need("numpy")
        self.model, self.name = models.MODELS[name], name
        self.decode = getattr(detections, DETECTORS[name]) if name in DETECTORS else None
        self.metric = "boxes" if self.decode else "top1"
        self.calibration = self.arrays(self.model.calib_folder, CALIBRATION)
        self.test = self.arrays(self.model.test_folder, TEST)
        self.input = models.session_of(self.model.path).get_inputs()[0].name
        self.files = {part: harness.scratch() / f"{name}.{part}.npz" for part in ("calibration", "test")}
        for part, file in self.files.items():
            self.numpy.savez(file, **{self.input: self.numpy.concatenate(getattr(self, part))})
        self.truth = None

    def arrays(self, folder, count):
        part = models.Model(self.name, self.model.flags, folder, folder)
        return list(models.prepared_images(part, count))

    def labels(self):
        paths = sorted(p for p in self.model.test.rglob("*") if p.suffix in (".jpg", ".png"))
        folders = sorted({p.parent.name for p in paths})  # a class may have no image among those that are taken
        paths = paths[:: max(1, len(paths) // TEST)][:TEST]
        if "prefix" not in self.model.labels:
            return [folders.index(p.parent.name) for p in paths]
        offset = int(self.model.labels[-1]) if "--label-offset" in self.model.labels else 0
        digits = ["".join(c for c in p.stem.split("_")[0].split("-")[0] if c.isdigit()) for p in paths]
        return [int(text) + offset for text in digits]

    def value(self, outputs):
        """Of a list of dictionaries, one for each image."""
        if self.decode is None:
            answers = [int(next(iter(one.values())).argmax()) for one in outputs]
            return sum(a == b for a, b in zip(answers, self.labels())) / len(answers)
        found = [self.decode(one, *image.shape[2:]) for one, image in zip(outputs, self.test)]
        if self.truth is None:
            self.truth = found  # FP32 comes first
        pairs = sum(self.pairs(a, b) for a, b in zip(self.truth, found))
        boxes = sum(len(a[0]) + len(b[0]) for a, b in zip(self.truth, found))
        return 2 * pairs / boxes if boxes else 1.0

    @staticmethod
    def pairs(one, other):
        before, detections.IOU = detections.IOU, OVERLAP
        try:
            return detections.matches(one, other)
        finally:
            detections.IOU = before


def run_octet(case, engine):
    target = harness.scratch() / "out.npz"
    octet("run", engine, case.files["test"], "-o", target, "--force", "--threads", "2")
    with case.numpy.load(target) as outputs:
        arrays = dict(outputs)
    rows = {name: len(array) // len(case.test) for name, array in arrays.items()}
    return [{name: array[i * rows[name] : (i + 1) * rows[name]] for name, array in arrays.items()} for i in range(len(case.test))]


def run_onnxruntime(case, path):
    runtime = harness.need("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(None, {case.input: image}))) for image in case.test]


def by_octet(case, flags):
    engine = harness.scratch() / f"{case.name}.octet"
    octet("build", case.model.path, "--int8", "--calib", case.files["calibration"], *case.model.shapes, "-o", engine, "--quiet", "--threads", "2",
          "--force", *flags)
    return case.value(run_octet(case, engine))


def search_flags(case, effort):
    """By FP32's answers or boxes: the labels of the test images are not for choosing."""
    metric = ["--metric", "boxes", "--detector", DETECTORS[case.name]] if case.decode else ["--metric", "agreement"]
    return [*metric, "--max-drop", "1", "--effort", str(effort)]


def by_onnxruntime(case, method):
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter(case.calibration)

        def get_next(self):
            image = next(self.left, None)
            return None if image is None else {case.input: image}

    target = harness.scratch() / f"{case.name}.ort.onnx"
    quantize_static(str(case.model.path), str(target), Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8, calibrate_method=getattr(CalibrationMethod, method))
    return case.value(run_onnxruntime(case, target))


def by_nncf(case, preset):
    nncf, onnx = harness.need("nncf", "onnx")
    target = harness.scratch() / f"{case.name}.nncf.onnx"
    samples = nncf.Dataset([{case.input: image} for image in case.calibration])
    onnx.save(nncf.quantize(onnx.load(str(case.model.path)), samples, preset=getattr(nncf.QuantizationPreset, preset),
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
        return work()
    except Exception as error:  # a peer that refuses a network is a result
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
        return None
    finally:
        seconds[name] = round(time.monotonic() - begin, 2)


def measure(name):
    case, seconds, values = Case(name), {}, {}
    reference = harness.scratch() / f"{name}.fp32"
    octet("build", case.model.path, *case.model.shapes, "-o", reference, "--quiet", "--force")
    # Without it there is nothing to hold the others against.
    begin = time.monotonic()
    fp32 = case.value(run_octet(case, reference))
    seconds["fp32"] = round(time.monotonic() - begin, 2)
    octets = {"default": timed(lambda: by_octet(case, []), seconds, "default")}
    for effort in (2, 3):
        octets[f"effort{effort}"] = timed(lambda: by_octet(case, search_flags(case, effort)), seconds, f"effort{effort}")
    for peer, (quantize, methods) in peers().items():
        tried = {method: timed(lambda: quantize(case, method), seconds, f"{peer} {method}") for method in methods}
        best = max((value for value in tried.values() if value is not None), default=None)
        values[peer] = {"best": best, **tried}
    return {"name": name, "metric": case.metric, "images": len(case.test), "fp32": fp32, "octet": octets, "peers": values, "seconds": seconds}


def text_of(value):
    return "none" if value is None else f"{100 * value:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join([*CLASSIFIERS, *DETECTORS]))
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    names = list(peers())
    if not chosen.json:
        print("| network | metric | FP32 | default | effort 2 | effort 3 | " + " | ".join(names) + " |\n" + "|---" * (6 + len(names)) + "|")
    networks = []
    for name in chosen.networks.split(","):
        networks.append(measure(name))
        row = networks[-1]
        cells = [row["fp32"], *row["octet"].values(), *(row["peers"][peer]["best"] for peer in names)]
        if not chosen.json:
            print(f"| {name} | {row['metric']} | " + " | ".join(map(text_of, cells)) + " |", flush=True)
    if chosen.json:
        print(json.dumps({"networks": networks}))


if "--octet" in sys.argv:
    at = sys.argv.index("--octet")
    os.environ["OCTET"] = sys.argv[at + 1]
    del sys.argv[at : at + 2]

import detections  # noqa: E402
import harness  # noqa: E402  (it reads OCTET)
import models  # noqa: E402
from harness import octet  # noqa: E402

if __name__ == "__main__":
    main()
