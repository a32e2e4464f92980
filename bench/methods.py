#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each calibration method makes of the six models that docs/accuracy.md compares: accuracy of classifiers, boxes of detectors, and
the SQNR of the outputs against FP32. One calibration a model: the other methods come from its cache.

    bench/methods.py [--octet PROGRAM] [--models NAME,...] [--methods METHOD,...]      # needs ../shared and .venv
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models")]

METHODS = ["entropy", "minmax", "percentile:99.99", "percentile:99.9", "mse", "tensorrt", "auto"]
CLASSIFIERS = ["cifar10_resnet20", "cifar10_silunet", "cifar10_vit", "mobilenet_v2_imagenet"]
DETECTORS = {"yolox_nano": "yolox", "retinaface_mobilenet025": "retinaface"}
IMAGES = 15


def build(model, method, engine):
    """From the cache, but for auto, which tries samples."""
    cache = harness.scratch() / f"{model.name}.cache"
    common = ["build", model.path, "--int8", *model.flags, *model.shapes, "-o", engine, "--quiet", "--threads", "2"]
    if not cache.exists():
        octet(*common, "--calib", model.calib, "--calib-cache", cache)
    source = ["--calib", model.calib] if method == "auto" else ["--calib-cache", cache]
    octet(*common, *source, "--calib-method", method)


def classifier(model, method):
    build(model, method, model.engine)
    result = octet("eval", model.engine, "--data", model.test, "--against", model.path, *model.labels, "--threads", "2", "--json").json
    return [f"{result['reference_top1']:.1%}", f"{result['top1']:.1%}", f"{result['agreement']:.1%}", f"{result['sqnr_db']:.1f} dB"]


def detector(model, method):
    decode = getattr(detections, DETECTORS[model.name])
    fp32 = reference(model)
    build(model, method, model.engine)
    wanted = found = pairs = 0
    sqnr = Sqnr()
    for image in models.prepared_images(model, IMAGES):
        feeds = {"images" if model.name == "yolox_nano" else "input": image}
        truth, got = outputs_of(fp32, feeds), outputs_of(model.engine, feeds)
        sqnr.add(truth, got)
        boxes, others = decode(truth, *image.shape[2:]), decode(got, *image.shape[2:])
        wanted, found, pairs = wanted + len(boxes[0]), found + len(others[0]), pairs + detections.matches(boxes, others)
    return [str(wanted), f"{pairs / wanted:.1%}", f"{pairs / max(1, found):.1%}", str(sqnr)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join([*CLASSIFIERS, *DETECTORS]))
    parser.add_argument("--methods", default=",".join(METHODS))
    chosen = parser.parse_args()
    print("| model | method | FP32, or its boxes | INT8, or found | agreement, or right | SQNR |\n|---|---|---|---|---|---|")
    for name in chosen.models.split(","):
        for method in chosen.methods.split(","):
            measure = detector if name in DETECTORS else classifier
            print(f"| {name} | {method} | " + " | ".join(measure(models.MODELS[name], method)) + " |", flush=True)


# It reads --octet, before the harness does.
from effects import Sqnr, detections, harness, models, octet, outputs_of, reference  # noqa: E402

if __name__ == "__main__":
    main()
