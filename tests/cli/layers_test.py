# SPDX-License-Identifier: Apache-2.0
"""octet compare --layers against ONNX Runtime, and against the simulation of the engine's own Q/DQ graph."""

import sys
import unittest

import harness
from harness import DIGITS, digits, digits_engine, need, octet, scratch, shared_data, shared_model

MODEL = DIGITS / "digits.onnx"
PYTHON = {"OCTET_PYTHON": sys.executable}


def compare(engine, *flags, command="compare", code=0):
    return octet(command, engine, "--calib", digits() / "test", "--max-samples", 8, *flags, code=code, env=PYTHON)


class AgainstOnnxRuntime(unittest.TestCase):
    def test_every_named_value_of_an_fp32_engine(self):
        need("onnxruntime", "onnx")
        engine = scratch() / "fp32.octet"
        octet("build", MODEL, "-o", engine, "--force")
        told = compare(engine, "--against", f"onnxruntime-plain:{MODEL}", "--layers", "--json", "--preprocess", DIGITS / "preprocess.json").json
        self.assertGreater(len(told["layers"]), 8)
        self.assertGreater(min(one["sqnr_db"] or 300 for one in told["layers"]), 80)

    def test_the_first_layer_that_differs_is_named(self):
        """A model with one weight changed in its third convolution against the model as it was."""
        onnx = need("onnx")
        need("onnxruntime")
        model = onnx.load(MODEL)
        third = [node for node in model.graph.node if node.op_type == "Conv"][2]
        weights = next(tensor for tensor in model.graph.initializer if tensor.name == third.input[1])
        values = onnx.numpy_helper.to_array(weights).copy()
        values.flat[0] += 1
        weights.CopyFrom(onnx.numpy_helper.from_array(values, weights.name))
        onnx.save(model, scratch() / "changed.onnx")
        engine = scratch() / "changed.octet"
        octet("build", scratch() / "changed.onnx", "-o", engine, "--force")
        flags = ("--against", f"onnxruntime:{MODEL}", "--layers", "--atol", "1e-3", "--preprocess", DIGITS / "preprocess.json")
        told = compare(engine, *flags, "--json", code=1).json
        self.assertEqual(told["first_difference"]["layer"], third.name)
        self.assertGreater(told["first_difference"]["beyond"], 0)
        self.assertIn(f"first layer that differs beyond --atol and --rtol: {third.name}", compare(engine, *flags, code=1).out)

    def test_saved_outputs_have_no_layers(self):
        path = scratch() / "saved.npz"
        compare(digits_engine(), "--against", digits_engine(), "--save-outputs", path)
        said = compare(digits_engine(), "--load-outputs", path, "--layers", code=2).err
        self.assertIn("has outputs alone", said)


class Simulation(unittest.TestCase):
    def test_an_engine_is_its_simulation_but_for_single_codes(self):
        numpy, out = need("numpy"), scratch() / "simulated.npz"
        told = compare(digits_engine(), "-o", out, "--layers", "--json", command="simulate").json
        self.assertEqual(told["against"], "its Q/DQ graph in f32")
        self.assertGreater(told["sqnr_db"] or 300, 30)
        self.assertGreater(len(told["layers"]), 5)
        self.assertEqual(numpy.load(out)["logits"].shape, (8, 10))
        same = compare(digits_engine(), "--against", "simulation", "--json").json
        self.assertEqual(same["outputs"], told["outputs"])

    def check_first_layer(self, told):
        """What it is held against is rounded as it is: single codes differ, not every element by half a code."""
        first = told["first_difference"]
        if first is not None:
            self.assertLess(first["beyond"], 0.01 * first["elements"], first)

    def test_the_first_layer_differs_by_single_codes(self):
        self.check_first_layer(compare(digits_engine(), "--layers", "--json", command="simulate").json)

    def test_the_first_layer_of_a_residual_network(self):
        model, photos, engine = shared_model("cifar10_resnet20"), shared_data("cifar10"), scratch() / "resnet20.octet"
        octet("build", model, "--int8", "--calib", photos / "calib", "--max-samples", 16, "--scale", 255, "-o", engine, "--quiet")
        told = octet("simulate", engine, "--calib", photos / "test", "--max-samples", 2, "--layers", "--json").json
        self.assertGreater(len(told["layers"]), 20)
        self.check_first_layer(told)

    def test_a_real_engine_has_none(self):
        octet("build", MODEL, "-o", scratch() / "real.octet", "--force")
        self.assertIn("the engine has no INT8 layer", compare(scratch() / "real.octet", command="simulate", code=2).err)


if __name__ == "__main__":
    harness.main()
