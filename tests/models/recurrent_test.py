#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN in INT8: products of codes, gates and cells of reals, and what ONNX Runtime gives in FP32."""

import unittest

import harness
from harness import need, octet, scratch
from nodes import Small, expected, got

QUIET = 0.03  # of the result's deviation, 30 dB: one scale of 255 codes for each tensor, as for other products
STEPS, BATCH, INPUT, HIDDEN = 12, 2, 32, 48
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Recurrent(unittest.TestCase):
    def setUp(self):
        self.numpy = need("numpy")
        self.rng = self.numpy.random.default_rng(7)

    def reals(self, *shape, scale=1.0):
        return self.rng.normal(0, scale, shape).astype(self.numpy.float32)

    def model(self, op, state_weights=0.1, direction="forward", outputs=("h", "last"), **attrs):
        """The layer and a product of what it gives."""
        numpy, small, rows = self.numpy, Small(17), GATES[op] * HIDDEN
        directions = 2 if direction == "bidirectional" else 1
        x = small.feed("x", self.reals(STEPS, BATCH, INPUT))
        weights = (self.reals(directions, rows, INPUT, scale=0.2), self.reals(directions, rows, HIDDEN, scale=state_weights),
                   self.reals(directions, 2 * rows, scale=0.1))
        small.node(op, [x, *map(small.const, weights)], list(outputs), hidden_size=HIDDEN, direction=direction, **attrs)
        shape = [STEPS, BATCH, directions * HIDDEN] if outputs[0] else [BATCH, directions * HIDDEN]
        flat = small.node("Reshape", [outputs[0] or outputs[1], small.const(numpy.array(shape))])
        small.node("MatMul", [flat, small.const(self.reals(directions * HIDDEN, 8, scale=0.2))], ["y"])
        data = scratch() / "recurrent.npz"
        numpy.savez(data, x=numpy.concatenate([small.feeds["x"], self.reals(STEPS, BATCH, INPUT)]))
        return small, data

    def check(self, small, data, *outputs):
        path = small.save(*outputs)
        result, layers = got(path, small.feeds, "--int8", "--calib", data)
        self.assertEqual([layer["precision"] for layer in layers if layer["macs"]], ["int8"] * 2)
        self.assertNotIn("reference", [layer["kernel"] for layer in layers])
        self.close(result, expected(path, small.feeds), outputs)
        return path

    def close(self, result, wanted, outputs):
        for name in outputs:
            noise = self.numpy.std(result[name] - wanted[name]) / self.numpy.std(wanted[name])
            self.assertLess(noise, QUIET, name)

    def test_products_are_of_codes(self):
        for op in GATES:
            for direction in ("forward", "reverse", "bidirectional"):
                with self.subTest(op=op, direction=direction):
                    self.check(*self.model(op, direction=direction), "y", "last")

    def test_a_reset_gate_behind_the_product(self):
        self.check(*self.model("GRU", linear_before_reset=1), "y")

    def test_the_last_state_may_be_all_that_is_read(self):
        for op in GATES:
            with self.subTest(op=op):
                self.check(*self.model(op, outputs=("", "last")), "y")

    def test_the_exported_form_is_what_it_was_made_of(self):
        """Q/DQ of x, W and R; that the state is rounded as well, ONNX cannot say."""
        onnx = need("onnx")
        for direction in ("forward", "bidirectional"):
            with self.subTest(direction=direction):
                small, data = self.model("LSTM", direction=direction)
                path = self.check(small, data, "y", "last")
                exported = path.with_suffix(".qdq.onnx")
                octet("export", path.with_suffix(".octet"), "--onnx", exported, "--for", "onnxruntime")
                graph = onnx.load(exported).graph
                made_by = {name: node for node in graph.node for name in node.output}
                lstm = next(node for node in graph.node if node.op_type == "LSTM")
                for name in lstm.input[:3]:
                    node = made_by[name]
                    node = made_by[node.input[0]] if node.op_type == "Reshape" else node
                    self.assertEqual(node.op_type, "DequantizeLinear", name)
                self.close(expected(exported, small.feeds), expected(path, small.feeds), ["y", "last"])
                # Their author did not say how the state is rounded.
                _, layers = got(exported, small.feeds, "--int8")
                layer = next(layer for layer in layers if layer["op"] == "LSTM")
                self.assertEqual(layer["reason_code"], "refused_by_operator")
                self.assertRegex(layer["reason"], "no Q/DQ of the model says how the state")

    def test_a_state_that_rounding_turns_over_stays_real(self):
        small, data = self.model("LSTM", state_weights=20.0)
        _, layers = got(small.save("y"), small.feeds, "--int8", "--calib", data)
        layer = next(layer for layer in layers if layer["op"] == "LSTM")
        self.assertEqual(layer["reason_code"], "kept_for_accuracy")
        self.assertRegex(layer["reason"], r"codes of 'x' and of its state would cost [0-9.]+ % of its result")
        # What it reads was not rounded for nothing.
        self.assertNotIn("QuantizeLinear", [layer["op"] for layer in layers[: layers.index(layer)]])


if __name__ == "__main__":
    harness.main()
