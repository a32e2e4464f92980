#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for much: many nodes, readers, inputs, outputs, attributes and captures, constants that take hours to fold,
loops in loops. Each is checked, built and run in a process that has ten seconds: whatever is quadratic in the file dies here."""

import pathlib
import sys
import tempfile
import unittest

import onnx_writer as w
from hostile_test import run_model

X, Y = [w.value("x", [1])], [w.value("y", [1])]


def chain(op, count, **attributes):
    """x -> op -> ... -> y."""
    names = ["x", *(f"t{i}" for i in range(1, count)), "y"]
    return [w.node(op, [names[i]], [names[i + 1]], **attributes) for i in range(count)]


def image_model(nodes, channels=1):
    """Behind a convolution of `x` that makes `c`."""
    image = [1, channels, 4, 4]
    conv = w.node("Conv", ["x", "w"], ["c"])
    weights = w.floats("w", [channels, channels, 1, 1], [0.5] * channels * channels)
    return w.model([conv, *nodes], [w.value("x", image)], [w.value("y", image)], [weights])


def after_conv(op, count):
    """A chain behind a convolution, of operators that are INT8 as long as somebody reads their codes."""
    names = ["c", *(f"t{i}" for i in range(1, count)), "y"]
    return image_model([w.node(op, [names[i]], [names[i + 1]]) for i in range(count)])


def fan_out(count):
    """One convolution that many read; all results live until the end."""
    readers = [w.node("Relu", ["c"], [f"t{i}"]) for i in range(count)]
    return image_model([*readers, w.node("Sum", [f"t{i}" for i in range(count)], ["y"])])


def many_inputs(count, shape):
    names = [f"x{i}" for i in range(count)]
    inputs = [w.value(name, [dim if dim != "own" else f"d{i}" for dim in shape]) for i, name in enumerate(names)]
    return w.model([w.node("Sum", names, ["y"])], inputs, Y)


def many_outputs(count):
    names = [f"y{i}" for i in range(count)]
    split = w.node("Split", ["x"], names, axis=0, num_outputs=count)
    return w.model([split], [w.value("x", [count])], [w.value(name, [1]) for name in names], opset=18)


def output_copies(count):
    """Every second node is an Identity whose result is an output of the graph."""
    nodes = []
    for i in range(count):
        nodes += [w.node("Relu", ["x"], [f"t{i}"]), w.node("Identity", [f"t{i}"], [f"y{i}"])]
    return w.model(nodes, X, [w.value(f"y{i}", [1]) for i in range(count)])


def captures(count):
    """An If whose branches read many values around it, each one other ones."""
    outer = [w.node("Relu", ["x"], [f"c{i}"]) for i in range(count)]
    half = count // 2

    def branch(names):
        return w.graph([w.node("Sum", names, ["b"])], [], [w.value("b", [1])])

    names = [f"c{i}" for i in range(count)]
    choice = w.node("If", ["k"], ["y"], then_branch=branch(names[:half]), else_branch=branch(names[half:]))
    return w.model([*outer, choice], [*X, w.value("k", [], w.BOOL)], Y)


def attributes(count):
    """In falling order, so that each is put before those that came."""
    names = {f"a{i:06}": 1 for i in range(count, 0, -1)}
    return w.model([w.node("Relu", ["x"], ["y"], **names)], X, Y)


LEGAL = {
    "nodes_200k": lambda: w.model(chain("Relu", 200_000), X, Y),
    "identities_400k": lambda: w.model(chain("Identity", 400_000), X, Y),
    "sigmoids_after_conv_20k": lambda: after_conv("Sigmoid", 20_000),
    "readers_10k": lambda: fan_out(10_000),
    "inputs_100k": lambda: many_inputs(100_000, [1]),
    "inputs_of_own_sizes_2k": lambda: many_inputs(2_000, ["own"]),
    "outputs_100k": lambda: many_outputs(100_000),
    "output_copies_50k": lambda: output_copies(50_000),
    "captures_60k": lambda: captures(60_000),
    "attributes_100k": lambda: attributes(100_000),
}


class Large(unittest.TestCase):
    """One test for each model of LEGAL, below."""

    def check(self, model, may_be_refused=False):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.onnx"
            file.write_bytes(model)
            with tempfile.TemporaryDirectory() as work:
                outcomes, left = run_model(file, pathlib.Path(work))
        for name, outcome in zip(("build", "check", "run"), outcomes):
            self.assertFalse(outcome.hung, f"{name} took too long")
            self.assertFalse(outcome.died, f"{name} ended with {outcome.code}: {outcome.errors[:300]}")
            self.assertFalse(outcome.overran, f"{name} took {outcome.peak >> 20} MiB")
            if not may_be_refused:
                self.assertEqual(outcome.code, 0, outcome.errors[:300])
        self.assertEqual(left, [])


def test_of(make):
    return lambda self: self.check(make())


for case, make in LEGAL.items():
    setattr(Large, f"test_{case}", test_of(make))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
