# SPDX-License-Identifier: Apache-2.0
"""Plugins that are written in Python: level 10 has them."""

import ctypes
import threading
import unittest

import harness
import numpy as np
from harness import need
from trt_support import EXPLICIT, LEVEL, Case, trt


@unittest.skipUnless(LEVEL == 8, "of level 8")
class Level8(unittest.TestCase):
    def test_they_are_of_level_10(self):
        self.assertFalse(hasattr(trt, "IPluginV2DynamicExt") or hasattr(trt, "IPluginV3"))
        with self.assertRaises(TypeError):
            trt.IPluginCreator()


def floats(address, dims):
    count = int(np.prod(tuple(dims)))
    return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32).reshape(tuple(dims))


if LEVEL == 10:

    class Repeat(trt.IPluginV2DynamicExt):
        """Its input `times` times along the last axis."""

        def __init__(self, times=2):
            trt.IPluginV2DynamicExt.__init__(self)
            self.plugin_type, self.plugin_version, self.plugin_namespace = "Repeat", "1", ""
            self.num_outputs, self.times = 1, int(times)

        def get_output_datatype(self, index, input_types):
            return input_types[0]

        def get_output_dimensions(self, output_index, inputs, builder):
            dims = trt.DimsExprs(inputs[0])
            dims[len(dims) - 1] = builder.operation(trt.DimensionOperation.PROD, dims[-1], builder.constant(self.times))
            return dims

        def supports_format_combination(self, pos, in_out, num_inputs):
            return in_out[pos].format == trt.TensorFormat.LINEAR and in_out[pos].type == trt.float32

        def configure_plugin(self, inputs, outputs):
            self.sizes = [tuple(outputs[0].desc.dims), tuple(outputs[0].max)]

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            floats(outputs[0], output_desc[0].dims)[:] = np.concatenate([floats(inputs[0], input_desc[0].dims)] * self.times, -1)

        def serialize(self):
            return bytes([self.times])

        def clone(self):
            other = Repeat()
            other.__dict__.update(self.__dict__)
            return other

    class RepeatCreator(trt.IPluginCreator):
        def __init__(self):
            trt.IPluginCreator.__init__(self)
            self.name, self.plugin_version, self.plugin_namespace = "Repeat", "1", ""
            self.field_names = trt.PluginFieldCollection([trt.PluginField("times", np.array([]), trt.PluginFieldType.INT32)])
            self.made, self.breaks = [], False

        def create_plugin(self, name, fields):
            self.made.append((name, [(field.name, field.data.tolist()) for field in fields]))
            return Repeat(fields[0].data[0])

        def deserialize_plugin(self, name, data):
            return Broken("enqueue") if self.breaks else Repeat(data[0])

    CREATOR = RepeatCreator()
    trt.get_plugin_registry().register_creator(CREATOR, "")

    class Broken(Repeat):
        """Fails in one method."""

        def __init__(self, method, answer=None):
            super().__init__()
            self.method, self.answer = method, answer
            setattr(self, method, self.fail)

        def fail(self, *arguments):
            if self.answer is not None:
                return self.answer
            raise ValueError("no luck today")

        def clone(self):
            return Broken(self.method, self.answer)


@unittest.skipUnless(LEVEL == 10, "of level 10")
class Derived(Case):
    def network_of(self, plugin, sizes=(2, 3)):
        network = self.builder.create_network(EXPLICIT)
        layer = network.add_plugin_v2([network.add_input("x", trt.float32, sizes)], plugin)
        if layer is not None:
            layer.get_output(0).name = "y"
            network.mark_output(layer.get_output(0))
        return network

    def result(self, engine, given):
        context = engine.create_execution_context()
        context.set_input_shape("x", given.shape)
        result = np.zeros(tuple(context.get_tensor_shape("y")), np.float32)
        self.assertTrue(context.execute_v2([given.ctypes.data, result.ctypes.data]))
        return result

    def test_a_layer(self):
        plan = self.built(self.network_of(Repeat(3)))
        given = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(self.result(self.engine(plan), given), np.concatenate([given] * 3, 1))
        self.assertEqual(self.log.errors(), [])

    def test_open_sizes(self):
        network = self.network_of(Repeat(2), (-1, 3))
        profile = self.builder.create_optimization_profile()
        profile.set_shape("x", (1, 3), (2, 3), (4, 3))
        self.config.add_optimization_profile(profile)
        engine = self.engine(self.built(network))
        for rows in (1, 4):
            given = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
            np.testing.assert_array_equal(self.result(engine, given), np.concatenate([given] * 2, 1))

    def test_contexts_of_several_threads(self):
        network = self.network_of(Repeat(2), (-1, 3))
        profile = self.builder.create_optimization_profile()
        profile.set_shape("x", (1, 3), (2, 3), (4, 3))
        self.config.add_optimization_profile(profile)
        engine, wrong = self.engine(self.built(network)), []

        def work():
            context = engine.create_execution_context()
            for i in range(60):  # other sizes each time: the plugin is asked by one thread while another runs it
                given = np.full((1 + i % 4, 3), i, np.float32)
                context.set_input_shape("x", given.shape)
                result = np.zeros(tuple(context.get_tensor_shape("y")), np.float32)
                if not context.execute_v2([given.ctypes.data, result.ctypes.data]) or result.shape[1] != 6 or (result != i).any():
                    wrong.append(i)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_node_of_a_model(self):
        onnx = need("onnx")
        helper = onnx.helper
        node = helper.make_node("Repeat", ["x"], ["y"], name="again", domain="", times=[4])
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2])],
                                  [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 8])])
        network = self.builder.create_network(EXPLICIT)
        parser = trt.OnnxParser(network, self.log)
        self.assertTrue(parser.parse(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()),
                        [parser.get_error(i).desc() for i in range(parser.num_errors)])
        self.assertEqual(CREATOR.made[-1], ("again", [("times", [4])]))
        given = np.float32([[5, 6]])
        np.testing.assert_array_equal(self.result(self.engine(self.built(network)), given), np.tile(given, 4))

    def test_what_fails_is_told(self):
        for method, answer, text in (("get_output_dimensions", None, "Broken.get_output_dimensions(): ValueError: no luck today"),
                                     ("get_output_datatype", "float", "Broken.get_output_datatype() returned a value of another type"),
                                     ("serialize", None, "ValueError: no luck today"),
                                     ("configure_plugin", None, "ValueError: no luck today"),
                                     ("supports_format_combination", None, "ValueError: no luck today")):
            self.log.lines.clear()
            self.assertIsNone(self.built(self.network_of(Broken(method, answer))), method)
            self.assertIn(text, "\n".join(self.log.errors()), method)

    def test_what_fails_in_a_run(self):
        plan = self.built(self.network_of(Repeat()))
        CREATOR.breaks = True
        self.addCleanup(setattr, CREATOR, "breaks", False)
        context = self.engine(plan).create_execution_context()
        given, result = np.zeros((2, 3), np.float32), np.zeros((2, 6), np.float32)
        self.assertFalse(context.execute_v2([given.ctypes.data, result.ctypes.data]))
        self.assertIn("Broken.enqueue(): ValueError: no luck today", "\n".join(self.log.errors()))

    def test_creators(self):
        registry = trt.get_plugin_registry()
        self.assertIs(registry.get_creator("Repeat", "1", ""), CREATOR)
        self.assertIs(registry.get_plugin_creator("Repeat", "1"), CREATOR)
        self.assertEqual([field.name for field in CREATOR.field_names], ["times"])
        self.assertFalse(registry.register_creator(CREATOR, ""))

        class Bare(trt.IPluginCreatorV3One):
            pass
        with self.assertRaisesRegex(TypeError, "to be overridden"):
            Bare().create_plugin("x", trt.PluginFieldCollection(), trt.TensorRTPhase.BUILD)
        with self.assertRaisesRegex(TypeError, "a plugin is expected"):
            self.network_of(object())

    def test_sizes_as_expressions(self):
        with self.assertRaises(ValueError):
            trt.DimsExprs(9)
        with self.assertRaises(IndexError):
            trt.DimsExprs(2)[2]
        self.assertEqual((len(trt.DimsExprs(3)), trt.DimsExprs(3)[0]), (3, None))


if __name__ == "__main__":
    harness.main()
