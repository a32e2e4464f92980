# SPDX-License-Identifier: Apache-2.0
"""Nodes of com.microsoft whose inputs are left out, of other types or sizes than the operator takes, or too many, and attributes of other
kinds and values. Each must be refused, in words that name the node."""

import dataclasses
import struct

import onnx_writer as w
from malformed import refused

BYTES = {w.FLOAT: 4, w.INT32: 4, w.INT64: 8}


@dataclasses.dataclass
class Given:
    """An input of the node: its shape and type, a shape that cannot be, and whether it is a constant."""
    shape: list
    wrong: list
    dtype: int = w.FLOAT
    constant: bool = True

    def name(self, at):
        return f"i{at}"

    def changed(self, shape=None, dtype=None):
        return dataclasses.replace(self, shape=self.shape if shape is None else shape, dtype=dtype or self.dtype)

    def tensor(self, at):
        elements = 1
        for size in self.shape:
            elements *= size
        one = struct.pack("<f", 1) if self.dtype == w.FLOAT else b"\1" + bytes(BYTES.get(self.dtype, 1) - 1)
        return w.tensor(self.name(at), self.shape, self.dtype, one * elements)


def data(shape, wrong, dtype=w.FLOAT):
    return Given(shape, wrong, dtype, constant=False)


def codes(shape, wrong, dtype=w.UINT8):
    return Given(shape, wrong, dtype)


@dataclasses.dataclass
class Operator:
    name: str
    inputs: list  # None for one that is left out
    required: int  # as many inputs, save those of `optional`
    attributes: dict = dataclasses.field(default_factory=dict)
    bad: tuple = ()  # values of attributes, each alone
    outputs: int = 1
    output_rank: int = 2
    optional: tuple = ()


def scale():
    return Given([], [2, 3])


IMAGE, ROWS, PACKED = [1, 2, 4, 4], [2, 8], {"N": 2, "K": 16, "bits": 4, "block_size": 16}
ACTIVATIONS = ({"activation": "Swirl"}, {"activation": 3}, {"activation": "Clip"})
TOKENS, CHOICE = [1, 3, 4], (data(ROWS, [3, 7], w.UINT8), scale(), codes([], [3]))
OPERATORS = (
    Operator("Gelu", [data(ROWS, None)], 1),
    Operator("QuickGelu", [data(ROWS, None)], 1, bad=({"alpha": "junk"}, {"alpha": 3})),
    Operator("BiasGelu", [data(ROWS, [2, 7]), Given([8], [7])], 2),
    Operator("FastGelu", [data(ROWS, [2, 7]), Given([8], [7])], 1),
    Operator("FusedConv", [data(IMAGE, [1, 3, 4, 4]), Given([2, 2, 1, 1], [2, 3, 1, 1]), Given([2], [3]), data(IMAGE, [1, 2, 4, 5])], 2,
             {"activation": "Relu"}, (*ACTIVATIONS, {"auto_pad": "junk"}, {"group": 3}, {"strides": [0, 1]},
                                      {"activation": "Clip", "activation_params": [1.0]}), output_rank=4),
    Operator("FusedGemm", [data([2, 4], [2, 5]), Given([4, 3], [4]), Given([3], [4])], 2, {"activation": "LeakyRelu"},
             (*ACTIVATIONS, {"transA": 7}, {"alpha": "junk"}, {"activation_alpha": "junk"})),
    Operator("FusedMatMul", [data([2, 4], [2, 5]), data([4, 3], [])], 2, {"alpha": 0.5},
             ({"transA": 7}, {"transB": "junk"}, {"transBatchA": 1}, {"alpha": "junk"})),
    Operator("FusedMatMul", [data([4, 2], [4]), data([3, 4], [3])], 2, {"transA": 1, "transB": 1}),
    Operator("MatMulNBits", [data([2, 16], [2, 17]), codes([2, 1, 8], [2, 1, 7]), Given([2], [3]), codes([2], [3]),
                             Given([16], [15], w.INT32), Given([2], [3])], 3, PACKED,
             tuple({name: bad} for name, value in PACKED.items() for bad in (-1, 0, value + 1, 1 << 40, "junk"))),
    Operator("SkipLayerNormalization", [data(ROWS, [2, 7]), data(ROWS, [2, 7]), Given([8], [7]), Given([8], [7]), Given([8], [7])], 3,
             bad=({"epsilon": "junk"},)),
    Operator("SkipSimplifiedLayerNormalization", [data(ROWS, [2, 7]), data(ROWS, [2, 7]), Given([8], [7]), Given([8], [7])], 3,
             bad=({"epsilon": "junk"},)),
    Operator("SkipLayerNormalization", [data(ROWS, None), data(ROWS, None), Given([8], None)], 3, bad=({},), outputs=4),
    Operator("QuantizeLinear", [data(ROWS, None), scale(), codes([], [2, 3])], 2, bad=({"axis": "junk"}, {"block_size": -1})),
    Operator("DequantizeLinear", [data(ROWS, None, w.UINT8), scale(), codes([], [2, 3])], 2, bad=({"axis": "junk"}, {"block_size": -1})),
    Operator("DynamicQuantizeMatMul", [data([2, 4], [2, 5]), codes([4, 3], [4], w.INT8), Given([3], [2]), codes([3], [2], w.INT8),
                                       Given([3], [2])], 3),
    Operator("MatMulIntegerToFloat", [data([2, 4], [2, 5], w.UINT8), codes([4, 3], [4], w.INT8), Given([], [2, 4]), Given([3], [2]),
                                      codes([], [3]), codes([3], [2], w.INT8), Given([3], [2])], 4),
    Operator("QGemm", [data([2, 4], [2, 5], w.UINT8), scale(), codes([], [3]), codes([4, 3], [4]), scale(), codes([], [2]),
                       Given([3], [2], w.INT32), scale(), codes([], [3])], 6, bad=({"transB": 7}, {"alpha": "junk"}), optional=(2, 5)),
    Operator("QLinearWhere", [data(ROWS, [2, 7], w.BOOL), *CHOICE, *CHOICE, scale(), codes([], [2])], 9, optional=(3, 6)),
    Operator("Attention", [data(TOKENS, [1, 3, 5]), Given([4, 12], [4, 13]), Given([12], [11]), data([1, 3], [1, 2], w.INT32), None,
                           data([1, 2, 3, 3], [1, 2, 3, 4])], 2, {"num_heads": 2},
             ({"num_heads": 3}, {"num_heads": 0}, {"num_heads": "junk"}, {"scale": "junk"}, {"qkv_hidden_sizes": [4, 4]},
              {"qkv_hidden_sizes": [4, 4, 1 << 62]}, {"do_rotary": 1}, {"unidirectional": "junk"}), output_rank=3),
    Operator("QAttention", [data(TOKENS, [1, 3, 5], w.UINT8), codes([4, 12], [4, 13], w.INT8), Given([12], [11]), scale(), Given([12], [11]),
                            data([1, 3], [3], w.INT32), codes([], [5]), codes([12], [11], w.INT8)], 5, {"num_heads": 2},
             ({"num_heads": 3}, {"num_heads": -1}), output_rank=3),
    Operator("MultiHeadAttention", [data(TOKENS, [1, 3, 5]), data(TOKENS, [1, 3, 6]), data(TOKENS, [2, 3, 4]), Given([12], [11]),
                                    data([1, 3], [3], w.INT32), data([1, 2, 3, 3], [1, 2, 3, 4])], 1, {"num_heads": 2},
             ({"num_heads": 3}, {"num_heads": 1 << 62}), output_rank=3),
    Operator("EmbedLayerNormalization", [data([1, 3], [3], w.INT32), data([1, 3], [1, 2], w.INT32), Given([5, 4], [5, 3]), Given([6, 4], [2, 4]),
                                         Given([2, 4], [2, 3]), Given([4], [3]), Given([4], [3])], 7, bad=({"epsilon": "junk"},),
             output_rank=3, optional=(1,)),
    Operator("QEmbedLayerNormalization", [data([1, 3], [3], w.INT32), data([1, 3], [1, 2], w.INT32), codes([5, 4], [5, 3]), codes([6, 4], [2, 4]),
                                          codes([2, 4], [2, 3]), codes([4], [3]), codes([4], [3]), None, *[scale()] * 5, *[codes([], [2])] * 5], 12,
             bad=({"epsilon": "junk"},), output_rank=3, optional=(1, 7)),
    Operator("DynamicQuantizeLSTM", [data([3, 1, 4], [3, 1, 5]), codes([1, 4, 8], [1, 4, 9]), codes([1, 2, 8], [1, 3, 8]), Given([1, 16], [1, 15]),
                                     None, None, None, None, Given([1], [3]), codes([1], [3]), Given([1, 8], [2, 8]), codes([1, 8], [3])], 12,
             {"hidden_size": 2}, ({"hidden_size": 3}, {"direction": "bidirectional"}, {"direction": "junk"}), output_rank=4,
             optional=(3, 4, 5, 6, 7, 9, 11)),
    Operator("GridSample", [data([1, 2, 4, 4], [2, 4]), data([1, 3, 3, 2], [1, 3, 3, 3])], 2, bad=({"mode": "junk"},), output_rank=4),
)


def model(operator, inputs, attributes):
    """Of inputs that are Given, or None for one that is left out."""
    names = ["" if given is None else given.name(i) for i, given in enumerate(inputs)]
    outputs = ["y", *(f"s{i}" for i in range(1, operator.outputs))]
    node = w.node(operator.name, names, outputs, **attributes) + w.field(3, "it") + w.field(7, "com.microsoft")
    listed = [(i, given) for i, given in enumerate(inputs) if given is not None]
    return w.model([node], [w.value(given.name(i), given.shape, given.dtype) for i, given in listed if not given.constant],
                   [w.value("y", [f"d{i}" for i in range(operator.output_rank)], 0)],
                   [given.tensor(i) for i, given in listed if given.constant])


def spoiled(operator):
    """What is wrong, and the inputs."""
    good = operator.inputs
    for i, given in enumerate(good):
        if given is None:
            continue
        others = lambda change, i=i: [*good[:i], change, *good[i + 1:]]
        if i < operator.required and i not in operator.optional:
            yield f"omitted_{i}", others(None)
            yield f"missing_{i}", good[:i]
        if given.dtype != w.BOOL:
            yield f"type_{i}", others(given.changed(dtype=w.BOOL))
        if given.wrong is not None:
            yield f"shape_{i}", others(given.changed(shape=given.wrong))
    yield "too_many", [*good, *[good[-1]] * 12]


def nodes(rng):
    for at, operator in enumerate(OPERATORS):
        for what, inputs in spoiled(operator):
            yield refused(f"contrib_{operator.name}_{at}_{what}", model(operator, inputs, operator.attributes), "node 'it")
        for i, bad in enumerate(operator.bad):
            yield refused(f"contrib_{operator.name}_{at}_attribute_{i}",
                          model(operator, operator.inputs, {**operator.attributes, **bad}), "node 'it")


FAMILIES = (nodes,)
