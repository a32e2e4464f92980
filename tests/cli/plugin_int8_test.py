# SPDX-License-Identifier: Apache-2.0
"""Plugins and codes: what calibration, Q/DQ in the model and constraints give them, and what inspector and warnings say of it."""

import unittest

import numpy as np

import harness
from harness import ROOT, octet, scratch
from plugins import EXAMPLES, model, plugin

SNAKE = EXAMPLES / "snake.cc"
SEVERAL = ROOT / "tests/plugin_faults/several.cc"
SUM = ROOT / "tests/plugin_faults/faulty.cc"


def node(op, inputs, outputs, domain="", **attributes):
    from onnx import helper
    return helper.make_node(op, inputs, outputs, name=outputs[0] + "_node", domain=domain, **attributes)


def quantize(x, name, op="QuantizeLinear"):
    """Nodes and their constants: name_s and name_z must exist."""
    return node(op, [x, f"{name}_s", f"{name}_z"], [f"{name}_{'q' if op[0] == 'Q' else 'd'}"])


def params(name, scale, zero, dtype=np.uint8):
    return [(f"{name}_s", np.float32(scale)), (f"{name}_z", np.asarray(zero, dtype))]


def codes_of(x, scale, zero, dtype=np.uint8):
    info = np.iinfo(dtype)
    return np.clip(np.rint(np.asarray(x, np.float32) / np.float32(scale)) + zero, info.min, info.max).astype(np.int32)


def snake(x):
    s = np.sin(x)
    return x + s * s


class Case:
    def __init__(self, path, library, *flags):
        self.library, self.engine = library, scratch() / f"{path.stem}.octet"
        self.built = octet("build", path, "-o", self.engine, "--plugin", library, *flags)

    def layers(self):
        return octet("inspect", self.engine, "--plugin", self.library, "--json").json["layers"]

    def layer(self, operator):
        return next(layer for layer in self.layers() if operator in layer["op"])

    def run(self, *flags, **arrays):
        np.savez(scratch() / "in.npz", **arrays)
        octet("run", self.engine, scratch() / "in.npz", "-o", scratch() / "out.npz", "--plugin", self.library, *flags)
        return {key: np.asarray(value) for key, value in np.load(scratch() / "out.npz").items()}


def normal(*shape, seed=5, spread=2.0):
    return (np.random.default_rng(seed).normal(size=shape) * spread).astype(np.float32)


def explicit(name, dtype=np.uint8, zero=120):
    """Q -> Snake -> DQ."""
    nodes = [quantize("x", "a"), node("Snake", ["a_q"], ["b_q"], "octet.examples"),
             quantize("b_q", "b", "DequantizeLinear")]
    return model(name, nodes, [("x", [20, 500])], [("b_d", [20, 500])],
                 params("a", 0.04, zero, dtype) + params("b", 0.05, zero, dtype))


class CodesOfModels(unittest.TestCase):
    def test_q_plugin_dq_gives_codes(self):
        case = Case(explicit("codes"), plugin(SNAKE))
        layer = case.layer("Snake")
        self.assertEqual((layer["op"], layer["precision"]), ("octet.examples/Snake.codes", "int8"))
        self.assertIn("x u8 0.04@120 -> y u8 0.05@120", layer["kernel_reason"])
        self.assertIn("the model has Q -> Snake -> DQ, so the plugin gets codes", case.built.err)
        x = normal(20, 500)
        real = snake(np.float32(0.04) * (codes_of(x, 0.04, 120) - 120).astype(np.float32))
        want = np.float32(0.05) * (codes_of(real, 0.05, 120) - 120).astype(np.float32)
        np.testing.assert_array_equal(case.run(x=x)["b_d"].reshape(20, 500), want)

    def test_s8_codes_are_turned_for_a_plugin_of_u8(self):
        x = normal(20, 500)
        signed = Case(explicit("signed", np.int8, -8), plugin(SNAKE)).run(x=x)["b_d"]
        np.testing.assert_array_equal(signed, Case(explicit("codes2"), plugin(SNAKE)).run(x=x)["b_d"])

    def test_each_input_has_its_own_scale(self):
        nodes = [quantize("x", "a"), quantize("y", "b"), node("GainedSum", ["a_q", "b_q"], ["c_q"], "org.faults"),
                 quantize("c_q", "c", "DequantizeLinear")]
        path = model("sum", nodes, [("x", [1, 2, 3, 4]), ("y", [1, 2, 3, 4])], [("c_d", [1, 2, 3, 4])],
                     params("a", 0.01, 7) + params("b", 0.3, 200) + params("c", 0.25, 190), domains=("org.faults",))
        x, y = normal(1, 2, 3, 4, spread=1.0), normal(1, 2, 3, 4, seed=6, spread=20.0)
        got = Case(path, plugin(SUM, "-Wno-unused")).run(x=x, y=y)["c_d"].reshape(1, 2, 3, 4)
        a = (codes_of(x, 0.01, 7) - 7).astype(np.float32)
        b = (codes_of(y, 0.3, 200) - 200).astype(np.float32)
        real = np.float32(0.5) * np.float32(0.01) * a + np.float32(0.3) * b
        np.testing.assert_array_equal(got, np.float32(0.25) * (codes_of(real, 0.25, 190) - 190).astype(np.float32))

    def test_codes_without_a_scale_name_plugin_and_port(self):
        nodes = [quantize("x", "a"), node("Snake", ["a_q"], ["b_q"], "octet.examples"),
                 node("Reshape", ["b_q", "shape"], ["out"])]
        from onnx import TensorProto
        path = model("scaleless", nodes, [("x", [2, 50])], [("out", [100], TensorProto.UINT8)],
                     params("a", 0.04, 120) + [("shape", np.array([100]))])
        error = octet("build", path, "-o", scratch() / "no.octet", "--plugin", plugin(SNAKE), code=2).err
        self.assertIn("output 0 'y' of node 'b_q_node' (octet.examples/Snake) is codes without a scale", error)
        self.assertIn("Q -> Snake -> DQ gives the plugin codes, Q -> DQ -> Snake gives it reals", error)

    def around(self, name):
        """Q -> DQ -> Snake -> Q -> DQ."""
        nodes = [quantize("x", "a"), quantize("a_q", "a", "DequantizeLinear"),
                 node("Snake", ["a_d"], ["b"], "octet.examples"), quantize("b", "b"),
                 quantize("b_q", "b", "DequantizeLinear")]
        return model(name, nodes, [("x", [20, 500])], [("b_d", [20, 500])],
                     params("a", 0.04, 120) + params("b", 0.05, 120))

    def test_q_dq_plugin_gives_reals(self):
        other = scratch() / "reals.cc"
        other.write_text(SNAKE.read_text().replace(".flags(OCTET_OPERATOR_QUANTIZABLE)", ""))
        case = Case(self.around("reals"), plugin(other))
        self.assertEqual(case.layer("Snake")["op"], "octet.examples/Snake")
        self.assertIn("the model has Q -> DQ -> Snake, so the plugin gets reals; for codes, write Q -> Snake -> DQ",
                      case.built.err)

    def test_q_dq_plugin_q_dq_fuses_where_the_plugin_allows_it(self):
        case = Case(self.around("fused"), plugin(SNAKE))
        self.assertEqual(case.layer("Snake")["op"], "octet.examples/Snake.codes")
        self.assertIn("the plugin allows to fuse them", case.built.err)
        x = normal(20, 500)
        np.testing.assert_array_equal(case.run(x=x)["b_d"], Case(explicit("codes3"), plugin(SNAKE)).run(x=x)["b_d"])

    def test_an_exported_engine_is_read_again(self):
        case = Case(self.around("to_export"), plugin(SNAKE))
        path = scratch() / "exported.onnx"
        octet("export", case.engine, "--onnx", path, "--plugin", plugin(SNAKE))
        again = Case(path, plugin(SNAKE))
        self.assertEqual(again.layer("Snake")["op"], "octet.examples/Snake.codes")
        x = normal(20, 500)
        np.testing.assert_array_equal(next(iter(again.run(x=x).values())), next(iter(case.run(x=x).values())))

    def test_codes_move_through_what_commutes(self):
        nodes = [quantize("x", "a"), quantize("a_q", "a", "DequantizeLinear"),
                 node("Backwards", ["a_d"], ["b"], "org.several"), quantize("b", "a2"),
                 node("DequantizeLinear", ["a2_q", "a2_s", "a2_z"], ["out"])]
        path = model("moves", nodes, [("x", [2, 50])], [("out", [2, 50])],
                     params("a", 0.04, 120) + params("a2", 0.04, 120), domains=("org.several",))
        case = Case(path, plugin(SEVERAL))
        layer = case.layer("Backwards")
        self.assertEqual((layer["precision"], layer["inputs"][0]["type"]), ("int8", "u8[2,50]"))
        x = normal(2, 50)
        want = (np.float32(0.04) * (codes_of(x, 0.04, 120) - 120).astype(np.float32))[:, ::-1]
        np.testing.assert_array_equal(case.run(x=x)["out"].reshape(2, 50), want)


def convolved(name, op, domain, inputs=("c",), constants=(), batch=1):
    """Conv -> plugin -> Conv, for calibration."""
    rng = np.random.default_rng(2)
    weights = [(f"w{i}", (rng.normal(size=(8, c, 3, 3)) / 5).astype(np.float32)) for i, c in enumerate((3, 8))]
    nodes = [node("Conv", ["x", "w0"], ["c"], pads=[1, 1, 1, 1]), node(op, list(inputs), ["p"], domain),
             node("Conv", ["p", "w1"], ["y"], pads=[1, 1, 1, 1])]
    return model(name, nodes, [("x", [batch, 3, 12, 10])], [("y", [batch, 8, 12, 10])], [*weights, *constants], domains=(domain,))


def calibration():
    path = scratch() / "calib.npz"
    np.savez(path, x=normal(24, 3, 12, 10, seed=9))
    return path


class Calibrated(unittest.TestCase):
    def sqnr(self, path, library, operator, kind="codes"):
        case = Case(path, library, "--int8", "--calib", calibration())
        layer = case.layer(operator)
        x = normal(1, 3, 12, 10, seed=77)
        got = case.run(x=x)["y"]
        self.assertEqual(layer["op"].endswith(".codes"), kind == "codes", layer)
        self.assertEqual(layer["precision"], "int8" if kind == "codes" else "f32")
        for device in ("test:1",):
            np.testing.assert_array_equal(case.run("--device", device, x=x)["y"], got)
        exact = Case(path, library).run(x=x)["y"]
        return 10 * np.log10((exact ** 2).sum() / ((exact - got) ** 2).sum()), layer

    def test_a_table_between_convolutions(self):
        quality, layer = self.sqnr(convolved("table", "Snake", "octet.examples"), plugin(SNAKE), "Snake")
        self.assertGreater(quality, 25)
        self.assertIn("combination 'int8' costs least", layer["reason"])
        self.assertIn("'reals'", layer["reason"])

    def test_codes_around_zero_and_weights_of_channels(self):
        weights = [("w", np.linspace(-1, 3, 8).astype(np.float32))]
        path = convolved("channels", "ScaleChannels", "org.several", ("c", "w"), weights)
        quality, layer = self.sqnr(path, plugin(SEVERAL), "ScaleChannels")
        self.assertGreater(quality, 20)
        self.assertIn("w s8 8 scales", layer["kernel_reason"])
        self.assertRegex(layer["kernel_reason"], r"x s8 [0-9.e-]+@(0|128), ")

    def test_open_sizes_are_priced_as_one(self):
        weights = [("w", np.linspace(-1, 3, 8).astype(np.float32))]
        reasons = [Case(convolved(f"batch_{batch}", "ScaleChannels", "org.several", ("c", "w"), weights, batch), plugin(SEVERAL), "--int8", "--calib",
                        calibration()).layer("ScaleChannels")["reason"] for batch in (1, "n")]
        self.assertIn("combination 'int8' costs least", reasons[0])
        self.assertEqual(*reasons)

    def test_an_operator_in_c_with_state(self):
        quality, layer = self.sqnr(convolved("power", "Power", "octet.examples"), plugin(EXAMPLES / "power.c"), "Power")
        self.assertGreater(quality, 25)
        self.assertIn("x s8", layer["kernel_reason"])
        self.assertIn("2 tensors turned between u8 and s8", layer["kernel_reason"])

    def test_what_commutes_keeps_the_scale(self):
        case = Case(convolved("flip", "Backwards", "org.several"), plugin(SEVERAL), "--int8", "--calib", calibration())
        self.assertEqual(case.layer("Backwards")["precision"], "int8")
        self.assertEqual([layer["op"] for layer in case.layers() if "Linear" in layer["op"]],
                         ["QuantizeLinear"])

    def test_constraints_hold_for_plugins(self):
        for name in ("octet.examples/Snake", "p_node"):
            case = Case(convolved("kept", "Snake", "octet.examples"), plugin(SNAKE), "--int8", "--calib", calibration(),
                        "--keep-float", name)
            self.assertEqual(case.layer("Snake")["reason"], "kept in f32 by the user")

    def test_a_plugin_without_codes_stays_real(self):
        case = Case(convolved("mix", "Mix", "org.several", ("c", "c")), plugin(SEVERAL), "--int8", "--calib", calibration())
        self.assertEqual(case.layer("Mix")["precision"], "f32")

    def test_state_and_attributes_of_every_kind_survive_the_engine(self):
        nodes = [node("Mix", ["x", "y", "x"], ["z"], "org.several", one=3, ints=[1, 2], floats=[0.25], mode="double")]
        path = model("attributes", nodes, [("x", [2, 3]), ("y", [2, 3])], [("z", [2, 3])], domains=("org.several",))
        x, y = normal(2, 3), normal(2, 3, seed=8)
        got = Case(path, plugin(SEVERAL)).run(x=x, y=y)["z"].reshape(2, 3)
        np.testing.assert_allclose(got, (x + y + x) / 12.5, rtol=1e-6)
        for attributes, words in (({"ints": [11]}, "is 11, declared is 0 to 10"), ({"ints": [1] * 4}, "has 4 values"),
                                  ({"mode": "odd"}, "declared are plain, double"),
                                  ({"one": 0, "floats": [0.0]}, "refuses: its attributes add up to nothing")):
            path = model("odd", [node("Mix", ["x", "x"], ["z"], "org.several", **attributes)], [("x", [2, 3])],
                         [("z", [2, 3])], domains=("org.several",))
            error = octet("build", path, "-o", scratch() / "no.octet", "--plugin", plugin(SEVERAL), code=2).err
            self.assertIn(words, error)
        path = model("few", [node("Mix", ["x"], ["z"], "org.several")], [("x", [2, 3])], [("z", [2, 3])],
                     domains=("org.several",))
        error = octet("build", path, "-o", scratch() / "no.octet", "--plugin", plugin(SEVERAL), code=2).err
        self.assertIn("needs at least 2 inputs, has 1", error)

    def halves(self, name, operator, *flags):
        """Between two convolutions; what runs them, and how far the result lies from the reals."""
        rng = np.random.default_rng(4)
        w = (rng.normal(size=(4, 4, 3, 3)) / 6).astype(np.float32)
        nodes = [node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), node(operator, ["a"], ["b"], "org.several"),
                 node("Conv", ["b", "w"], ["y"], pads=[1, 1, 1, 1])]
        path = model(name, nodes, [("x", [1, 4, 9, 9])], [("y", [1, 4, 9, 9])], [("w", w)], domains=("org.several",))
        case = Case(path, plugin(SEVERAL), *flags)
        x = normal(1, 4, 9, 9, seed=9, spread=1.0)

        def conv(v):
            padded = np.pad(v, ((0, 0), (0, 0), (1, 1), (1, 1)))
            return sum(np.einsum("oi,nixy->noxy", w[:, :, i, j], padded[:, :, i:i + 9, j:j + 9]) for i in range(3) for j in range(3))
        return case, np.abs(case.run(x=x)["y"].reshape(1, 4, 9, 9) - conv(conv(x) / 2)).max()

    def test_a_plugin_of_halves_in_a_model_of_reals(self):
        np.savez(scratch() / "halves.npz", x=normal(16, 4, 9, 9, spread=1.0))
        int8 = ("--int8", "--calib", scratch() / "halves.npz")
        for name, operator, flags, casts, kernel, far in (
                ("reals_of_halves", "Halves", (), 2, "several:halves", 2e-3), ("int8_of_halves", "Halves", int8, 2, "several:halves", 0.1),
                ("reals_of_both", "HalvesOrCodes", (), 2, "several:halves", 2e-3), ("int8_of_both", "HalvesOrCodes", int8, 0, "several:int8", 0.1)):
            with self.subTest(name):
                case, off = self.halves(name, operator, *flags)
                layers = case.layers()
                self.assertEqual(sum(layer["op"] == "Cast" for layer in layers), casts, layers)
                self.assertEqual(case.layer(operator)["kernel"], kernel)
                self.assertLess(off, far)
        self.assertIn("x s8", case.layer("HalvesOrCodes")["kernel_reason"])
        self.assertRegex(case.layer("HalvesOrCodes")["kernel_reason"], r"x s8 [\d.]+@0 -> y s8 [\d.]+@0")  # as the plugin is told

    def test_a_plugin_of_codes_alone_says_what_it_needs(self):
        nodes = [node("CodesAlone", ["x"], ["y"], "org.several")]
        path = model("alone", nodes, [("x", [1, 4, 9, 9])], [("y", [1, 4, 9, 9])], domains=("org.several",))
        error = octet("build", path, "-o", scratch() / "no.octet", "--plugin", plugin(SEVERAL), code=2).err
        self.assertIn("it computes on codes alone: write Q -> CodesAlone -> DQ, or declare a combination of reals", error)

    def test_octet_says_what_it_has_itself(self):
        library = plugin(EXAMPLES / "layer_normalization.cc")
        weights = [("s", np.ones(10, np.float32)), ("b", np.zeros(10, np.float32))]
        path = convolved("norm", "LayerNormalization", "octet.examples", ("c", "s", "b"), weights)
        self.assertIn("runs the plugin 'layer_normalization'; Octet's own LayerNormalization", Case(path, library).built.err)


if __name__ == "__main__":
    harness.main()
