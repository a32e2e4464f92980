# SPDX-License-Identifier: Apache-2.0
"""INT8 with pycuda, as most tutorials for TensorRT have it: a calibrator that copies batches to the device and keeps a cache, buffers for the
engine, asynchronous copies in a stream. Without a GPU `import tensorrt` provides a pycuda whose device memory is the host's. Runs at both levels.

usage: int8_pycuda.py MODEL.onnx IMAGES.npy CACHE

IMAGES.npy holds float32 inputs, one sample a row; prints the class of the first eight."""

import os
import sys

import numpy as np
import tensorrt as trt

import pycuda.autoinit  # noqa: F401: makes the context
import pycuda.driver as cuda

BATCH = 8
LOGGER = trt.Logger(trt.Logger.WARNING)


class EntropyCalibrator(trt.IInt8EntropyCalibrator2):
    def __init__(self, images, cache_file):
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.images, self.cache_file, self.index = images, cache_file, 0
        self.device_input = cuda.mem_alloc(images[:BATCH].nbytes)

    def get_batch_size(self):
        return BATCH

    def get_batch(self, names):
        if self.index + BATCH > len(self.images):
            return None
        cuda.memcpy_htod(self.device_input, self.images[self.index : self.index + BATCH])
        self.index += BATCH
        return [int(self.device_input)]

    def read_calibration_cache(self):
        if os.path.exists(self.cache_file):
            with open(self.cache_file, "rb") as f:
                return f.read()
        return None

    def write_calibration_cache(self, cache):
        with open(self.cache_file, "wb") as f:
            f.write(cache)


def build_engine(model, images, cache_file):
    explicit_batch = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    with trt.Builder(LOGGER) as builder, builder.create_network(explicit_batch) as network, trt.OnnxParser(network, LOGGER) as parser:
        with open(model, "rb") as f:
            if not parser.parse(f.read()):
                sys.exit(str(parser.get_error(0)))
        config = builder.create_builder_config()
        config.set_flag(trt.BuilderFlag.INT8)
        config.int8_calibrator = EntropyCalibrator(images, cache_file)
        profile = builder.create_optimization_profile()
        profile.set_shape(network.get_input(0).name, *[(BATCH, *images.shape[1:])] * 3)
        config.add_optimization_profile(profile)
        plan = builder.build_serialized_network(network, config)
    with trt.Runtime(LOGGER) as runtime:
        return runtime.deserialize_cuda_engine(plan)


def infer(engine, batch):
    context, stream = engine.create_execution_context(), cuda.Stream()
    context.set_input_shape(engine.get_tensor_name(0), batch.shape)
    host, device = {}, {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        shape, dtype = tuple(context.get_tensor_shape(name)), trt.nptype(engine.get_tensor_dtype(name))
        host[name] = cuda.pagelocked_empty(shape, dtype)
        device[name] = cuda.mem_alloc(host[name].nbytes)
        context.set_tensor_address(name, int(device[name]))
    given, result = host
    host[given][:] = batch
    cuda.memcpy_htod_async(device[given], host[given], stream)
    context.execute_async_v3(stream_handle=stream.handle)
    cuda.memcpy_dtoh_async(host[result], device[result], stream)
    stream.synchronize()
    return host[result]


def main():
    model, data, cache_file = sys.argv[1:]
    images = np.ascontiguousarray(np.load(data), dtype=np.float32)
    engine = build_engine(model, images, cache_file)
    print(infer(engine, images[:BATCH]).argmax(1).tolist())


if __name__ == "__main__":
    main()
