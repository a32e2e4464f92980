# SPDX-License-Identifier: Apache-2.0
"""LightlyTrain's exporter on task models of its own, of random weights, which it would otherwise fetch: lightly_train_program.py FOLDER writes
NAME-PRECISION.onnx and .engine of each. Its `export_tensorrt` parses, sets precisions of attention layers, makes a profile and builds."""

import pathlib
import sys

import torch
from lightly_train._task_models.dinov3_eomt_semantic_segmentation.task_model import DINOv3EoMTSemanticSegmentation
from lightly_train._task_models.image_classification.task_model import ImageClassification
from lightly_train._task_models.ltdetr_object_detection.task_model import LTDETRObjectDetection
from lightly_train._task_models.picodet_object_detection.task_model import PicoDetObjectDetection

CLASSES = {i: f"class {i}" for i in range(10)}
NORMAL = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def picodet():
    return PicoDetObjectDetection(model_name="picodet/s-416", image_size=(416, 416), num_classes=10, classes=CLASSES, image_normalize=NORMAL)


def classifier():
    return ImageClassification(model="dinov3/vitt16-notpretrained-classification", classes=CLASSES, classification_task="multiclass",
                               image_size=(224, 224), image_normalize=NORMAL, backbone_freeze=False)


def detr():
    return LTDETRObjectDetection(model_name="dinov3/vitt16-notpretrained-ltdetr", classes=CLASSES, image_size=(256, 256), image_normalize=NORMAL)


def segmentation():
    return DINOv3EoMTSemanticSegmentation(model_name="dinov3/vitt16-notpretrained-eomt", classes=CLASSES, class_ignore_index=None,
                                          image_size=(224, 224), image_normalize=NORMAL, num_queries=20, num_joint_blocks=2)


def main(folder):
    for make in (picodet, classifier, segmentation, detr):
        for precision in ("fp32", "fp16") if make is not detr else ("fp32",):
            torch.manual_seed(1)
            out = pathlib.Path(folder) / f"{make.__name__}-{precision}.engine"
            make().eval().export_tensorrt(out, precision=precision, max_batchsize=4, opt_batchsize=2)


main(*sys.argv[1:])
