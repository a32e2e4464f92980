# SPDX-License-Identifier: Apache-2.0
"""Networks that bench/cpu.py measures: model files with fixed input shapes, and ResNet-shaped networks with generated weights.

Every network becomes one float ONNX file of opset 17 with fixed dimensions, which all runtimes then get.
"""

import dataclasses
import lzma
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, version_converter

OPSET = 17
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclasses.dataclass(frozen=True)
class Network:
    """One network: where it comes from and how an image becomes its input."""

    name: str
    source: str  # file name without suffix, or generated:DEPTH
    size: tuple  # height, width
    data: str  # folder of calibration images below --data
    color: str = "rgb"
    scale: float = 255.0
    mean: tuple = (0.0,)
    std: tuple = (1.0,)


_CIFAR = dict(size=(32, 32), data="cifar10/calib", mean=(0.4914, 0.4822, 0.4465),
              std=(0.2470, 0.2435, 0.2616))
_SIGNED = dict(size=(224, 224), data="imagenet/calib", scale=127.5, mean=(1.0,))
_CAFFE = dict(color="bgr", scale=1.0, mean=(104.0, 117.0, 123.0))

NETWORKS = [
    Network("resnet50_shaped", "generated:50", (224, 224), "imagenet/calib", mean=IMAGENET_MEAN,
            std=IMAGENET_STD),
    Network("resnet18_shaped", "generated:18", (224, 224), "imagenet/calib", mean=IMAGENET_MEAN,
            std=IMAGENET_STD),
    Network("mobilenet_v1", "mobilenet_v1_025_imagenet", **_SIGNED),
    Network("mobilenet_v2", "mobilenet_v2_imagenet", **_SIGNED),
    Network("squeezenet", "squeezenet1.0_imagenet_fp16", (224, 224), "imagenet/calib", **_CAFFE),
    Network("yolox_nano", "yolox_nano", (416, 416), "coco/calib", color="bgr", scale=1.0),
    Network("retinaface", "retinaface_mobilenet025", (640, 640), "faces", **_CAFFE),
    Network("yunet", "yunet_n_dynamic", (640, 640), "faces", color="bgr", scale=1.0),
    Network("ultraface", "ultraface_rfb_320", (240, 320), "faces", scale=128.0,
            mean=(127.0 / 128.0,)),
    Network("cifar10_resnet20", "cifar10_resnet20", **_CIFAR),
    Network("cifar10_silunet", "cifar10_silunet", **_CIFAR),
    Network("cifar10_vit", "cifar10_vit", **_CIFAR),
]


class ResNet:
    """Builds a ResNet as ONNX nodes; BatchNorm is folded already, as in a deployed model."""

    def __init__(self, depth):
        self.depth = depth
        self.random = np.random.default_rng(depth)
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

    def conv(self, x, shape, stride=1, gain=1.0):
        out_channels, in_channels, kernel = shape
        deviation = gain * np.sqrt(2.0 / (in_channels * kernel * kernel))
        w = self.random.normal(0, deviation, (out_channels, in_channels, kernel, kernel))
        b = self.random.normal(0, 0.05, out_channels)
        pad = kernel // 2
        return self.add("Conv", [x, self.weight(w), self.weight(b)], kernel_shape=[kernel] * 2,
                        strides=[stride] * 2, pads=[pad] * 4)

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
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        w = self.random.normal(0, np.sqrt(1.0 / channels), (channels, 1000))
        self.nodes.append(helper.make_node(
            "Gemm", [x, self.weight(w), self.weight(np.zeros(1000))], ["logits"], name="classifier"))
        image = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, 224, 224])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 1000])
        graph = helper.make_graph(self.nodes, f"resnet{self.depth}", [image], [logits], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _to_f32(model):
    """FP16 tensors become f32, so that every runtime quantizes the same float network."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT16:
            tensor.CopyFrom(numpy_helper.from_array(
                numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT


def _fix_shape(model, shape):
    """The one real input gets its dimensions; what was inferred from the old ones is dropped."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise ValueError(f"{len(inputs)} inputs, expected one")
    del model.graph.input[:]
    model.graph.input.append(helper.make_tensor_value_info(inputs[0].name, TensorProto.FLOAT, shape))
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")


def load(network, models, batch):
    """The float model of a network at a batch size, opset 17, shapes inferred."""
    if network.source.startswith("generated:"):
        model = ResNet(int(network.source.split(":")[1])).model()
    else:
        path = pathlib.Path(models) / (network.source + ".onnx")
        packed = path.with_suffix(".onnx.xz")
        if not path.exists() and not packed.exists():
            raise FileNotFoundError(f"{path.name} is not in the models folder")
        data = path.read_bytes() if path.exists() else lzma.decompress(packed.read_bytes())
        model = onnx.load_from_string(data)
    _to_f32(model)
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")),
                default=0)
    if opset < OPSET:
        model = version_converter.convert_version(model, OPSET)
    _fix_shape(model, [batch, 3, *network.size])
    model.ir_version = max(model.ir_version, 8)
    return onnx.shape_inference.infer_shapes(model)
