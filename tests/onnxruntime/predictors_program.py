# SPDX-License-Identifier: Apache-2.0
"""Predictors that other packages have for ONNX models, unchanged but for the provider's line, on Octet: predictors_program.py LIBRARY FOLDER. Weights are
random, which no network is needed for. FOLDER gets NAME.onnx (Q/DQ), NAME.npz (what the predictor gave it) and NAME.npy (what came out)."""

import pathlib
import re
import sys
import types

import numpy as np
import onnxruntime
from onnxruntime import quantization

CHANCE = np.random.default_rng(1)


class Samples(quantization.CalibrationDataReader):
    def __init__(self, samples):
        self.left = list(samples)

    def get_next(self):
        return self.left.pop() if self.left else None


def quantized(model, target, samples):
    quantization.quantize_static(str(model), str(target), Samples(samples), quant_format=quantization.QuantFormat.QDQ, per_channel=True)
    return target


def keep(folder, name, feeds, got):
    np.savez(folder / f"{name}.npz", **feeds)
    np.save(folder / f"{name}.npy", got)


def ultralytics(folder):
    from ultralytics import YOLO
    from ultralytics.nn.backends import onnx as backend

    model = YOLO("yolov8n.yaml").export(format="onnx", imgsz=160, simplify=False)
    made = quantized(model, folder / "yolov8n.onnx", [{"images": CHANCE.random((1, 3, 160, 160), dtype=np.float32)} for _ in range(4)])
    # The provider's line, and no other.
    text, changed = re.subn(r'^( +providers = \[)"CPUExecutionProvider"\]$', r'\1"OctetExecutionProvider"]', pathlib.Path(backend.__file__).read_text(), flags=re.M)
    assert changed == 1, changed
    exec(compile(text, backend.__file__, "exec"), backend.__dict__)
    import ultralytics.nn.autobackend as auto
    for table in [value for value in vars(auto.AutoBackend).values() if isinstance(value, dict)] + [vars(auto)]:
        for key, value in list(table.items()):
            if getattr(value, "__module__", "") == backend.__name__ and isinstance(value, (type, types.FunctionType)):
                table[key] = getattr(backend, value.__name__)
    picture = CHANCE.integers(0, 256, (160, 160, 3), dtype=np.uint8)
    predictor = YOLO(str(made), task="detect")
    results = predictor.predict(picture, imgsz=160, verbose=False)
    assert len(results) == 1 and results[0].boxes is not None
    served = predictor.predictor.model
    session = getattr(served, "session", None) or served.backend.session
    assert session.get_providers()[0] == "OctetExecutionProvider", session.get_providers()
    image = predictor.predictor.preprocess([picture])
    got = served(image)
    keep(folder, "yolov8n", {"images": image.numpy()}, np.asarray(got[0] if isinstance(got, (list, tuple)) else got))


def optimum(folder):
    import torch
    from optimum.exporters.onnx import onnx_export_from_model
    from optimum.onnxruntime import ORTModelForSequenceClassification
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(1)
    config = BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
    onnx_export_from_model(BertForSequenceClassification(config), folder / "bert", task="text-classification", do_validation=False)
    names = ("input_ids", "attention_mask", "token_type_ids")

    def sentence():
        return dict(zip(names, (CHANCE.integers(5, 1000, (1, 24)), np.ones((1, 24), np.int64), np.zeros((1, 24), np.int64))))

    made = quantized(folder / "bert/model.onnx", folder / "bert.onnx", [sentence() for _ in range(4)])
    made.rename(folder / "bert/model_quantized.onnx")
    model = ORTModelForSequenceClassification.from_pretrained(folder / "bert", file_name="model_quantized.onnx", provider="OctetExecutionProvider")
    assert model.session.get_providers()[0] == "OctetExecutionProvider", model.session.get_providers()
    (folder / "bert/model_quantized.onnx").rename(made)
    feeds = sentence()
    keep(folder, "bert", feeds, model(**{name: torch.from_numpy(value) for name, value in feeds.items()}).logits.numpy())


if __name__ == "__main__":
    onnxruntime.register_execution_provider_library("octet", sys.argv[1])
    place = pathlib.Path(sys.argv[2])
    ultralytics(place)
    optimum(place)
