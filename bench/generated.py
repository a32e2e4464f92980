# SPDX-License-Identifier: Apache-2.0
"""Networks with generated weights in the shape of well-known classifiers: what an architecture costs, without a model file.

BatchNorm is folded already, as in a deployed model. Weights are normal, with a deviation that keeps activations in range.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Builder:
    """Collects nodes and weights of a network that takes an image 224x224 and gives 1000 logits."""

    def __init__(self, name, seed):
        self.name = name
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0

    def add(self, op, inputs, **attributes):
        self.count += 1
        output = f"{op}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv(self, x, shape, stride=1, gain=1.0, group=1):
        out_channels, in_channels, kernel = shape
        fan_in = in_channels // group * kernel * kernel
        w = self.random.normal(0, gain * np.sqrt(2.0 / fan_in),
                               (out_channels, in_channels // group, kernel, kernel))
        b = self.random.normal(0, 0.05, out_channels)
        pad = kernel // 2
        return self.add("Conv", [x, self.weight(w), self.weight(b)], kernel_shape=[kernel] * 2,
                        strides=[stride] * 2, pads=[pad] * 4, group=group)

    def finish(self, x, channels):
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        w = self.random.normal(0, np.sqrt(1.0 / channels), (channels, 1000))
        self.nodes.append(helper.make_node(
            "Gemm", [x, self.weight(w), self.weight(np.zeros(1000))], ["logits"], name="classifier"))
        image = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, 224, 224])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 1000])
        graph = helper.make_graph(self.nodes, self.name, [image], [logits], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


class ResNet(Builder):
    def __init__(self, depth):
        super().__init__(f"resnet{depth}", depth)
        self.depth = depth

    def block(self, x, channels, width, stride):
        """A basic block (18) or a bottleneck (50); a small last gain keeps the sum bounded."""
        expansion = 4 if self.depth == 50 else 1
        out = width * expansion
        shortcut = x
        if stride != 1 or channels != out:
            shortcut = self.conv(x, (out, channels, 1), stride, 0.7)
        if self.depth == 50:
            y = self.add("Relu", [self.conv(x, (width, channels, 1))])
            y = self.add("Relu", [self.conv(y, (width, width, 3), stride)])
            y = self.conv(y, (out, width, 1), 1, 0.4)
        else:
            y = self.add("Relu", [self.conv(x, (width, channels, 3), stride)])
            y = self.conv(y, (out, width, 3), 1, 0.4)
        return self.add("Relu", [self.add("Add", [y, shortcut])]), out

    def model(self):
        x = self.add("Relu", [self.conv("input", (64, 3, 7), 2)])
        x = self.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        channels = 64
        for stage, repeats in enumerate([3, 4, 6, 3] if self.depth == 50 else [2, 2, 2, 2]):
            for index in range(repeats):
                stride = 2 if stage > 0 and index == 0 else 1
                x, channels = self.block(x, channels, 64 << stage, stride)
        return self.finish(x, channels)


class MobileNetV2(Builder):
    """Width 1.0: expansion, channels, repeats and stride of every stage as in the paper."""

    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self):
        super().__init__("mobilenet_v2", 2)
        self.limits = [self.weight(np.float32(0)), self.weight(np.float32(6))]

    def relu6(self, x):
        return self.add("Clip", [x, *self.limits])

    def block(self, x, channels, out, expansion, stride):
        """A linear bottleneck; a small last gain keeps the sums bounded."""
        y, width = x, channels * expansion
        if expansion != 1:
            y = self.relu6(self.conv(y, (width, channels, 1)))
        y = self.relu6(self.conv(y, (width, width, 3), stride, group=width))
        residual = stride == 1 and channels == out
        y = self.conv(y, (out, width, 1), 1, 0.5 if residual else 1.0)
        return self.add("Add", [x, y]) if residual else y

    def model(self):
        x = self.relu6(self.conv("input", (32, 3, 3), 2))
        channels = 32
        for expansion, out, repeats, first_stride in self.STAGES:
            for index in range(repeats):
                x = self.block(x, channels, out, expansion, first_stride if index == 0 else 1)
                channels = out
        return self.finish(self.relu6(self.conv(x, (1280, channels, 1))), 1280)


MODELS = {"resnet18": lambda: ResNet(18).model(), "resnet50": lambda: ResNet(50).model(),
          "mobilenet_v2": lambda: MobileNetV2().model()}
