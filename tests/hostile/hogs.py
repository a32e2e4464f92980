# SPDX-License-Identifier: Apache-2.0
"""Legal models of a few bytes that ask for hours or for gigabytes: what they ask for is left to the run, or refused."""

import onnx_writer as w
from case import model_case
from malformed import X

Y = [w.value("y", [])]


def constant(name, shape, kind=w.FLOAT):
    """A large constant of a few bytes: its node, and the initializers that it reads."""
    value = w.tensor("v", [1], kind, b"\0\0\x80\x3f" if kind == w.FLOAT else bytes(8))
    node = w.node("ConstantOfShape", [f"{name}_shape"], [name]) + w.field(
        5, w.field(1, "value") + w.field(5, value) + w.field(20, 4))
    return node, w.integers(f"{name}_shape", shape)


def folded(name, nodes, result, constants, initializers=(), opset=17):
    """The nodes compute on constants; x is added at the end."""
    made = [constant(n, *how) for n, how in constants.items()]
    cast = w.node("Cast", [result], ["as_float"], to=w.FLOAT)
    total = w.node("ReduceSum", ["as_float"], ["total"], keepdims=0)
    add = w.node("Add", ["x", "total"], ["y"])
    return model_case(name, w.model([*(m[0] for m in made), *nodes, cast, total, add], X, [w.value("y", [1, 4])],
                                    [*(m[1] for m in made), *initializers], opset=opset))


def products(rng):
    for i in range(8):
        labels = "abcdefgh"[: rng.randint(3, 6)]
        size = rng.choice([50, 200, 1000])
        equation = ",".join(labels) + "->"
        yield folded(f"einsum_{i}", [w.node("Einsum", ["c"] * len(labels), ["t"], equation=equation)], "t", {"c": ([size],)})
    for i in range(5):
        n = rng.choice([1000, 3000, 6000])
        yield folded(f"matmul_{i}", [w.node("MatMul", ["c", "c"], ["t"])], "t", {"c": ([n, n],)})
        yield folded(f"det_{i}", [w.node("EyeLike", ["c"], ["e"]), w.node("Det", ["e"], ["t"])], "t", {"c": ([n, n],)})
        side, kernel = rng.choice([64, 256, 500]), rng.choice([3, 31, 63])
        yield folded(f"conv_{i}", [w.node("Conv", ["c", "k"], ["t"])], "t",
                     {"c": ([1, 8, side, side],), "k": ([8, 8, kernel, kernel],)})
        yield folded(f"transposed_{i}", [w.node("ConvTranspose", ["c", "k"], ["t"])], "t",
                     {"c": ([1, 8, side, side],), "k": ([8, 8, kernel, kernel],)})
    for i, op in enumerate(("RNN", "GRU", "LSTM")):
        gates, hidden = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], rng.choice([64, 512])
        yield folded(f"recurrent_{i}", [w.node(op, ["c", "w", "r"], ["t"], hidden_size=hidden)], "t", {
            "c": ([rng.choice([500, 20000]), 1, hidden],), "w": ([1, gates * hidden, hidden],), "r": ([1, gates * hidden, hidden],)})


def searches(rng):
    for i in range(4):
        n = rng.choice([20_000, 200_000, 1_000_000])
        nms = w.node("NonMaxSuppression", ["b", "s", "most"], ["t"])
        yield folded(f"suppression_{i}", [nms], "t", {"b": ([1, n, 4],), "s": ([1, rng.choice([1, 8]), n],)}, [w.integers("most", [n])])
        ratio, out = rng.choice([64, 1024]), rng.choice([32, 256])
        align = w.node("RoiAlign", ["c", "r", "at"], ["t"], output_height=out, output_width=out, sampling_ratio=ratio)
        yield folded(f"roi_align_{i}", [align], "t", {"c": ([1, 16, 256, 256],), "r": ([4, 4],), "at": ([4], w.INT64)})
        length = rng.choice([5_000, 30_000, 100_000])
        yield folded(f"dft_{i}", [w.node("DFT", ["c", "", "axis"], ["t"])], "t", {"c": ([1, length, 1],)},
                     [w.integers("axis", [1], scalar=True)], opset=20)
        many = [w.node("DFT", ["c", "", "axis"], [f"t{k}"]) for k in range(60)]
        yield folded(f"dft_many_{i}", [*many, w.node("Sum", [f"t{k}" for k in range(60)], ["t"])], "t",
                     {"c": ([1, rng.choice([500, 10_000]), 1],)}, [w.integers("axis", [1], scalar=True)], opset=20)
        yield folded(f"top_k_{i}", [w.node("TopK", ["c", "k"], ["t", ""])], "t", {"c": ([rng.choice([10**6, 10**7])],)},
                     [w.integers("k", [5])])
        window = rng.choice([32, 128, 400])
        pool = w.node("MaxPool", ["c"], ["t"], kernel_shape=[window, window], pads=[window // 2] * 4)
        yield folded(f"pool_{i}", [pool], "t", {"c": ([1, 4, 512, 512],)})


def chains(rng):
    """Each node is cheap; together they are not."""
    for i, op in enumerate(("Exp", "Erf", "Sin", "Tanh", "Relu", "Softmax", "Cast", "Transpose")):
        count, side = rng.choice([100, 1000]), rng.choice([256, 1024, 4096])
        extra = {"Cast": {"to": w.FLOAT}}.get(op, {})
        names = ["c", *(f"t{k}" for k in range(count))]
        nodes = [w.node(op, [names[k]], [names[k + 1]], **extra) for k in range(count)]
        yield folded(f"chain_{op}", nodes, names[-1], {"c": ([side, side],)})
    for i in range(6):
        count = rng.choice([20, 60])
        nodes = [w.node("Concat", [f"t{k}", f"t{k}"], [f"t{k + 1}"], axis=0) for k in range(count)]
        yield folded(f"doubling_{i}", nodes, f"t{count}", {"t0": ([rng.randint(1, 64)],)})


def bombs(rng):
    """A shape as data."""
    for i in range(6):
        n = rng.choice([2**24, 2**28, 2**31, 2**40, 2**62])
        one = w.floats("one", [1], [1.0])
        makers = {
            "tile": (w.node("Tile", ["one", "n"], ["t"]), [w.integers("n", [n])]),
            "expand": (w.node("Expand", ["one", "n"], ["t"]), [w.integers("n", [n])]),
            "pad": (w.node("Pad", ["one", "n"], ["t"]), [w.integers("n", [n, 0])]),
            "range": (w.node("Range", ["a", "b", "c"], ["t"]), [w.integers(k, [v], True) for k, v in (("a", 0), ("b", n), ("c", 1))]),
            "one_hot": (w.node("OneHot", ["a", "b", "v"], ["t"]),
                        [w.integers("a", [0]), w.integers("b", [n], True), w.floats("v", [2], [0.0, 1.0])]),
            "resize": (w.node("Resize", ["four", "", "f"], ["t"], mode="nearest"),
                       [w.floats("four", [1, 1, 2, 2], [1.0] * 4), w.floats("f", [4], [1.0, 1.0, n**0.5, n**0.5])]),
        }
        for name, (node, initializers) in makers.items():
            yield folded(f"{name}_{i}", [node], "t", {}, [one, *initializers])
        yield folded(f"constant_{i}", [w.node("Identity", ["c"], ["t"])], "t", {"c": ([n],)})


def packed(rng):
    """Numbers of one byte in the file and eight in memory."""
    for i in range(4):
        numbers = bytes(rng.choice([1 << 20, 6 << 20, 20 << 20]))
        for field, name in ((8, "ints"), (7, "floats")):
            attribute = w.field(1, "junk") + w.field(field, numbers[: len(numbers) // 4 * 4]) + w.field(20, 15 - field)
            node = w.node("Relu", ["x"], ["y"]) + w.field(5, attribute)
            yield model_case(f"packed_{name}_{i}", w.model([node], X, [w.value("y", [1, 4])]))
        for field, dtype in ((5, w.INT8), (7, w.INT64), (11, 13)):
            tensor = w.field(1, len(numbers)) + w.field(2, dtype) + w.field(8, "t") + w.field(field, numbers)
            yield model_case(f"packed_data_{field}_{i}", w.model(
                [w.node("Relu", ["x"], ["y"])], X, [w.value("y", [1, 4])], [tensor]))
        dims = w.field(1, bytes(1) * (1 << 20)) + w.field(2, w.FLOAT) + w.field(8, "t")
        yield model_case(f"packed_dims_{i}", w.model([w.node("Relu", ["x"], ["y"])], X, [w.value("y", [1, 4])], [dims]))


def names(rng):
    """Names with the names of what is around them in front, and functions that grow."""
    for i in range(5):
        length, depth, count = rng.choice([100, 10_000, 60_000, 10**6]), rng.randint(1, 20), rng.choice([10, 200, 2000])
        named = w.field(3, "n" * length)
        functions = [w.function("f0", ["a"], ["z"], [w.node("Relu", ["a"], ["z"])])]
        for k in range(depth):
            functions.append(w.function(f"f{k + 1}", ["a"], ["z"], [w.call(f"f{k}", ["a"], ["z"]) + named]))
        calls = [w.call(f"f{depth}", ["x"], [f"t{k}" if k else "y"]) + named for k in range(count)]
        yield model_case(f"prefixes_{i}", w.model(calls, X, [w.value("y", [1, 4])], functions=functions))
        width, levels = rng.choice([2, 20, 200]), rng.choice([2, 4, 25])
        growing = [w.function("g0", ["a"], ["z"], [w.node("Relu", ["a"], ["z"])])]
        for k in range(levels):
            body = [w.call(f"g{k}", ["a"], ["z" if j == 0 else f"t{j}"]) for j in range(width)]
            growing.append(w.function(f"g{k + 1}", ["a"], ["z"], body))
        yield model_case(f"growth_{i}", w.model([w.call(f"g{levels}", ["x"], ["y"])], X, [w.value("y", [1, 4])], functions=growing))


def loop(body, **names):
    return w.node("Loop", ["trips", "go", "x"], ["y"], body=body)


def loops(rng):
    for i in range(6):
        depth, trips = rng.randint(1, 12), rng.choice([10**3, 10**6, 2**62])
        grows = rng.random() < 0.5
        inputs = [w.value("i", [], w.INT64), w.value("c", [], w.BOOL), w.value("v", ["n", 4] if grows else [1, 4])]
        step = w.node("Concat", ["v", "v"], ["o"], axis=0) if grows else w.node("Relu", ["v"], ["o"])
        outputs = [w.value("co", [], w.BOOL), w.value("o", ["m", 4])]
        body = w.graph([step, w.node("Identity", ["c"], ["co"])], inputs, outputs)
        for _ in range(depth):
            inner = w.node("Loop", ["trips", "go", "v"], ["o"], body=body)
            body = w.graph([inner, w.node("Identity", ["c"], ["co"])], inputs, outputs)
        go = w.tensor("go", [], w.BOOL, b"\1")
        case = model_case(f"loop_{i}", w.model([loop(body)], X, [w.value("y", ["d", 4])],
                                               [w.integers("trips", [trips], True), go]))
        case.run = True
        yield case


FAMILIES = (products, searches, chains, bombs, packed, names, loops)
