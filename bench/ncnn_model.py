# SPDX-License-Identifier: Apache-2.0
"""An INT8 model for ncnn from a float ONNX model and the ranges of its Q/DQ model.

ncnn reads no Q/DQ nodes, and the tools that quantize for it come with its sources only, so the files are written here: weights in s8 with a
scale for each channel, activations in s8 around zero, the same ranges, results handed on in s8 where the next layer is a convolution (what
those tools do). Covers the plain classifiers of networks.py; another operator is an error that names it.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

INT8_TAG = 0x000D4B38
RELU, CLIP = 1, 3  # ncnn's numbers of fused activations


def attribute(node, name, default):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


class Writer:
    def __init__(self, model, qdq):
        self.graph = model.graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.ranges = {t.name: numpy_helper.to_array(t) for t in qdq.graph.initializer if t.name.endswith(("_scale", "_zero_point"))}
        self.moved = {node.output[0]: node.input[0] for node in self.graph.node if node.op_type in ("MaxPool", "Flatten")}
        self.readers = {}
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.lines, self.blobs, self.weights = [], 0, []
        self.names = {}  # ONNX value: blobs that hold it, one for each reader

    def activation_scale(self, value):
        """127 over the largest magnitude that the codes of the Q/DQ model can express; what only moves values has its input's."""
        while value + "_scale" not in self.ranges and value in self.moved:
            value = self.moved[value]
        scale = float(self.ranges[value + "_scale"])
        zero = int(self.ranges[value + "_zero_point"])
        return np.float32(127.0 / (scale * max(zero, 255 - zero)))

    def emit(self, kind, name, inputs, output, parameters):
        self.lines.append(f"{kind} {name} {len(inputs)} 1 {' '.join(inputs)} {output} "
                          + " ".join(f"{k}={v}" for k, v in parameters.items()))
        self.blobs += 1
        self.provide(output)

    def provide(self, value):
        """ncnn wants a Split before several readers."""
        count = len(self.readers.get(value, []))
        if count < 2:
            self.names[value] = [value]
            return
        copies = [f"{value}_copy{i}" for i in range(count)]
        self.lines.append(f"Split {value}_split 1 {count} {value} {' '.join(copies)}")
        self.blobs += count
        self.names[value] = copies

    def read(self, value):
        return self.names[value].pop(0)

    def only_reader(self, value):
        readers = self.readers.get(value, [])
        return readers[0] if len(readers) == 1 else None

    def quantized(self, weights, bias, value, result):
        """Appends weights, bias and scales; returns ncnn's kind of scales."""
        flat = weights.reshape(weights.shape[0], -1)
        scales = (127.0 / np.maximum(np.abs(flat).max(1), 1e-8)).astype(np.float32)
        codes = np.clip(np.rint(flat * scales[:, None]), -127, 127).astype(np.int8).tobytes()
        parts = [np.uint32(INT8_TAG).tobytes(), codes, b"\0" * (-len(codes) % 4), bias.astype(np.float32).tobytes(),
                 scales.tobytes(), self.activation_scale(value).tobytes()]
        next_layer = self.only_reader(result)
        if next_layer is not None and next_layer.op_type == "Conv":
            parts.append(self.activation_scale(result).tobytes())
        self.weights += parts
        return 101 if len(parts) == 7 else 1

    def conv(self, node, skip):
        weights, bias = self.constants[node.input[1]], self.constants[node.input[2]]
        group, pads = attribute(node, "group", 1), attribute(node, "pads", [0] * 4)
        if len(set(pads)) != 1 or weights.shape[2] != weights.shape[3]:
            raise ValueError(f"ncnn model: {node.name} has pads {pads}")
        result, activation = node.output[0], {}
        follower = self.only_reader(result)
        if follower is not None and follower.op_type in ("Relu", "Clip"):
            result = follower.output[0]
            skip.add(follower.name)
            activation = {9: RELU} if follower.op_type == "Relu" else {9: CLIP, -23310: "2,0,6"}
        kind = self.quantized(weights, bias, node.input[0], result)
        parameters = {0: weights.shape[0], 1: weights.shape[2], 3: attribute(node, "strides", [1, 1])[0], 4: pads[0], 5: 1,
                      6: weights.size, **({7: group} if group > 1 else {}), 8: kind, **activation}
        self.emit("ConvolutionDepthWise" if group > 1 else "Convolution", node.name, [self.read(node.input[0])],
                  result, parameters)

    def gemm(self, node):
        weights, bias = self.constants[node.input[1]].T, self.constants[node.input[2]]
        kind = self.quantized(np.ascontiguousarray(weights), bias, node.input[0], node.output[0])
        self.emit("InnerProduct", node.name, [self.read(node.input[0])], node.output[0],
                  {0: weights.shape[0], 1: 1, 2: weights.size, 8: kind})

    def other(self, node):
        kinds = {"Relu": ("ReLU", {}), "Add": ("BinaryOp", {0: 0}), "GlobalAveragePool": ("Pooling", {0: 1, 4: 1}),
                 "Flatten": ("Reshape", {0: -1})}
        if node.op_type == "MaxPool":
            kinds["MaxPool"] = ("Pooling", {0: 0, 1: attribute(node, "kernel_shape", [])[0],
                                            2: attribute(node, "strides", [1])[0], 3: attribute(node, "pads", [0])[0], 5: 1})
        if node.op_type not in kinds:
            raise ValueError(f"ncnn model: no rule for {node.op_type}")
        kind, parameters = kinds[node.op_type]
        self.emit(kind, node.name, [self.read(name) for name in node.input], node.output[0], parameters)

    def write(self, path, dims):
        image = self.graph.input[0].name
        self.lines.append(f"Input {image} 0 1 {image} 0={dims[2]} 1={dims[1]} 2={dims[0]}")
        self.blobs += 1
        self.provide(image)
        skip = set()
        for node in self.graph.node:
            if node.name in skip:
                continue
            if node.op_type == "Conv":
                self.conv(node, skip)
            elif node.op_type == "Gemm":
                self.gemm(node)
            else:
                self.other(node)
        path.with_suffix(".bin").write_bytes(b"".join(self.weights))
        head = ["7767517", f"{len(self.lines)} {self.blobs}"]
        path.write_text("\n".join(head + self.lines) + "\n")


def write(float_path, qdq_path, path, dims):
    """PATH.param and PATH.bin; dims are channels, height, width."""
    Writer(onnx.load(str(float_path)), onnx.load(str(qdq_path))).write(path, dims)
