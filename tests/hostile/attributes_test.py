#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every attribute of every operator that ONNX tests by itself, set to a value that its schema does not enumerate: 999 or a word
that is none; those of reals to NaN. What is accepted must be a number of which any is good."""

import pathlib
import subprocess
import tempfile
import unittest

from harness import PROGRAM, main, need, onnx_tests

VALUES = {"INT": 999, "STRING": "junk", "STRINGS": ["junk"] * 3}
REALS = {"FLOAT": float("nan"), "FLOATS": [float("nan")]}

ANY_NUMBER = {
    ("Attention", "kv_num_heads"): "of inputs of rank 3 only",
    ("Attention", "q_num_heads"): "of inputs of rank 3 only",
    ("DequantizeLinear", "axis"): "ignored for one scale",
    ("Dropout", "seed"): "any seed",
    ("EyeLike", "k"): "a diagonal outside",
    ("LinearAttention", "chunk_size"): "a hint",
    ("LRN", "size"): "wider than the channels",
    ("NegativeLogLikelihoodLoss", "ignore_index"): "a class that does not come",
    ("QuantizeLinear", "axis"): "ignored for one scale",
    ("RoiAlign", "sampling_ratio"): "many samples",
    ("RotaryEmbedding", "num_heads"): "of inputs of rank 3 only",
    ("Shape", "end"): "clamped",
    ("SoftmaxCrossEntropyLoss", "ignore_index"): "a class that does not come",
}

ANY_REAL = {("Resize", "extrapolation_value"): "only put where the input does not reach"}


def accepts(model):
    done = subprocess.run([PROGRAM, "check", model], capture_output=True, check=False)
    assert done.returncode in (0, 2), f"{model} ended with {done.returncode}"
    return done.returncode == 0


class Attributes(unittest.TestCase):
    def cases(self, kinds):
        """(operator, attribute, its kind, a model of that node alone), each operator and attribute once."""
        onnx = need("onnx")
        need("onnx.helper")
        seen = set()
        for file in sorted(onnx_tests("node").glob("*/model.onnx")):
            model = onnx.load(file)
            if len(model.graph.node) != 1 or model.graph.node[0].domain not in ("", "ai.onnx"):
                continue
            opset = max(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
            op = model.graph.node[0].op_type
            for name, attribute in onnx.defs.get_schema(op, opset).attributes.items():
                kind = attribute.type.name
                if (op, name) in seen or kind not in kinds or not accepts(file):
                    continue
                seen.add((op, name))
                yield op, name, kind, model

    def accepted(self, values, least):
        accepted, tried = set(), 0
        for op, name, kind, model in self.cases(values):
            changed = type(model)()
            changed.CopyFrom(model)
            attributes = changed.graph.node[0].attribute
            kept = [a for a in attributes if a.name != name]
            del attributes[:]
            attributes.extend([*kept, need("onnx.helper").make_attribute(name, values[kind])])
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "m.onnx"
                file.write_bytes(changed.SerializeToString())
                tried += 1
                if accepts(file):
                    accepted.add((op, name))
        self.assertGreater(tried, least)
        return accepted

    def test_values_outside_of_the_schema(self):
        self.assertEqual(self.accepted(VALUES, 100), set(ANY_NUMBER))

    def test_reals_that_are_no_numbers(self):
        self.assertEqual(self.accepted(REALS, 30), set(ANY_REAL))


if __name__ == "__main__":
    main()
