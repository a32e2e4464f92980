# SPDX-License-Identifier: Apache-2.0
"""An encoder of BERT-base's shape with generated weights: what a transformer costs, without a model file.

Nodes are those of a usual export at opset 17: MatMul + Add, Reshape and Transpose for the heads, Div,
Softmax, LayerNormalization, GELU as Div, Erf, Add, Mul, Mul.
The input is the sum of embeddings, f32 [N, tokens, 768], since looking tokens up is no INT8 work.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
HIDDEN, HEADS, FFN = 768, 12, 3072


class _Encoder:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self, seed, alike):
        self.seed, self.alike, self.turned = seed, alike, 0
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.constants = [], [], {}

    def add(self, op, inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def tensor(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, *values, dtype=np.float32):
        """One number or a list of sizes; equal ones are shared, as exporters do."""
        key = (values, dtype)
        if key not in self.constants:
            array = np.asarray(values if dtype == np.int64 else values[0], dtype)
            self.constants[key] = self.tensor(array)
        return self.constants[key]

    def linear(self, x, inputs, outputs, gain=1.0):
        """Columns differ in spread by some ten times, as trained ones do: that is what per-channel scales are for."""
        spread = gain / np.sqrt(inputs) * np.exp(self.random.normal(0, 0.4, outputs))
        weight = (self.random.normal(0, 1, (inputs, outputs)) * spread).astype(np.float32)
        weight = np.roll(weight, self.turned, axis=0)
        bias = self.random.normal(0, 0.1, outputs).astype(np.float32)
        return self.add("Add", [self.tensor(bias), self.add("MatMul", [x, self.tensor(weight)])])

    def norm(self, x):
        scale = self.random.normal(1, 0.15, HIDDEN).astype(np.float32)
        bias = self.random.normal(0, 0.1, HIDDEN).astype(np.float32)
        return self.add("LayerNormalization", [x, self.tensor(scale), self.tensor(bias)], axis=-1,
                        epsilon=1e-12)

    def heads(self, x, perm):
        split = self.constant(0, 0, HEADS, HIDDEN // HEADS, dtype=np.int64)
        return self.add("Transpose", [self.add("Reshape", [x, split])], perm=perm)

    def attention(self, x):
        query = self.heads(self.linear(x, HIDDEN, HIDDEN, 1.3), [0, 2, 1, 3])
        key = self.heads(self.linear(x, HIDDEN, HIDDEN, 1.3), [0, 2, 3, 1])
        value = self.heads(self.linear(x, HIDDEN, HIDDEN), [0, 2, 1, 3])
        root = self.constant(float(np.sqrt(HIDDEN // HEADS)))
        scores = self.add("Div", [self.add("MatMul", [query, key]), root])
        scores = self.add("Softmax", [scores], axis=-1)
        context = self.add("Transpose", [self.add("MatMul", [scores, value])], perm=[0, 2, 1, 3])
        merged = self.add("Reshape", [context, self.constant(0, 0, HIDDEN, dtype=np.int64)])
        return self.linear(merged, HIDDEN, HIDDEN)

    def gelu(self, x):
        erf = self.add("Erf", [self.add("Div", [x, self.constant(float(np.sqrt(2.0)))])])
        product = self.add("Mul", [x, self.add("Add", [erf, self.constant(1.0)])])
        return self.add("Mul", [product, self.constant(0.5)])

    def layer(self, x):
        if self.alike:
            self.random = np.random.default_rng(self.seed)
            self.turned += 1
        x = self.norm(self.add("Add", [self.attention(x), x]))
        inner = self.gelu(self.linear(x, HIDDEN, FFN))
        return self.norm(self.add("Add", [self.linear(inner, FFN, HIDDEN), x]))


def bert(layers=12, tokens=384, alike=False):
    """The float model: f32 embeddings [N, tokens, 768] in, hidden states of that shape out.

    `alike`: the matrices of all layers are those of one, each turned by another number of rows: no two are equal, and a packed engine
    is a tenth of its size.
    """
    encoder = _Encoder(layers, alike)
    x = encoder.norm("embeddings")
    for _ in range(layers):
        x = encoder.layer(x)
    encoder.nodes[-1].output[0] = "hidden"
    shape = ["N", tokens, HIDDEN]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
              for name in ("embeddings", "hidden")]
    graph = helper.make_graph(encoder.nodes, "bert", values[:1], values[1:], encoder.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def calibration(batch=1, tokens=384, count=4):
    """Inputs to calibrate with: random embeddings whose channels differ in spread, one feed after another.

    Four of 384 tokens are enough: every range is a minimum and maximum over 1536 tokens.
    """
    random = np.random.default_rng(1)
    spread = np.exp(random.normal(0, 0.3, HIDDEN)).astype(np.float32)
    for _ in range(count):
        sample = random.standard_normal((batch, tokens, HIDDEN), np.float32) * spread
        yield {"embeddings": sample}
