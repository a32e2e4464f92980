#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a flag of `octet build --int8` does to accuracy: the networks of ../shared under several variants, one row for each network.

    bench/effects.py --variant off='--equalize off' --variant on= [--octet PROGRAM] [--networks NAME,...]     # needs ../shared and .venv

Classifiers: top-1 in INT8 (and FP32's), agreement, SQNR of the output. Detectors: boxes of FP32 that INT8 finds, boxes of INT8 that are right, SQNR
of all outputs; YOLOX by its labels too (mAP at an overlap of 0.5, as COCO counts it). Pictures: the worst PSNR, and SQNR."""

import argparse
import pathlib
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models")]

CLASSIFIERS = ["cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "cifar10_vit", "mobilenet_v1_025_imagenet",
               "mobilenet_v2_imagenet"]
DETECTORS = {"yolox_nano": ("yolox", "images"), "retinaface_mobilenet025": ("retinaface", "input"), "ultraface_rfb_320": ("ultraface", "input"),
             "yunet_n_dynamic": ("yunet", "input")}
PICTURES = {"super_resolution": ("input", 1.0), "style_candy_instancenorm": ("inputImage", 255.0)}
IMAGES = 15


def build(model, flags, engine):
    few = ["--max-samples", "16"] if model.name in PICTURES else []
    octet("build", model.path, "--int8", "--calib", model.calib, *model.flags, *model.shapes, *few, "-o", engine, "--quiet", "--threads", "2",
          "--force", *flags)


def reference(model):
    fp32 = harness.scratch() / f"{model.name}.fp32"
    if not fp32.exists():
        octet("build", model.path, *model.shapes, "-o", fp32, "--quiet")
    return fp32


def outputs_of(engine, feeds):
    numpy = harness.need("numpy")
    source, target = harness.scratch() / "in.npz", harness.scratch() / "out.npz"
    numpy.savez(source, **feeds)
    octet("run", engine, source, "-o", target, "--threads", "2", "--force")
    with numpy.load(target) as outputs:
        return dict(outputs)


class Sqnr:
    """Of all outputs over all images."""

    def __init__(self):
        self.signal = self.noise = 0.0

    def add(self, truth, got):
        numpy = harness.need("numpy")
        self.signal += sum(numpy.square(truth[name].astype("d")).sum() for name in truth)
        self.noise += sum(numpy.square(truth[name].astype("d") - got[name]).sum() for name in truth)

    def __str__(self):
        numpy = harness.need("numpy")
        return f"{10 * numpy.log10(self.signal / max(self.noise, 1e-300)):.1f} dB"


def classifier(model, flags):
    build(model, flags, model.engine)
    result = octet("eval", model.engine, "--data", model.test, "--against", model.path, *model.labels, "--threads", "2", "--json").json
    return [f"{result['reference_top1']:.1%}", f"{result['top1']:.1%}, {result['agreement']:.1%}, {result['sqnr_db']:.1f} dB"]


def labels_of(path, ratio, size):
    """The boxes and classes beside an image of COCO, in the letterboxed picture."""
    numpy = harness.need("numpy")
    rows = [line.split() for line in path.with_suffix(".txt").read_text().splitlines()] if path.with_suffix(".txt").exists() else []
    values = numpy.array(rows, float).reshape(-1, 5)
    scale = numpy.array(size, float) * ratio
    return detections.corners(values[:, 1:3] * scale, values[:, 3:5] * scale), values[:, 0].astype(int)


def average_precision(scored, wanted):
    """COCO's: precision that no later point passes, at 101 recalls. `scored`: a score and whether it is right, of each box."""
    numpy = harness.need("numpy")
    right = numpy.array([is_right for _, is_right in sorted(scored, key=lambda entry: -entry[0])], float)
    hits = numpy.cumsum(right)
    recall, precision = hits / wanted, hits / numpy.arange(1, len(right) + 1)
    precision = numpy.maximum.accumulate(precision[::-1])[::-1]
    at = numpy.searchsorted(recall, numpy.linspace(0, 1, 101))
    return numpy.where(at < len(precision), precision[numpy.minimum(at, len(precision) - 1)], 0).mean() if len(precision) else 0.0


class MeanPrecision:
    """mAP at an overlap of 0.5 over the classes that the labels have."""

    def __init__(self):
        self.scored, self.wanted = {}, {}

    def add(self, found, truth):
        (boxes, scores, classes), (true_boxes, true_classes) = found, truth
        for label in set(map(int, true_classes)):
            self.wanted[label] = self.wanted.get(label, 0) + int((true_classes == label).sum())
        free = [True] * len(true_boxes)
        for box, score, label in zip(boxes, scores, classes):  # best first
            overlap = detections.iou(box[None], true_boxes)[0] * (true_classes == label) * free if len(true_boxes) else []
            best = int(overlap.argmax()) if len(overlap) else -1
            is_right = best >= 0 and overlap[best] >= detections.IOU
            if is_right:
                free[best] = False
            self.scored.setdefault(int(label), []).append((float(score), is_right))

    def __str__(self):
        numpy = harness.need("numpy")
        return f"{numpy.mean([average_precision(self.scored.get(c, []), n) for c, n in self.wanted.items()]):.4f}"


def mean_precision(model, engine):
    image = harness.need("PIL.Image")
    precision = MeanPrecision()
    paths = sorted(p for p in model.test.rglob("*.jpg"))
    for path, picture in zip(paths, models.prepared_images(model, len(paths))):
        size = image.open(path).size
        found = detections.yolox(outputs_of(engine, {"images": picture}), *picture.shape[2:], least=0.01)
        precision.add(found, labels_of(path, 416 / max(size), size))
    return str(precision)


def detector(model, flags):
    decoder, entry = DETECTORS[model.name]
    decode, fp32 = getattr(detections, decoder), reference(model)
    build(model, flags, model.engine)
    wanted = found = pairs = 0
    sqnr = Sqnr()
    for image in models.prepared_images(model, IMAGES):
        truth, got = outputs_of(fp32, {entry: image}), outputs_of(model.engine, {entry: image})
        sqnr.add(truth, got)
        boxes, others = decode(truth, *image.shape[2:]), decode(got, *image.shape[2:])
        wanted, found, pairs = wanted + len(boxes[0]), found + len(others[0]), pairs + detections.matches(boxes, others)
    row = [str(wanted), f"{pairs / wanted:.1%}, {pairs / max(1, found):.1%}, {sqnr}"]
    if decoder == "yolox":
        row = [f"{row[0]}, mAP {mean_precision(model, fp32)}", f"{row[1]}, mAP {mean_precision(model, model.engine)}"]
    return row


def picture(model, flags):
    numpy = harness.need("numpy")
    entry, peak = PICTURES[model.name]
    fp32, sqnr, worst = reference(model), Sqnr(), 1e9
    build(model, flags, model.engine)
    for image in models.prepared_images(model, 4):
        truth, got = outputs_of(fp32, {entry: image}), outputs_of(model.engine, {entry: image})
        sqnr.add(truth, got)
        error = numpy.mean([numpy.square(numpy.clip(truth[k], 0, peak) - numpy.clip(got[k], 0, peak)).mean() for k in truth])
        worst = min(worst, 10 * numpy.log10(peak * peak / error))
    return ["", f"{worst:.1f} dB, {sqnr}"]


def measure(name, flags):
    kind = detector if name in DETECTORS else picture if name in PICTURES else classifier
    return kind(models.MODELS[name], flags)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join([*CLASSIFIERS, *DETECTORS, *PICTURES]))
    parser.add_argument("--variant", action="append", metavar="NAME=FLAGS", help="flags of octet build; repeatable")
    chosen = parser.parse_args()
    variants = dict(text.split("=", 1) for text in chosen.variant or ["off=--equalize off", "on="])
    print("| network | FP32 | " + " | ".join(variants) + " |\n|---|" + "---|" * (1 + len(variants)))
    for name in chosen.networks.split(","):
        rows = [measure(name, shlex.split(flags)) for flags in variants.values()]
        print(f"| {name} | {rows[0][0]} | " + " | ".join(row[1] for row in rows) + " |", flush=True)


import octet_flag  # noqa: E402, F401  (before harness, which reads OCTET)

import detections  # noqa: E402
import harness  # noqa: E402
import models  # noqa: E402
from harness import octet  # noqa: E402

if __name__ == "__main__":
    main()
