# SPDX-License-Identifier: Apache-2.0
"""Engines, values and plugins of the module tensorrt, at the level of OCTET_TENSORRT_VERSION."""

import ctypes
import gc
import json
import os
import unittest

import harness
import numpy as np
import trt_symbols
from trt_support import EXPLICIT, LEVEL, Case, digits, trt


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
        inspector.error_recorder = None
        self.assertIsNone(inspector.error_recorder)

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
        memory = np.zeros(16)
        with self.assertRaisesRegex(ValueError, "has 1 addresses; the engine has 2"):
            context.execute_v2([memory.ctypes.data])
        with self.assertRaisesRegex(ValueError, "bindings: 7 is no address of memory"):
            context.execute_v2([memory.ctypes.data, 7])
        with self.assertRaisesRegex(ValueError, "image: 1 is no address of memory"):
            context.set_tensor_address("image", 1)
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

    def test_a_plan_of_trtexec_has_its_profiles_and_details(self):
        plan = harness.scratch() / f"trtexec{LEVEL}.plan"
        ranges = [f"--{end}Shapes=image:{size}x1x8x8" for end, size in (("min", 1), ("opt", 4), ("max", 16))]
        harness.octet("trtexec", f"--onnx={harness.DIGITS / 'digits.onnx'}", *ranges, "--profilingVerbosity=detailed", "--refit", f"--saveEngine={plan}",
                      "--skipInference")
        engine = self.engine(plan.read_bytes())
        self.assertEqual(engine.get_tensor_profile_shape("image", 0), [(1, 1, 8, 8), (4, 1, 8, 8), (16, 1, 8, 8)])
        self.assertEqual(engine.profiling_verbosity, trt.ProfilingVerbosity.DETAILED)
        context = engine.create_execution_context()
        self.assertTrue(context.set_input_shape("image", (16, 1, 8, 8)))
        self.assertFalse(context.set_input_shape("image", (64, 1, 8, 8)))
        inspector = engine.create_engine_inspector()
        for i in range(engine.num_layers):
            layer = json.loads(inspector.get_layer_information(i, trt.LayerInformationFormat.JSON))
            for value in layer["Inputs"] + layer["Outputs"]:
                self.assertIn("Format/Datatype", value, layer["Name"])
        refitter = trt.Refitter(engine, self.log)
        self.assertTrue(refitter.get_all_weights())
        self.assertTrue(refitter.refit_cuda_engine(), self.log.errors())

    def test_an_engine_of_octet_build_has_all_details(self):
        plan = harness.scratch() / f"build{LEVEL}.octet"
        harness.octet("build", harness.DIGITS / "digits.onnx", "-o", plan)
        engine = self.engine(plan.read_bytes())
        self.assertEqual(engine.profiling_verbosity, trt.ProfilingVerbosity.DETAILED)
        self.assertIn('"LayerType"', engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON))

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
            self.assertTrue(refitter.set_named_weights(names[0], np.full(count, 3, np.float32), location=trt.TensorLocation.HOST))
            np.testing.assert_array_equal(kept, np.full(count, 2))
            self.assertTrue(refitter.refit_cuda_engine_async(0))


class Caches(Case):
    """Of a decoder: an input that Concat continues."""

    def decoder(self):
        onnx = harness.need("onnx")
        make, real = onnx.helper.make_node, onnx.TensorProto.FLOAT

        def value(name, dims):
            return onnx.helper.make_tensor_value_info(name, real, dims)

        nodes = [make("Concat", ["past", "x"], ["present"], axis=2), make("Transpose", ["present"], ["turned"], perm=[0, 1, 3, 2]),
                 make("MatMul", ["x", "turned"], ["scores"]), make("Softmax", ["scores"], ["weights"], axis=-1),
                 make("MatMul", ["weights", "present"], ["y"])]
        graph = onnx.helper.make_graph(nodes, "decoder", [value("x", [1, 2, 1, 4]), value("past", [1, 2, "n", 4])],
                                       [value("y", [1, 2, 1, 4]), value("present", [1, 2, "m", 4])])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        network = self.builder.create_network(EXPLICIT)
        self.assertTrue(trt.OnnxParser(network, self.log).parse(model.SerializeToString()))
        profile = self.builder.create_optimization_profile()
        profile.set_shape("past", (1, 2, 1, 4), (1, 2, 8, 4), (1, 2, 32, 4))
        self.config.add_optimization_profile(profile)
        return self.engine(self.builder.build_serialized_network(network, self.config))

    def test_one_address_may_be_a_cache_before_and_behind_a_run(self):
        engine = self.decoder()
        apart, together = engine.create_execution_context(), engine.create_execution_context()
        chance = np.random.default_rng(1)
        past = chance.random((1, 2, 1, 4), np.float32)
        buffer = np.zeros(2 * 32 * 4, np.float32)
        buffer[: past.size] = past.ravel()

        def step(context, x, rows, before, behind):
            y = np.zeros((1, 2, 1, 4), np.float32)
            self.assertTrue(context.set_input_shape("past", (1, 2, rows, 4)))
            for name, address in (("x", x.ctypes.data), ("past", before), ("y", y.ctypes.data), ("present", behind)):
                self.assertTrue(context.set_tensor_address(name, address))
            self.assertTrue(context.execute_async_v3(0), self.log.lines)
            return y.tobytes()

        for rows in range(1, 32):
            x, present = chance.random((1, 2, 1, 4), np.float32), np.zeros((1, 2, rows + 1, 4), np.float32)
            wanted = step(apart, x, rows, past.ctypes.data, present.ctypes.data)
            self.assertEqual(step(together, x, rows, buffer.ctypes.data, buffer.ctypes.data), wanted)
            self.assertEqual(buffer[: present.size].tobytes(), present.tobytes())
            past = present


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
        self.assertEqual((trt.Dims4(1, 2, 3, 4), trt.DimsHW(w=6, h=5).w, trt.volume(dims)), ((1, 2, 3, 4), 6, 8))
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
        severities = [trt.Logger.INTERNAL_ERROR, trt.Logger.ERROR, trt.Logger.WARNING, trt.Logger.INFO, trt.Logger.VERBOSE]
        self.assertEqual(sorted(reversed(severities)), severities)
        self.assertTrue(trt.Logger.ERROR <= trt.Logger.WARNING and not trt.Logger.INFO < trt.Logger.INFO)

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


class Names(Case):
    def test_an_engine_is_a_sequence_of_names_at_both_levels(self):
        engine = self.engine(self.built())
        self.assertEqual([name for name in engine], ["image", "logits"])
        self.assertEqual((engine[0], engine[1], engine[-1], engine[-2]), ("image", "logits", "logits", "image"))
        for beyond in (2, -3):
            with self.assertRaises(IndexError):
                engine[beyond]


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

    def test_a_layer_that_is_not_made_is_none_with_a_reason(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 2))
        self.assertIsNone(network.add_ragged_softmax(x, x))
        self.assertIn("no operator does this", self.log.errors()[0])


@unittest.skipUnless(LEVEL == 10, "of level 10")
class Level10(Case):
    def test_attention(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 2, 3, 4))
        attention = network.add_attention(x, x, x, norm_op=trt.AttentionNormalizationOp.SOFTMAX, causal=True)
        attention.name = "heads"
        attention.decomposable = True
        with self.assertRaises(ValueError):
            attention.mask = x
        self.assertEqual((attention.name, attention.causal, attention.mask, attention.num_inputs), ("heads", True, None, 3))
        self.assertEqual(network.get_layer(0).name, "heads")
        network.mark_output(attention.get_output(0))
        engine = self.engine(self.built(network))
        given = np.random.default_rng(1).standard_normal((1, 2, 3, 4)).astype(np.float32)
        result = np.zeros_like(given)
        self.assertTrue(engine.create_execution_context().execute_v2([given.ctypes.data, result.ctypes.data]))
        scores = np.where(np.tril(np.ones((3, 3), bool)), given @ given.transpose(0, 1, 3, 2), -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(result, shares / shares.sum(-1, keepdims=True) @ given, rtol=1e-5, atol=1e-6)

    def test_readers_of_plans(self):
        plan = bytes(self.built())

        class Reader(trt.IStreamReader):
            def __init__(self):
                super().__init__()
                self.at = 0

            def read(self, size):
                part = plan[self.at:self.at + size]
                self.at += len(part)
                return part

        class ReaderV2(trt.IStreamReaderV2):
            def __init__(self):
                super().__init__()
                self.at = 0

            def read(self, size, stream):
                part = plan[self.at:self.at + size]
                self.at += len(part)
                return part

            def seek(self, offset, where):
                self.at = offset + {trt.SeekPosition.SET: 0, trt.SeekPosition.CUR: self.at, trt.SeekPosition.END: len(plan)}[where]
                return True
        runtime = trt.Runtime(self.log)
        for reader in (Reader(), ReaderV2()):
            self.assertEqual(runtime.deserialize_cuda_engine(reader).num_io_tensors, 2)
        with self.assertRaises(TypeError):
            runtime.deserialize_cuda_engine(3)

    def test_the_config_of_a_parser_has_tensorrts_keyword(self):
        parser = trt.OnnxParser(self.builder.create_network(EXPLICIT), self.log)
        self.assertTrue(parser.set_builder_config(builder_config=self.config))


@unittest.skipUnless(LEVEL == 8, "of level 8")
class Level8(Case):
    def test_padding_of_images(self):
        network = self.builder.create_network(EXPLICIT)
        layer = network.add_padding_nd(network.add_input("x", trt.float32, (1, 1, 4, 4)), (1, 2), (3, 4))
        self.assertEqual((layer.pre_padding, layer.post_padding), ((1, 2), (3, 4)))
        layer.post_padding = (5, 6)
        self.assertEqual(layer.post_padding_nd, (5, 6))

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
