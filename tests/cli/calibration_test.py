# SPDX-License-Identifier: Apache-2.0
"""octet build's ranges: every method against NumPy, caches in TensorRT's format, ranges by hand, and what is said where none is known."""

import json
import pathlib
import re
import shutil
import struct
import sys
import unittest

import harness
from harness import DIGITS, octet, scratch

BINS = 2048


def scales(cache):
    """{tensor: the bits of its scale} of a cache's text."""
    lines = pathlib.Path(cache).read_text().splitlines()[1:]
    return {name: int(digits, 16) for name, digits in (line.rsplit(": ", 1) for line in lines)}


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def real(pattern):
    return struct.unpack("<f", struct.pack("<I", pattern))[0]


class OneConvolution:
    """x [N,4,8,8] -> Conv 1x1 -> Relu -> Conv 1x1 -> y, with heavy tails in x whose largest magnitude is 4: the bins of 2048 are exact then."""

    def __init__(self, folder, seed=5):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, convert = onnx.helper, onnx.numpy_helper.from_array
        random = numpy.random.default_rng(seed)
        self.weights = [random.standard_normal((4, 4, 1, 1)).astype("f") for _ in range(2)]
        nodes = [helper.make_node("Conv", ["x", "w0"], ["conv:0"], "first"), helper.make_node("Relu", ["conv:0"], ["relu"], "relu"),
                 helper.make_node("Conv", ["relu", "w1"], ["y"], "second")]
        infos = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["N", 4, 8, 8])] for n in "xy"]
        graph = helper.make_graph(nodes, "one", *infos, initializer=[convert(w, f"w{i}") for i, w in enumerate(self.weights)])
        self.model = folder / "one.onnx"
        self.model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        data = random.laplace(0, 0.2, (16, 4, 8, 8)).astype("f")
        data = numpy.clip(data, -3.9, 3.9)
        data[3, 1, 2, 2] = -4.0
        self.samples = data
        self.data = folder / "one.npz"
        numpy.savez(self.data, x=data)
        self.folder = folder

    def build(self, *arguments, name="one", code=0):
        return octet("build", self.model, "--int8", "--json", "-o", self.folder / f"{name}.octet", *arguments, code=code)

    def cache(self, method):
        path = self.folder / f"{re.sub('[^a-z0-9]', '_', method)}.cache"
        path.unlink(missing_ok=True)
        self.build("--calib", self.data, "--calib-method", method, "--calib-cache", path)
        return path


def published_threshold(numpy, values):
    """What pytorch-quantization 8.6 publishes, on 2048 bins of |x|; the middle of the first bin that is cut off, as TensorRT has it."""
    amax = float(numpy.abs(values).max())
    counts = numpy.histogram(numpy.abs(values), BINS, (0, amax))[0].astype("d")
    zeros = numpy.count_nonzero(values == 0)
    counts[0] -= zeros
    counts[0] = counts[1]
    least, best = numpy.inf, BINS
    for kept in range(128, BINS + 1):
        level = numpy.digitize(numpy.arange(kept), numpy.linspace(0, kept, 129)) - 1
        occupied = counts[:kept] > 0
        sums = numpy.bincount(level, weights=counts[:kept], minlength=128)
        filled = numpy.bincount(level, weights=occupied, minlength=128)
        q = numpy.where(occupied, (sums / numpy.maximum(filled, 1))[level], 0)
        p = counts[:kept].copy()
        p[-1] += counts[kept:].sum()
        if q.sum() == 0 or (p[~occupied] > 0).any():
            continue
        p, q = p[occupied] / p.sum(), q[occupied] / q.sum()
        divergence = (p * numpy.log(p / q)).sum()
        if divergence <= least + 1e-14:
            least, best = divergence, kept
    return (best + 0.5) * (amax / BINS)


class Methods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.numpy = harness.need("numpy")
        folder = scratch() / "methods"
        folder.mkdir()
        cls.one = OneConvolution(folder)

    def threshold(self, method, tensor="x"):
        return real(scales(self.one.cache(method))[tensor]) * 127

    def test_tensorrt_equals_the_published_algorithm(self):
        want = self.numpy.float32(published_threshold(self.numpy, self.one.samples))
        self.assertEqual(scales(self.one.cache("tensorrt"))["x"], bits(float(want) / 127))

    def test_minmax(self):
        self.assertEqual(scales(self.one.cache("minmax"))["x"], bits(4.0 / 127))

    def test_percentile(self):
        magnitudes = self.numpy.sort(self.numpy.abs(self.one.samples).ravel())
        for percent in (50, 99, 99.9):
            wanted = magnitudes[int(self.numpy.ceil(percent / 100 * magnitudes.size)) - 1]
            threshold = self.threshold(f"percentile:{percent}")
            self.assertGreaterEqual(threshold * (1 + 1e-6), wanted)
            self.assertLessEqual(threshold * (1 - 1e-6), wanted + 4.0 / BINS)

    def test_mse(self):
        numpy = self.numpy
        counts = numpy.histogram(numpy.abs(self.one.samples), BINS, (0, 4.0))[0].astype("d")
        x = numpy.arange(BINS) + 0.5
        def error(kept):
            step = kept / 127
            return (counts * (x - step * numpy.minimum(numpy.floor(x / step + 0.5), 127)) ** 2).sum()
        candidates = [BINS, *range(BINS - 4, 127, -4)]
        best = min(candidates, key=error)
        self.assertEqual(scales(self.one.cache("mse"))["x"], bits(best * 4.0 / BINS / 127))

    def test_auto_is_nearest_to_the_float_model(self):
        numpy = self.numpy
        truth = self.run_engine()
        def error(method):
            self.one.build("--calib", self.one.data, "--calib-method", method)
            got = self.run_engine(self.one.folder / "one.octet")
            return sum(numpy.square(a - b).sum() / numpy.square(b).sum() for a, b in zip(got, truth))
        auto = error("auto")
        for method in ("entropy", "minmax", "percentile:99.99", "mse"):
            self.assertLessEqual(auto, error(method) * (1 + 1e-9), method)

    def test_auto_where_data_tell_the_sizes(self):
        """NonMaxSuppression finds another number of boxes in INT8 than in FP32."""
        numpy, onnx = self.numpy, harness.need("onnx")
        helper, convert = onnx.helper, onnx.numpy_helper.from_array
        random = numpy.random.default_rng(1)
        constants = {"w": random.standard_normal((4, 4, 1, 1)).astype("f"), "flat": numpy.array([1, 64, 4]), "most": numpy.array([64]),
                     "overlap": numpy.float32([0.3]), "score": numpy.float32([0.1]), "one": numpy.array([2]), "begin": numpy.array([0]),
                     "end": numpy.array([1]), "axis": numpy.array([2])}
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
                 helper.make_node("Reshape", ["t", "flat"], ["boxes"]), helper.make_node("Slice", ["boxes", "begin", "end", "axis"], ["s"]),
                 helper.make_node("Transpose", ["s"], ["scores"], perm=[0, 2, 1]),
                 helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "score"], ["found"]),
                 helper.make_node("Gather", ["found", "one"], ["index"], axis=1), helper.make_node("Cast", ["index"], ["y"], to=1)]
        graph = helper.make_graph(nodes, "boxes", [helper.make_tensor_value_info("x", 1, [1, 4, 8, 8])],
                                  [helper.make_tensor_value_info("y", 1, None)], [convert(v, k) for k, v in constants.items()])
        model = self.one.folder / "boxes.onnx"
        model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        octet("build", model, "--int8", "--calib", self.one.data, "--calib-method", "auto", "-o", self.one.folder / "boxes.octet")

    def test_neither_the_order_of_samples_nor_threads_nor_memory_matter(self):
        """150 samples, of which auto tries 64."""
        numpy = self.numpy
        random = numpy.random.default_rng(2)
        # The rare ones are large: whether they are among those that are tried decides.
        samples = random.laplace(0, 0.2, (150, 4, 8, 8)).astype("f") * numpy.where(random.random((150, 1, 1, 1)) < 0.1, 8, 1).astype("f")
        data, path = self.one.folder / "ordered.npz", self.one.folder / "one.octet"
        engines = set()
        for order, flags in ((range(150), ["--threads", "1"]), (range(149, -1, -1), ["--threads", "16"]),
                             (random.permutation(150), ["--threads", "3", "--max-memory", "64M"]), (random.permutation(150), [])):
            numpy.savez(data, x=samples[list(order)])
            self.one.build("--calib", data, "--calib-method", "auto", *flags)
            engines.add(path.read_bytes())
        self.assertEqual(len(engines), 1)

    def test_auto_does_not_look_at_the_names_of_files(self):
        numpy = self.numpy
        samples = numpy.random.default_rng(3).laplace(0, 0.3, (80, 1, 4, 8, 8)).astype("f")
        engines = set()
        for seed in range(2):
            folder = self.one.folder / "named"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for sample, number in zip(samples, numpy.random.default_rng(seed).permutation(80)):
                numpy.save(folder / f"{number:03}.npy", sample)
            self.one.build("--calib", folder, "--calib-method", "auto")
            engines.add((self.one.folder / "one.octet").read_bytes())
        self.assertEqual(len(engines), 1)

    def test_data_in_which_nothing_changes(self):
        numpy = self.numpy
        data = self.one.folder / "constant.npz"
        for value in (0, 0.5):
            numpy.savez(data, x=numpy.full((40, 4, 8, 8), value, "f"))
            said = self.one.build("--calib", data, code=2).err
            self.assertIn(f"input 'x' is {value} everywhere, in all of 40 samples", said)
            self.assertIn("--constant-data", said)
            self.one.build("--calib", data, "--constant-data")
        changing = numpy.zeros((40, 4, 8, 8), "f")
        changing[7, 1, 2, 3], changing[8, 1, 2, 3] = 1, -1
        numpy.savez(data, x=changing)
        self.one.build("--calib", data)

    def run_engine(self, engine=None):
        """y of all samples; without an engine, of the float model by NumPy."""
        numpy = self.numpy
        if engine is None:
            first, second = (w[:, :, 0, 0].astype("d") for w in self.one.weights)
            hidden = numpy.einsum("oc,nchw->nohw", first, self.one.samples.astype("d")).clip(0)
            return numpy.einsum("oc,nchw->nohw", second, hidden)
        target = scratch() / "auto.npz"
        octet("run", engine, self.one.data, "-o", target, "--force")
        with numpy.load(target) as outputs:
            return outputs["y"].astype("d")

    def test_of_some_tensors(self):
        path = scratch() / "some.cache"
        self.one.build("--calib", self.one.data, "--calib-method", "minmax", "--calib-method", "r*=percentile:50", "--calib-cache", path)
        self.assertEqual(scales(path)["x"], bits(4.0 / 127))
        self.assertEqual(scales(path)["relu"], scales(self.one.cache("percentile:50"))["relu"])
        said = self.one.build("--calib", self.one.data, "--calib-method", "conv9*=mse", code=2)
        self.assertIn("'conv9*'", said.err)

    def test_unknown_methods_name_all(self):
        for method in ("kl", "percentile:101", "legacy:1"):
            said = self.one.build("--calib", self.one.data, "--calib-method", method, code=2).err
            self.assertIn("percentile:P", said)


class Caches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need("numpy")
        cls.folder = scratch() / "caches"
        cls.folder.mkdir()
        cls.one = OneConvolution(cls.folder)

    def test_our_own_gives_the_same_engine(self):
        cache = self.folder / "digits.cache"
        common = ("build", DIGITS / "digits.onnx", "--int8", "--quiet")
        prepared = ("--calib", harness.digits() / "calib", "--preprocess", DIGITS / "preprocess.json")
        for method in ("entropy", "percentile:99.9", "auto"):
            cache.unlink(missing_ok=True)
            octet(*common, *prepared, "--calib-method", method, "--calib-cache", cache, "-o", self.folder / "data.octet")
            octet(*common, "--calib-cache", cache, "-o", self.folder / "cache.octet")
            self.assertEqual((self.folder / "data.octet").read_bytes(), (self.folder / "cache.octet").read_bytes(), method)
        # Another method needs no data either.
        octet(*common, *prepared, "--calib-method", "mse", "-o", self.folder / "data.octet")
        octet(*common, "--calib-cache", cache, "--calib-method", "mse", "-o", self.folder / "cache.octet")
        self.assertEqual((self.folder / "data.octet").read_bytes(), (self.folder / "cache.octet").read_bytes())

    def test_details_say_where_ranges_come_from(self):
        details = json.loads((pathlib.Path(str(self.one.cache("entropy")) + ".json")).read_text())
        self.assertEqual(details["samples"], 16)
        self.assertEqual([t["name"] for t in details["tensors"]], ["x", "relu", "y"])
        self.assertEqual(details["tensors"][0]["max"], float(self.one.samples.max()))
        self.assertEqual(sum(details["tensors"][0]["histogram"]), self.one.samples.size)
        again = json.loads((pathlib.Path(str(self.one.cache("minmax")) + ".json")).read_text())
        self.assertEqual(again["data_hash"], details["data_hash"])
        self.assertEqual(again["model_hash"], details["model_hash"])

    def write(self, text, name="by_hand.cache"):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_one_of_tensorrt_builds_the_engine_that_it_describes(self):
        cache = self.write("TRT-8601-EntropyCalibration2\nx: 3c010a14\nconv:0: 3d60dd38\nrelu: 3d60dd38\ny: 4000890a\n")
        self.one.build("--calib-cache", cache, name="trt")
        text = (self.folder / "trt.octet").read_bytes().decode("latin-1")
        got = {float(scale) for scale in re.findall(r"@\(([-+.0-9e]+), 0\)", text)}
        for pattern in (0x3c010a14, 0x3d60dd38):
            self.assertTrue(any(bits(scale) == pattern for scale in got), (hex(pattern), got))
        self.assertNotIn("u8[", text.split("return")[0].split("{", 1)[1])

    def test_missing_and_extra_tensors_are_listed(self):
        cache = self.write("TRT-8601-EntropyCalibration2\nx: 3c010a14\nrelu: 3d60dd38\nelsewhere: 3c010a14\n")
        said = self.one.build("--calib-cache", cache)
        self.assertIn("1 tensor ('y') of the model are missing", said.err)
        self.assertIn("1 tensor ('elsewhere') of the cache are not in the model", said.err)
        self.assertEqual([m["tensor"] for m in said.json["missing_ranges"]], ["y"])
        self.assertEqual(said.json["missing_ranges"][0]["layers"], ["second"])
        text = octet("build", self.one.model, "--int8", "--calib-cache", cache, "-o", self.folder / "m.octet").out
        self.assertIn("Missing scale and zero-point for 1 tensor, expect fall back to non-int8 implementation", text)

    def test_scales_without_leading_zeros_as_tensorrt_writes_them(self):
        text = "TRT-8501-EntropyCalibration2\nx: 3c010a14\n366: 0\nrelu: 3d60dd38\n(Unnamed Layer* 64) [Shuffle]_output: 0\ny: 1f4add4\n"
        cache = self.write(text)
        said = self.one.build("--calib-cache", cache)
        self.assertIn("1 tensor ('y') of the model have no range in the cache", said.err)
        self.assertIn("2 tensors ('366', '(Unnamed Layer* 64) [Shuffle]_output') of the cache are not in the model", said.err)
        self.assertNotIn("missing in the cache", said.err)
        self.assertEqual([m["tensor"] for m in said.json["missing_ranges"]], ["y"])
        self.assertEqual(cache.read_text(), text)

    def test_one_of_another_model_is_refused(self):
        other = self.write("TRT-8601-EntropyCalibration2\nx: 3c010a14\nfeature1: 3c010a14\n")
        said = self.one.build("--calib-cache", other, code=2).err
        self.assertIn("another model", said)
        self.assertIn("--force-cache", said)
        self.one.build("--calib-cache", other, "--force-cache")
        ours = self.one.cache("entropy")
        different = self.folder / "different"
        different.mkdir()
        said = OneConvolution(different, seed=6).build("--calib-cache", ours, code=2).err
        self.assertIn("another model", said)

    def test_a_scale_by_hand_counts(self):
        cache = self.one.cache("entropy")
        before = scales(cache)
        cache.write_text(cache.read_text().replace(f"x: {before['x']:08x}", "x: 3c010a14"))
        said = self.one.build("--calib-cache", cache, name="edited")
        self.assertIn("('x') have another scale than the details", said.err)
        text = (self.folder / "edited.octet").read_bytes().decode("latin-1")
        got = {bits(float(scale)) for scale in re.findall(r"@\(([-+.0-9e]+), 0\)", text)}
        self.assertIn(0x3C010A14, got)
        self.assertNotIn(before["x"], got)

    def test_damaged_ones_are_one_error(self):
        for text in ("", "TRT-8601-EntropyCalibration2\n", "x: 3c010a14\n", "TRT-1-X\nx: 7f800000\n", "TRT-1-X\nx: 80000000\n",
                     "TRT-1-X\nx: 3c0z\n", "TRT-1-X\nx: 3c010a14\nx: 3c010a15\n", "TRT-1-X\n" + "x" * 100000 + "\n"):
            said = self.one.build("--calib-cache", self.write(text, "bad.cache"), code=2).err
            self.assertIn("bad.cache", said)
        path = self.one.cache("entropy")
        details = pathlib.Path(str(path) + ".json")
        details.write_text(details.read_text()[:-50])
        self.assertIn("not valid JSON", self.one.build("--calib-cache", path, code=2).err)

    def test_data_beside_a_cache_are_not_read(self):
        cache = self.one.cache("entropy")
        said = self.one.build("--calib", self.folder / "nowhere", "--calib-cache", cache)
        self.assertIn("are not read", said.err)
        self.assertIn("no such file", self.one.build("--calib-cache", self.folder / "none.cache", code=2).err)

    def test_a_file_of_somebody_else_is_not_replaced(self):
        path = self.folder / "other.cache"
        details = pathlib.Path(f"{path}.json")
        details.write_text('{"mine": 1}')
        said = self.one.build("--calib", self.one.data, "--calib-cache", path, code=2).err
        self.assertIn("did not write", said)
        self.assertEqual(details.read_text(), '{"mine": 1}')

    def test_header(self):
        path = self.folder / "header.cache"
        path.unlink(missing_ok=True)
        self.one.build("--calib", self.one.data, "--calib-cache", path, "--cache-header", "TRT-100900-EntropyCalibration2")
        self.assertEqual(path.read_text().splitlines()[0], "TRT-100900-EntropyCalibration2")
        self.assertIn("not written", self.one.build("--calib-cache", path, "--cache-header", "TRT-1-X", code=2).err)
        for flags in (("--cache-header", "TRT-1-X"), ("--force-cache",)):
            self.assertIn(flags[0], self.one.build(*flags, code=2).err)
            self.assertIn(flags[0], self.one.build("--calib", self.one.data, *flags, code=2).err)

    def test_other_preprocessing_is_refused(self):
        cache = self.folder / "prepared.cache"
        cache.unlink(missing_ok=True)
        common = ("build", DIGITS / "digits.onnx", "--int8", "--quiet", "-o", self.folder / "p.octet", "--calib-cache", cache)
        octet(*common, "--calib", harness.digits() / "calib", "--preprocess", DIGITS / "preprocess.json")
        octet(*common, "--preprocess", DIGITS / "preprocess.json")
        self.assertIn("preprocessing", octet(*common, "--scale", "3", code=2).err)

    def test_preprocessing_of_arrays_comes_back(self):
        cache = self.folder / "arrays.cache"
        cache.unlink(missing_ok=True)
        flags = ("--mean", "0.5", "--std", "2", "--scale", "1")
        self.one.build("--calib", self.one.data, *flags, "--calib-cache", cache, name="told")
        self.one.build("--calib-cache", cache, *flags, name="again")
        self.assertEqual((self.folder / "told.octet").read_bytes(), (self.folder / "again.octet").read_bytes())


class Outputs(unittest.TestCase):
    """What a build says that INT8 did to the outputs."""

    @classmethod
    def setUpClass(cls):
        harness.need("onnxruntime")
        cls.folder = scratch() / "outputs"
        cls.folder.mkdir()

    def test_is_what_the_engine_gives(self):
        numpy = harness.need("numpy")
        one = OneConvolution(self.folder)
        numpy.savez(one.data, x=one.samples[:4])  # as many as are compared
        told = one.build("--calib", one.data, "--calib-cache", self.folder / "one.cache").json
        octet("run", self.folder / "one.octet", one.data, "-o", self.folder / "one.out.npz")
        (got,) = numpy.load(self.folder / "one.out.npz").values()
        (want,) = harness.onnxruntime_session(one.model).run(None, {"x": one.samples[:4]})
        sqnr = 10 * numpy.log10((want ** 2).sum() / ((got - want) ** 2).sum())
        (said,) = told["calibration"]["outputs"]
        self.assertEqual(said["name"], "y")
        self.assertAlmostEqual(said["sqnr_db"], sqnr, 3)
        self.assertFalse([line for line in told["warnings"] if "signal over noise" in line])
        self.assertEqual(one.build("--calib-cache", self.folder / "one.cache").json["calibration"]["outputs"], [], "a cache has no samples")

    def test_a_logarithm_of_small_powers_is_told(self):
        """A spectrum of few tones: one scale for all powers leaves nothing of most, and their logarithms tell it."""
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, length = onnx.helper, 64
        time = numpy.arange(length)
        basis = numpy.cos(numpy.pi / length * numpy.outer(time + .5, time)).astype("f")
        nodes = [helper.make_node("MatMul", ["x", "basis"], ["spectrum"]), helper.make_node("Mul", ["spectrum", "spectrum"], ["power"]),
                 helper.make_node("Add", ["power", "least"], ["floor"]), helper.make_node("Log", ["floor"], ["y"])]
        infos = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, length])] for n in "xy"]
        weights = [onnx.numpy_helper.from_array(a, n) for a, n in ((basis, "basis"), (numpy.float32(1e-8), "least"))]
        model = self.folder / "log.onnx"
        graph = helper.make_graph(nodes, "log", *infos, initializer=weights)
        model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        random = numpy.random.default_rng(3)
        tones = basis.T[random.integers(1, length, (8, 3))] * random.random((8, 3, 1))
        numpy.savez(self.folder / "log.npz", x=tones.sum(1).astype("f"))
        command = ("build", model, "--int8", "-o", self.folder / "log.octet", "--calib", self.folder / "log.npz")
        said = octet(*command).err
        self.assertRegex(said, r"warning: INT8 leaves 1 of 1 outputs with less than 6 dB .*'y' ")
        self.assertNotIn("signal over noise", octet(*command, "--force", "--keep-float", "MatMul").err)


class ByHand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need("numpy")
        cls.folder = scratch() / "by_hand"
        cls.folder.mkdir()
        cls.one = OneConvolution(cls.folder)

    def ranges(self, text):
        path = self.folder / "ranges.txt"
        path.write_text(text)
        return path

    def engine_text(self, *arguments):
        self.one.build(*arguments, name="hand")
        return (self.folder / "hand.octet").read_bytes().decode("latin-1")

    def test_they_override_calibration(self):
        text = self.engine_text("--calib", self.one.data, "--ranges", self.ranges("x: -12.7 3\nre*: 0 25.5\n"))
        self.assertIn("@(0.1, 0)", text)
        self.assertEqual(text, self.engine_text("--calib", self.one.data, "--ranges", self.ranges('{"x": [-12.7, 3], "relu": [0, 25.5]}')))

    def test_alone_they_are_enough(self):
        text = self.engine_text("--ranges", self.ranges("x: 12.7\nrelu: 0 25.5\ny: 100\n"))
        self.assertIn('"range_method":"given"', text)
        self.assertEqual(self.one.build("--ranges", self.ranges("x: 12.7\nrelu: 0 25.5\ny: 100\n")).json["coverage"]["layers"], 1)

    def test_unknown_names_are_all_listed(self):
        said = self.one.build("--calib", self.one.data, "--ranges", self.ranges("x: 1\nz1: 1\nz2*: 1\n"), code=2).err
        self.assertIn("'z1', 'z2*'", said)
        said = self.one.build("--calib", self.one.data, "--ranges", self.ranges("conv:0: 1\n")).err
        self.assertIn("'conv:0' have no use", said)

    def test_wrong_lines_are_all_listed(self):
        said = self.one.build("--ranges", self.ranges("x: 2 1\ny: 0\n"), code=2).err
        self.assertIn("2 lines are wrong", said)

    def test_without_int8(self):
        said = octet("build", self.one.model, "--ranges", self.ranges("x: 1\n"), "-o", self.folder / "f.octet", code=2).err
        self.assertIn("--int8", said)


if __name__ == "__main__":
    harness.main()
