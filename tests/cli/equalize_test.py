# SPDX-License-Identifier: Apache-2.0
"""Equalized channels seen from outside: names and values are the network's wherever they are looked at, layers of f16 keep what they had, caches
give what data give, and --equalize off is remembered."""

import json
import sys
import unittest

import harness
from harness import octet, scratch


class Network:
    """x -> Conv -> Relu -> depthwise Conv -> Relu -> Conv -> y, whose channels lie octaves apart behind the first."""

    def __init__(self, folder, first=(1.0, 1 / 64, 1 / 256, 1 / 8), second=(1.0, 64.0, 200.0, 9.0)):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, random = onnx.helper, numpy.random.default_rng(3)
        each = lambda factors: numpy.asarray(factors, "f").reshape(4, 1, 1, 1)
        weights = {"w0": random.standard_normal((4, 3, 3, 3)).astype("f") * each(first), "b0": numpy.full(4, 0.25, "f") * each(first).ravel(),
                   "w1": random.uniform(0.5, 1, (4, 1, 3, 3)).astype("f") * each(second), "w2": random.standard_normal((5, 4, 1, 1)).astype("f")}
        nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["a"], "c0"), helper.make_node("Relu", ["a"], ["b"], "r0"),
                 helper.make_node("Conv", ["b", "w1"], ["c"], "c1", group=4), helper.make_node("Relu", ["c"], ["d"], "r1"),
                 helper.make_node("Conv", ["d", "w2"], ["y"], "c2")]
        infos = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s)] for n, s in (("x", ["N", 3, 12, 12]), ("y", ["N", 5, 8, 8]))]
        graph = helper.make_graph(nodes, "net", *infos, initializer=[onnx.numpy_helper.from_array(v, k) for k, v in weights.items()])
        folder.mkdir()
        self.folder, self.model, self.data = folder, folder / "net.onnx", folder / "x.npz"
        self.model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        numpy.savez(self.data, x=random.standard_normal((8, 3, 12, 12)).astype("f"))

    def build(self, *arguments, name="net", code=0, calib=("--calib", "DATA")):
        calib = [self.data if word == "DATA" else word for word in calib]
        self.report = octet("build", self.model, *arguments, *calib, "--json", "--force", "-o", self.folder / f"{name}.octet", code=code)
        return self.folder / f"{name}.octet"

    def layers(self, engine):
        numpy = harness.need("numpy")
        octet("run", engine, self.data, "-o", self.folder / "layers.npz", "--layers", "--force")
        return dict(numpy.load(self.folder / "layers.npz"))

    def sqnr(self, engine):
        return octet("compare", engine, "--against", self.model, "--calib", self.data, "--json").json["sqnr_db"]


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = Network(scratch() / "equalize_names")
        cls.real, cls.engine = cls.net.build(name="real", calib=()), cls.net.build("--int8")

    def test_layers_are_the_networks(self):
        numpy = harness.need("numpy")
        truth, got = self.net.layers(self.real), self.net.layers(self.engine)
        self.assertLessEqual({"b", "d", "y"}, set(got))
        self.assertEqual([name for name in got if "equalized" in name], [])
        for name in ("b", "d"):  # the quiet channels too: nothing is 2^k times what it is
            for channel in range(4):
                self.assertLess(abs(got[name][:, channel] - truth[name][:, channel]).max(), abs(truth[name][:, channel]).max() / 8)
        self.assertGreater(numpy.unique(got["b"][:, 2]).size, 16)  # it has codes of its own, or nothing was equalized

    def test_every_table_has_them(self):
        text = octet("inspect", self.engine, "--json").out
        self.assertNotIn(".equalized\"", text)
        self.assertIn('"b"', text)
        layers = {one["value"]: one["sqnr_db"] for one in
                  octet("compare", self.engine, "--against", self.model_in_runtime(), "--calib", self.net.data, "--layers", "--json",
                        env={"OCTET_PYTHON": sys.executable}).json["layers"]}
        mine = {one["value"]: one["sqnr_db"] for one in
                octet("compare", self.engine, "--against", self.net.model, "--calib", self.net.data, "--layers", "--json").json["layers"]}
        self.assertLessEqual({"b", "d", "y"}, set(layers) & set(mine))
        for name in ("b", "d"):
            self.assertGreater(min(layers[name], mine[name]), 25, name)

    def model_in_runtime(self):
        harness.need("onnxruntime")
        return f"onnxruntime:{self.net.model}"

    def test_an_exported_one_in_onnxruntime_is_held_against_the_engine(self):
        harness.need("onnxruntime")
        path = self.net.folder / "held.qdq.onnx"
        octet("export", self.engine, "--onnx", path, "--force")
        found = {one["value"]: one["sqnr_db"] for one in
                 octet("compare", self.engine, "--against", f"onnxruntime:{path}", "--calib", self.net.data, "--layers", "--json",
                       env={"OCTET_PYTHON": sys.executable}).json["layers"]}
        self.assertLessEqual({"b", "d", "y"}, set(found))
        for name in ("b", "d"):  # a factor left in would leave less than 6 dB
            self.assertGreater(found[name] if found[name] is not None else 1000, 25, name)

    def test_a_method_by_the_name_that_inspect_tells(self):
        self.net.build("--int8", "--calib-method", "b=minmax", name="method")

    def test_exported_ones_say_what_they_are(self):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        path, again = self.net.folder / "net.qdq.onnx", self.net.folder / "again.octet"
        octet("export", self.engine, "--onnx", path, "--force")
        model = onnx.load(path)
        lines = next(entry.value for entry in model.metadata_props if entry.key == "octet.equalized").splitlines()
        self.assertIn("b.equalized", [line.split(" ", 1)[1] for line in lines])
        octet("build", path, "--int8", "--force", "-o", again)
        first, second = self.net.layers(self.engine), self.net.layers(again)
        self.assertEqual(set(first), set(second))
        for name, value in first.items():
            numpy.testing.assert_array_equal(value, second[name], err_msg=name)
        found = octet("compare", again, "--against", self.net.model, "--calib", self.net.data, "--layers", "--json").json["layers"]
        self.assertGreater(min(one["sqnr_db"] for one in found if one["value"] in ("b", "d")), 25)
        model.metadata_props[[entry.key for entry in model.metadata_props].index("octet.equalized")].value = "z! b"
        onnx.save(model, path)
        self.assertIn("is no exponent of a channel", octet("build", path, "--int8", "--force", "-o", again, code=2).err)


class Off(unittest.TestCase):
    def test_it_is_remembered(self):
        net = Network(scratch() / "equalize_off")
        on, off = net.build("--int8", name="on"), net.build("--int8", "--equalize", "off", name="off")
        self.assertIn(b'"equalized"', on.read_bytes())
        told = {name: octet("inspect", engine, "--provenance", "--json").json for name, engine in (("on", on), ("off", off))}
        self.assertIs(told["off"]["provenance"]["options"]["equalize"], False)
        self.assertIn(" --equalize off", told["off"]["command"])
        self.assertNotIn("equalize", told["on"]["provenance"]["options"])
        self.assertNotIn("--equalize", told["on"]["command"])
        self.assertNotIn(b'"equalized"', off.read_bytes())
        case = net.folder / "off.zip"
        for cache in ((), ("--calib-cache", net.folder / "off.cache")):
            engine = net.build("--int8", "--equalize", "off", *cache, name="case")
            octet("bundle", engine, "--model", net.model, *(("--calib-cache", cache[1]) if cache else ()), "-o", case, "--force")
            self.assertEqual(octet("reproduce", case, "--json").json["same_engine"], True)
        self.assertIn("--equalize has no use without", net.build("--equalize", "off", code=2, calib=()) and net.report.err)


class Caches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = Network(scratch() / "equalize_cache")
        cls.cache = cls.net.folder / "net.cache"
        cls.engine = cls.net.build("--int8", "--calib-cache", cls.cache)
        cls.details = next(path for path in cls.net.folder.iterdir() if path.name.startswith("net.cache") and path != cls.cache)

    def test_they_give_what_data_give(self):
        again = self.net.build("--int8", "--calib-cache", self.cache, name="again", calib=())
        self.assertEqual(again.read_bytes(), self.engine.read_bytes())
        self.assertIn("equalization is off", self.net.build("--int8", "--calib-cache", self.cache, "--equalize", "off", code=2, calib=()) and self.net.report.err)

    def test_exponents_are_among_what_ranges_hash(self):
        text = self.details.read_text()
        whole = json.loads(text)
        next(tensor for tensor in whole["tensors"] if tensor["name"] == "b")["exponents"][1] -= 1
        try:
            self.details.write_text(json.dumps(whole))
            other = self.net.build("--int8", "--calib-cache", self.cache, name="other", calib=())
        finally:
            self.details.write_text(text)
        hashes = [octet("inspect", engine, "--provenance", "--json").json["provenance"]["ranges_hash"] for engine in (self.engine, other)]
        self.assertNotEqual(*hashes)

    def test_hostile_exponents_are_one_error(self):
        text = self.details.read_text()
        whole = json.loads(text)
        of = {tensor["name"]: tensor for tensor in whole["tensors"]}
        kept = list(of["b"]["exponents"])
        try:
            for exponents, says in ((kept[:-1], "exponents of"), ([*kept, 0], "exponents of"), ([300, *kept[1:]], "exponents"), ([1e300, *kept[1:]], "exponents"),
                                    ([-1, *kept[1:]], "exponents"), ([0.5, *kept[1:]], "exponents"), (["3", *kept[1:]], "exponents"), ("0304", "exponents"),
                                    ([20, *kept[1:]], "do not fit the model")):
                with self.subTest(exponents):
                    of["b"]["exponents"] = exponents
                    self.details.write_text(json.dumps(whole))
                    self.net.build("--int8", "--calib-cache", self.cache, name="hostile", code=2, calib=())
                    self.assertIn(says, self.net.report.err)
            of["b"]["exponents"] = kept
            of["y"]["exponents"] = [1, 0, 0, 0, 0]  # an output of the model
            self.details.write_text(json.dumps(whole))
            self.net.build("--int8", "--calib-cache", self.cache, name="hostile", code=2, calib=())
            self.assertIn("do not fit the model", self.net.report.err)
        finally:
            self.details.write_text(text)


if __name__ == "__main__":
    harness.main()
