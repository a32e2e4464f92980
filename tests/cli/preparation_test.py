# SPDX-License-Identifier: Apache-2.0
"""One rule for arrays and photos in every command, said in one line; data that calibration speaks against are named, with labels what would
help; and what makers of models say of photos is found."""

import json
import unittest

import harness
import preparations
from harness import DIGITS, digits, digits_engine, need, octet, scratch, shared_data
from preparations import MODELS, doubts, right, wrong

AS_THEY_ARE = "arrays: taken as they are"


def saved(name, **arrays):
    numpy = need("numpy")
    path = scratch() / f"{name}.npz"
    numpy.savez(path, **arrays)
    return path


def test_arrays():
    numpy = need("numpy")
    held = numpy.load(DIGITS / "digits.npz")
    return held["test_images"][:60, None].astype("float32") / 16, held["test_labels"][:60]


class OneRule(unittest.TestCase):
    def test_arrays_are_taken_as_they_are_by_every_command(self):
        images, labels = test_arrays()
        data, engine = saved("as_they_are", image=images, labels=labels), digits_engine()
        ran = octet("run", engine, data, "--json")
        evaluated = octet("eval", engine, "--data", data, "--against", DIGITS / "digits.onnx", "--json")
        compared = octet("compare", engine, "--against", DIGITS / "digits.onnx", "--calib", data, "--json")
        for said in (ran, evaluated, compared):
            self.assertEqual(said.err.count(AS_THEY_ARE), 1)
            self.assertEqual(said.json["prepared"], [{"data": "arrays", "preprocess": None, "from": None, "line": AS_THEY_ARE}])
            self.assertEqual(said.json["doubts"], [])
        self.assertGreater(evaluated.json["top1"], 0.95)
        self.assertGreater(evaluated.json["sqnr_db"], 20)
        self.assertEqual(evaluated.json["sqnr_db"], compared.json["sqnr_db"])
        best = [result["outputs"][0]["top"][0]["index"] for result in ran.json["results"]]
        self.assertEqual(sum(a == b for a, b in zip(best, labels)) / len(labels), evaluated.json["top1"])
        bundled = octet("bundle", engine, "--inputs", data, "-o", scratch() / "case.zip", "--json")
        self.assertIn(AS_THEY_ARE, bundled.err)
        self.assertIn(AS_THEY_ARE, octet("build", DIGITS / "digits.onnx", "--int8", "--calib", data, "-o", scratch() / "a.octet", "--json").err)

    def test_flags_prepare_arrays_and_say_so(self):
        images, labels = test_arrays()
        data = saved("unscaled", image=images * 16, labels=labels)
        said = octet("eval", digits_engine(), "--data", data, "--scale", "16", "--json")
        self.assertIn("arrays: /16, from the flags over the engine", said.err)
        self.assertEqual(said.json["prepared"][0]["preprocess"]["scale"], 16)
        self.assertGreater(said.json["top1"], 0.95)

    def test_photos(self):
        engine = digits_engine()
        photos = ("--data", digits() / "test", "--max-samples", "40")
        self.assertRegex(octet("eval", engine, *photos).err, r"photos: resize 8x8, gray, /240, from the engine")
        self.assertRegex(octet("eval", engine, *photos, "--scale", "240").err, r"photos: .*/240, from the flags over the engine")
        guessed = octet("eval", DIGITS / "digits.onnx", *photos)
        self.assertRegex(guessed.err, r"photos: resize 8x8, gray, /255 \(a guess: neither flags nor engine")
        self.assertNotIn("photos:", octet("eval", engine, *photos, "--quiet").err)

    def test_files_of_trtexec_are_held_against_calibration(self):
        images, _ = test_arrays()
        for name, scale, says in (("right", 1, False), ("raw", 240, True)):
            file = scratch() / f"{name}.bin"
            (images[:8] * scale).tofile(file)
            said = octet("trtexec", f"--loadEngine={digits_engine()}", f"--loadInputs=image:{file}", "--shapes=image:8x1x8x8", "--iterations=1",
                         "--duration=0", "--warmUp=0")
            self.assertEqual("input 'image' looks not prepared at all" in said.out + said.err, says)

    def test_presets(self):
        said = octet("run", DIGITS / "digits.onnx", digits() / "test", "--preprocess", "unit", "--color", "gray")
        self.assertIn("photos: resize 8x8, gray, /255, from the flags over --preprocess unit", said.err)
        wrong_name = octet("run", DIGITS / "digits.onnx", digits() / "test", "--preprocess", "torchvison", code=2).err
        self.assertIn("did you mean torchvision", wrong_name.replace("'", ""))
        self.assertIn("ultralytics", wrong_name)

    def test_letterboxes_by_name(self):
        for flags, align in ((("--letterbox", "8x8:0:center"), "center"), (("--letterbox", "8x8:0"), "corner"),
                             (("--preprocess", "ultralytics"), "center"), (("--preprocess", "yolox"), "corner")):
            built = octet("build", DIGITS / "digits.onnx", *flags, "--color", "gray", "--scale", "240", "-o", scratch() / "box.octet", "--json")
            self.assertEqual((built.json["preprocess"]["letterbox"], built.json["preprocess"]["letterbox_align"]), ("8x8", align))


class Mistakes(unittest.TestCase):
    """Real photos; tests/preparations.py as a program takes three models."""

    def test_each_is_named_and_right_data_raise_no_alarm(self):
        model = MODELS["resnet20"]
        paths = model.paths()[::20]
        for case, (array, causes) in wrong(model, model.pixels(paths)).items():
            # Ends of ranges that must agree to a thousandth take more than four photos.
            for count in (len(array),) if "turned" in case else (4, len(array)):
                self.assertTrue(doubts(model, array[:count]) & causes, (case, count))
        for case, pixels in right(model, paths).items():
            self.assertEqual(doubts(model, model.prepared(pixels)), set(), case)

    def test_photos_by_wrong_flags(self):
        model = MODELS["resnet20"]
        photos = ("--data", shared_data("cifar10/test"), "--max-samples", "60", "--json")
        for flags, cause in ((("--scale", "65025"), "scaled_twice"), (("--scale", "1"), "not_scaled"), (("--color", "bgr"), "bgr"),
                             (("--mean", "0.5", "--std", "0.5"), "wrong_mean"), (("--mean", "0", "--std", "1"), "wrong_mean")):
            said = octet("eval", model.engine(), *photos, *flags).json
            self.assertEqual([doubt["cause"] for doubt in said["doubts"]], [cause], flags)
        self.assertEqual(octet("eval", model.engine(), *photos).json["doubts"], [])

    def test_labels_tell_what_would_help(self):
        model = MODELS["resnet20"]
        paths = model.paths()[::5]
        numpy = need("numpy")
        names = sorted({path.parent.name for path in paths})
        labels = numpy.array([names.index(path.parent.name) for path in paths])
        pixels = model.pixels(paths)
        good = octet("eval", model.engine(), "--data", saved("good", data=model.prepared(pixels), labels=labels), "--json")
        self.assertIsNone(good.json["trial"])
        raw = octet("eval", model.engine(), "--data", saved("raw", data=pixels.transpose(0, 3, 1, 2), labels=labels), "--json")
        self.assertEqual(raw.json["trial"]["top1"], good.json["top1"])
        self.assertIn("with --scale 255 --mean 0.4914,0.4822,0.4465", raw.err)
        self.assertIn("top-1 would be", raw.err)
        mended = octet("eval", model.engine(), "--data", scratch() / "raw.npz", *raw.json["trial"]["flags"].split(), "--json")
        self.assertEqual(mended.json["top1"], good.json["top1"])
        turned = octet("eval", model.engine(), "--data", saved("turned", data=model.prepared(pixels[..., ::-1]), labels=labels), "--json")
        self.assertEqual(turned.json["trial"]["cause"], "bgr")
        self.assertEqual(turned.json["trial"]["top1"], good.json["top1"])
        ship = [i for i, path in enumerate(paths) if path.parent.name == "ship"]
        ships = octet("eval", model.engine(), "--data", saved("ships", data=model.prepared(pixels[ship]), labels=labels[ship]), "--json")
        self.assertEqual((ships.json["doubts"], ships.json["trial"]), ([], None))


    def test_a_guess_is_held_against_labels(self):
        model = harness.shared_model("cifar10_resnet20")
        said = octet("eval", model, "--data", shared_data("cifar10/test"), "--max-samples", "100", "--json")
        self.assertIn("a guess", said.err)
        self.assertRegex(said.err, r"with --scale 255 --mean [\d.,]+ --std [\d.,]+ top-1 would be")
        self.assertGreater(said.json["trial"]["top1"], said.json["trial"]["present_top1"])


class Caches(unittest.TestCase):
    def test_a_cache_of_tensorrt_does_not_know_its_images(self):
        model = MODELS["resnet20"]
        onnx = harness.shared_model(model.name)
        cache, bare = scratch() / "ours.cache", scratch() / "theirs.cache"
        octet("build", onnx, "--int8", "--calib", shared_data(model.calib), "--max-samples", "64", *model.flags, "--calib-cache", cache,
              "-o", scratch() / "from_data.octet")
        octet("build", onnx, "--int8", "--calib-cache", cache, "-o", scratch() / "from_cache.octet")
        self.assertEqual((scratch() / "from_data.octet").read_bytes(), (scratch() / "from_cache.octet").read_bytes())
        self.assertIn("interleaving", json.loads((scratch() / "ours.cache.json").read_text())["inputs"][0])
        bare.write_bytes(cache.read_bytes())
        engine = scratch() / "bare.octet"
        self.assertIn("does not say how images were prepared", octet("build", onnx, "--int8", "--calib-cache", bare, "-o", engine).err)
        said = octet("eval", engine, "--data", shared_data("cifar10/test"), "--max-samples", "100", "--json")
        self.assertEqual([doubt["cause"] for doubt in said.json["doubts"]], ["unlike_codes"])
        self.assertIn("a guess", said.err)
        told = octet("eval", engine, "--data", shared_data("cifar10/test"), "--max-samples", "100", *model.flags, "--json")
        self.assertEqual(told.json["doubts"], [])
        if said.json["trial"] is not None:
            self.assertGreater(said.json["trial"]["top1"], said.json["top1"])


class Clipped(unittest.TestCase):
    def test_values_beyond_the_calibrated_range_are_counted(self):
        images, labels = test_arrays()
        numpy = need("numpy")
        calib = saved("half", image=images * 0.5)
        engine = scratch() / "half.octet"
        octet("build", DIGITS / "digits.onnx", "--int8", "--calib", calib, "-o", engine, "--calib-method", "minmax")
        for command in (("run", engine, saved("full", image=images, labels=labels)), ("eval", engine, "--data", scratch() / "full.npz")):
            said = octet(*command, "--json")
            (clipped,) = said.json["clipped"]
            self.assertEqual(clipped["elements"], images.size)
            self.assertEqual(clipped["clipped"], int(numpy.sum(images.astype("float64") > clipped["range"][1])))
            self.assertEqual(said.err.count("lie beyond the calibrated range"), 1)
        self.assertEqual(octet("run", engine, calib, "--json").json["clipped"][0]["clipped"], 0)
        self.assertIn("clipped", octet("bench", engine, "--iterations", "1", "--json").json)


class Found(unittest.TestCase):
    def model(self, name, metadata=(), **files):
        onnx = need("onnx")
        folder = scratch() / name
        folder.mkdir()
        model = onnx.load(DIGITS / "digits.onnx")
        for key, value in metadata:
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.save(model, folder / "model.onnx")
        for file, text in files.items():
            (folder / f"{file}.json").write_text(text if isinstance(text, str) else json.dumps(text))
        return folder / "model.onnx"

    def built(self, model, *flags):
        engine = model.parent / "model.octet"
        return octet("build", model, "--int8", "--calib", digits() / "calib", "--max-samples", "40", *flags, "-o", engine, "--json")

    def test_beside_the_model(self):
        config = {"do_resize": True, "size": {"height": 8, "width": 8}, "do_rescale": True, "rescale_factor": 1 / 240, "resample": 2,
                  "do_normalize": True, "image_mean": [0.25], "image_std": [0.5]}
        model = self.model("hf", preprocessor_config=config)
        # A gray model, and the file does not say so: what cannot be meant is not taken.
        refused = self.built(model)
        self.assertIn("preprocessor_config.json is not used", refused.err)
        self.assertIn("a guess", refused.err)

    def test_broken_files_are_not_used(self):
        for name, text in (("broken", "{"), ("deep", "[" * 100000), ("huge", " " * (1 << 21)), ("odd", '{"do_resize": 1}')):
            built = self.built(self.model(name, preprocessor_config=text))
            self.assertIn("preprocessor_config.json beside the model is not used", built.err, name)
            self.assertIn("a guess", built.err)
        self.assertNotIn("config.json", self.built(self.model("other", config={"model_type": "bert"})).err)

    def color_model(self, name, metadata=(), **files):
        onnx, numpy = need("onnx", "numpy")
        helper = onnx.helper
        folder = scratch() / name
        folder.mkdir()
        weights = numpy.random.default_rng(1).normal(0, 0.1, (4, 3, 3, 3)).astype("float32")
        graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3])], "g",
                                  [helper.make_tensor_value_info("x", 1, (1, 3, 32, 24))], [helper.make_tensor_value_info("y", 1, (1, 4, 30, 22))],
                                  [onnx.numpy_helper.from_array(weights, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        for key, value in metadata:
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.save(model, folder / "model.onnx")
        for file, text in files.items():
            (folder / f"{file}.json").write_text(json.dumps(text))
        return folder / "model.onnx"

    def test_what_makers_say(self):
        ultralytics = (("author", "Ultralytics"), ("stride", "32"), ("task", "detect"), ("imgsz", "[32, 24]"), ("names", "{0: 'a'}"))
        hf = {"do_resize": True, "size": {"height": 32, "width": 24}, "do_rescale": True, "rescale_factor": 1 / 255, "resample": 3,
              "do_normalize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.5, 0.5]}
        timm = {"architecture": "x", "pretrained_cfg": {"input_size": [3, 32, 24], "mean": [0.1, 0.2, 0.3], "std": [0.5, 0.5, 0.5],
                                                        "crop_pct": 1.0, "interpolation": "bilinear"}}
        photos = digits() / "test"
        for name, metadata, files, line in (
                ("u", ultralytics, {}, "photos: letterbox 24x32 (center, fill 114), rgb, /255, from the model's metadata (Ultralytics, detect)"),
                ("h", (), {"preprocessor_config": hf},
                 "photos: resize 24x32, rgb, /255, mean 0.5 0.5 0.5, std 0.25 0.5 0.5, from preprocessor_config.json"),
                ("t", (), {"config": timm},
                 "photos: shorter side 32, crop 24x32, rgb, /255, mean 0.1 0.2 0.3, std 0.5 0.5 0.5, from config.json (timm)")):
            model = self.color_model(name, metadata, **files)
            built = self.built(model)
            self.assertIn(line, built.err)
            self.assertEqual(built.json["calibration"]["prepared"]["line"], line)
            engine = model.parent / "model.octet"
            self.assertIn("from the engine", octet("run", engine, photos).err)
            self.assertIn("from the engine", octet("run", model, photos).err)  # compiled in memory, which finds the same
            self.assertIn("from the flags", self.built(model, "--scale", "255").err)
            arrays = saved("for_" + name, x=need("numpy").random.default_rng(2).random((40, 3, 32, 24)).astype("float32"))
            octet("build", model, "--int8", "--calib", arrays, "-o", engine)
            self.assertIn(AS_THEY_ARE, octet("run", engine, arrays).err)

    def test_axes_in_another_order_are_named(self):
        model = self.color_model("axes")
        data = saved("nhwc", x=need("numpy").zeros((3, 32, 24, 3), "float32"))
        for command in (("run", model, data), ("eval", model, "--data", data)):
            self.assertIn("transpose the array", octet(*command, code=2).err)


if __name__ == "__main__":
    assert preparations
    harness.main()
