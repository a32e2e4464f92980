# SPDX-License-Identifier: Apache-2.0
"""Networks that bench/cpu.py measures: model files with fixed input shapes, and networks with generated weights.

Every network becomes one float ONNX file of opset 17 with fixed dimensions, which all runtimes then get.
"""

import dataclasses
import lzma
import pathlib

import onnx
from onnx import version_converter

import bert
import generated
import rewrite

OPSET = 17
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclasses.dataclass(frozen=True)
class Network:
    """One network: where it comes from and how an image becomes its input."""

    name: str
    source: str  # file name without suffix, or generated:NAME
    size: tuple  # height, width; or tokens, channels
    data: str  # folder of calibration images below --data; none: numbers that come with the generated network
    color: str = "rgb"
    scale: float = 255.0
    mean: tuple = (0.0,)
    std: tuple = (1.0,)
    quantized: bool = False  # the file is a quantized model already: there is no float one

    def input_dims(self):
        return (3, *self.size) if self.data else self.size


_CIFAR = dict(size=(32, 32), data="cifar10/calib", mean=(0.4914, 0.4822, 0.4465),
              std=(0.2470, 0.2435, 0.2616))
_SIGNED = dict(size=(224, 224), data="imagenet/calib", scale=127.5, mean=(1.0,))
_CAFFE = dict(color="bgr", scale=1.0, mean=(104.0, 117.0, 123.0))

NETWORKS = [
    Network("resnet50_shaped", "generated:resnet50", (224, 224), "imagenet/calib", mean=IMAGENET_MEAN,
            std=IMAGENET_STD),
    Network("resnet18_shaped", "generated:resnet18", (224, 224), "imagenet/calib", mean=IMAGENET_MEAN,
            std=IMAGENET_STD),
    Network("mobilenet_v2_shaped", "generated:mobilenet_v2", (224, 224), "imagenet/calib",
            mean=IMAGENET_MEAN, std=IMAGENET_STD),
    Network("mobilenet_v1", "mobilenet_v1_025_imagenet", **_SIGNED),
    Network("mobilenet_v2", "mobilenet_v2_imagenet", **_SIGNED),
    Network("shufflenet", "shufflenet_v2_imagenet_qoperator", (224, 224), "imagenet/calib",
            mean=IMAGENET_MEAN, std=IMAGENET_STD, quantized=True),
    Network("squeezenet", "squeezenet1.0_imagenet_fp16", (224, 224), "imagenet/calib", **_CAFFE),
    Network("yolox_nano", "yolox_nano", (416, 416), "coco/calib", color="bgr", scale=1.0),
    Network("retinaface", "retinaface_mobilenet025", (640, 640), "faces", **_CAFFE),
    Network("yunet", "yunet_n_dynamic", (640, 640), "faces", color="bgr", scale=1.0),
    Network("ultraface", "ultraface_rfb_320", (240, 320), "faces", scale=128.0,
            mean=(127.0 / 128.0,)),
    Network("cifar10_resnet20", "cifar10_resnet20", **_CIFAR),
    Network("cifar10_silunet", "cifar10_silunet", **_CIFAR),
    Network("cifar10_vit", "cifar10_vit", **_CIFAR),
    Network("style", "style_candy_instancenorm", (720, 720), "imagenet/calib", color="bgr", scale=1.0),
    Network("bert_base_384", "generated:bert", (384, 768), ""),
]
# For machines that engines are carried to.
PACKABLE = [Network("bert_alike_384", "generated:bert_alike", (384, 768), "")]


def _read(network, models):
    path = pathlib.Path(models) / (network.source + ".onnx")
    packed = path.with_suffix(".onnx.xz")
    if not path.exists() and not packed.exists():
        raise FileNotFoundError(f"{path.name} is not in the models folder")
    return onnx.load_from_string(path.read_bytes() if path.exists() else lzma.decompress(packed.read_bytes()))


def load(network, models):
    """The model of a network for one image: float (or Q/DQ, see Network.quantized), opset 17, shapes inferred."""
    kind, _, name = network.source.rpartition(":")
    if kind == "generated":
        model = bert.bert(alike=name == "bert_alike") if name.startswith("bert") else generated.MODELS[name]()
    else:
        model = _read(network, models)
    rewrite.to_f32(model)
    rewrite.standard_operators(model)
    if network.quantized:
        rewrite.qdq_from_qoperator(model)
    model.ir_version = max(model.ir_version, 8)  # before 4, constants must be inputs as well
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")),
                default=0)
    if opset < OPSET:
        model = version_converter.convert_version(model, OPSET)
    rewrite.fix_shape(model, [1, *network.input_dims()])
    return onnx.shape_inference.infer_shapes(model)
