# SPDX-License-Identifier: Apache-2.0
"""--plugin: operators of shared libraries in models and engines."""

import re
import unittest

import numpy as np

import harness
from harness import ROOT, octet, scratch
from plugins import EXAMPLES, model, plugin

SOURCE = EXAMPLES / "layer_normalization.cc"
SEVERAL = ROOT / "tests/plugin_faults/several.cc"


def nodes(**attributes):
    from onnx import helper
    return [helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"], name="norm",
                             domain="octet.examples", **attributes)]


def normalized(name="norm", **attributes):
    rng = np.random.default_rng(3)
    weights = [("scale", rng.normal(size=16).astype(np.float32)), ("bias", rng.normal(size=16).astype(np.float32))]
    return model(name, nodes(**attributes), [("x", [2, 5, 16])], [("y", [2, 5, 16])], weights), weights


def built(path, library, *flags, code=0):
    engine = scratch() / f"{path.stem}.octet"
    return engine, octet("build", path, "-o", engine, "--plugin", library, *flags, code=code)


class Plugins(unittest.TestCase):
    def test_an_operator_in_f32_from_model_to_result(self):
        path, weights = normalized()
        library = plugin(SOURCE)
        engine, _ = built(path, library)
        x = np.random.default_rng(1).normal(size=(2, 5, 16)).astype(np.float32)
        np.savez(scratch() / "x.npz", x=x)
        octet("run", engine, scratch() / "x.npz", "-o", scratch() / "y.npz", "--plugin", library)
        got = np.load(scratch() / "y.npz")["y"]
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        expected = (x - mean) / np.sqrt(variance + 1e-5) * weights[0][1] + weights[1][1]
        np.testing.assert_allclose(got.reshape(expected.shape), expected, rtol=0, atol=1e-5)
        layer = octet("inspect", engine, "--plugin", library, "--json").json["layers"][0]
        self.assertEqual(layer["op"], "octet.examples/LayerNormalization")

    def rows_above(self, run, *flags):
        """Layers around an operator whose results data size: what stands before it, and after."""
        from onnx import TensorProto, helper
        rng = np.random.default_rng(5)
        weights = rng.normal(size=(8, 4)).astype(np.float32)
        half = np.float32([0.5])
        path = model(f"above_{run}", [helper.make_node("MatMul", ["x", "w"], ["m"], name="before"),
                                      helper.make_node("RowsAbove", ["m"], ["kept", "rows"], name="above", domain="org.several", threshold=0.25),
                                      helper.make_node("Mul", ["kept", "half"], ["y"], name="after")],
                     [("x", [40, 8])], [("y", ["n", 4]), ("rows", ["n"], TensorProto.INT64)], [("w", weights), ("half", half)],
                     domains=("org.several",))
        library = plugin(SEVERAL)
        engine, _ = built(path, library, *flags)
        for seed, shift in ((1, 0), (2, 0), (3, -9), (4, 9)):  # some, others, none, many
            x = rng.normal(size=(40, 8)).astype(np.float32)
            x += shift * weights[:, 0]
            np.savez(scratch() / "rows.npz", x=x)
            octet("run", engine, scratch() / "rows.npz", "-o", scratch() / "kept.npz", "--plugin", library, "--force")
            yield x @ weights, np.load(scratch() / "kept.npz")

    def test_sizes_that_data_tell(self):
        counts = set()
        for m, got in self.rows_above("f32"):
            rows = np.flatnonzero(m[:, 0] > 0.25)
            counts.add(len(rows))
            np.testing.assert_array_equal(got["rows"].ravel(), rows)
            np.testing.assert_allclose(got["y"].reshape(-1, 4), m[rows] / 2, rtol=0, atol=1e-5)
        self.assertGreater(len(counts), 2)
        self.assertIn(0, counts)

    def test_sizes_that_data_tell_behind_layers_in_int8(self):
        np.savez(scratch() / "rows_calib.npz", x=np.random.default_rng(6).normal(size=(400, 8)).astype(np.float32).reshape(10, 40, 8)[0])
        for m, got in self.rows_above("int8", "--int8", "--calib", scratch() / "rows_calib.npz"):
            rows = got["rows"].ravel()
            self.assertEqual(got["y"].size, 4 * len(rows))
            far = np.abs(m[:, 0] - 0.25) > 1
            np.testing.assert_array_equal(np.isin(np.flatnonzero(far), rows), m[far, 0] > 0.25)

    def test_inputs_and_results_that_a_model_leaves_out(self):
        """Those at the end of the list too: the plugin is told of all of its ports, and has memory for all results."""
        from onnx import helper
        library = plugin(SEVERAL)
        rng = np.random.default_rng(8)
        x = rng.normal(size=(1, 3, 6, 6)).astype(np.float32)
        w = rng.normal(size=(3, 3, 1, 1)).astype(np.float32)
        np.savez(scratch() / "part.npz", x=x)
        np.savez(scratch() / "parts.npz", x=rng.normal(size=(16, 3, 6, 6)).astype(np.float32))
        made = np.einsum("oihw,nixy->noxy", w, x)
        for at, (inputs, outputs, expected) in enumerate((
                (["m"], ["y", "z"], made / 2), (["m", "", "c"], ["y"], made + 3), (["m", "b"], ["y", ""], made + 2),
                (["m", "b", "c"], ["", "z"], made / 2 + 3), (["m", "", ""], ["", "z"], made / 2))):
            read = [name for name in outputs if name][-1]
            path = model(f"parts{at}", [helper.make_node("Conv", ["x", "w"], ["m"], name="conv"),
                                        helper.make_node("Shifted", inputs, outputs, name="shifted", domain="org.several"),
                                        helper.make_node("Conv", [read, "eye"], ["out"], name="last")],
                         [("x", [1, 3, 6, 6])], [("out", [1, 3, 6, 6])],
                         [("w", w), ("eye", np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)), ("b", np.float32([2])), ("c", np.float32([3]))],
                         domains=("org.several",))
            for flags, tolerance in ([], 1e-5), (["--int8", "--calib", scratch() / "parts.npz"], 0.25):
                with self.subTest(inputs=inputs, outputs=outputs, flags=flags):
                    engine, _ = built(path, library, *flags, "--force")
                    octet("run", engine, scratch() / "part.npz", "-o", scratch() / "whole.npz", "--plugin", library, "--force")
                    got = np.load(scratch() / "whole.npz")["out"]
                    np.testing.assert_allclose(got.reshape(expected.shape), expected, rtol=0, atol=tolerance)

    def test_an_input_that_is_needed(self):
        from onnx import helper
        for at, (inputs, words) in enumerate(((["x", "", "bias"], "input 1 is omitted, but octet.examples/LayerNormalization requires it|"
                                               "input 1 'scale' is missing, and is not optional"),
                                              (["x", "scale"], "octet.examples/LayerNormalization needs 3 inputs, has 2"))):
            path = model(f"needed{at}", [helper.make_node("LayerNormalization", inputs, ["y"], name="norm", domain="octet.examples")],
                         [("x", [2, 16])], [("y", [2, 16])], [(name, np.ones(16, np.float32)) for name in inputs[1:] if name])
            _, result = built(path, plugin(SOURCE), code=2)
            self.assertRegex(result.err, words)

    def test_a_size_that_the_shape_rule_does_not_allow(self):
        path = scratch() / "above_f32.octet"
        for _ in self.rows_above("f32"):
            pass
        error = octet("run", path, scratch() / "rows.npz", "--plugin", plugin(SEVERAL), code=2,
                      env={"OCTET_TEST_FAULT": "SAYS_MORE_THAN_ITS_RULE"}).err
        self.assertIn("gives output 'y' the sizes 41x4, its shape rule at most 40x4", error)

    def test_a_model_without_its_plugin_says_what_it_lacks(self):
        path, _ = normalized("lacking")
        error = octet("build", path, "-o", scratch() / "no.octet", code=2).err
        self.assertIn("LayerNormalization (domain octet.examples, opset 1): node 'norm'", error)
        self.assertIn("--plugin FILE", error)

    def test_an_engine_asks_for_the_plugins_it_was_built_with(self):
        path, _ = normalized("asks")
        engine, _ = built(path, plugin(SOURCE))
        error = octet("inspect", engine, code=2).err
        self.assertIn("octet.examples/LayerNormalization version 1: no loaded plugin has it; it came from "
                      "'layer_normalization' 1.0.0", error)
        text = SOURCE.read_text()
        for name, old, new, words in (
                ("newer", '"1.0.0"', '"1.0.1"', "plugin version 1.0.0, and 1.0.1 is loaded"),
                ("version", '"LayerNormalization", 1)', '"LayerNormalization", 2)', "operator version 1, and 2 is loaded"),
                ("declares", '"epsilon", 1e-5f', '"epsilon", 1e-6f', "built with declaration")):
            self.assertIn(old, text)
            other = scratch() / f"{name}.cc"
            other.write_text(text.replace(old, new))
            error = octet("inspect", engine, "--plugin", plugin(other), code=2).err
            self.assertIn(words, error)
            self.assertRegex(error, "(?s)not loaded as it knows them:\n +octet.examples/LayerNormalization")

    def test_attributes_reach_a_plugin_only_as_declared(self):
        for name, attributes, words in (
                ("unknown", {"axis": -1}, "attribute 'axis' is not declared by octet.examples/LayerNormalization"),
                ("kind", {"epsilon": 1}, "attribute 'epsilon' is of kind int, declared is float"),
                ("bounds", {"epsilon": 2.0}, "attribute 'epsilon' is 2, declared is 1e-12 to 1"),
                ("host", {"octet.state": "x"}, "attribute 'octet.state' is not declared")):
            path, _ = normalized(name, **attributes)
            _, result = built(path, plugin(SOURCE), code=2)
            self.assertIn(words, result.err)

    def test_shapes_reach_a_plugin_only_as_declared(self):
        bias = np.zeros(16, np.float32)
        path = model("ranks", nodes(), [("x", [2, 16])], [("y", [2, 16])],
                     [("scale", bias.reshape(4, 4)), ("bias", bias)])
        _, result = built(path, plugin(SOURCE), code=2)
        self.assertIn("input 'scale' has 2 dimensions; the plugin declares 1 to 1", result.err)
        path = model("refused", nodes(), [("x", [2, 8])], [("y", [2, 8])], [("scale", bias), ("bias", bias)])
        _, result = built(path, plugin(SOURCE), code=2)
        self.assertIn("refuses: scale and bias need one element for each of the last dimension", result.err)

    def test_types_that_no_combination_has_show_the_matrix(self):
        from onnx import TensorProto
        constants = [("scale", np.ones(16, np.float32)), ("bias", np.zeros(16, np.int64))]
        path = model("types", nodes(), [("x", [2, 16])], [("y", [2, 16])], constants)
        _, result = built(path, plugin(SOURCE), code=2)
        rows = [re.split(r"\s{2,}", line.strip()) for line in result.err.splitlines()]
        self.assertIn(["offered", "reals"], rows)
        self.assertIn(["bias", "s64", "[f32]"], rows)
        self.assertIn(["scale", "f32", "f32"], rows)
        self.assertIn(["device", "host"], rows)
        self.assertEqual(TensorProto.INT64, 7)

    def test_a_file_that_is_no_plugin(self):
        path, _ = normalized("files")
        empty = scratch() / "empty.cc"
        empty.write_text("int nothing;\n")
        text = scratch() / "text.so"
        text.write_text("no library")
        opened = scratch() / "open.so"
        opened.write_bytes(plugin(SOURCE).read_bytes())
        opened.chmod(0o777)
        for library, words in ((scratch() / "absent.so", "there is no plugin"), (text, "is no plugin"),
                               (plugin(empty), "it has no function octet_plugin_entry"),
                               (opened, "may be written by everybody")):
            _, result = built(path, library, code=2)
            self.assertIn(words, result.err)


if __name__ == "__main__":
    harness.main()
