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


def sums_of_scores(count):
    """Constants that are added to the scores of one Softmax."""
    sums = [w.node("Add", [f"t{i}", "c"], [f"t{i + 1}"]) for i in range(count)]
    scores = [w.node("Identity", ["x"], ["t0"]), *sums, w.node("Softmax", [f"t{count}"], ["y"])]
    return w.model(scores, X, Y, [w.floats("c", [1], [0.5])])


def turns_of_codes(count):
    """Weights of codes that are turned over and over."""
    nodes = [w.node("DequantizeLinear", ["codes", "scale"], ["t0"]), *(w.node("Transpose", [f"t{i}"], [f"t{i + 1}"]) for i in range(count))]
    weights = [w.tensor("codes", [2, 3], w.INT8, bytes(range(6))), w.floats("scale", [], [0.5])]
    product = w.node("MatMul", ["x", f"t{count}"], ["y"])
    return w.model([*nodes, product], [w.value("x", [1, 2])], [w.value("y", [1, 3])], weights)


def picked_of_a_turn(count):
    """Gathers of one Transpose, of one index each."""
    picks = [w.node("Gather", ["t", "index"], [f"p{i}"]) for i in range(count)]
    nodes = [w.node("Transpose", ["x"], ["t"], perm=[2, 0, 3, 1, 4]), *picks, w.node("Sum", [f"p{i}" for i in range(count)], ["y"])]
    return w.model(nodes, [w.value("x", [1, 2, 3, 2, 2])], [w.value("y", [1, 2, 2, 2])], [w.integers("index", [0], scalar=True)])


def rolls_and_turns(count):
    """Rolls of an image of many rows, each few of them before a Transpose that turns the rows themselves."""
    bounds = [w.integers(name, [value]) for name, value in {"first": 0, "second": 1, "end": 1 << 40, "axis1": 1, "axis2": 2}.items()]
    nodes = []
    for i in range(count):
        axis = 1 + i % 2
        nodes += [w.node("Slice", [f"t{i}", "second", "end", f"axis{axis}"], [f"a{i}"]), w.node("Slice", [f"t{i}", "first", "second", f"axis{axis}"], [f"b{i}"]),
                  w.node("Concat", [f"a{i}", f"b{i}"], [f"c{i}"], axis=axis), w.node("Transpose" if i % 14 == 13 else "Identity", [f"c{i}"], [f"t{i + 1}"],
                  **({"perm": [0, 1, 3, 2]} if i % 14 == 13 else {}))]
    shape = [1, 16384, 4, 4]
    return w.model([w.node("Relu", ["x"], ["t0"]), *nodes, w.node("Relu", [f"t{count}"], ["y"])], [w.value("x", shape)], [w.value("y", shape)], bounds)


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


def constant_captures(count):
    """An If whose branches read many constants around it."""
    constants = [w.floats(f"w{i}", [1], [1.0]) for i in range(count)]

    def branch():
        return w.graph([w.node("Sum", ["x", *(f"w{i}" for i in range(count))], ["b"])], [], [w.value("b", [1])])

    choice = w.node("If", ["k"], ["y"], then_branch=branch(), else_branch=branch())
    return w.model([choice], [*X, w.value("k", [], w.BOOL)], Y, constants)


def folding_bodies(count):
    """Bodies each of which folds, in every walk over it, nearly as much as a body may."""

    def branch(name):
        names = [name, *(f"{name}_{i}" for i in range(8))]
        nodes = [w.node("ConstantOfShape", ["shape"], [name]), *(w.node("Erf", [names[i]], [names[i + 1]]) for i in range(8)),
                 w.node("ReduceSum", [names[-1]], [f"{name}_sum"], keepdims=0), w.node("Add", ["x", f"{name}_sum"], [f"{name}_y"])]
        return w.graph(nodes, [], [w.value(f"{name}_y", [1])])

    nodes = [w.node("If", ["k"], [f"y{i}"], then_branch=branch(f"a{i}"), else_branch=branch(f"b{i}")) for i in range(count)]
    total = w.node("Sum", [f"y{i}" for i in range(count)], ["y"])
    return w.model([*nodes, total], [*X, w.value("k", [], w.BOOL)], Y, [w.integers("shape", [15_000])])


def attributes(count):
    """In falling order, so that each is put before those that came."""
    names = {f"a{i:06}": 1 for i in range(count, 0, -1)}
    return w.model([w.node("Relu", ["x"], ["y"], **names)], X, Y)


def folded(nodes, result, sizes=(), initializers=(), opset=17):
    """Nodes over constants that a few bytes make large, and at the end one that reads an input. `sizes`: name -> shape."""
    made = [w.node("ConstantOfShape", [f"{name}_shape"], [name]) for name, _ in sizes]
    shapes = [w.integers(f"{name}_shape", shape) for name, shape in sizes]
    total = w.node("ReduceSum", [result], ["total"], keepdims=0)
    return w.model([*made, *nodes, total, w.node("Add", ["x", "total"], ["y"])], X, Y, [*shapes, *initializers], opset=opset)


def einsum():
    return folded([w.node("Einsum", ["c"] * 4, ["t"], equation="a,b,c,d->")], "t", [("c", [1000])])


def determinant():
    return folded([w.node("EyeLike", ["c"], ["e"]), w.node("Det", ["e"], ["t"])], "t", [("c", [8000, 8000])])


def suppression():
    nodes = [w.node("NonMaxSuppression", ["b", "s", "most"], ["i"]), w.node("Cast", ["i"], ["t"], to=w.FLOAT)]
    return folded(nodes, "t", [("b", [1, 1_000_000, 4]), ("s", [1, 1, 1_000_000])], [w.integers("most", [10**9])])


def roi_align():
    align = w.node("RoiAlign", ["b", "r", "i"], ["t"], output_height=100, output_width=100, sampling_ratio=4096)
    return folded([align], "t", [("b", [1, 1, 1024, 1024]), ("r", [1, 4])], [w.integers("i", [0])])


def fourier(count):
    """Each for itself is a second's work."""
    nodes = [w.node("DFT", ["b", "", "axis"], [f"t{i}"]) for i in range(count)]
    names = [f"t{i}" for i in range(count)]
    axis = w.integers("axis", [1], scalar=True)
    return folded([*nodes, w.node("Sum", names, ["t"])], "t", [("b", [1, 30_000, 1])], [axis], opset=20)


def long_chain(count):
    """Elementwise operators that each fill 64 MiB."""
    names = ["c", *(f"t{i}" for i in range(count))]
    nodes = [w.node("Exp", [names[i]], [names[i + 1]]) for i in range(count)]
    return folded(nodes, names[-1], [("c", [4096, 4096])])


# Left to the run, which would take hours.
HOGS = {
    "einsum": einsum,
    "determinant": determinant,
    "suppression": suppression,
    "roi_align": roi_align,
    "fourier": lambda: fourier(50),
    "long_chain": lambda: long_chain(500),
    "bodies": lambda: folding_bodies(400),
}

LEGAL = {
    "nodes_200k": lambda: w.model(chain("Relu", 200_000), X, Y),
    "identities_400k": lambda: w.model(chain("Identity", 400_000), X, Y),
    "turns_20k": lambda: w.model(chain("Transpose", 20_000, perm=[1, 2, 0]), [w.value("x", [2, 3, 4])], [w.value("y", [4, 2, 3])]),
    "sigmoids_after_conv_20k": lambda: after_conv("Sigmoid", 20_000),
    "sums_of_scores_100k": lambda: sums_of_scores(100_000),
    "turns_of_codes_20k": lambda: turns_of_codes(20_000),
    "picked_of_a_turn_60k": lambda: picked_of_a_turn(60_000),
    "rolls_and_turns_6k": lambda: rolls_and_turns(5_600),
    "readers_10k": lambda: fan_out(10_000),
    "inputs_100k": lambda: many_inputs(100_000, [1]),
    "inputs_of_own_sizes_2k": lambda: many_inputs(2_000, ["own"]),
    "outputs_100k": lambda: many_outputs(100_000),
    "output_copies_50k": lambda: output_copies(50_000),
    "captures_60k": lambda: captures(60_000),
    "constant_captures_40k": lambda: constant_captures(40_000),
    "attributes_100k": lambda: attributes(100_000),
}

# On the emulated GPU, too.
ON_GPU = {
    "nodes_60k": lambda: w.model(chain("Relu", 60_000), X, Y),
    "readers_10k": lambda: fan_out(10_000),
    "inputs_30k": lambda: many_inputs(30_000, [1]),
    "outputs_100k": lambda: many_outputs(100_000),
    "output_copies_20k": lambda: output_copies(20_000),
    "captures_20k": lambda: captures(20_000),
}


class Large(unittest.TestCase):
    """One test for each model of LEGAL, ON_GPU and HOGS, below."""

    def check(self, model, run=True, gpu=False):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.onnx"
            file.write_bytes(model)
            with tempfile.TemporaryDirectory() as work:
                outcomes, left = run_model(file, pathlib.Path(work), run, gpu)
        for name, outcome in zip(("build", "check", "run", "run on the GPU"), outcomes):
            self.assertFalse(outcome.hung, f"{name} took too long")
            self.assertFalse(outcome.died, f"{name} ended with {outcome.code}: {outcome.errors[:300]}")
            self.assertFalse(outcome.overran, f"{name} took {outcome.peak >> 20} MiB")
            self.assertEqual(outcome.code, 0, outcome.errors[:300])
        self.assertEqual(left, [])


def test_of(make, run=True, gpu=False):
    return lambda self: self.check(make(), run, gpu)


for case, make in LEGAL.items():
    setattr(Large, f"test_{case}", test_of(make))
for case, make in ON_GPU.items():
    setattr(Large, f"test_gpu_{case}", test_of(make, gpu=True))
for case, make in HOGS.items():
    setattr(Large, f"test_folding_{case}", test_of(make, run=False))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
