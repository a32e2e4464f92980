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
    assert network.add_ragged_softmax(x, x) is None and "addRaggedSoftMax" in log.text
    assert builder.build_serialized_network(network, builder.create_builder_config()) is not None
    assert trt.Runtime(log).deserialize_cuda_engine(b"ftrt" + bytes(60)) is None


def ran(builder, log, network, **arrays):
    """The output `y` of a network, of arrays for the inputs."""
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None, log.text
    context = trt.Runtime(log).deserialize_cuda_engine(plan).create_execution_context()
    y = np.zeros(tuple(context.get_tensor_shape("y")), np.float32)
    for name, array in {**arrays, "y": y}.items():
        assert context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0), log.text
    return y


def looped(builder, log):
    """A recurrence over the rows of x, which a condition stops from growing: as NumPy computes it."""
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (5, 3))
    rows = network.add_constant((), np.array(5, np.int32)).get_output(0)
    loop = network.add_loop()
    loop.name = "rows"
    loop.add_trip_limit(rows, trt.TripLimit.COUNT)
    state = loop.add_recurrence(network.add_constant((3,), np.zeros(3, np.float32)).get_output(0))
    total = network.add_elementwise(state.get_output(0), loop.add_iterator(x).get_output(0), trt.ElementWiseOperation.SUM).get_output(0)
    largest = network.add_reduce(total, trt.ReduceOperation.MAX, 1, False).get_output(0)
    limit = network.add_constant((), np.array(4, np.float32)).get_output(0)
    either = network.add_if_conditional()
    either.set_condition(network.add_elementwise(largest, limit, trt.ElementWiseOperation.GREATER).get_output(0))
    inside = either.add_input(total).get_output(0)
    next_state = either.add_output(network.add_unary(inside, trt.UnaryOperation.NEG).get_output(0), inside).get_output(0)
    state.set_input(1, next_state)
    out = loop.add_loop_output(next_state, trt.LoopOutput.CONCATENATE, 1)
    out.set_input(1, rows)
    out.get_output(0).name = "y"
    network.mark_output(out.get_output(0))
    assert tuple(out.get_output(0).shape) == (3, 5) and (out.loop.name, out.axis, out.kind) == ("rows", 1, trt.LoopOutput.CONCATENATE)
    given = 2 * np.random.default_rng(7).random((5, 3), np.float32)
    state, states = np.zeros(3, np.float32), []
    for row in given:
        state = state + row
        state = -state if state.max() > 4 else state
        states.append(state)
    assert (ran(builder, log, network, x=given) == np.stack(states, 1)).all()


def attended(builder, log):
    """Attention in one piece, with a mask and one head of keys for two of queries."""
    chance, network = np.random.default_rng(9), builder.create_network(0)
    arrays = {name: chance.standard_normal((1, heads, 6, 8)).astype(np.float32) for name, heads in (("q", 4), ("k", 2), ("v", 2))}
    attention = network.add_attention(*(network.add_input(name, trt.float32, array.shape) for name, array in arrays.items()),
                                      trt.AttentionNormalizationOp.SOFTMAX, False)
    arrays["mask"] = np.tril(np.ones((1, 1, 6, 6), bool))
    attention.mask = network.add_input("mask", trt.bool, (1, 1, 6, 6))
    attention.decomposable = True
    attention.get_output(0).name = "y"
    network.mark_output(attention.get_output(0))
    keys, values = (np.repeat(arrays[name], 2, axis=1) for name in ("k", "v"))
    scores = np.where(arrays["mask"], arrays["q"] @ keys.transpose(0, 1, 3, 2), -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    assert np.abs(ran(builder, log, network, **arrays) - shares / shares.sum(-1, keepdims=True) @ values).max() < 1e-5


def main(model, folder):
    log, folder = Log(), pathlib.Path(folder)
    builder = trt.Builder(log)
    network = parsed(builder, log, model)
    shape = (4,) + tuple(network.get_input(0).shape)[1:]
    run(log, built(builder, log, network, shape, folder), shape, folder)
    made(builder, log)
    looped(builder, log)
    if hasattr(network, "add_attention"):
        attended(builder, log)
    assert trt.get_plugin_registry() is not None and trt.init_libnvinfer_plugins(log, "")
    print(trt.__version__)


main(*sys.argv[1:])
