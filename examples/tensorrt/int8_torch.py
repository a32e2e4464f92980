# SPDX-License-Identifier: Apache-2.0
"""INT8 with PyTorch: a calibrator over a DataLoader that keeps a cache, and inference on tensors by their addresses. Where PyTorch finds no GPU
its tensors lie in the host's memory, which is the memory of Octet's device. Runs at both levels.

usage: int8_torch.py MODEL.onnx IMAGES.npy CACHE

IMAGES.npy holds float32 inputs, one sample a row; prints the class of the first eight."""

import os
import sys

import numpy as np
import tensorrt as trt
import torch
from torch.utils.data import DataLoader, TensorDataset

BATCH = 8
LOGGER = trt.Logger(trt.Logger.WARNING)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class LoaderCalibrator(trt.IInt8MinMaxCalibrator):
    def __init__(self, loader, cache_file):
        super().__init__()
        self.batches, self.cache_file = iter(loader), cache_file

    def get_batch_size(self):
        return BATCH

    def get_batch(self, names):
        batch = next(self.batches, None)
        if batch is None:
            return None
        self.tensor = batch[0].to(DEVICE).contiguous()  # kept until the next call
        return [self.tensor.data_ptr()]

    def read_calibration_cache(self):
        if os.path.exists(self.cache_file):
            with open(self.cache_file, "rb") as f:
                return f.read()
        return None

    def write_calibration_cache(self, cache):
        with open(self.cache_file, "wb") as f:
            f.write(cache)


def build_engine(model, loader, sizes, cache_file):
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    parser = trt.OnnxParser(network, LOGGER)
    if not parser.parse_from_file(model):
        sys.exit(str(parser.get_error(0)))
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = LoaderCalibrator(loader, cache_file)
    profile = builder.create_optimization_profile()
    profile.set_shape(network.get_input(0).name, *[(BATCH, *sizes)] * 3)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def infer(engine, batch):
    context = engine.create_execution_context()
    given, result = (engine.get_tensor_name(i) for i in range(2))
    context.set_input_shape(given, tuple(batch.shape))
    output = torch.empty(tuple(context.get_tensor_shape(result)), device=DEVICE)
    context.set_tensor_address(given, batch.data_ptr())
    context.set_tensor_address(result, output.data_ptr())
    context.execute_async_v3(torch.cuda.current_stream().cuda_stream if DEVICE.type == "cuda" else 0)
    return output


def main():
    model, data, cache_file = sys.argv[1:]
    images = torch.from_numpy(np.load(data))
    loader = DataLoader(TensorDataset(images), batch_size=BATCH, drop_last=True)
    engine = build_engine(model, loader, images.shape[1:], cache_file)
    print(infer(engine, images[:BATCH].to(DEVICE).contiguous()).argmax(1).tolist())


if __name__ == "__main__":
    main()
