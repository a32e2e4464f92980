# SPDX-License-Identifier: Apache-2.0
"""Preprocessing is remembered whatever is built; a forgotten scale is seen; what the data look like to the network is said, and
what is doubtful in them is warned of."""

import json
import unittest

import harness
from harness import DIGITS, digits, need, octet, scratch, shared_data, shared_model

MODEL = DIGITS / "digits.onnx"
MEAN, STD = "0.4914,0.4822,0.4465", "0.2470,0.2435,0.2616"
CIFAR = ("--scale", "255", "--mean", MEAN, "--std", STD)
FORGOTTEN = ("--mean", MEAN, "--std", STD)


def build(model, name, *flags):
    engine = scratch() / f"{name}.octet"
    return engine, octet("build", model, *flags, "-o", engine, "--json")


def top1(engine, *flags):
    return octet("eval", engine, "--data", shared_data("cifar10/test"), "--max-samples", "100", *flags, "--json")


def found(said):
    """What a command found, whoever said how to prepare the data."""
    return {key: value for key, value in said.json.items() if key != "prepared"}


class Remembered(unittest.TestCase):
    def test_float_build(self):
        model = shared_model("cifar10_resnet20")
        engine, built = build(model, "remembers", *CIFAR)
        plain, _ = build(model, "plain")
        said = found(top1(plain, *CIFAR))
        self.assertEqual(found(top1(engine)), said)
        self.assertGreater(said["top1"], 0.8)
        self.assertEqual(built.json["preprocess"]["scale"], 255)
        self.assertEqual(octet("inspect", engine, "--json").json["preprocess"], built.json["preprocess"])
        self.assertIn("0.4914", octet("inspect", engine).out)
        self.assertIsNone(octet("inspect", plain, "--json").json["preprocess"])
        image = sorted(shared_data("cifar10/test").rglob("*.*"))[0]
        self.assertEqual(found(octet("run", engine, image, "--json")), found(octet("run", plain, image, *CIFAR, "--json")))
        compared = octet("compare", engine, "--against", plain, "--calib", shared_data("cifar10/calib"), "--max-samples", "8", "--json")
        self.assertIsNone(compared.json["sqnr_db"])  # exact: one preprocessing for both
        octet("bench", engine, "--seconds", "0")

    def test_qdq_build(self):
        flags = ("--resize", "256", "--crop", "224x224", "--scale", "127.5", "--mean", "1", "--std", "1")
        engine, built = build(shared_model("mobilenet_v2_imagenet_qdq"), "qdq", *flags)
        self.assertEqual((built.json["preprocess"]["resize_short"], built.json["preprocess"]["crop"]), (256, "224x224"))
        data = ("--data", shared_data("imagenet/val"), "--labels", "prefix", "--max-samples", "12", "--json")
        self.assertEqual(found(octet("eval", engine, *data)), found(octet("eval", engine, *data, *flags)))

    def test_what_cannot_fit_the_model(self):
        error = octet("build", MODEL, "--crop", "5x5", "--color", "gray", "-o", scratch() / "x.octet", code=2).err
        self.assertIn("5x5", error)
        self.assertFalse((scratch() / "x.octet").exists())


class ForgottenScale(unittest.TestCase):
    def test_255_is_chosen_and_said(self):
        model = shared_model("cifar10_resnet20")
        engine, built = build(model, "forgotten", *FORGOTTEN)
        self.assertIn("--scale 255", built.err)
        self.assertEqual(built.json["preprocess"]["scale"], 255)
        self.assertGreater(top1(engine).json["top1"], 0.8)
        plain, _ = build(model, "forgotten_plain")
        evaluated = top1(plain, *FORGOTTEN)
        self.assertIn("--scale 255", evaluated.err)
        self.assertGreater(evaluated.json["top1"], 0.8)
        image = sorted(shared_data("cifar10/test").rglob("*.*"))[0]
        run = octet("run", plain, image, *FORGOTTEN, "--json")
        self.assertEqual(run.err.count("--scale 255"), 1)
        self.assertEqual(found(run), found(octet("run", plain, image, *CIFAR, "--json")))
        compared = octet("compare", plain, "--against", engine, "--calib", shared_data("cifar10/calib"), "--max-samples", "4", "--layers",
                         *FORGOTTEN, "--json")
        self.assertEqual(compared.err.count("--scale 255"), 1)
        self.assertIsNone(compared.json["sqnr_db"])

    def test_in_a_file(self):
        file = scratch() / "forgotten.json"
        for keys, scale in (({}, 255), ({"scale": 1}, 1), ({"scale": 128}, 128)):
            file.write_text(json.dumps({"color": "gray", "mean": 0.5, "std": 0.25, **keys}))
            _, built = build(MODEL, "file", "--preprocess", file)
            self.assertEqual(built.json["preprocess"]["scale"], scale)
            self.assertEqual("--scale 255" in built.err, not keys)

    def test_not_where_pixels_are_meant(self):
        for flags in (("--mean", "127.5", "--std", "127.5"), ("--mean", "0.5", "--std", "58"), ("--mean", "0", "--std", "1"),
                      ("--scale", "1", "--mean", "0.5", "--std", "0.25")):
            _, built = build(MODEL, "meant", "--color", "gray", *flags)
            self.assertEqual(built.json["preprocess"]["scale"], 1, flags)
            self.assertNotIn("--scale 255", built.err)


class WhatDataLookLike(unittest.TestCase):
    def arrays(self, name, array):
        numpy = need("numpy")
        path = scratch() / f"{name}.npz"
        numpy.savez(path, image=array)
        return path

    def digits_built(self, data, *flags):
        engine, report = scratch() / "looks.octet", scratch() / "looks.html"
        flags = ("build", MODEL, "--int8", "--calib", data, *flags, "-o", engine, "--report", report)
        return octet(*flags, "--json"), octet(*flags), report.read_text()

    def test_arrays(self):
        numpy = need("numpy")
        array = numpy.random.default_rng(1).normal(0.3, 0.7, (40, 1, 8, 8)).astype("float32")
        result, text, page = self.digits_built(self.arrays("normal", array))
        (seen,) = result.json["calibration"]["inputs"]
        self.assertEqual((seen["input"], seen["samples"], seen["constant_samples"]), ("image", 40, 0))
        self.assertEqual((seen["min"], seen["max"]), (float(array.min()), float(array.max())))
        wide = array.astype("float64")
        numpy.testing.assert_allclose(seen["mean"], [wide.mean()], rtol=1e-12)
        numpy.testing.assert_allclose(seen["deviation"], [wide.std()], rtol=1e-12)
        self.assertEqual(result.json["warnings"], [])
        for said in (f"{wide.mean():.4g}", f"{wide.std():.4g}", f"{wide.min():.4g}", f"{wide.max():.4g}"):
            self.assertIn(said, text.out)
            self.assertIn(said, page)

    def test_channels_of_images_after_preprocessing(self):
        numpy, image = need("numpy", "PIL.Image")
        data = shared_data("cifar10/calib")
        paths = [path for path in data.rglob("*") if path.suffix in (".png", ".jpg")]
        pixels = numpy.stack([numpy.asarray(image.open(path).convert("RGB")) for path in paths]).astype("float64")
        prepared = (pixels / 255 - [float(v) for v in MEAN.split(",")]) / [float(v) for v in STD.split(",")]
        engine = scratch() / "channels.octet"
        seen = octet("build", shared_model("cifar10_resnet20"), "--int8", "--calib", data, *CIFAR, "-o", engine,
                     "--json").json["calibration"]["inputs"][0]
        # The network's inputs are f32: each is within one of its roundings of the exact value.
        numpy.testing.assert_allclose(seen["mean"], prepared.mean((0, 1, 2)), atol=2**-21)
        numpy.testing.assert_allclose(seen["deviation"], prepared.std((0, 1, 2)), rtol=2**-21)
        self.assertEqual(seen["samples"], len(paths))

    def warnings(self, array, *flags):
        result, text, _ = self.digits_built(self.arrays("doubtful", array), *flags)
        for warning in result.json["warnings"]:
            self.assertIn(warning, text.err)
        return "\n".join(result.json["warnings"])

    def test_doubtful_arrays(self):
        numpy = need("numpy")
        good = numpy.random.default_rng(2).random((40, 1, 8, 8)).astype("float32")
        self.assertEqual(self.warnings(good), "")
        self.assertIn("is 0 in every sample", self.warnings(good * 0, "--constant-data"))
        self.assertIn("is 0.5 everywhere", self.warnings(good * 0 + numpy.float32(0.5), "--constant-data"))
        some = good.copy()
        some[3:5] = 0.25
        self.assertIn("one value throughout in 2 of 40 samples", self.warnings(some))
        self.assertIn("as pixels are stored", self.warnings((good * 255).astype("uint8")))
        self.assertEqual(self.warnings((good * 255).astype("uint8"), "--scale", "1"), "")
        self.assertEqual(self.warnings((good * 255).astype("uint8"), "--scale", "255"), "")
        self.assertIn("scaled twice", self.warnings(good / 255))
        self.assertIn("5 samples only", self.warnings(good[:5]))

    def test_geometry_alone_leaves_pixels_as_stored(self):
        result, _, _ = self.digits_built(digits() / "calib", "--color", "gray", "--resize", "8x8")
        self.assertIn("as pixels are stored", "\n".join(result.json["warnings"]))

    def test_not_finite_is_refused(self):
        numpy = need("numpy")
        array = numpy.random.default_rng(2).random((40, 1, 8, 8)).astype("float32")
        for value in (numpy.nan, numpy.inf):
            array[7, 0, 1, 2] = value
            error = octet("build", MODEL, "--int8", "--calib", self.arrays("nan", array), "-o", scratch() / "nan.octet", code=2).err
            self.assertRegex(error, "NaN|Inf")
            self.assertIn("[7]", error)

    def test_photos_for_what_is_no_image(self):
        onnx = need("onnx")
        helper = onnx.helper
        for shape in ((1, 1, 49, 10), (1, 49, 10, 1)):
            graph = helper.make_graph(
                [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])], "audio",
                [helper.make_tensor_value_info("x", 1, shape)], [helper.make_tensor_value_info("y", 1, (1, 3))],
                [helper.make_tensor("w", 1, (490, 3), [0.01 * (i % 7 - 3) for i in range(1470)])])
            model = scratch() / "audio.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
            flags = ("build", model, "--int8", "--calib", digits() / "calib", "-o", scratch() / "audio.octet")
            self.assertIn("10x49", octet(*flags).err)
            self.assertIn("is it an image", octet(*flags).err)
            self.assertNotIn("is it an image", octet(*flags, "--color", "gray", "--resize", "10x49", "--scale", "255",
                                                     *(("--layout", "nhwc") if shape[3] == 1 else ())).err)


class Accuracy(unittest.TestCase):
    def test_hardly_better_than_guessing(self):
        model = shared_model("cifar10_resnet20")
        engine, _ = build(model, "guessing", "--scale", "1", *FORGOTTEN)
        for against, what in (((), "the engine"), (("--against", model), "the model in FP32")):
            wrong = top1(engine, *against)
            self.assertIn(what, wrong.err)
            self.assertIn("--mean", wrong.err)
            self.assertIn(what, "\n".join(wrong.json["warnings"]))
            self.assertEqual(top1(engine, *against, *CIFAR).json["warnings"], [])

    def test_labels_off_by_one(self):
        engine, _ = build(shared_model("cifar10_resnet20"), "offset", *CIFAR)
        right = top1(engine).json["top1"]
        for offset in ("-1", "1"):
            self.assertIn(f"--label-offset 0 it is right for {100 * right:.1f} %", top1(engine, "--label-offset", offset).err)


if __name__ == "__main__":
    harness.main()
