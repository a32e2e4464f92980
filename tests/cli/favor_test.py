# SPDX-License-Identifier: Apache-2.0
"""--favor: what the codes of layers cost is measured, kept in the cache, and weighed against the time that was asked for."""

import json
import unittest

import harness
from harness import octet, scratch


def network(folder):
    """x -> depthwise "wise" -> "point" -> two wide convolutions -> y. The second channel of x is a tenth as loud as the first, and "wise" makes them alike:
    the codes of x, which nothing can scale by channel, cost it more than others lose, and it is a small part of the work."""
    numpy, onnx = harness.need("numpy"), harness.need("onnx")
    helper, random = onnx.helper, numpy.random.default_rng(3)
    shapes = {"w0": (2, 1, 3, 3), "w1": (48, 2, 1, 1), "w2": (48, 48, 3, 3), "w3": (48, 48, 3, 3)}
    weights = {name: (random.standard_normal(shape) / numpy.sqrt(numpy.prod(shape[1:]))).astype("f") for name, shape in shapes.items()}
    weights["w0"][1] *= 10
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "wise", group=2, pads=[1] * 4), helper.make_node("Conv", ["a", "w1"], ["b"], "point"),
             helper.make_node("Relu", ["b"], ["c"], "relu"), helper.make_node("Conv", ["c", "w2"], ["d"], "wide", pads=[1] * 4),
             helper.make_node("Conv", ["d", "w3"], ["y"], "last", pads=[1] * 4)]
    infos = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["N", c, 16, 16])] for n, c in (("x", 2), ("y", 48))]
    graph = helper.make_graph(nodes, "net", *infos, initializer=[onnx.numpy_helper.from_array(v, k) for k, v in weights.items()])
    folder.mkdir()
    model = folder / "net.onnx"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    x = random.standard_normal((12, 2, 16, 16)).astype("f")
    x[:, 1] /= 10
    numpy.savez(folder / "x.npz", x=x)
    return model


class Favor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch() / "favor"
        cls.model = network(cls.folder)
        cls.data = ("--calib", cls.folder / "x.npz")

    def build(self, *arguments, name="net", code=0):
        self.report = octet("build", self.model, "--int8", *arguments, "--json", "--force", "-o", self.folder / f"{name}.octet", code=code)
        return self.folder / f"{name}.octet"

    def layer(self, engine, name="wise"):
        return next(layer for layer in octet("inspect", engine, "--json").json["layers"] if name in layer["nodes"])

    def sqnr(self, engine):
        return octet("compare", engine, "--against", self.model, *self.data, "--json").json["sqnr_db"]

    def test_a_layer_is_real_where_it_may_take_its_time(self):
        fast, exact = self.build(*self.data, "--favor", "speed", name="fast"), self.build(*self.data, "--favor", "accuracy", name="exact")
        self.assertEqual(self.layer(fast)["precision"], "int8")
        layer = self.layer(exact)
        self.assertEqual((layer["precision"], layer["reason_code"]), ("f32", "channel_loss"))
        self.assertRegex(layer["reason"], r"^its codes alone cost 0\.[0-9]+ % of the model's outputs, for [0-9.]+ % of its multiplications$")
        for name in ("point", "wide", "last"):
            self.assertEqual(self.layer(exact, name)["precision"], "int8", name)
        self.assertGreater(self.sqnr(exact), self.sqnr(fast) + 1)

    def test_it_is_remembered(self):
        engine = self.build(*self.data, "--favor", "7.5%", name="said")
        told = octet("inspect", engine, "--provenance", "--json").json
        self.assertEqual(told["provenance"]["options"]["accuracy_time"], 0.075)
        self.assertIn(" --favor 7.5 ", told["command"])
        again = self.build(*self.data, "--favor", "7.5", name="again")
        self.assertEqual(again.read_bytes(), engine.read_bytes())
        self.assertNotIn("accuracy_time", octet("inspect", self.build(*self.data), "--provenance", "--json").json["provenance"]["options"])

    def test_a_cache_gives_what_data_give(self):
        cache = ("--calib-cache", self.folder / "measured.cache")
        made = self.build(*self.data, *cache, "--favor", "accuracy", name="made")
        for flags in (("--favor", "accuracy"), ("--favor", "speed"), ("--favor", "3%"), ()):
            data, cached = self.build(*self.data, *flags, name="data"), self.build(*cache, *flags, name="cached")
            self.assertEqual(cached.read_bytes(), data.read_bytes(), flags)
        self.assertEqual(made.read_bytes(), self.build(*cache, "--favor", "accuracy").read_bytes())

    def test_a_cache_without_losses_says_so(self):
        cache = self.folder / "plain.cache"
        self.build(*self.data, "--calib-cache", cache)
        estimated = self.build("--calib-cache", cache, name="estimated")
        details = next(path for path in self.folder.iterdir() if path.name.startswith("plain.cache") and path != cache)
        self.assertNotIn("layers", json.loads(details.read_text()))
        asked = self.build("--calib-cache", cache, "--favor", "speed", name="asked")
        self.assertIn("does not say what layers lose alone", " ".join(self.report.json["warnings"]))
        self.assertEqual([l["precision"] for l in octet("inspect", asked, "--json").json["layers"]],
                         [l["precision"] for l in octet("inspect", estimated, "--json").json["layers"]])

    def test_what_makes_no_sense_is_refused(self):
        for flags, words in ((("--favor", "speed"), "--favor has no use without"), ((*self.data, "--favor", "most"), "neither speed nor accuracy"),
                             ((*self.data, "--favor", "101%"), "from 0 to 100"), ((*self.data, "--favor", "-1"), "from 0 to 100"),
                             ((*self.data, "--favor", "nan"), "from 0 to 100"), ((*self.data, "--favor", ""), "neither speed nor accuracy")):
            self.build(*flags, code=2)
            self.assertIn(words, self.report.err, flags)


if __name__ == "__main__":
    harness.main()
