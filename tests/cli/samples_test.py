# SPDX-License-Identifier: Apache-2.0
"""Samples in and results out: every file and every row gives one, one reader serves run, eval, compare and build, and what an output
means is not guessed."""

import pathlib
import unittest

import harness
from harness import DIGITS, digits, digits_engine, need, octet, scratch

MODEL = DIGITS / "digits.onnx"
FLAGS = ("--color", "gray", "--scale", "240")


def images(count):
    """Prepared digits as the network wants them: [count,1,8,8], and their labels."""
    numpy = need("numpy")
    arrays = numpy.load(DIGITS / "digits.npz")
    return arrays["test_images"][:count].astype("float32")[:, None] / 16, arrays["test_labels"][:count]


def truth(batch):
    """ONNX Runtime's logits."""
    runtime = need("onnxruntime")
    session = runtime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    need("numpy")
    return session.run(None, {session.get_inputs()[0].name: batch})[0]


def saved(name, **arrays):
    path = scratch() / f"{name}.npz"
    need("numpy").savez(path, **arrays)
    return path


def fixed_batch(size):
    """The digits' model with a batch that is fixed."""
    onnx = need("onnx")
    model = onnx.load(MODEL)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].Clear()
        value.type.tensor_type.shape.dim[0].dim_value = size
    path = scratch() / f"batch{size}.onnx"
    onnx.save(model, path)
    return path


def float_engine(model=MODEL):
    engine = scratch() / f"{pathlib.Path(model).stem}_float.octet"
    octet("build", model, *FLAGS, "-o", engine, "--force")
    return engine


def outputs(path, name="logits"):
    return need("numpy").load(path)[name]


class EveryFile(unittest.TestCase):
    def setUp(self):
        self.out = scratch() / f"{self._testMethodName}.npz"

    def test_folder(self):
        folder = digits() / "test" / "3"
        files = sorted(folder.glob("*.png"))
        result = octet("run", digits_engine(), folder, "--json", "-o", self.out).json["results"]
        self.assertEqual([entry["input"] for entry in result], [str(path) for path in files])
        alone = octet("run", digits_engine(), *files, "--json").json["results"]
        self.assertEqual(result, alone)
        self.assertEqual(outputs(self.out).shape, (len(files), 10))
        self.assertEqual(outputs(self.out).argmax(1).tolist(), [entry["outputs"][0]["top"][0]["index"] for entry in alone])

    def test_several_files_in_one_archive(self):
        numpy = need("numpy")
        batch, _ = images(5)
        files = [saved("first", image=batch[:2]), saved("second", image=batch[2:5])]
        said = octet("run", float_engine(), *files, "-o", self.out, "--json").json["results"]
        self.assertEqual([entry["input"] for entry in said],
                         [f"{files[0]}[0]", f"{files[0]}[1]", f"{files[1]}[0]", f"{files[1]}[1]", f"{files[1]}[2]"])
        numpy.testing.assert_allclose(outputs(self.out), truth(batch), rtol=1e-4, atol=1e-4)
        for entry, scores in zip(said, outputs(self.out)):
            self.assertEqual(entry["outputs"][0]["type"], "f32[1,10]")
            self.assertEqual(entry["outputs"][0]["top"][0]["index"], int(scores.argmax()))

    def test_other_sizes_get_arrays_of_their_own(self):
        engine = scratch() / "pyramid.octet"
        octet("build", pyramid(), "-o", engine)
        numpy = need("numpy")
        files = [saved(f"size{i}", x=numpy.full((1, 3, 32 * (i + 1), 32), i + 1, "float32")) for i in range(2)]
        octet("run", engine, *files, "-o", self.out)
        self.assertEqual({name: array.shape for name, array in numpy.load(self.out).items()},
                         {"y[0]": (1, 3, 32, 32), "y[1]": (1, 3, 64, 32)})


class OneReader(unittest.TestCase):
    def test_what_calibration_takes_run_takes(self):
        numpy = need("numpy")
        batch, _ = images(33)
        expected = scratch() / "expected.npz"
        octet("run", float_engine(), saved("plain", image=batch), "-o", expected)
        for name, arrays in (("f64", {"image": batch.astype("float64")}), ("misnamed", {"pictures": batch}),
                             ("no_channel", {"image": batch[:, 0]}), ("f16", {"image": batch.astype("float16")})):
            path, target = saved(name, **arrays), scratch() / f"{name}_out.npz"
            octet("run", float_engine(), path, "-o", target)
            numpy.testing.assert_array_equal(outputs(target), outputs(expected))  # sixteenths are exact in f16
            octet("build", MODEL, "--int8", "--calib", path, "-o", scratch() / "reader.octet")
        pixels = saved("u8", image=(batch * 16).astype("uint8"))
        octet("build", MODEL, "--int8", "--calib", pixels, "--scale", "16", "-o", scratch() / "reader.octet")
        octet("run", float_engine(), pixels, "--scale", "16", "-o", scratch() / "u8_out.npz")
        numpy.testing.assert_array_equal(outputs(scratch() / "u8_out.npz"), outputs(expected))

    def test_pixels_that_nobody_prepared(self):
        batch, _ = images(4)
        self.assertIn("--scale", octet("run", float_engine(), saved("raw", image=batch * 240)).err)
        self.assertEqual(octet("run", float_engine(), saved("prepared", image=batch)).err, "arrays: taken as they are\n")

    def test_what_calibration_refuses_run_refuses(self):
        numpy = need("numpy")
        batch, _ = images(33)
        bad = batch.copy()
        bad[3, 0, 2, 2] = numpy.nan
        infinite = batch.copy()
        infinite[1, 0, 0, 0] = numpy.inf
        for name, arrays, says in (("nan", {"image": bad}, "NaN"), ("inf", {"image": infinite}, "Inf"),
                                   ("text", {"image": numpy.array(["a", "b"])}, "image"),
                                   ("shape", {"image": numpy.zeros((4, 3, 9, 9), "float32")}, "does not fit"),
                                   ("two", {"a": batch, "b": batch}, "no array named")):
            path = saved(name, **arrays)
            for command in (("run", float_engine(), path), ("eval", float_engine(), "--data", path),
                            ("compare", float_engine(), "--against", MODEL, "--calib", path),
                            ("build", MODEL, "--int8", "--calib", path, "-o", scratch() / "refused.octet")):
                if name == "inf" and command[0] == "run":
                    octet(*command)  # a mask or a limit may be infinite: arrays of the inputs' own shapes are used as they stand
                    continue
                self.assertIn(says, octet(*command, code=2).err, (name, command[0]))
        numpy.save(scratch() / "nan.npy", bad[3:4])
        self.assertIn("NaN", octet("run", float_engine(), scratch() / "nan.npy", code=2).err)


class FixedBatch(unittest.TestCase):
    def test_rows_are_split(self):
        numpy = need("numpy")
        batch, labels = images(7)
        source = saved("seven", image=batch, labels=labels)
        for size in (1, 4):
            model = fixed_batch(size)
            engine, target = float_engine(model), scratch() / f"fixed{size}_out.npz"
            said = octet("run", engine, source, "-o", target, "--json").json["results"]
            self.assertEqual([entry["input"] for entry in said], [f"{source}[{i}]" for i in range(7)])
            numpy.testing.assert_allclose(outputs(target), truth(batch), rtol=1e-4, atol=1e-4)
            flags = ("--data", source, "--scale", "1", "--json")
            self.assertEqual(octet("eval", engine, *flags).json["top1"], octet("eval", float_engine(), *flags).json["top1"])

    def test_calibration_and_comparison(self):
        calib = DIGITS / "digits.npz"
        result = []
        for model in (MODEL, fixed_batch(4)):
            engine = scratch() / "fixed_int8.octet"
            built = octet("build", model, "--int8", "--calib", f"{calib}:train_images[0:200]", "--scale", "16", "-o", engine, "--json").json
            self.assertEqual(built["calibration"]["samples"], 200)
            data = ("--calib", f"{calib}:test_images[0:40]")
            compared = octet("compare", engine, "--against", model, *data, "--scale", "16", "--color", "gray", "--layers", "--json").json
            self.assertEqual(compared["samples"], 40)
            result.append((built["calibration"]["inputs"], compared["sqnr_db"], [layer["sqnr_db"] for layer in compared["layers"]]))
            codes = scratch() / "fixed_codes.npz"
            octet("run", engine, f"{calib}:test_images[0:40]", "--scale", "16", "--color", "gray", "-o", codes)
            result[-1] += (outputs(codes).tolist(),)
        self.assertEqual(result[0][0], result[1][0])
        self.assertEqual(result[0][3], result[1][3])  # one calibration, the same integers
        self.assertGreater(min(result[0][1], result[1][1]), 30)
        self.assertEqual(len(result[0][2]), len(result[1][2]))

    def test_images(self):
        folder = digits() / "test" / "3"
        engine = float_engine(fixed_batch(4))
        top = [[entry["index"] for entry in result["outputs"][0]["top"]] for result in octet("run", engine, folder, "--json").json["results"]]
        self.assertEqual(len(top), len(list(folder.glob("*.png"))))
        same = [[entry["index"] for entry in result["outputs"][0]["top"]]
                for result in octet("run", float_engine(), folder, "--json").json["results"]]
        self.assertEqual(top, same)


class Names(unittest.TestCase):
    def names(self, count):
        path = scratch() / f"names{count}.txt"
        path.write_text("".join(f"name {i}\r\n" for i in range(count)) + "\n")
        return path

    def top(self, *flags):
        batch, _ = images(3)
        results = octet("run", digits_engine(), saved("named", image=batch), *flags, "--top", "10", "--json").json["results"]
        return [entry for result in results for entry in result["outputs"][0]["top"]]

    def test_every_row(self):
        top = self.top("--labels", self.names(10))
        self.assertEqual(len(top), 30)
        self.assertTrue(all(entry["label"] == f"name {entry['index']}" for entry in top))

    def test_background(self):
        for entry in self.top("--labels", self.names(9), "--label-offset", "1"):
            self.assertEqual(entry["label"], f"name {entry['index'] - 1}" if entry["index"] else "")

    def test_wrong_length(self):
        image = sorted((digits() / "test").rglob("*.png"))[0]
        for count, flags, says in ((9, (), "--label-offset 1"), (11, (), "11 names"), (10, ("--label-offset", "1"), "leave out --label-offset"),
                                   (0, (), "holds no names")):
            error = octet("run", digits_engine(), image, "--labels", self.names(count), *flags, code=2).err
            self.assertIn(says, error)
            self.assertIn(f"names{count}.txt", error)

    def test_no_classes(self):
        engine = scratch() / "names_pyramid.octet"
        octet("build", pyramid(), "-o", engine)
        error = octet("run", engine, saved("no_classes", x=need("numpy").zeros((1, 3, 32, 32), "float32")), "--labels", self.names(5), code=2).err
        self.assertIn("no output", error)


def small_model(name, nodes, shape, outputs, inits=()):
    onnx = need("onnx")
    helper = onnx.helper
    graph = helper.make_graph([helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes], name,
                              [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info(key, 1, value) for key, value in outputs.items()],
                              [onnx.numpy_helper.from_array(value, key) for key, value in inits])
    path = scratch() / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def detector():
    """[1,12,5] boxes and [1,12] scores: no scores of classes among them."""
    numpy = need("numpy")
    rng = numpy.random.default_rng(5)
    return small_model(
        "detector", [("Flatten", ["x"], ["f"]), ("MatMul", ["f", "w"], ["b"]), ("Reshape", ["b", "s"], ["boxes"]), ("MatMul", ["f", "v"], ["scores"])],
        (1, 3, 8, 8), {"boxes": (1, 12, 5), "scores": (1, 12)},
        [("w", rng.normal(size=(192, 60)).astype("float32")), ("v", rng.normal(size=(192, 12)).astype("float32")),
         ("s", numpy.array([1, 12, 5]))])


def pyramid():
    """Down by 32 and up again, added to the image: height and width must be multiples of 32."""
    numpy = need("numpy")
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [("MaxPool", [f"d{i}" if i else "x"], [f"d{i + 1}"], pool) for i in range(5)]
    nodes += [("Resize", ["d5", "", "scales"], ["u"], {"mode": "nearest"}), ("Add", ["u", "x"], ["y"])]
    return small_model("pyramid", nodes, (1, 3, "h", "w"), {"y": (1, 3, "h", "w")}, [("scales", numpy.array([1, 1, 32, 32], "float32"))])


class Detector(unittest.TestCase):
    def test_no_agreement_of_boxes(self):
        engine = scratch() / "detector.octet"
        numpy = need("numpy")
        data = saved("detected", x=numpy.random.default_rng(3).normal(size=(40, 3, 8, 8)).astype("float32"))
        octet("build", detector(), "--int8", "--calib", data, "-o", engine)
        flags = ("eval", engine, "--data", data, "--against", detector())
        result = octet(*flags, "--json").json
        self.assertIsNone(result["agreement"])
        self.assertIsNone(result["top1"])
        self.assertEqual([output["name"] for output in result["outputs"]], ["boxes", "scores"])
        self.assertTrue(all(output["sqnr_db"] > 20 and output["cosine"] > 0.99 for output in result["outputs"]))
        text = octet(*flags).out
        self.assertNotIn("agreement", text)
        self.assertIn("boxes: SQNR", text)
        self.assertIn("scores: SQNR", text)
        self.assertIn("'boxes' f32[1,12,5] is not the scores of classes", text)
        self.assertIn("--scores", octet(*flags, "--min-agreement", "0.5", code=2).err)
        named = octet(*flags, "--scores", "scores", "--json").json
        self.assertGreater(named["agreement"], 0.8)
        self.assertIn("boxes, scores", octet(*flags, "--scores", "score", code=2).err)

    def test_classifier_is_one(self):
        result = octet("eval", digits_engine(), "--data", digits() / "test", "--against", MODEL, "--json").json
        self.assertGreater(result["agreement"], 0.98)
        self.assertEqual([output["name"] for output in result["outputs"]], ["logits"])


class AnySize(unittest.TestCase):
    def setUp(self):
        self.folder = scratch() / self._testMethodName
        self.folder.mkdir()
        for i, size in enumerate(((63, 48), (64, 48), (100, 75))):
            need("PIL.Image").new("RGB", size, (i * 90, 40, 200)).save(self.folder / f"{i}.png")
        self.engine = scratch() / f"{self._testMethodName}.octet"

    def test_the_error_says_what_to_do(self):
        octet("build", pyramid(), "-o", self.engine)
        for command in (("build", pyramid(), "--int8", "--calib", self.folder, "-o", self.engine),
                        ("run", self.engine, self.folder), ("eval", self.engine, "--data", self.folder),
                        ("compare", self.engine, "--against", pyramid(), "--calib", self.folder)):
            error = octet(*command, code=2).err
            for says in ("0.png", "multiples of 32", "--letterbox", "--resize"):
                self.assertIn(says, error, command[0])

    def test_letterbox_is_remembered_and_used(self):
        built = octet("build", pyramid(), "--int8", "--calib", self.folder, "--letterbox", "96x64", "--scale", "255", "-o", self.engine)
        self.assertIn("letterbox", built.out)
        octet("run", self.engine, self.folder)
        self.assertEqual(octet("bench", self.engine, "--seconds", "0", "--json").json["batch"], 1)
        self.assertIn("1,3,64,96", octet("inspect", self.engine, "--wide").out)
        self.assertIn("1,3,32,32", octet("inspect", self.engine, "--wide", "--shape", "x:1x3x32x32").out)


if __name__ == "__main__":
    harness.main()
