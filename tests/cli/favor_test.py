# SPDX-License-Identifier: Apache-2.0
"""--favor: what the codes of layers cost is measured, kept in the cache, and weighed against the time that was asked for."""

import json
import unittest

import harness
from harness import octet, scratch
from unequal_channels import network


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
        for name in ("point", "wide", "last"):
            self.assertEqual(self.layer(exact, name)["precision"], "int8", name)
        self.assertGreater(self.sqnr(exact), self.sqnr(fast) + 1)

    def test_time_comes_on_top_of_the_default(self):
        default = self.build(*self.data, name="default")
        self.assertEqual(self.layer(default)["precision"], "f32")
        for percent in ("0.0001%", "2%", "100%"):
            engine = self.build(*self.data, "--favor", percent, name="favored")
            # What the default keeps, it keeps for its reason.
            self.assertEqual([self.layer(engine)[key] for key in ("precision", "reason")], [self.layer(default)[key] for key in ("precision", "reason")], percent)
            self.assertGreaterEqual(self.sqnr(engine), self.sqnr(default) - 0.01, percent)
        self.assertEqual(self.layer(self.build(*self.data, "--favor", "speed"))["precision"], "int8")

    def with_losses(self, name, change):
        """A cache of the same data whose measured losses, by layer, `change` was at."""
        cache = self.folder / f"{name}.cache"
        self.build(*self.data, "--calib-cache", cache, "--favor", "speed", name=name)
        details = cache.with_name(cache.name + ".json")
        told = json.loads(details.read_text())
        losses = {loss["name"]: loss for loss in told["layers"]}
        change(losses)
        details.write_text(json.dumps(told | {"layers": list(losses.values())}))
        return "--calib-cache", cache

    def test_what_was_measured_is_the_reason_where_it_decides(self):
        cache = self.with_losses("point", lambda losses: losses["point"].update(lost=0.03125))
        for favor in ("speed", "2%"):
            layer = self.layer(self.build(*cache, "--favor", favor, name="point"), "point")
            self.assertEqual((layer["precision"], layer["reason_code"]), ("f32", "channel_loss"), favor)
            self.assertEqual(layer["reason"], "its codes alone cost 3.12 % of the model's outputs, for 0.22 % of its multiplications", favor)

    def test_losses_of_other_layers_than_those_in_codes_are_nobodys(self):
        # Counted among what is lost, they would give "point" a reason to be real.
        cache = self.with_losses("relu", lambda losses: losses.update(relu={"name": "relu", "lost": 0.01953125, "slower": 9.0, "macs": 0.0}))
        plain, told = (octet("inspect", self.build(*given, "--favor", "10%", name="relu"), "--json").json["layers"] for given in (self.data, cache))
        self.assertEqual(*([(layer["nodes"], layer["precision"]) for layer in layers] for layers in (plain, told)))

    def test_the_same_is_measured_with_any_method(self):
        losses = []
        for method in ("entropy", "auto", "minmax"):
            cache = self.folder / f"{method}.cache"
            self.build(*self.data, "--calib-method", method, "--calib-cache", cache, "--favor", "accuracy", name=method)
            losses.append(json.loads(cache.with_name(cache.name + ".json").read_text())["layers"])
        self.assertEqual([loss["name"] for loss in losses[0]], ["wise", "point", "wide", "last"])
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(losses[0], losses[2])

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
