# SPDX-License-Identifier: Apache-2.0
"""What a user of TensorRT's Python bindings writes: parser, calibrator, INT8 plan, inspector, runtime, context. Compiled bindings run it,
which know nothing of Octet: bindings_program.py MODEL FOLDER."""

import pathlib
import sys

import numpy as np
import tensorrt_bindings as trt


class Log(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.text = ""

    def log(self, severity, message):
        if severity <= trt.ILogger.WARNING:
            self.text += message + "\n"


class Calibrator(trt.IInt8EntropyCalibrator2):
    def __init__(self, batches):
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.batches, self.kept, self.cache = iter(batches), None, b""

    def get_batch_size(self):
        return 4

    def get_batch(self, names):
        self.kept = next(self.batches, None)
        return None if self.kept is None else [int(self.kept.ctypes.data)]

    def read_calibration_cache(self):
        return None

    def write_calibration_cache(self, cache):
        self.cache = bytes(cache)


def parsed(builder, log, model):
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, log)
    assert parser.parse_from_file(model), log.text
    parser = trt.OnnxParser(builder.create_network(0), log)
    assert not parser.parse(b"no model") and parser.num_errors == 1 and parser.get_error(0).desc()
    layer = network.get_layer(0)
    assert network.num_layers > 3 and layer.name and layer.get_output(0).shape
    return network


def built(builder, log, network, shape, folder):
    config = builder.create_builder_config()
    name = network.get_input(0).name
    profile = builder.create_optimization_profile()
    profile.set_shape(name, (1,) + shape[1:], shape, shape)
    assert config.add_optimization_profile(profile) == 0
    chance = np.random.default_rng(1)
    calibrator = Calibrator([np.ascontiguousarray(chance.random(shape, np.float32)) for _ in range(4)])
    config.int8_calibrator = calibrator
    config.set_flag(trt.BuilderFlag.INT8)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, log.text
    assert calibrator.cache.startswith(b"TRT-") and b"EntropyCalibration2" in calibrator.cache
    (folder / "client.engine").write_bytes(plan)
    return plan


def run(log, plan, shape, folder):
    engine = trt.Runtime(log).deserialize_cuda_engine(plan)
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    assert len(names) == 2 and engine.get_tensor_mode(names[0]) == trt.TensorIOMode.INPUT
    assert engine.get_tensor_profile_shape(names[0], 0)[2] == shape
    text = engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
    assert "Int8" in text, text
    context = engine.create_execution_context()
    assert context.set_input_shape(names[0], shape)
    x = np.random.default_rng(5).random(shape, np.float32)
    y = np.zeros(tuple(context.get_tensor_shape(names[1])), np.float32)
    context.set_tensor_address(names[0], x.ctypes.data)
    context.set_tensor_address(names[1], y.ctypes.data)
    assert context.execute_async_v3(0), log.text
    assert not context.set_input_shape("nothing", shape)
    np.savez(folder / "input.npz", **{names[0]: x})
    np.savez(folder / "output.npz", **{names[1]: y})


def made(builder, log):
    """A network layer by layer, and what no network makes."""
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (1, 1, 2, 2))
    conv = network.add_convolution_nd(x, 1, (1, 1), np.full(1, 3, np.float32), np.ones(1, np.float32))
    conv.name, conv.stride_nd = "triple", (1, 1)
    relu = network.add_activation(conv.get_output(0), trt.ActivationType.RELU)
    network.mark_output(relu.get_output(0))
    assert (conv.num_output_maps, tuple(conv.kernel_size_nd), conv.kernel.tolist()) == (1, (1, 1), [3])
    # Functions of later versions, which stand elsewhere in 10.8.
    assert not network.get_flag(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    assert not network.mark_debug(x) and "INetworkDefinition::markDebug" in log.text
    if hasattr(network, "add_cumulative"):
        axis = network.add_constant((), np.array(3, np.int32)).get_output(0)
        sums = network.add_cumulative(x, axis, trt.CumulativeOperation.SUM, False, True)
        assert (sums.exclusive, sums.reverse) == (False, True) and tuple(sums.get_output(0).shape) == (1, 1, 2, 2)
        network.remove_tensor(sums.get_output(0))
    assert network.add_loop() is None and "loop" in log.text
    assert builder.build_serialized_network(network, builder.create_builder_config()) is not None
    assert trt.Runtime(log).deserialize_cuda_engine(b"ftrt" + bytes(60)) is None


def main(model, folder):
    log, folder = Log(), pathlib.Path(folder)
    builder = trt.Builder(log)
    network = parsed(builder, log, model)
    shape = (4,) + tuple(network.get_input(0).shape)[1:]
    run(log, built(builder, log, network, shape, folder), shape, folder)
    made(builder, log)
    assert trt.get_plugin_registry() is not None and trt.init_libnvinfer_plugins(log, "")
    print(trt.__version__)


main(*sys.argv[1:])
