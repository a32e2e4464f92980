# SPDX-License-Identifier: Apache-2.0
"""What the cases of the Python module tensorrt (trt_*_cases.py) have in common: the module, a log, a calibrator, builds of the digits."""

import sys
import unittest

import numpy as np
from harness import BUILD, DIGITS

sys.path.insert(0, str(BUILD / "python"))
import tensorrt as trt  # noqa: E402

LEVEL = int(trt.__version__.split(".")[0])
EXPLICIT = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)


class Log(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.lines = []

    def log(self, severity, message):
        self.lines.append((severity, message))

    def errors(self):
        return [message for severity, message in self.lines if severity in (trt.Logger.ERROR, trt.Logger.INTERNAL_ERROR)]


def digits(part, count):
    images = np.load(DIGITS / "digits.npz")[f"{part}_images"][:count].astype(np.float32)[:, None] / 16
    return np.ascontiguousarray(images)


class Calibrator(trt.IInt8EntropyCalibrator2):
    """Gives the batches that it is given, whatever these are."""

    def __init__(self, batches, cache=None, size=10):
        super().__init__()
        self.batches, self.cache, self.written, self.size, self.calls = iter(batches), cache, None, size, []

    def get_batch_size(self):
        self.calls.append("size")
        return self.size

    def get_batch(self, names):
        self.calls.append("batch")
        self.names = names
        batch = next(self.batches, None)
        return batch() if callable(batch) else batch

    def read_calibration_cache(self):
        self.calls.append("read")
        return self.cache

    def write_calibration_cache(self, cache):
        self.calls.append("write")
        self.written = cache.tobytes()


def pointers(count=20):
    images = digits("train", 10 * count)
    for i in range(count):
        pointers.kept = np.ascontiguousarray(images[10 * i : 10 * i + 10])
        yield [pointers.kept.ctypes.data]


class Case(unittest.TestCase):
    def setUp(self):
        self.log = Log()
        self.builder = trt.Builder(self.log)
        self.config = self.builder.create_builder_config()

    def parsed(self):
        network = self.builder.create_network(EXPLICIT)
        parser = trt.OnnxParser(network, self.log)
        self.assertTrue(parser.parse((DIGITS / "digits.onnx").read_bytes()))
        profile = self.builder.create_optimization_profile()
        profile.set_shape("image", (1, 1, 8, 8), (10, 1, 8, 8), (64, 1, 8, 8))
        self.assertEqual(self.config.add_optimization_profile(profile), 0)
        return network

    def built(self, network=None):
        return self.builder.build_serialized_network(network or self.parsed(), self.config)

    def engine(self, plan):
        return trt.Runtime(self.log).deserialize_cuda_engine(plan)

    def calibrated(self, calibrator):
        self.config = self.builder.create_builder_config()
        self.config.set_flag(trt.BuilderFlag.INT8)
        self.config.int8_calibrator = calibrator
        return self.built()
