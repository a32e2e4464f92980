# SPDX-License-Identifier: Apache-2.0
"""Plugins of functions (tensorrt.plugin), and what lies around them in the registry, allocators and parsers: level 10 has them."""

import os
import subprocess
import sys
import typing
import unittest

import harness
import numpy as np
import numpy.typing as npt
from harness import BUILD, DIGITS, need
from trt_support import EXPLICIT, LEVEL, Case, trt

EMULATOR = BUILD / "tests/gpu/emulator"


@unittest.skipUnless(LEVEL == 8, "of level 8")
class Level8(unittest.TestCase):
    def test_they_are_of_level_10(self):
        self.assertFalse(hasattr(trt, "plugin") or hasattr(trt, "IPluginResource"))
        with self.assertRaisesRegex(ImportError, "of level 10"):
            import tensorrt.plugin  # noqa: F401


if LEVEL == 10:
    import tensorrt.plugin as trtp

    @trtp.register("quick::add")
    def describe_add(x: trtp.TensorDesc, amount: float, times: int = 1) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("quick::add")
    def add(x: trtp.Tensor, amount: float, times: int, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
        np.add(x, amount * times, out=np.asarray(outputs[0]))

    @trtp.register("quick::pad", lazy_register=True)
    def describe_pad(x: trtp.TensorDesc, pads: npt.NDArray[np.int32], mode: str = "wrap") -> trtp.TensorDesc:
        desc = x.like()
        for axis in range(len(pads) // 2):
            desc.shape_expr[x.ndim - axis - 1] += int(pads[2 * axis] + pads[2 * axis + 1])
        return desc

    @trtp.impl("quick::pad")
    def pad(x: trtp.Tensor, pads: npt.NDArray[np.int32], mode: str, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
        around = [(0, 0)] * (x.ndim - len(pads) // 2) + [tuple(pads[2 * i : 2 * i + 2]) for i in reversed(range(len(pads) // 2))]
        np.asarray(outputs[0])[:] = np.pad(x, around, mode)

    @trtp.register("quick::in_place")
    def describe_in_place(x: trtp.TensorDesc, delta: int) -> trtp.TensorDesc:
        return x.aliased()

    @trtp.impl("quick::in_place")
    def in_place(x: trtp.Tensor, delta: int, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
        assert outputs[0].is_aliased and outputs[0].get_aliased() is x and x.data_ptr == outputs[0].data_ptr
        np.asarray(outputs[0])[:] += delta

    @trtp.register("quick::positive")
    def describe_positive(x: trtp.TensorDesc) -> typing.Tuple[trtp.TensorDesc, trtp.TensorDesc]:
        upper = x.shape_expr.numel()
        count = trtp.size_tensor(upper // 2, upper)
        return trtp.from_shape_expr((count.expr(),), dtype=trt.float32), count

    @trtp.impl("quick::positive")
    def positive(x: trtp.Tensor, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
        found = np.asarray(x)[np.asarray(x) > 0]
        np.asarray(outputs[0])[: len(found)] = found
        np.asarray(outputs[1])[...] = len(found)

    @trtp.register("quick::tuned")
    def describe_tuned(x: trtp.TensorDesc, factor: float, unused: bool = False) -> trtp.TensorDesc:
        return trtp.from_shape_expr((x.shape_expr[0], trtp.cdiv(x.shape_expr[1], 2) * 2 - x.shape_expr[1] + x.shape_expr[1]), x.dtype)

    @trtp.autotune("quick::tuned")
    def tune(x: trtp.TensorDesc, outputs: typing.Tuple[trtp.TensorDesc]) -> typing.List[trtp.AutoTuneCombination]:
        TOLD.append((x.dtype, x.shape, outputs[0].ndim))
        return [trtp.AutoTuneCombination("FP16, FP16", "LINEAR", [3, 4]), trtp.AutoTuneCombination("FP32|INT8, FP32|INT8", tactics=[7])][TOLD.which : TOLD.which + 1]

    @trtp.impl("quick::tuned")
    def tuned(x: trtp.Tensor, factor: float, outputs: typing.Tuple[trtp.Tensor], stream: int, tactic: int) -> None:
        TOLD.tactics.add((tactic, x.dtype))
        np.asarray(outputs[0])[:] = np.multiply(x, factor)

    @trtp.register("quick::repeated")
    def describe_repeated(x: trtp.TensorDesc) -> trtp.TensorDesc:
        sizes = trtp.ShapeExprs.from_tuple((trtp.max(x.shape_expr[0], 3), trtp.min(x.shape_expr[1], 2)))
        return trtp.from_shape_expr(sizes, x.dtype)

    @trtp.autotune("quick::repeated")
    def tune_repeated(x: trtp.TensorDesc, outputs: typing.Tuple[trtp.TensorDesc]) -> typing.List[trtp.AutoTuneCombination]:
        TOLD.shapes.append((x.shape, x.is_dynamic))
        return [trtp.AutoTuneCombination("FP32, FP32")]

    @trtp.impl("quick::repeated")
    def repeated(x: trtp.Tensor, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
        flat = x.aliased((x.numel(),))
        assert flat.is_aliased and not x.is_data_dependent and flat.shape == (x.numel(),) and flat.data_ptr == x.data_ptr
        np.asarray(outputs[0])[:] = np.resize(np.asarray(flat), outputs[0].shape)

    class Told(list):
        which, tactics, shapes = 0, set(), []

    TOLD = Told()


@unittest.skipUnless(LEVEL == 10, "of level 10")
class Quick(Case):
    def network_of(self, make, shape=(2, 3)):
        network = self.builder.create_network(EXPLICIT)
        layer = network.add_plugin(make(network.add_input("x", trt.float32, shape)))
        if layer is None:
            return None
        layer.get_output(0).name = "y"
        for i in range(layer.num_outputs):
            network.mark_output(layer.get_output(i))
        if -1 in shape:
            profile = self.builder.create_optimization_profile()
            profile.set_shape("x", (1, 3), (2, 3), (4, 3))
            self.config.add_optimization_profile(profile)
        return network

    def result(self, make, given, shape=None):
        """Of a plan that was written and loaded again."""
        plan = self.built(self.network_of(make, shape or given.shape))
        self.assertIsNotNone(plan, self.log.errors())
        context = self.engine(bytes(plan)).create_execution_context()
        context.set_input_shape("x", given.shape)
        y = np.zeros(tuple(context.get_tensor_shape("y")), np.float32)
        context.set_tensor_address("x", given.ctypes.data)
        context.set_tensor_address("y", y.ctypes.data)
        self.assertTrue(context.execute_async_v3(0), self.log.errors())
        return y

    def test_elements(self):
        given = np.arange(6, dtype=np.float32).reshape(2, 3)
        for make, sum_of in ((lambda x: trtp.op.quick.add(x, amount=2.5), 2.5), (lambda x: trt.plugin.op.quick.add(x, 2, times=3), 6)):
            np.testing.assert_array_equal(self.result(make, given), given + np.float32(sum_of))
        self.assertEqual(self.log.errors(), [])

    def test_sizes_that_are_computed(self):
        pads = np.array([1, 2, 0, 1], np.int32)
        for rows in (1, 4):
            given = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
            y = self.result(lambda x: trtp.op.quick.pad(x, pads=pads), given, (-1, 3))
            np.testing.assert_array_equal(y, np.pad(given, [(0, 1), (1, 2)], "wrap"))
            self.config = self.builder.create_builder_config()

    def test_an_output_that_is_its_input(self):
        given = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(self.result(lambda x: trtp.op.quick.in_place(x, delta=4), given), np.arange(6).reshape(2, 3) + 4)

    def test_sizes_that_data_tell(self):
        class Allocator(trt.IOutputAllocator):
            def __init__(self):
                trt.IOutputAllocator.__init__(self)

            def reallocate_output(self, name, memory, size, alignment):
                self.memory = np.zeros(max(1, size // 4), np.float32)
                return self.memory.ctypes.data

            def notify_shape(self, name, shape):
                self.shape = tuple(shape)

        plan = self.built(self.network_of(lambda x: trtp.op.quick.positive(x)))
        self.assertIsNotNone(plan, self.log.errors())
        engine = self.engine(bytes(plan))
        context, allocator = engine.create_execution_context(), Allocator()
        given, count = np.float32([[1, -1, 2], [-3, -4, 5]]), np.zeros(1, np.int32)
        context.set_tensor_address("x", given.ctypes.data)
        context.set_output_allocator("y", allocator)
        context.set_tensor_address(engine.get_tensor_name(2), count.ctypes.data)
        self.assertTrue(context.execute_async_v3(0), self.log.errors())
        self.assertEqual((allocator.shape, allocator.memory[:3].tolist(), count[0]), ((3,), [1, 2, 5], 3))

    def test_types_and_tactics(self):
        given = np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])
        for which, tactic, dtype in ((0, 3, trt.float16), (1, 7, trt.float32)):
            TOLD.clear()
            TOLD.which = which
            TOLD.tactics.clear()
            np.testing.assert_array_equal(self.result(lambda x: trtp.op.quick.tuned(x, factor=0.5), given), given / 2)
            self.assertEqual(TOLD[0], (trt.float32, (2, 4), 2))
            self.assertEqual(TOLD.tactics, {(tactic, dtype)})

    def test_sizes_of_open_networks(self):
        given = np.float32([[1, 2, 3], [4, 5, 6]])
        np.testing.assert_array_equal(self.result(lambda x: trtp.op.quick.repeated(x), given, shape=(-1, 3)), [[1, 2], [3, 4], [5, 6]])
        shape, is_dynamic = TOLD.shapes[0]
        self.assertEqual((shape, is_dynamic, len(shape)), ((-1, 3), True, 2))
        with self.assertRaisesRegex(AttributeError, "nothing is known of 'opt'"):
            shape.opt  # noqa: B018

    def test_shapes_are_numbers(self):
        self.assertEqual((trtp.Shape((2, 3)).numel(), trtp.Shape((2, 3)).is_dynamic, trtp.Shape((2, -1)).is_dynamic), (6, False, True))
        with self.assertRaisesRegex(ValueError, "is open"):
            trtp.Shape((2, -1)).numel()
        with self.assertRaisesRegex(ValueError, "no 'opt'"):
            trtp.Shape((2, 3)).opt  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "nothing is known of 'max'"):
            trtp.Shape((2, -1)).max  # noqa: B018
        with self.assertRaisesRegex(ValueError, "two numbers"):
            trtp.max(1, 2)
        self.assertEqual((trtp.max(trtp.ShapeExpr(3), 5).constant_value(), trtp.min(3, trtp.ShapeExpr(5)).constant_value()), (5, 3))
        self.assertTrue(trtp.ShapeExpr().is_fake and not trtp.ShapeExpr(3).is_fake)

    def test_nodes_of_a_model(self):
        onnx = need("onnx")
        helper = onnx.helper
        nodes = [helper.make_node("add", ["x"], ["a"], name="first", amount=1.5, times=2, plugin_namespace="quick"),
                 helper.make_node("pad", ["a"], ["y"], name="second", pads=[0, 1], mode="edge", plugin_namespace="quick")]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3])])
        trtp.op.quick.pad.register()
        network = self.builder.create_network(EXPLICIT)
        parser = trt.OnnxParser(network, self.log)
        self.assertTrue(parser.parse(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()),
                        [parser.get_error(i).desc() for i in range(parser.num_errors)])
        context = self.engine(self.built(network)).create_execution_context()
        given, y = np.float32([[1, 2]]), np.zeros((1, 3), np.float32)
        self.assertTrue(context.execute_v2([given.ctypes.data, y.ctypes.data]), self.log.errors())
        self.assertEqual(y.tolist(), [[4, 5, 5]])

    def creator_fields(self, name, *fields):
        """The attributes of quick::NAME made of fields, as parsers and plans give them."""
        creator = trt.get_plugin_registry().get_creator(name, "1", "quick")
        return creator.create_plugin("x", trt.PluginFieldCollection(list(fields)), trt.TensorRTPhase.BUILD).attributes

    def test_no_number_of_a_field_is_cut(self):
        def field(name, *numbers, dtype, type=None):
            return trt.PluginField(name, np.array(numbers, dtype), type or trt.PluginFieldType.UNKNOWN)

        amount, text = field("amount", 2, dtype=np.float64), field("mode", *b"edge", dtype=np.int8, type=trt.PluginFieldType.CHAR)
        self.assertEqual(self.creator_fields("add", field("amount", 3, dtype=np.int32), field("times", 2, dtype=np.int64)), {"amount": 3.0, "times": 2})
        for wrong, error, said in ((field("times", 2.7, dtype=np.float32), TypeError, "'times' is 2.7.*, and int is expected"),
                                   (field("times", 2, dtype=np.float32), TypeError, "'times' is 2.0, and int is expected"),
                                   (field("times", 1, 2, dtype=np.int64), ValueError, "has 2 values, and one is expected"),
                                   (field("times", 50, dtype=np.int8, type=trt.PluginFieldType.CHAR), TypeError, "'times' is a field of type CHAR, and int")):
            with self.assertRaisesRegex(error, said):
                self.creator_fields("add", amount, wrong)
        trtp.op.quick.pad.register()
        pads = self.creator_fields("pad", field("pads", 1, 2, dtype=np.int64), text)
        self.assertEqual((pads["pads"].tolist(), pads["pads"].dtype, pads["mode"]), ([1, 2], np.int32, "edge"))
        for wrong, said in ((field("pads", 1.5, dtype=np.float32), "an array of float32 with 1 dimensions, and one of int32"),
                            (field("pads", 1 << 40, dtype=np.int64), "'pads' has values that int32 cannot hold"),
                            (field("mode", 1, dtype=np.int32), "'mode' is a field of type INT32, and str is expected")):
            with self.assertRaisesRegex(TypeError, said):
                self.creator_fields("pad", wrong, *([] if "pads" == wrong.name else [field("pads", 1, dtype=np.int32)]))
        self.assertEqual(self.creator_fields("tuned", field("factor", 1, dtype=np.float32), field("unused", 1, dtype=np.int8)), {"factor": 1.0, "unused": True})
        with self.assertRaisesRegex(TypeError, "'unused' is 2, and bool is expected"):
            self.creator_fields("tuned", field("factor", 1, dtype=np.float32), field("unused", 2, dtype=np.int8))

    def test_a_real_number_for_an_integer_attribute_of_a_node(self):
        onnx = need("onnx")
        helper = onnx.helper
        infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2]) for name in ("x", "y")]
        for attributes, error in (({"amount": 2, "times": 2}, None), ({"amount": 1.5, "times": 2.7}, "'times' is 2.7")):
            node = helper.make_node("add", ["x"], ["y"], name="first", plugin_namespace="quick", **attributes)
            model = helper.make_model(helper.make_graph([node], "g", infos[:1], infos[1:]), ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
            network = self.builder.create_network(EXPLICIT)
            parser = trt.OnnxParser(network, self.log)
            self.assertEqual(parser.parse(model.SerializeToString()), error is None)
            if error is None:  # an integer for a real one is the same number
                context = self.engine(self.built(network)).create_execution_context()
                given, y = np.float32([[1, 2]]), np.zeros((1, 2), np.float32)
                self.assertTrue(context.execute_v2([given.ctypes.data, y.ctypes.data]), self.log.errors())
                self.assertEqual(y.tolist(), [[5, 6]])
            else:
                self.assertIn(error, parser.get_error(0).desc())

    def test_arguments(self):
        x = self.builder.create_network(EXPLICIT).add_input("x", trt.float32, (2, 3))
        for arguments, named, text in (((), {}, "takes 1 tensors"), ((x,), {}, "needs the attribute 'amount'"), ((x,), {"scale": 1}, "no attribute 'scale'"),
                                       ((x,), {"amount": "much"}, "'amount' is 'much', and float is expected")):
            with self.assertRaisesRegex(TypeError, text):
                trtp.op.quick.add(*arguments, **named)
        with self.assertRaisesRegex(TypeError, "array of float64 with 2 dimensions, and one of int32"):
            trtp.op.quick.pad(x, pads=np.zeros((2, 2)))
        with self.assertRaisesRegex(AttributeError, "no plugin quick::none"):
            trtp.op.quick.none  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "namespace 'nowhere'"):
            trtp.op.nowhere  # noqa: B018

    def test_functions_that_do_not_fit(self):
        def bare(x):
            return x

        def open_ended(x: trtp.TensorDesc) -> tuple:
            return x

        def odd(x: trtp.TensorDesc, table: dict) -> trtp.TensorDesc:
            return x.like()

        def right(x: trtp.TensorDesc, size: int) -> trtp.TensorDesc:
            return x.like()

        for plugin_id, function, text in (("broken", right, "NAMESPACE::NAME is expected"), ("a::b", bare, "'x' of bare\\(\\) has no annotation"),
                                          ("a::b", open_ended, "one TensorDesc for each output"), ("a::b", odd, "'table' is annotated <class 'dict'>"),
                                          ("quick::add", right, "stands twice")):
            with self.assertRaisesRegex(ValueError, text):
                trtp.register(plugin_id)(function)
        trtp.register("a::b", lazy_register=True)(right)

        def no_outputs(x: trtp.Tensor, size: int, stream: int) -> None:
            pass

        def another(x: trtp.Tensor, width: int, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
            pass

        for function, text in ((no_outputs, "lacks 'outputs'"), (another, "has 'width', which register\\(\\) has not")):
            with self.assertRaisesRegex(ValueError, text):
                trtp.impl("a::b")(function)
        with self.assertRaisesRegex(ValueError, "register\\(\\) comes first"):
            trtp.impl("a::c")(another)
        for text in ("FP31, FP32", "FP32|FP16, FP32|FP16|INT8", "FP32"):
            combination = trtp.AutoTuneCombination(text + (",FP32" if "," not in text else ""), "LINEAR")
            with self.assertRaises(ValueError):
                combination._expanded(2 if "," in text else 3)
        with self.assertRaisesRegex(ValueError, "numbers from 1 on"):
            trtp.AutoTuneCombination("FP32", "LINEAR", [1, 1])

    def test_compiled_kernels_are_refused_by_name(self):
        def describe(x: trtp.TensorDesc, size: int) -> trtp.TensorDesc:
            return x.like()

        def compiled(x: trtp.TensorDesc, size: int, outputs: typing.Tuple[trtp.TensorDesc], tactic: int
                     ) -> typing.Tuple[typing.Union[str, bytes], typing.Union[str, bytes], trtp.KernelLaunchParams, trtp.SymExprs]:
            return trtp.KernelLaunchParams()

        definition = trtp.register("quick::ahead", lazy_register=True)(describe)
        trtp.aot_impl("quick::ahead")(compiled)
        with self.assertRaisesRegex(NotImplementedError, "quick::ahead has no function that computes: write one with @tensorrt.plugin.impl.*aot_impl"):
            self.network_of(lambda x: definition(x, size=1))
        with self.assertRaisesRegex(NotImplementedError, "leave aot out"):
            network = self.builder.create_network(EXPLICIT)
            network.add_plugin(trtp.op.quick.add(network.add_input("x", trt.float32, (2, 3)), amount=1), aot=True)
        with self.assertRaisesRegex(NotImplementedError, "KernelLaunchParams describes kernels"):
            compiled(None, 1, (), 0)

    def test_what_fails_is_told(self):
        def one_of_two(x: trtp.TensorDesc) -> typing.Tuple[trtp.TensorDesc, trtp.TensorDesc]:
            return (x.like(),)

        def fails(x: trtp.Tensor, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
            raise ValueError("no luck today")

        trtp.register("quick::one_of_two")(one_of_two)
        trtp.impl("quick::one_of_two")(fails)
        self.assertIsNone(self.built(self.network_of(lambda x: trtp.op.quick.one_of_two(x))))
        self.assertIn("returned 1 values, and its annotation says 2", "\n".join(self.log.errors()))

        def whole(x: trtp.TensorDesc) -> trtp.TensorDesc:
            return x.like()

        trtp.register("quick::fails")(whole)
        trtp.impl("quick::fails")(fails)
        context = self.engine(self.built(self.network_of(lambda x: trtp.op.quick.fails(x)))).create_execution_context()
        x, y = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
        self.assertFalse(context.execute_v2([x.ctypes.data, y.ctypes.data]))
        self.assertIn("ValueError: no luck today", "\n".join(self.log.errors()))

    def test_on_a_gpu_tensors_are_the_gpus(self):
        if not (EMULATOR / "libcuda_emulated.so").exists():
            self.skipTest(f"{EMULATOR} was not built")
        env = {**os.environ, "OCTET_CUDA_DRIVER": str(EMULATOR / "libcuda_emulated.so"), "OCTET_NVRTC": str(EMULATOR / "libnvrtc_emulated.so"),
               "OCTET_KERNEL_CACHE": "off", "OCTET_TENSORRT_DEVICE": "cuda:0"}
        done = subprocess.run([sys.executable, __file__, "gpu"], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "[3.0, 6.0, 9.0]\n", done.stderr)


def on_gpu():
    """In a process of its own: the emulated GPU's memory can be read by the host, which is how the function computes."""

    @trtp.register("quick::triple")
    def describe(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("quick::triple")
    def compute(x: trtp.Tensor, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
        assert not hasattr(x, "__array_interface__")
        arrays = []
        for tensor in (x, outputs[0]):
            interface = tensor.__cuda_array_interface__
            arrays.append(np.asarray(type("View", (), {"__array_interface__": interface})()))
        arrays[1][:] = 3 * arrays[0]

    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(EXPLICIT)
    layer = network.add_plugin(trtp.op.quick.triple(network.add_input("x", trt.float32, (3,))))
    network.mark_output(layer.get_output(0))
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
    x, y = np.float32([1, 2, 3]), np.zeros(3, np.float32)
    assert engine.create_execution_context().execute_v2([x.ctypes.data, y.ctypes.data])
    print(y.tolist())


@unittest.skipUnless(LEVEL == 10, "of level 10")
class Around(Case):
    def test_the_registry_of_builders(self):
        registry = trt.get_builder_plugin_registry(trt.EngineCapability.STANDARD)
        self.assertIs(registry, trt.get_plugin_registry())
        self.assertIs(registry.get_creator("add", "1", "quick"), trtp.op.quick.add.creator)
        self.assertIn(trtp.op.quick.add.creator, registry.all_creators_recursive)
        fields = trt.PluginFieldCollection_([trt.PluginField("amount", np.float64([1]), trt.PluginFieldType.FLOAT64)])
        self.assertEqual(registry.get_creator("add", "1", "quick").create_plugin("x", fields, trt.TensorRTPhase.BUILD).attributes, {"amount": 1, "times": 1})

    def test_that_tensors_cannot_be_watched_is_seen(self):
        self.assertFalse(hasattr(trt.IExecutionContext, "set_all_tensors_debug_state"))  # Polygraphy looks for it

    def test_an_allocator_in_streams(self):
        class Allocator(trt.IGpuAsyncAllocator):
            def __init__(self):
                trt.IGpuAsyncAllocator.__init__(self)

            def allocate_async(self, size, alignment, flags, stream):
                raise AssertionError("memory is the host's")

            def deallocate_async(self, memory, stream):
                raise AssertionError("memory is the host's")
        self.builder.gpu_allocator = Allocator()
        self.assertIsNotNone(self.built(), self.log.errors())

    def test_outputs_of_parsed_layers(self):
        network = self.builder.create_network(EXPLICIT)
        parser = trt.OnnxParser(network, self.log)
        self.assertTrue(parser.parse((DIGITS / "digits.onnx").read_bytes()))
        self.assertEqual(parser.get_layer_output_tensor("/8/Gemm", 0).name, "logits")
        self.assertIsNone(parser.get_layer_output_tensor("/8/Gemm", 1))


if __name__ == "__main__":
    if "gpu" in sys.argv[1:]:
        on_gpu()
    else:
        harness.main()
