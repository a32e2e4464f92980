# SPDX-License-Identifier: Apache-2.0
"""INT8 engines of every model that multiplies, against FP32 on real images: detectors by their boxes, pictures by PSNR, and coverage."""

import unittest

import detections
import harness
from harness import need, octet, scratch, shared_model
from models import MODELS, prepared_images

IMAGES = 15


def build(name, *flags):
    model = MODELS[name]
    int8, fp32 = scratch() / f"{name}.int8", scratch() / f"{name}.fp32"
    built = octet("build", model.path, "--int8", "--calib", model.calib, *model.flags, *model.shapes, "-o", int8, "--quiet",
                  "--threads", "2", "--json", *flags).json
    octet("build", model.path, *model.shapes, "-o", fp32, "--quiet")
    return fp32, int8, built["coverage"]


def run(engine, feeds):
    numpy = need("numpy")
    source, target = scratch() / "in.npz", scratch() / "out.npz"
    numpy.savez(source, **feeds)
    octet("run", engine, source, "-o", target, "--threads", "2")
    with numpy.load(target) as outputs:
        return dict(outputs)


class Detectors(unittest.TestCase):
    """Boxes of the INT8 engine that match one of FP32 and the other way round, over all images."""

    def agreement(self, name, decode):
        fp32, int8, coverage = build(name)
        found = wanted = pairs = 0
        for image in prepared_images(MODELS[name], IMAGES):
            size = image.shape[2:]
            feeds = {"images" if name == "yolox_nano" else "input": image}
            truth, got = decode(run(fp32, feeds), *size), decode(run(int8, feeds), *size)
            wanted, found = wanted + len(truth[0]), found + len(got[0])
            pairs += detections.matches(truth, got)
        print(f"\n{name}: {pairs} pairs of {wanted} boxes in FP32 and {found} in INT8 "
              f"({pairs / wanted:.1%} found, {pairs / max(1, found):.1%} right), {coverage['macs']:.1%} of multiplications in INT8")
        self.assertGreater(wanted, 10, "too few boxes to judge by")
        return pairs / wanted, pairs / max(1, found), coverage

    def test_yolox_nano(self):
        found, right, coverage = self.agreement("yolox_nano", detections.yolox)
        self.assertGreaterEqual(found, 0.8)
        self.assertGreaterEqual(right, 0.8)
        self.assertGreaterEqual(coverage["macs"], 0.99)

    def test_retinaface(self):
        found, right, coverage = self.agreement("retinaface_mobilenet025", detections.retinaface)
        self.assertGreaterEqual(found, 0.95)
        self.assertGreaterEqual(right, 0.95)
        self.assertGreaterEqual(coverage["macs"], 0.99)

    def test_ultraface(self):
        found, right, coverage = self.agreement("ultraface_rfb_320", detections.ultraface)
        self.assertGreaterEqual(found, 0.95)
        self.assertGreaterEqual(right, 0.95)
        self.assertGreaterEqual(coverage["macs"], 0.99)

    def test_yunet(self):
        found, right, coverage = self.agreement("yunet_n_dynamic", detections.yunet)
        self.assertGreaterEqual(found, 0.95)
        self.assertGreaterEqual(right, 0.95)
        self.assertGreaterEqual(coverage["macs"], 0.99)


class Pictures(unittest.TestCase):
    def psnr(self, name, peak):
        numpy = need("numpy")
        fp32, int8, coverage = build(name, "--max-samples", "16")
        entry = {"super_resolution": "input", "style_candy_instancenorm": "inputImage"}[name]
        worst = 1e9
        for image in prepared_images(MODELS[name], 4):
            truth, got = (next(iter(run(engine, {entry: image}).values())) for engine in (fp32, int8))
            error = numpy.square(numpy.clip(truth, 0, peak) - numpy.clip(got, 0, peak)).mean()
            worst = min(worst, 10 * numpy.log10(peak * peak / error))
        print(f"\n{name}: PSNR of INT8 against FP32 at worst {worst:.1f} dB, {coverage['macs']:.1%} of multiplications in INT8")
        return worst, coverage

    def test_super_resolution(self):
        worst, coverage = self.psnr("super_resolution", 1.0)
        self.assertGreaterEqual(worst, 34)
        self.assertEqual(coverage["macs"], 1)

    def test_style(self):
        worst, coverage = self.psnr("style_candy_instancenorm", 255.0)
        self.assertGreaterEqual(worst, 25)
        self.assertEqual(coverage["macs"], 1)


class Coverage(unittest.TestCase):
    """Every other model with products builds in INT8; what stays in f32 is no product."""

    def check(self, name, path, *flags):
        built = octet("build", path, "--int8", *flags, "-o", scratch() / f"{name}.octet", "--quiet", "--json").json
        coverage = built["coverage"]
        print(f"\n{name}: {coverage['layers']:.1%} of layers, {coverage['macs']:.1%} of multiplications in INT8")
        self.assertEqual(coverage["macs"], 1)

    def test_squeezenet_f16(self):
        model = MODELS["squeezenet1.0_imagenet_fp16"]
        self.check(model.name, model.path, "--calib", model.calib, *model.flags, "--max-samples", "8")

    def test_residual_block(self):
        model = MODELS["mobilenet_v2_imagenet"]
        self.check("residual_block", shared_model("polygraphy_residual_block"), "--calib", model.calib, *model.flags, "--max-samples", "4")

    def test_vit_tracker(self):
        numpy = need("numpy")
        faces = numpy.concatenate([face / 255 for face in prepared_images(MODELS["yunet_n_dynamic"], 4)])
        samples = scratch() / "tracker.npz"
        numpy.savez(samples, template=faces[:, :, 64:192, 64:192], search=faces[:, :, :256, :256])
        self.check("vit_tracker", shared_model("vit_tracker"), "--calib", samples)

    def test_quantized_models(self):
        for name in ("mobilenet_v2_imagenet_qdq", "shufflenet_v2_imagenet_qoperator"):
            with self.subTest(name):
                self.check(name, shared_model(name))


if __name__ == "__main__":
    harness.main()
