# SPDX-License-Identifier: Apache-2.0
"""Detectors with generated weights in the shape of YOLOX-nano and RetinaFace (MobileNet 0.25): what an architecture costs, without a model file."""

import numpy as np
from onnx import TensorProto, helper

from generated import OPSET, Builder


class Detector(Builder):
    """A network of one image and several maps."""

    def up(self, x):
        scales = self.weight(np.float32([1, 1, 2, 2]))
        return self.add("Resize", [x, "", scales], mode="nearest")

    def integers(self, *values):
        """A constant of sizes or axes."""
        name = self.weight(np.float32(0))  # its place in the list is the name
        self.weights[-1].CopyFrom(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def network(self, size, outputs):
        image = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, size, size])
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, [image], values, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


class YoloxNano(Detector):
    """Width 0.25, depth 0.33, depthwise; 416x416."""

    def __init__(self):
        super().__init__("yolox_nano", 3)

    def silu(self, x):
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def point(self, x, channels, out, gain=1.0):
        return self.silu(self.conv(x, (out, channels, 1), 1, gain))

    def separable(self, x, channels, out, stride=1):
        x = self.silu(self.conv(x, (channels, channels, 3), stride, group=channels))
        return self.point(x, channels, out)

    def stage(self, x, channels, out, repeats, shortcut=True):
        """Half of the channels through bottlenecks, half past them."""
        half = out // 2
        y, side = self.point(x, channels, half), self.point(x, channels, half)
        for _ in range(repeats):
            inner = self.separable(self.point(y, half, half), half, half)
            y = self.add("Add", [y, inner]) if shortcut else inner
        return self.point(self.add("Concat", [y, side], axis=1), out, out, 0.7)

    def focus(self, x):
        """Each second pixel of each second row, four times."""
        axes, steps, ends = self.integers(2, 3), self.integers(2, 2), self.integers(1 << 30, 1 << 30)
        parts = [self.add("Slice", [x, self.integers(row, column), ends, axes, steps])
                 for row, column in ((0, 0), (1, 0), (0, 1), (1, 1))]
        return self.silu(self.conv(self.add("Concat", parts, axis=1), (16, 12, 3)))

    def pyramid(self, x):
        """The three maps of the backbone."""
        maps = []
        for channels, repeats in ((32, 1), (64, 3), (128, 3)):
            x = self.stage(self.separable(x, channels // 2, channels, 2), channels, channels, repeats)
            maps.append(x)
        x = self.point(self.separable(x, 128, 256, 2), 256, 128)
        pools = [self.add("MaxPool", [x], kernel_shape=[k] * 2, pads=[k // 2] * 4) for k in (5, 9, 13)]
        x = self.point(self.add("Concat", [x, *pools], axis=1), 512, 256)
        return maps[1], maps[2], self.stage(x, 256, 256, 1, shortcut=False)

    def neck(self, fine, middle, coarse):
        first = self.point(coarse, 256, 128)
        x = self.add("Concat", [self.up(first), middle], axis=1)
        second = self.point(self.stage(x, 256, 128, 1, False), 128, 64)
        fine = self.stage(self.add("Concat", [self.up(second), fine], axis=1), 128, 64, 1, False)
        x = self.add("Concat", [self.separable(fine, 64, 64, 2), second], axis=1)
        middle = self.stage(x, 128, 128, 1, False)
        x = self.add("Concat", [self.separable(middle, 128, 128, 2), first], axis=1)
        return fine, middle, self.stage(x, 256, 256, 1, False)

    def head(self, x, channels):
        x = self.point(x, channels, 64)
        classes, boxes = x, x
        for _ in range(2):
            classes, boxes = self.separable(classes, 64, 64), self.separable(boxes, 64, 64)
        parts = [self.conv(boxes, (4, 64, 1)), self.add("Sigmoid", [self.conv(boxes, (1, 64, 1))]),
                 self.add("Sigmoid", [self.conv(classes, (80, 64, 1))])]
        return self.add("Reshape", [self.add("Concat", parts, axis=1), self.integers(0, 85, -1)])

    def model(self):
        maps = self.neck(*self.pyramid(self.focus("input")))
        heads = [self.head(x, channels) for x, channels in zip(maps, (64, 128, 256))]
        x = self.add("Transpose", [self.add("Concat", heads, axis=2)], perm=[0, 2, 1])
        return self.network(416, [x])


class RetinaFace(Detector):
    """MobileNet 0.25 with a feature pyramid and context modules; 640x640."""

    STAGES = (((8, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1)),
              ((64, 128, 2), *[(128, 128, 1)] * 5),
              ((128, 256, 2), (256, 256, 1)))

    def __init__(self):
        super().__init__("retinaface", 4)

    def leaky(self, x, shape, stride=1, group=1):
        return self.add("LeakyRelu", [self.conv(x, shape, stride, group=group)], alpha=0.1)

    def backbone(self, x):
        x, maps = self.leaky(x, (8, 3, 3), 2), []
        for stage in self.STAGES:
            for channels, out, stride in stage:
                x = self.leaky(x, (channels, channels, 3), stride, channels)
                x = self.leaky(x, (out, channels, 1))
            maps.append(x)
        return maps

    def pyramid(self, fine, middle, coarse):
        fine, middle, coarse = (self.leaky(x, (64, channels, 1))
                                for x, channels in ((fine, 64), (middle, 128), (coarse, 256)))
        middle = self.leaky(self.add("Add", [middle, self.up(coarse)]), (64, 64, 3))
        fine = self.leaky(self.add("Add", [fine, self.up(middle)]), (64, 64, 3))
        return fine, middle, coarse

    def context(self, x):
        wide = self.leaky(x, (16, 64, 3))
        parts = [self.conv(x, (32, 64, 3)), self.conv(wide, (16, 16, 3)),
                 self.conv(self.leaky(wide, (16, 16, 3)), (16, 16, 3))]
        return self.add("Relu", [self.add("Concat", parts, axis=1)])

    def head(self, maps, values):
        """Two anchors at each pixel of each map."""
        rows = []
        for x in maps:
            y = self.add("Transpose", [self.conv(x, (2 * values, 64, 1))], perm=[0, 2, 3, 1])
            rows.append(self.add("Reshape", [y, self.integers(0, -1, values)]))
        return self.add("Concat", rows, axis=1)

    def model(self):
        maps = [self.context(x) for x in self.pyramid(*self.backbone("input"))]
        boxes, scores, points = (self.head(maps, values) for values in (4, 2, 10))
        return self.network(640, [boxes, self.add("Softmax", [scores], axis=2), points])


MODELS = {"yolox_nano": lambda: YoloxNano().model(), "retinaface": lambda: RetinaFace().model()}
