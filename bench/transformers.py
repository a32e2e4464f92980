#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes ViT-B/16 or BERT-base with random weights, and samples for them: networks whose intermediate values are many and large.

    bench/transformers.py vit FOLDER     FOLDER/vit.onnx, FOLDER/vit.npz
    bench/transformers.py bert FOLDER    FOLDER/bert.onnx, FOLDER/bert.npz

What their calibration takes is in bench/README.md."""

import argparse
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Nodes and weights of a graph that grows from its inputs on. Weights are normal, as initializers leave them."""

    def __init__(self, width, heads, seed=1):
        self.width, self.heads = width, heads
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def weights(self, name, *shape):
        return self.constant(name, self.random.normal(0, 0.02, shape).astype(numpy.float32))

    def add(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name + "_out"], name=name, **attributes))
        return name + "_out"

    def linear(self, name, x, into):
        product = self.add("MatMul", f"{name}/MatMul", [x, self.weights(f"{name}.weight", *into)])
        return self.add("Add", f"{name}/Add", [product, self.weights(f"{name}.bias", into[1])])

    def normalized(self, name, x):
        scale = self.constant(f"{name}.weight", numpy.ones(self.width, numpy.float32))
        return self.add("LayerNormalization", name, [x, scale, self.weights(f"{name}.bias", self.width)], axis=-1, epsilon=1e-6)

    def gelu(self, name, x):
        root = self.constant(f"{name}.root", numpy.float32(2**0.5))
        one, half = self.constant(f"{name}.one", numpy.float32(1)), self.constant(f"{name}.half", numpy.float32(0.5))
        erf = self.add("Erf", f"{name}/Erf", [self.add("Div", f"{name}/Div", [x, root])])
        product = self.add("Mul", f"{name}/Mul", [x, self.add("Add", f"{name}/Add", [erf, one])])
        return self.add("Mul", f"{name}/Mul_1", [product, half])

    def attention(self, name, x, mask=None):
        size = self.width // self.heads
        shape = self.constant(f"{name}.heads", numpy.array([0, 0, self.heads, size]))
        parts = {}
        for part, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))):
            made = self.linear(f"{name}/{part}", x, (self.width, self.width))
            split = self.add("Reshape", f"{name}/{part}/Reshape", [made, shape])
            parts[part] = self.add("Transpose", f"{name}/{part}/Transpose", [split], perm=order)
        scores = self.add("MatMul", f"{name}/scores", [parts["query"], parts["key"]])
        scores = self.add("Div", f"{name}/Div", [scores, self.constant(f"{name}.root", numpy.float32(size**0.5))])
        if mask is not None:
            scores = self.add("Add", f"{name}/mask", [scores, mask])
        shares = self.add("Softmax", f"{name}/Softmax", [scores], axis=-1)
        mixed = self.add("MatMul", f"{name}/context", [shares, parts["value"]])
        joined = self.add("Transpose", f"{name}/Transpose", [mixed], perm=(0, 2, 1, 3))
        flat = self.constant(f"{name}.width", numpy.array([0, 0, self.width]))
        joined = self.add("Reshape", f"{name}/Reshape", [joined, flat])
        return self.linear(f"{name}/output", joined, (self.width, self.width))

    def feed_forward(self, name, x):
        wide = self.gelu(f"{name}/gelu", self.linear(f"{name}/up", x, (self.width, 4 * self.width)))
        return self.linear(f"{name}/down", wide, (4 * self.width, self.width))

    def save(self, file, inputs, output):
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, pathlib.Path(file).stem, inputs, [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), file)


def make_vit(folder, samples, layers=12, width=768, heads=12, side=224, patch=16, classes=1000):
    net = Network(width, heads)
    tokens = (side // patch) ** 2
    x = net.add("Conv", "patches", ["image", net.weights("patches.weight", width, 3, patch, patch), net.weights("patches.bias", width)],
                kernel_shape=[patch, patch], strides=[patch, patch])
    x = net.add("Reshape", "flatten", [x, net.constant("flatten.shape", numpy.array([0, width, tokens]))])
    x = net.add("Transpose", "tokens", [x], perm=(0, 2, 1))
    x = net.add("Concat", "classed", [net.weights("class", 1, 1, width), x], axis=1)
    x = net.add("Add", "positions", [x, net.weights("position", 1, tokens + 1, width)])
    for i in range(layers):
        attended = net.attention(f"layer{i}/attention", net.normalized(f"layer{i}/norm1", x))
        x = net.add("Add", f"layer{i}/Add", [x, attended])
        x = net.add("Add", f"layer{i}/Add_1", [x, net.feed_forward(f"layer{i}/mlp", net.normalized(f"layer{i}/norm2", x))])
    first = net.add("Gather", "first", [net.normalized("norm", x), net.constant("zero", numpy.array(0))], axis=1)
    y = net.linear("head", first, (width, classes))
    net.save(folder / "vit.onnx", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, side, side])], y)
    images = net.random.normal(0, 1, (samples, 3, side, side)).astype(numpy.float32)
    numpy.savez(folder / "vit.npz", image=images)


def make_bert(folder, samples, layers=12, width=768, heads=12, length=384, words=30522):
    net = Network(width, heads)
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, length]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    x = net.add("Gather", "words", [net.weights("word_embeddings", words, width), "input_ids"])
    x = net.add("Add", "typed", [x, net.add("Gather", "types", [net.weights("type_embeddings", 2, width), "token_type_ids"])])
    x = net.normalized("norm", net.add("Add", "positions", [x, net.weights("position_embeddings", 1, length, width)]))
    mask = net.add("Cast", "mask/Cast", ["attention_mask"], to=TensorProto.FLOAT)
    mask = net.add("Unsqueeze", "mask/Unsqueeze", [mask, net.constant("mask.axes", numpy.array([1, 2]))])
    mask = net.add("Sub", "mask/Sub", [net.constant("mask.one", numpy.float32(1)), mask])
    mask = net.add("Mul", "mask/Mul", [mask, net.constant("mask.least", numpy.float32(-10000))])
    for i in range(layers):
        attended = net.attention(f"layer{i}/attention", x, mask)
        x = net.normalized(f"layer{i}/norm1", net.add("Add", f"layer{i}/Add", [x, attended]))
        x = net.normalized(f"layer{i}/norm2", net.add("Add", f"layer{i}/Add_1", [x, net.feed_forward(f"layer{i}/mlp", x)]))
    y = net.linear("answers", x, (width, 2))
    net.save(folder / "bert.onnx", ids, y)
    lengths = net.random.integers(length // 4, length, samples)
    masks = (numpy.arange(length) < lengths[:, None]).astype(numpy.int64)
    types = (numpy.arange(length) >= lengths[:, None] // 3).astype(numpy.int64) * masks
    numpy.savez(folder / "bert.npz", input_ids=net.random.integers(0, words, (samples, length)) * masks, attention_mask=masks,
                token_type_ids=types)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=("vit", "bert"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=32)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    {"vit": make_vit, "bert": make_bert}[args.network](args.folder, args.samples)


if __name__ == "__main__":
    main()
