# SPDX-License-Identifier: Apache-2.0
"""The Python module tensorrt at one level, which OCTET_TENSORRT_VERSION says: tensorrt_test.py runs this at both."""

import ctypes
import gc
import json
import os
import sys
import unittest

import harness
import numpy as np
import trt_symbols
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


class Calibration(Case):
    def test_a_calibrator_builds_an_int8_engine(self):
        calibrator = Calibrator(pointers())
        plan = self.calibrated(calibrator)
        self.assertIs(self.config.int8_calibrator, calibrator)
        self.assertEqual(calibrator.calls, ["size", "read"] + ["batch"] * 21 + ["write"])
        self.assertEqual(calibrator.names, ["image"])
        self.assertTrue(calibrator.written.startswith(b"TRT-") and b"-EntropyCalibration2\nimage: " in calibrator.written)
        context = self.engine(plan).create_execution_context()
        images, logits = digits("test", 64), np.zeros((64, 10), np.float32)
        context.set_input_shape("image", images.shape)
        self.assertTrue(context.execute_v2([images.ctypes.data, logits.ctypes.data]))
        self.assertGreater((logits.argmax(1) == np.load(DIGITS / "digits.npz")["test_labels"][:64]).mean(), 0.95)
        again = Calibrator([], cache=calibrator.written)
        from_cache = self.calibrated(again)
        self.assertEqual(again.calls, ["size", "read"])
        self.assertEqual(bytes(from_cache), bytes(self.calibrated(Calibrator([], cache=bytearray(calibrator.written)))))
        self.assertEqual(self.log.errors(), [])

    def test_arrays_instead_of_pointers(self):
        images = digits("train", 200)
        from_arrays = self.calibrated(Calibrator([images[i : i + 10]] for i in range(0, 200, 10)))
        self.assertEqual(bytes(from_arrays), bytes(self.calibrated(Calibrator(pointers()))))

        class Lazy:
            def __init__(self, first):
                self.first = first

            def __len__(self):
                return 1

            def __getitem__(self, i):
                if i != 0:
                    raise IndexError
                return images[self.first : self.first + 10].copy()
        lazy = Calibrator(Lazy(i) for i in range(0, 200, 10))
        self.assertEqual(bytes(self.calibrated(lazy)), bytes(from_arrays))

    def test_every_kind(self):
        algorithm = trt.CalibrationAlgoType
        kinds = {trt.IInt8EntropyCalibrator: algorithm.ENTROPY_CALIBRATION, trt.IInt8EntropyCalibrator2: algorithm.ENTROPY_CALIBRATION_2,
                 trt.IInt8MinMaxCalibrator: algorithm.MINMAX_CALIBRATION, trt.IInt8LegacyCalibrator: algorithm.LEGACY_CALIBRATION,
                 trt.IInt8Calibrator: algorithm.MINMAX_CALIBRATION}
        caches = {}
        for base, expected in kinds.items():
            self.assertTrue(issubclass(base, trt.IInt8Calibrator))
            members = {name: value for name, value in vars(Calibrator).items() if callable(value) and name != "__init__"}
            members |= {"get_quantile": lambda _: 0.999, "get_regression_cutoff": lambda _: 1.0, "read_histogram_cache": lambda *_: None,
                        "write_histogram_cache": lambda *_: None}
            if base is trt.IInt8Calibrator:
                members["get_algorithm"] = lambda _: algorithm.MINMAX_CALIBRATION
            calibrator = type("Derived", (base,), members)()
            calibrator.batches, calibrator.cache, calibrator.size, calibrator.calls = pointers(5), None, 10, []
            self.assertEqual(calibrator.get_algorithm(), expected)
            self.assertIsNotNone(self.calibrated(calibrator), self.log.errors())
            caches[base] = calibrator.written.split(b"\n", 1)[1]
        self.assertEqual(caches[trt.IInt8Calibrator], caches[trt.IInt8MinMaxCalibrator])
        self.assertNotEqual(caches[trt.IInt8EntropyCalibrator2], caches[trt.IInt8MinMaxCalibrator])

    def refused(self, calibrator, *words):
        self.log.lines.clear()
        self.assertIsNone(self.calibrated(calibrator))
        errors = self.log.errors()
        self.assertEqual(len(errors), 1, errors)
        for word in words:
            self.assertIn(word, errors[0])

    def test_wrong_calibrators_are_one_message_each(self):
        good = digits("train", 10)

        def broken():
            raise OSError("no such folder")
        self.refused(Calibrator([]), "before the first sample")
        self.refused(Calibrator([[]]), "before the first sample")
        self.refused(Calibrator([[0]]), "Tensor `image` is bound to nullptr")
        self.refused(Calibrator([[1, 2]]), "2 pointers", "1 inputs")
        self.refused(Calibrator([[17]]), "17 is no address")
        self.refused(Calibrator([[None]]), "get_batch", "NoneType")
        self.refused(Calibrator([17]), "neither None nor a list")
        self.refused(Calibrator([["text"]]), "get_batch")
        self.refused(Calibrator([[good[:, :, ::2]]]), "not contiguous", "ascontiguousarray")
        self.refused(Calibrator([[good.astype(np.float64)]]), "5120 bytes", "needs 2560")
        self.refused(Calibrator([[good[:5]]]), "1280 bytes", "needs 2560")
        self.refused(Calibrator([broken]), "Calibrator.get_batch(): OSError: no such folder")
        self.refused(Calibrator(pointers(), cache=17), "read_calibration_cache")
        self.refused(Calibrator(pointers(), size="ten"), "get_batch_size")
        self.refused(type("Empty", (trt.IInt8MinMaxCalibrator,), {})(), "get_batch_size")

    def test_constraints_and_ranges(self):
        network = self.parsed()
        self.config.flags |= 1 << int(trt.BuilderFlag.INT8) | 1 << int(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        self.config.int8_calibrator = Calibrator(pointers(5))
        network[0].precision = trt.float32
        self.assertEqual([(layer.precision_is_set, layer.precision) for layer in network][:2], [(True, trt.float32), (False, trt.float32)])
        layers = json.loads(self.engine(self.built(network)).create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON))
        self.assertIn("Layers", layers)
        tensor = network.get_input(0)
        self.assertIsNone(tensor.dynamic_range)
        tensor.dynamic_range = (-1, 1)
        self.assertEqual(tensor.dynamic_range, (-1, 1))
        with self.assertRaises(ValueError):
            tensor.dynamic_range = (1, -1)
        network[0].reset_precision()
        self.assertFalse(network[0].precision_is_set)


class Networks(Case):
    def test_layer_by_layer(self):
        network = self.builder.create_network(EXPLICIT)
        kernel = np.random.default_rng(1).normal(size=(4, 1, 3, 3)).astype(np.float32)
        x = network.add_input("x", trt.float32, (1, 1, 6, 6))
        convolution = network.add_convolution_nd(input=x, num_output_maps=4, kernel_shape=(3, 3), kernel=kernel, bias=trt.Weights())
        convolution.stride_nd = (1, 1)
        convolution.padding_nd = trt.DimsHW(1, 1)
        del kernel
        gc.collect()
        relu = network.add_activation(convolution.get_output(0), trt.ActivationType.RELU)
        pool = network.add_pooling_nd(relu.get_output(0), trt.PoolingType.MAX, (2, 2))
        pool.stride_nd = [2, 2]
        shuffle = network.add_shuffle(pool.get_output(0))
        shuffle.reshape_dims = (1, -1)
        total = network.add_reduce(shuffle.get_output(0), trt.ReduceOperation.SUM, axes=2, keep_dims=True)
        total.name = "total"
        total.get_output(0).name = "y"
        network.mark_output(total.get_output(0))
        self.assertEqual((len(network), [layer.type for layer in network][-1]), (5, trt.LayerType.REDUCE))
        self.assertEqual(convolution.get_output(0).shape, (1, 4, 6, 6))
        self.assertEqual(convolution.kernel.shape, (36,))
        self.assertEqual((pool.stride_nd, pool.type, network[-1].name), ((2, 2), trt.PoolingType.MAX, "total"))
        with self.assertRaises(IndexError):
            network[5]
        engine = self.engine(self.built(network))
        given, result = np.ones((1, 1, 6, 6), np.float32), np.zeros((1, 1), np.float32)
        self.assertTrue(engine.create_execution_context().execute_v2([given.ctypes.data, result.ctypes.data]))
        self.assertNotEqual(result[0, 0], 0)

    def test_a_layer_is_looked_at_as_what_its_type_says(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 3, 4, 4))
        added = network.add_convolution_nd(x, 16, (3, 3), np.zeros((16, 3, 3, 3), np.float32))
        layer = network.get_layer(0)
        self.assertEqual((type(layer), layer, layer.type), (trt.ILayer, added, trt.LayerType.CONVOLUTION))
        layer.__class__ = trt.IConvolutionLayer
        self.assertEqual((layer.kernel_size_nd, layer.num_output_maps), ((3, 3), 16))
        for parsed in self.parsed():
            self.assertIsInstance(parsed, trt.ILayer)

    def test_builders_may_be_derived(self):
        class Builder(trt.Builder):
            def __init__(self, logger):
                super().__init__(logger)
                self.built = 0

            def build_serialized_network(self, network, config):
                self.built += 1
                return super().build_serialized_network(network, config)
        with Builder(self.log) as self.builder, self.builder.create_builder_config() as self.config:
            self.assertGreater(self.built().nbytes, 1000)
            self.assertEqual(self.builder.built, 1)
            self.assertIs(self.builder.logger, self.log)

    def test_scale_constant_and_concatenation(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 2, 2, 2))
        scale = network.add_scale(x, trt.ScaleMode.CHANNEL, np.float32([1, 2]), np.float32([2, 3]), np.ones(2, np.float32))
        constant = network.add_constant((1, 2, 2, 2), np.arange(8, dtype=np.float32))
        joined = network.add_concatenation([scale.get_output(0), constant.get_output(0)])
        joined.axis = 1
        network.mark_output(joined.get_output(0))
        np.testing.assert_array_equal(constant.weights, np.arange(8))
        engine = self.engine(self.built(network))
        given, result = np.ones((1, 2, 2, 2), np.float32), np.zeros((1, 4, 2, 2), np.float32)
        self.assertTrue(engine.create_execution_context().execute_v2([given.ctypes.data, result.ctypes.data]))
        np.testing.assert_array_equal(result[0, :2, 0, 0], [3, 5])
        np.testing.assert_array_equal(result[0, 2:].ravel(), np.arange(8))


class Engines(Case):
    def test_it_tells_of_itself_and_outlives_its_makers(self):
        self.config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
        with trt.Runtime(self.log) as runtime:
            engine = runtime.deserialize_cuda_engine(self.built())
        del runtime, self.builder, self.config
        gc.collect()
        names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
        self.assertEqual(names, ["image", "logits"])
        self.assertEqual([engine.get_tensor_mode(name) for name in names], [trt.TensorIOMode.INPUT, trt.TensorIOMode.OUTPUT])
        self.assertEqual(engine.get_tensor_profile_shape("image", 0), [(1, 1, 8, 8), (10, 1, 8, 8), (64, 1, 8, 8)])
        inspector = engine.create_engine_inspector()
        for i in range(engine.num_layers):
            self.assertIn("Name", json.loads(inspector.get_layer_information(i, trt.LayerInformationFormat.JSON)))
        self.assertEqual(bytes(engine.serialize()), bytes(self.engine(engine.serialize()).serialize()))
        context = engine.create_execution_context()
        self.assertIs(context.engine, engine)
        inspector.execution_context = context
        self.assertIs(inspector.execution_context, context)

    def test_allocators_and_profilers(self):
        engine, test = self.engine(self.built()), self

        class Allocator(trt.IOutputAllocator):
            def __init__(self):
                trt.IOutputAllocator.__init__(self)
                self.shape, self.memory = None, None

            def reallocate_output(self, name, memory, size, alignment):
                test.assertEqual((name, size), ("logits", 160))
                self.memory = np.zeros(size, np.uint8)
                return self.memory.ctypes.data

            def notify_shape(self, name, shape):
                self.shape = tuple(shape)

        class Profiler(trt.IProfiler):
            def __init__(self):
                trt.IProfiler.__init__(self)
                self.times = {}

            def report_layer_time(self, name, ms):
                self.times[name] = ms
        context, allocator, profiler = engine.create_execution_context(), Allocator(), Profiler()
        context.profiler = profiler
        self.assertIs(context.profiler, profiler)
        images = digits("test", 4)
        context.set_input_shape("image", images.shape)
        self.assertTrue(context.set_tensor_address("image", images.ctypes.data))
        self.assertTrue(context.set_output_allocator("logits", allocator))
        self.assertTrue(context.execute_async_v3(stream_handle=0))
        self.assertEqual((allocator.shape, len(profiler.times)), ((4, 10), engine.num_layers))
        self.assertTrue(all(ms >= 0 for ms in profiler.times.values()))

    def test_what_is_wrong_is_none_or_false_and_told(self):
        runtime = trt.Runtime(self.log)
        self.assertIsNone(runtime.deserialize_cuda_engine(b"no engine"))
        self.assertTrue(self.log.errors())
        engine = self.engine(self.built())
        context = engine.create_execution_context()
        with self.assertRaises(ValueError):
            context.execute_v2([1])
        self.assertFalse(context.execute_async_v3(0))
        self.assertFalse(context.set_input_shape("image", (65, 1, 8, 8)))
        parser = trt.OnnxParser(self.builder.create_network(EXPLICIT), self.log)
        self.assertFalse(parser.parse(b"no model"))
        self.assertGreater(parser.num_errors, 0)
        error = parser.get_error(0)
        said = error.desc()
        self.assertTrue(str(error) and said)
        parser.clear_errors()
        self.assertFalse(parser.parse(b""))
        self.assertEqual(error.desc(), said)
        with self.assertRaises(ValueError):
            self.builder.create_optimization_profile().set_shape("image", (2, 1, 8, 8), (1, 1, 8, 8), (1, 1, 8, 8))
        with self.assertRaises(TypeError):
            runtime.deserialize_cuda_engine(17)

    def test_timing_cache_and_refit(self):
        self.config.set_timing_cache(self.config.create_timing_cache(b""), ignore_mismatch=False)
        self.config.set_flag(trt.BuilderFlag.REFIT)
        engine = self.engine(self.built())
        self.assertGreaterEqual(self.config.get_timing_cache().serialize().nbytes, 0)
        self.assertTrue(engine.refittable)
        refitter = trt.Refitter(engine, self.log)
        names = refitter.get_all_weights()
        self.assertTrue(names)
        self.assertEqual(refitter.get_missing_weights(), [])
        if LEVEL == 10:
            count = refitter.get_weights_prototype(names[0]).size
            self.assertTrue(refitter.set_named_weights(names[0], np.full(count, 2, np.float32)))
            kept = refitter.get_named_weights(names[0])
            self.assertTrue(refitter.set_named_weights(names[0], np.full(count, 3, np.float32)))
            np.testing.assert_array_equal(kept, np.full(count, 2))
            self.assertTrue(refitter.refit_cuda_engine_async(0))


class Symbols(unittest.TestCase):
    def test_what_programs_use_is_there(self):
        classes = {trt: trt_symbols.MODULE + " " + trt_symbols.LAYERS, **{getattr(trt, name): members for name, members in trt_symbols.CLASSES.items()}}
        for owner, names in classes.items():
            has, lacks = trt_symbols.of_level(names, LEVEL)
            self.assertEqual([name for name in has if not hasattr(owner, name)], [], owner)
            self.assertEqual([name for name in lacks if hasattr(owner, name)], [], owner)


class Values(unittest.TestCase):
    def test_dims_are_sequences(self):
        dims = trt.Dims((1, 2, 3))
        self.assertEqual((dims, len(dims), dims[1:], dims[-1], list(dims)), ((1, 2, 3), 3, (2, 3), 3, [1, 2, 3]))
        dims[2] = 4
        self.assertTrue(dims == [1, 2, 4] and dims != (1, 2))
        self.assertEqual((trt.Dims4(1, 2, 3, 4), trt.DimsHW(5, 6).w, trt.volume(dims)), ((1, 2, 3, 4), 6, 8))
        for wrong in ((1,) * 9, (1.5,), ("x",)):
            with self.assertRaises((ValueError, TypeError)):
                trt.Dims(wrong)

    def test_enumerations(self):
        self.assertEqual((1 << int(trt.BuilderFlag.INT8), str(trt.float32), trt.nptype(trt.int8)), (2, "DataType.FLOAT", np.int8))
        self.assertEqual(len({trt.float32, trt.float16, trt.int8, trt.int32, trt.bool}), 5)
        for name in ("BuilderFlag", "MemoryPoolType", "NetworkDefinitionCreationFlag", "PreviewFeature", "QuantizationFlag", "TacticSource"):
            self.assertTrue(getattr(trt, name).__members__)
        self.assertEqual((trt.float32.itemsize, trt.float16.itemsize, trt.int8.itemsize), (4, 2, 1))
        self.assertEqual(trt.Logger.WARNING, trt.ILogger.Severity.WARNING)

    def test_the_levels_differ_where_programs_ask(self):
        for owner, name in ((trt.ICudaEngine, "num_bindings"), (trt.IBuilderConfig, "max_workspace_size"), (trt.Builder, "build_engine"),
                            (trt.IExecutionContext, "execute_async_v2"), (trt.INetworkDefinition, "add_fully_connected")):
            self.assertEqual(hasattr(owner, name), LEVEL == 8, name)
        self.assertEqual(hasattr(trt, "int64"), LEVEL == 10)
        self.assertEqual(trt.__version__, {8: "8.6.1", 10: "10.16.1"}[LEVEL])

    def test_weights(self):
        array = np.arange(6, dtype=np.int32)
        weights = trt.Weights(array)
        self.assertEqual((weights.dtype, weights.size, weights.nbytes), (trt.int32, 6, 24))
        array[0] = 7
        self.assertEqual(weights.numpy()[0], 7)
        with self.assertRaises(TypeError):
            trt.Weights(np.zeros(2, complex))

    def test_cudart(self):
        runtime = ctypes.CDLL(os.path.join(trt.cudart_folder, "libcudart.so"))
        pointer = ctypes.c_void_p()
        self.assertEqual(runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)), 0)
        self.assertEqual(runtime.cudaFree(pointer), 0)
        self.assertIn(trt.cudart_folder, os.environ["LD_LIBRARY_PATH"])


class Plugins(Case):
    def test_registry_and_fields(self):
        registry = trt.get_plugin_registry()
        self.assertTrue(trt.init_libnvinfer_plugins(self.log, ""))
        self.assertIsInstance(registry.plugin_creator_list, list)
        self.assertIsNone(registry.get_plugin_creator("NoSuchPlugin", "1"))
        self.assertEqual(registry.load_library("/nowhere.so"), 0)
        field = trt.PluginField("alpha", np.array([0.5, 1], np.float32), trt.PluginFieldType.FLOAT32)
        self.assertEqual((field.name, field.type, field.size, field.data.tolist()), ("alpha", trt.PluginFieldType.FLOAT32, 2, [0.5, 1]))
        fields = trt.PluginFieldCollection([field, trt.PluginField("text", b"abc", trt.PluginFieldType.CHAR)])
        fields.append(trt.PluginField("count", np.int32([3])))
        self.assertEqual([(f.name, f.type.name) for f in fields], [("alpha", "FLOAT32"), ("text", "CHAR"), ("count", "INT32")])

    def test_loops_are_refused_with_a_reason(self):
        self.assertIsNone(self.builder.create_network(EXPLICIT).add_loop())
        self.assertTrue(self.log.errors())


@unittest.skipUnless(LEVEL == 8, "of level 8")
class Level8(Case):
    def test_bindings(self):
        engine = self.engine(self.built())
        self.assertEqual((engine.num_bindings, list(engine), engine["logits"], engine[0]), (2, ["image", "logits"], 1, "image"))
        self.assertEqual([engine.binding_is_input(name) for name in engine], [True, False])
        self.assertEqual(engine.get_binding_shape(0), (-1, 1, 8, 8))
        self.assertEqual(engine.get_binding_dtype("logits"), trt.float32)
        context = engine.create_execution_context()
        context.set_binding_shape(0, (2, 1, 8, 8))
        images, logits = digits("test", 2), np.zeros((2, 10), np.float32)
        self.assertTrue(context.execute_async_v2(bindings=[images.ctypes.data, logits.ctypes.data], stream_handle=0))
        self.assertTrue(logits.any())

    def test_implicit_batch(self):
        self.builder.max_batch_size = 4
        network = self.builder.create_network()
        x = network.add_input("x", trt.float32, (3,))
        network.mark_output(network.add_activation(x, trt.ActivationType.RELU).get_output(0))
        self.assertTrue(network.has_implicit_batch_dimension)
        engine = self.builder.build_engine(network, self.config)
        self.assertEqual((engine.max_batch_size, engine.get_binding_shape(0)), (4, (3,)))
        given, result = np.float32([[-1, 2, 3], [4, -5, 6]]), np.zeros((2, 3), np.float32)
        context = engine.create_execution_context()
        self.assertTrue(context.execute(batch_size=2, bindings=[given.ctypes.data, result.ctypes.data]))
        np.testing.assert_array_equal(result, np.maximum(given, 0))
        self.assertTrue(context.execute_async(2, [given.ctypes.data, result.ctypes.data], 0))
        with self.assertRaises(ValueError):
            context.execute(batch_size=2)


if __name__ == "__main__":
    harness.main()
