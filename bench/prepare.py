# SPDX-License-Identifier: Apache-2.0
"""The files that bench/cpu.py measures: float and Q/DQ models, made once and kept, and Octet's engines, built anew."""

import dataclasses
import os
import pathlib

import numpy as np

import generated
import ncnn_model
import networks as nets
import quantize
import rewrite
import runners

OCTET_QDQ, ORT_QDQ, OPENVINO_QDQ = "octet_qdq", "onnxruntime_qdq", "openvino_qdq"
OCTET_BEFORE = "octet_before"  # the Q/DQ model in the program of --against
OCTET_INT8, OCTET_FP32, ORT_FP32 = "octet_int8", "octet_fp32", "onnxruntime_fp32"
NCNN_INT8 = "ncnn_int8"
PEERS = (ORT_QDQ, OPENVINO_QDQ, NCNN_INT8)  # what Octet on the same Q/DQ model is held against
RUNNERS = (OCTET_QDQ, OCTET_BEFORE, ORT_QDQ, OPENVINO_QDQ, NCNN_INT8, OCTET_INT8, OCTET_FP32, ORT_FP32)
QDQ = (OCTET_QDQ, OCTET_BEFORE, ORT_QDQ, OPENVINO_QDQ)


@dataclasses.dataclass
class Files:
    """What one network at one batch size is measured from; a missing one has its reason. Builds are in seconds."""

    paths: dict
    failed: dict
    builds: dict


class Preparation:
    """Models of one network at one batch size, in the work folder."""

    def __init__(self, args, network, batch):
        self.args, self.network, self.batch = args, network, batch
        self.data = pathlib.Path(args.data) / network.data

    def path(self, kind, batch=None):
        return self.args.work / f"{self.network.name}.b{batch or self.batch}.{kind}"

    def float_model(self, batch):
        path = self.path("onnx", batch)
        if path.exists():
            return path
        if batch == 1:
            self.save(nets.load(self.network, self.args.models), path)
        else:
            self.save(rewrite.rebatch(nets.onnx.load(str(self.float_model(1))), batch), path)
        return path

    def qdq_model(self, batch):
        """Quantized for one image; other batch sizes have the same scales."""
        path = self.path("qdq.onnx", batch)
        if path.exists():
            return path
        if batch != 1:
            self.save(rewrite.rebatch(nets.onnx.load(str(self.qdq_model(1))), batch), path)
        elif self.network.quantized:
            self.save(nets.load(self.network, self.args.models), path)
        else:
            quantize.quantize(self.float_model(1), path, self.network, self.data)
        return path

    @staticmethod
    def save(model, path):
        partial = path.with_suffix(".partial")
        nets.onnx.save(model, str(partial))
        partial.rename(path)

    def ncnn_model(self, _batch):
        path = self.path("param")
        if not path.exists():
            partial = path.with_suffix(".partial.param")
            ncnn_model.write(self.float_model(1), self.qdq_model(1), partial, self.network.input_dims())
            partial.with_suffix(".bin").rename(path.with_suffix(".bin"))
            partial.rename(path)
        return path

    def covers(self, key):
        """Whether there is anything to run: quantized files have no float model, and ncnn models are written for plain classifiers only."""
        if key == NCNN_INT8:
            return self.batch == 1 and self.network.source.partition(":")[2] in generated.MODELS
        return key in QDQ or not self.network.quantized

    def calibration_flags(self):
        if not self.network.data:
            arrays = self.path("calib.npz", 1)
            feeds = list(nets.bert.calibration())
            np.savez(arrays, **{name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]})
            return ["--int8", "--calib", str(arrays)]
        return ["--int8", "--calib", str(self.data), "--max-samples", str(quantize.IMAGES),
                *image_flags(self.network)]

    def engine(self, key):
        """Builds the engine that a runner of Octet runs: its path and the seconds."""
        engine = self.path(f"{key}.octet")
        program = self.args.against if key == OCTET_BEFORE else self.args.octet
        if key in (OCTET_QDQ, OCTET_BEFORE):
            return engine, runners.octet_build(program, self.qdq_model(self.batch), engine, ["--int8"])
        flags = self.calibration_flags() if key == OCTET_INT8 else []
        return engine, runners.octet_build(program, self.float_model(self.batch), engine, flags)


def image_flags(network):
    height, width = network.size
    return ["--resize", f"{width}x{height}", "--color", network.color, "--scale", str(network.scale), "--mean",
            ",".join(map(str, network.mean)), "--std", ",".join(map(str, network.std))]


def prepare(args, network, batch):
    """Files for the runners that were asked for. A model that cannot be made is a reason, not the end."""
    preparation, files = Preparation(args, network, batch), Files({}, {}, {})
    for key in args.runners:
        if not preparation.covers(key):
            continue
        try:
            if key.startswith("octet"):
                files.paths[key], files.builds[key] = preparation.engine(key)
            else:
                make = {NCNN_INT8: preparation.ncnn_model, ORT_FP32: preparation.float_model}.get(key, preparation.qdq_model)
                files.paths[key] = make(batch)
        except Exception as error:  # the reason goes into the report
            files.failed[key] = runners.last_line(str(error))
    return files


def timed_build(args, network, images):
    """ONNX and `images` photos to an INT8 engine with two threads: what building takes."""
    preparation = Preparation(args, network, 1)
    found = [p for p in sorted(pathlib.Path(args.data).joinpath("imagenet").rglob("*.jpg"))]
    if not found:
        raise FileNotFoundError(f"no images in {args.data}/imagenet")
    folder = args.work / f"images_{images}"
    folder.mkdir(exist_ok=True)
    for index in range(images):  # fewer files than asked for come again under other names
        link = folder / f"{index}.jpg"
        if not link.is_symlink():
            link.symlink_to(found[index % len(found)].resolve())
    model, engine = preparation.float_model(1), preparation.path("timed.octet", 1)
    flags = ["--int8", "--calib", str(folder), "--threads", "2", *image_flags(network)]
    with runners.pinned(runners.cpus_for(2)):
        busy = os.times()
        seconds = runners.octet_build(args.octet, model, engine, flags)
        after = os.times()
    used = after.children_user + after.children_system - busy.children_user - busy.children_system
    return {"network": network.name, "images": images, "threads": 2, "seconds": seconds,
            "processor_seconds": round(used, 2)}
