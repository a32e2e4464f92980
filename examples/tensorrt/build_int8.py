# SPDX-License-Identifier: Apache-2.0
"""Builds an INT8 engine of an ONNX model the way tutorials for TensorRT do, looks into it and runs it: a calibrator with a cache, a loop over
the network, flags as bits, the parser's flag for instance normalization, the engine inspector. Runs at both levels.

usage: build_int8.py MODEL.onnx IMAGES.npy ENGINE.plan CACHE

IMAGES.npy holds float32 inputs, one sample a row."""

import json
import os
import sys

import numpy as np
import tensorrt as trt

BATCH = 8


class Calibrator(trt.IInt8EntropyCalibrator2):
    """Batches of an array. Memory of the device is the host's here, so the address of an array will do."""

    def __init__(self, images, cache_file):
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.images, self.cache_file, self.next = images, cache_file, 0
        self.batch = np.empty((BATCH, *images.shape[1:]), np.float32)

    def get_batch_size(self):
        return BATCH

    def get_batch(self, names):
        if self.next + BATCH > len(self.images):
            return None
        self.batch[:] = self.images[self.next : self.next + BATCH]
        self.next += BATCH
        return [self.batch.ctypes.data]

    def read_calibration_cache(self):
        if os.path.exists(self.cache_file):
            with open(self.cache_file, "rb") as file:
                return file.read()
        return None

    def write_calibration_cache(self, cache):
        with open(self.cache_file, "wb") as file:
            file.write(cache)


def parsed_network(builder, logger, model):
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    parser = trt.OnnxParser(network, logger)
    parser.set_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)
    with open(model, "rb") as file:
        if not parser.parse(file.read()):
            sys.exit("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    return network


def build(logger, model, images, cache_file):
    builder = trt.Builder(logger)
    network = parsed_network(builder, logger, model)
    network[0].precision = trt.float32  # the first layer stays in FP32
    for i in range(network.num_layers):
        layer = network.get_layer(i)
        print(f"{layer.name}: {layer.type}, asked for {layer.precision if layer.precision_is_set else 'nothing'}")
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.flags |= 1 << int(trt.BuilderFlag.INT8)
    config.flags |= 1 << int(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    config.int8_calibrator = Calibrator(images, cache_file)
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        sizes = tuple(tensor.shape)[1:]
        profile.set_shape(tensor.name, (1, *sizes), (BATCH, *sizes), (4 * BATCH, *sizes))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return plan if plan is not None else sys.exit("the build failed; the log says why")


def look_into(engine, images):
    context = engine.create_execution_context()
    context.set_input_shape(engine.get_tensor_name(0), images.shape)
    inspector = engine.create_engine_inspector()
    inspector.execution_context = context  # sizes that the engine leaves open are those of the context
    for i in range(engine.num_layers):
        layer = json.loads(inspector.get_layer_information(i, trt.LayerInformationFormat.JSON))
        print(layer["Name"], "->", [output["Format/Datatype"] for output in layer["Outputs"]])


def run(engine, images):
    context = engine.create_execution_context()
    outputs = {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            context.set_input_shape(name, images.shape)
            context.set_tensor_address(name, images.ctypes.data)
        else:
            outputs[name] = np.empty(tuple(context.get_tensor_shape(name)), trt.nptype(engine.get_tensor_dtype(name)))
            context.set_tensor_address(name, outputs[name].ctypes.data)
    if not context.execute_async_v3(0):
        sys.exit("the run failed; the log says why")
    return outputs


def main():
    model, data, plan_file, cache_file = sys.argv[1:]
    images = np.ascontiguousarray(np.load(data), dtype=np.float32)
    logger = trt.Logger(trt.Logger.WARNING)
    with open(plan_file, "wb") as file:
        file.write(build(logger, model, images, cache_file))
    with open(plan_file, "rb") as file, trt.Runtime(logger) as runtime:
        engine = runtime.deserialize_cuda_engine(file.read())
    look_into(engine, images[:BATCH])
    for name, output in run(engine, images[:BATCH]).items():
        print(name, output.argmax(1).tolist())


if __name__ == "__main__":
    main()
