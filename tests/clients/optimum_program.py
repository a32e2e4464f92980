# SPDX-License-Identifier: Apache-2.0
"""What users of Optimum write: a network of transformers, exported, quantized by ONNX Runtime in each of its flows: optimum_program.py FOLDER makes
FOLDER/NETWORK/model.onnx, FOLDER/NETWORK-FLOW/model_quantized.onnx. Weights are random, which no network is needed for."""

import pathlib
import sys

import numpy as np
import torch
from datasets import Dataset
from optimum.exporters.onnx import onnx_export_from_model
from optimum.onnxruntime import ORTQuantizer
from optimum.onnxruntime.configuration import AutoCalibrationConfig, AutoQuantizationConfig
from transformers import BertConfig, BertForSequenceClassification, ViTConfig, ViTForImageClassification

LENGTH = 32
CHANCE = np.random.default_rng(1)


def sentence():
    words = int(CHANCE.integers(8, LENGTH + 1))
    row = {name: np.zeros(LENGTH, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    row["input_ids"][:words] = CHANCE.integers(5, 1000, words)
    row["attention_mask"][:words] = 1
    return {name: values.tolist() for name, values in row.items()}


def image():
    return {"pixel_values": CHANCE.standard_normal((3, 64, 64)).astype(np.float32).tolist()}


def quantized(folder, name, flows, rows):
    data = Dataset.from_list(rows)
    for flow, config in flows.items():
        quantizer = ORTQuantizer.from_pretrained(folder / name, file_name="model.onnx")
        ranges = None
        if config.is_static:
            calibration = AutoCalibrationConfig.minmax(data)
            ranges = quantizer.fit(dataset=data, calibration_config=calibration, operators_to_quantize=config.operators_to_quantize)
        quantizer.quantize(save_dir=folder / f"{name}-{flow}", quantization_config=config, calibration_tensors_range=ranges)


def main(folder):
    folder = pathlib.Path(folder)
    torch.manual_seed(3)
    body = {"hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 512, "num_labels": 5}
    bert = BertForSequenceClassification(BertConfig(vocab_size=1000, **body)).eval()
    vit = ViTForImageClassification(ViTConfig(image_size=64, patch_size=8, **body)).eval()
    onnx_export_from_model(bert, output=folder / "bert", task="text-classification", opset=18)
    onnx_export_from_model(vit, output=folder / "vit", task="image-classification", opset=18)
    auto = AutoQuantizationConfig
    flows = {"dynamic": auto.avx512_vnni(is_static=False, per_channel=True), "static": auto.avx512_vnni(is_static=True, per_channel=True),
             "arm64": auto.arm64(is_static=True, per_channel=False), "tensorrt": auto.tensorrt(per_channel=True)}
    quantized(folder, "bert", flows, [sentence() for _ in range(32)])
    quantized(folder, "vit", {"tensorrt": flows["tensorrt"], "static": flows["static"]}, [image() for _ in range(8)])


main(*sys.argv[1:])
