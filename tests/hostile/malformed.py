# SPDX-License-Identifier: Apache-2.0
"""Models that contradict ONNX or themselves. Each must be refused, in words that name the node or the tensor."""

import itertools
import math
import struct

import onnx_writer as w
from case import REFUSED, model_case

BAD_SCALES = {"zero": 0.0, "negative": -0.5, "nan": math.nan, "infinite": math.inf, "negative_infinite": -math.inf}
X = [w.value("x", [1, 4])]


def y(rank=2, dtype=w.FLOAT):
    return [w.value("y", [f"d{i}" for i in range(rank)], dtype)]


def refused(name, model, *words, **files):
    return model_case(name, model, REFUSED, words, **files)


def scales(rng):
    """Every place where a scale stands, with every scale that is none."""
    zero, u8_x = w.codes("z", [0], scalar=True), [w.value("x", [1, 2, 4, 4], w.UINT8)]
    for bad, scale in BAD_SCALES.items():
        good, s = w.floats("good", [], [rng.uniform(0.01, 2)]), w.floats("bad", [], [scale])
        per_channel = w.floats("bad", [4], rng.sample([0.1, 0.2, 0.3, scale], 4))
        yield refused(f"scale_{bad}_quantize", w.model(
            [w.node("QuantizeLinear", ["x", "bad", "z"], ["y"], axis=1)], X, y(2, w.UINT8), [per_channel, w.codes("z", [0] * 4)]),
            "QuantizeLinear", "scale")
        yield refused(f"scale_{bad}_dequantize", w.model(
            [w.node("DequantizeLinear", ["x", "bad", "z"], ["y"])], [w.value("x", [1, 4], w.UINT8)], y(), [s, zero]),
            "DequantizeLinear", "scale")
        weights = w.tensor("w", [2, 2, 1, 1], w.INT8, bytes([1, 2, 3, 4]))
        for at, place in enumerate(("x", "w", "y")):
            names = ["good", "good", "good"]
            names[at] = "bad"
            inputs = ["x", names[0], "z", "w", names[1], "zw", names[2], "z"]
            zw = w.codes("zw", [0], w.INT8, scalar=True)
            conv = w.node("QLinearConv", inputs, ["y"], name="conv")
            yield refused(f"scale_{bad}_conv_{place}",
                          w.model([conv], u8_x, y(4, w.UINT8), [good, s, zero, zw, weights]), "QLinearConv", "scale")
            matmul = w.node("QLinearMatMul", [*inputs[:3], "x", names[1], "z", *inputs[6:]], ["y"])
            yield refused(f"scale_{bad}_matmul_{place}",
                          w.model([matmul], u8_x, y(4, w.UINT8), [good, s, zero]), "QLinearMatMul", "scale")
            add = w.node("QLinearAdd", ["x", names[0], "z", "x", names[1], "z", names[2], "z"], ["y"])
            yield refused(f"scale_{bad}_add_{place}", w.model(
                [add + w.field(7, "com.microsoft")], u8_x, y(4, w.UINT8), [good, s, zero]), "scale")


def attributes(rng):
    """Values that the schema does not enumerate."""
    image = [w.value("x", [1, 2, 8, 8])]
    ones = w.floats("w", [2, 2, 1, 1], [1.0] * 4)
    recurrent = [w.floats("w", [1, 16, 4], [0.1] * 64), w.floats("r", [1, 16, 4], [0.1] * 64)]
    sequence = [w.value("x", [2, 1, 4])]
    words = ["junk", "SAME", "linear ", "forwards", ""]
    kinds = {
        ("Conv", ("x", "w"), 4): (["auto_pad"], []),
        ("MaxPool", ("x",), 4): (["auto_pad"], ["ceil_mode", "storage_order"]),
        ("AveragePool", ("x",), 4): (["auto_pad"], ["ceil_mode", "count_include_pad"]),
        ("ReduceMean", ("x",), 4): ([], ["keepdims"]),
        ("ArgMax", ("x",), 4): ([], ["keepdims", "select_last_index"]),
        ("DepthToSpace", ("x",), 4): (["mode"], []),
        ("Gelu", ("x",), 4): (["approximate"], []),
        ("Cast", ("x",), 4): ([], ["to"]),
        ("EyeLike", ("m",), 2): ([], ["dtype"]),
        ("CumSum", ("x", "axis"), 4): ([], ["exclusive", "reverse"]),
        ("Trilu", ("x",), 4): ([], ["upper"]),
        ("Gemm", ("m", "m"), 2): ([], ["transA", "transB"]),
        ("TopK", ("x", "k"), 4): ([], ["largest", "sorted"]),
        ("IsInf", ("x",), 4): ([], ["detect_negative", "detect_positive"]),
        ("GridSample", ("x", "grid"), 4): (["mode", "padding_mode"], ["align_corners"]),
        ("ScatterND", ("x", "at", "u"), 4): (["reduction"], []),
        ("Resize", ("x", "", "f"), 4): (
            ["mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"],
            ["antialias", "exclude_outside"]),
        ("Pad", ("x", "pads"), 4): (["mode"], []),
        ("BitShift", ("b", "b"), 1): (["direction"], []),
        ("LSTM", ("s", "w", "r"), 3): (["direction"], ["layout", "input_forget"]),
    }
    needed = {"MaxPool": {"kernel_shape": [2, 2]}, "AveragePool": {"kernel_shape": [2, 2]}, "DepthToSpace": {"blocksize": 1},
              "Cast": {"to": 1}, "BitShift": {"direction": "LEFT"}, "LSTM": {"hidden_size": 4}}
    constants = [w.integers("axis", [0], scalar=True), w.integers("k", [1]), w.floats("m", [2, 2], [1.0] * 4),
                 w.floats("grid", [1, 1, 1, 2], [0.0] * 2), w.integers("pads", [0] * 8), w.codes("b", [1]),
                 w.floats("f", [4], [1.0] * 4), w.tensor("at", [1, 1], w.INT64, struct.pack("<q", 0)),
                 w.floats("u", [1, 2, 8, 8], [1.0] * 128), w.floats("s", [2, 1, 4], [1.0] * 8)]
    for (op, inputs, rank), (texts, numbers) in kinds.items():
        own = recurrent if op == "LSTM" else [ones]
        changes = [(name, rng.choice(words)) for name in texts] + [(name, rng.choice([2, 9, 999, -1])) for name in numbers]
        for name, value in changes:
            if name in ("to", "dtype") and value in (2, 9):
                value = 77
            node = w.node(op, inputs, ["y"], **{**needed.get(op, {}), name: value})
            yield refused(f"attribute_{op}_{name}", w.model(
                [node], sequence if op == "LSTM" else image, [w.value("y", [f"d{i}" for i in range(rank)], 0)],
                [*own, *constants], opset=20), op, name)


def payloads(rng):
    raw = struct.pack("<4f", 1, 2, 3, 4)
    typed = {"float": w.field(4, raw), "int32": w.field(5, b"\x01\x02\x03\x04"), "int64": w.field(7, b"\x01\x02\x03\x04"),
             "double": w.field(10, struct.pack("<4d", 1, 2, 3, 4)), "uint64": w.field(11, b"\x01\x02\x03\x04"),
             "string": w.field(6, "text")}
    head = w.field(1, 4) + w.field(2, w.FLOAT) + w.field(8, "weights")
    reader = [w.node("Add", ["x", "weights"], ["y"])]
    for name, payload in typed.items():
        yield refused(f"payload_raw_and_{name}", w.model(reader, X, y(), [head + w.field(9, raw) + payload]), "weights")
        outside = w.external("weights", [4], w.FLOAT, "w.bin")
        yield refused(f"payload_external_and_{name}", w.model(reader, X, y(), [outside + payload]), "weights", w__bin=raw)
    for a, b in rng.sample(list(itertools.permutations(sorted(typed), 2)), 6):
        yield refused(f"payload_{a}_and_{b}", w.model(reader, X, y(), [head + typed[a] + typed[b]]), "weights")
    outside = w.external("weights", [4], w.FLOAT, "w.bin")
    yield refused("payload_external_and_raw", w.model(reader, X, y(), [outside + w.field(9, raw)]), "weights", w__bin=raw)
    for name, text in {"junk": "deadbeef", "other": "da39a3ee5e6b4b0d3255bfef95601890afd80709", "long": "0" * 64}.items():
        outside = w.external("weights", [4], w.FLOAT, "w.bin", checksum=text)
        yield refused(f"checksum_{name}", w.model(reader, X, y(), [outside]), "weights", "w.bin", w__bin=raw)
    for size in (0, 3, 15, 17, 64):
        outside = w.external("weights", [4], w.FLOAT, "w.bin", length=size)
        yield refused(f"external_length_{size}", w.model(reader, X, y(), [outside]), "weights", w__bin=raw * 4)
        wrong = w.tensor("weights", [4], w.FLOAT, bytes(size))
        yield refused(f"raw_length_{size}", w.model(reader, X, y(), [wrong]), "weights")


def sparse_tensors(rng):
    lists = {"twice": [1, 1], "falling": [3, 0], "negative": [-1, 2], "outside": [0, 4], "far": [0, 10**12],
             "shuffled": rng.sample(range(4), 3)[:2]}
    for name, indices in lists.items():
        if indices == sorted(set(indices)) and 0 <= indices[0] and indices[-1] < 4:
            indices = indices[::-1]
        tensor = w.field(15, w.sparse("weights", [4], [1.0] * len(indices), indices))
        yield refused(f"sparse_{name}", w.model([w.node("Add", ["x", "weights"], ["y"])], X, y(), extra=tensor), "weights")


def lie(rng, shape):
    """What is wrong with it, and a shape and a type that f32 of `shape` is not."""
    wrong = list(shape)
    kind = rng.choice(["size", "rank", "type"])
    dtype = w.FLOAT
    if kind == "size":
        wrong[rng.randrange(len(shape))] += rng.randint(1, 1000)
    elif kind == "rank":
        wrong = wrong + [1] if rng.random() < 0.5 or len(wrong) == 1 else wrong[:-1]
    else:
        dtype = rng.choice([w.INT64, w.BOOL, w.UINT8, 8, 11, 999])
    return kind, wrong, dtype


def declarations(rng):
    """Outputs and values inside that are declared as what they are not."""
    for i in range(16):
        shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
        kind, wrong, dtype = lie(rng, shape)
        nodes = [w.node("Relu", ["x"], ["t"]), w.node("Sigmoid", ["t"], ["y"])]
        inputs = [w.value("x", shape)]
        yield refused(f"declared_output_{kind}_{i}", w.model(nodes, inputs, [w.value("y", wrong, dtype)]), "'y'")
        inside = w.field(13, w.value("t", wrong, dtype))
        yield refused(f"declared_inside_{kind}_{i}", w.model(nodes, inputs, [w.value("y", shape)], extra=inside), "'t'")


def bodies(rng):
    """The same inside of control flow: of a branch's result, of what a loop carries, collects and is given, and one level deeper."""
    for i in range(8):
        shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
        kind, wrong, dtype = lie(rng, shape)
        good, bad = (lambda name: w.value(name, shape)), (lambda name: w.value(name, wrong, dtype))
        inputs, y_any = [w.value("x", shape), w.value("c", [1], w.BOOL)], [w.value("y", [], 0)]
        other = w.graph([w.node("Neg", ["x"], ["e"])], [], [good("e")])

        def chosen(branch, inputs=inputs, y_any=y_any, other=other):
            return w.model([w.node("If", ["c"], ["y"], then_branch=branch, else_branch=other)], inputs, y_any)

        steps = [w.node("Relu", ["x"], ["t"]), w.node("Sigmoid", ["t"], ["r"])]
        yield refused(f"body_output_{kind}_{i}", chosen(w.graph(steps, [], [bad("r")])), "'r'", "then_branch")
        yield refused(f"body_inside_{kind}_{i}", chosen(w.graph(steps, [], [good("r")]) + w.field(13, bad("t"))), "'t'")
        deeper = w.graph([w.node("If", ["c"], ["r"], then_branch=w.graph(steps, [], [bad("r")]), else_branch=other)], [], [good("r")])
        yield refused(f"body_deeper_{kind}_{i}", chosen(deeper), "'r'", "then_branch")
        for place in ("given", "carried", "collected"):
            head, state = [w.value("i", [], w.INT64), w.value("k", [], w.BOOL)], good("s")
            outputs = {"carried": good("t"), "collected": good("u"), place: bad({"carried": "t", "collected": "u"}.get(place, "s"))}
            round_ = [w.node("Identity", ["k"], ["l"]), w.node("Neg", ["s"], ["t"]), w.node("Relu", ["s"], ["u"])]
            loop = w.graph(round_, [*head, outputs.get("given", state)], [w.value("l", [], w.BOOL), outputs["carried"], outputs["collected"]])
            trips = w.integers("n", [3], scalar=True)
            yield refused(f"body_{place}_{kind}_{i}", w.model([w.node("Loop", ["n", "", "x"], ["y", "z"], body=loop)], inputs, y_any, [trips]),
                          {"given": "'s'", "carried": "'t'", "collected": "'u'"}[place], "body")


def arithmetic(rng):
    for op in ("Div", "Mod"):
        for dtype, size in ((w.INT64, 8), (w.INT32, 4), (w.INT8, 1), (w.UINT8, 1)):
            values = [rng.choice([0, 1, 2, 3]) for _ in range(4)]
            values[rng.randrange(4)] = 0
            data = b"".join(v.to_bytes(size, "little") for v in values)
            divisor = w.tensor("divisor", [4], dtype, data)
            yield refused(f"{op}_by_zero_{dtype}", w.model([w.node(op, ["x", "divisor"], ["y"])], [w.value("x", [1, 4], dtype)],
                                                           y(2, dtype), [divisor]), op, "0")
    for shape in ([-1, 3], [2**62, 1], [0, 2], [1]):
        weights = w.floats("w", [1, 1, 2, 2], [1.0] * 4)
        node = w.node("ConvTranspose", ["x", "w"], ["y"], output_shape=shape, name="up")
        yield refused(f"conv_transpose_{shape[0]}", w.model([node], [w.value("x", [1, 1, 4, 4])], y(4), [weights]), "ConvTranspose")
    dtypes = [999, 26 + rng.randint(1, 100), -1]
    for dtype in dtypes:
        node = w.node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=dtype)
        back = w.node("DequantizeLinear", ["q", "s"], ["y"])
        yield refused(f"quantized_type_{dtype}", w.model([node, back], X, y(), [w.floats("s", [], [0.5])], opset=21),
                      "QuantizeLinear")


def functions(rng):
    relu = [w.node("Relu", ["a"], ["z"])]
    calls = {
        "outputs_twice": (w.function("f", ["a"], ["z", "z"], relu), w.call("f", ["x"], ["y", "t"])),
        "inputs_twice": (w.function("f", ["a", "a"], ["z"], relu), w.call("f", ["x", "x"], ["y"])),
        "recursive": (w.function("f", ["a"], ["z"], [w.call("f", ["a"], ["z"])]), w.call("f", ["x"], ["y"])),
        "too_many_inputs": (w.function("f", ["a"], ["z"], relu), w.call("f", ["x"] * rng.randint(2, 9), ["y"])),
        "never_made": (w.function("f", ["a"], ["z"], [w.node("Relu", ["a"], ["t"])]), w.call("f", ["x"], ["y"])),
    }
    for name, (function, node) in calls.items():
        yield refused(f"function_{name}", w.model([node], X, y(), functions=[function]), "'")
    direction = w.node("Scan", ["x"], ["y"], num_scan_inputs=1, scan_input_directions=[rng.choice([2, 7, -1])], body=w.graph(
        [w.node("Relu", ["a"], ["b"])], [w.value("a", [4])], [w.value("b", [4])]))
    yield refused("scan_directions", w.model([direction], X, y()), "Scan", "scan_input_directions")


FAMILIES = (scales, attributes, payloads, sparse_tensors, declarations, bodies, arithmetic, functions)
