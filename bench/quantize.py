# SPDX-License-Identifier: Apache-2.0
"""Makes the Q/DQ models that all runtimes of bench/cpu.py share, with ONNX Runtime's quantizer.

u8 activations, s8 per-channel weights, QDQ format, min-max ranges: each peer's fast path.
"""

import logging
import pathlib

import numpy as np
from PIL import Image

import bert

IMAGES = 16


def image_files(folder):
    files = [p for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in (".jpg", ".png")]
    if not files:
        raise FileNotFoundError(f"no calibration images in {folder}")
    files.sort()
    return files[:: max(1, len(files) // IMAGES)][:IMAGES]


def to_input(path, network):
    """An image as the network's input: stretched to its size, scaled, mean and std per channel."""
    height, width = network.size
    pixels = np.asarray(Image.open(path).convert("RGB").resize((width, height)), np.float32)
    if network.color == "bgr":
        pixels = pixels[:, :, ::-1]
    mean, std = np.float32(network.mean), np.float32(network.std)
    values = (pixels / np.float32(network.scale) - mean) / std
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def samples(network, folder):
    """What a network is calibrated with, one input after another."""
    if not network.data:
        return [array for feed in bert.calibration() for array in feed.values()]
    return [to_input(path, network) for path in image_files(folder)]


class Reader:
    def __init__(self, arrays, name):
        self.feeds = iter([{name: array} for array in arrays])

    def get_next(self):
        return next(self.feeds, None)


def quantize(float_path, qdq_path, network, folder):
    """A Q/DQ model of a float model of batch 1."""
    quantize_over(float_path, qdq_path, samples(network, folder))


def quantize_over(float_path, qdq_path, arrays):
    """Ranges are those of these inputs, one after another."""
    import onnxruntime
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process
    import onnx

    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(3)
    ready = qdq_path.with_suffix(".ready.onnx")
    quant_pre_process(str(float_path), str(ready), skip_symbolic_shape=True)
    name = onnx.load(str(ready)).graph.input[0].name
    partial = qdq_path.with_suffix(".partial.onnx")
    quantization.quantize_static(
        str(ready), str(partial), Reader(arrays, name),
        quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    ready.unlink()
    partial.rename(qdq_path)
