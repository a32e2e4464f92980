# SPDX-License-Identifier: Apache-2.0
"""Shape inputs of plugins, of networks and of ONNX models: level 10 has them."""

import ctypes
import unittest

import harness
import numpy as np
from harness import need
from trt_support import EXPLICIT, LEVEL, Case, trt


def array_at(address, desc):
    dims = tuple(desc.dims)
    count = int(np.prod(dims))
    return np.frombuffer((ctypes.c_float * max(count, 1)).from_address(address), np.float32, count).reshape(dims)


if LEVEL == 10:

    class Resample(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
        """Nearest neighbors of a list of numbers, as many as the first number of its shape input."""

        def __init__(self):
            for base in Resample.__bases__:
                base.__init__(self)
            self.plugin_name, self.plugin_version, self.plugin_namespace = "Resample", "1", ""
            self.num_outputs = 1

        def get_capability_interface(self, kind):
            return self

        def get_fields_to_serialize(self):
            return trt.PluginFieldCollection([])

        def get_output_data_types(self, input_types):
            assert len(input_types) == 1
            return input_types

        def get_output_shapes(self, inputs, shape_inputs, builder):
            assert (len(inputs), len(shape_inputs)) == (1, 1)
            return [trt.DimsExprs([shape_inputs[0][0]])]

        def supports_format_combination(self, pos, in_out, num_inputs):
            assert (num_inputs, len(in_out)) == (1, 2)
            return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

        def configure_plugin(self, inputs, outputs):
            assert len(inputs) == 1

        def on_shape_change(self, inputs, outputs):
            assert len(inputs) == 1

        def set_tactic(self, tactic):
            pass

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            given, result = array_at(inputs[0], input_desc[0]), array_at(outputs[0], output_desc[0])
            result[:] = given[np.arange(len(result)) * len(given) // max(len(result), 1)]

        def attach_to_context(self, context):
            return self.clone()

        def clone(self):
            return Resample()

    class ResampleCreator(trt.IPluginCreatorV3One):
        def __init__(self):
            trt.IPluginCreatorV3One.__init__(self)
            self.name, self.plugin_version, self.plugin_namespace = "Resample", "1", ""
            self.field_names = trt.PluginFieldCollection([])
            self.fields = None

        def create_plugin(self, name, fields, phase):
            self.fields = [field.name for field in fields]
            return Resample()

    class Allocator(trt.IOutputAllocator):
        def __init__(self):
            trt.IOutputAllocator.__init__(self)
            self.result, self.shape = None, None

        def reallocate_output(self, name, memory, size, alignment):
            self.result = np.zeros(size // 4 + 1, np.float32)
            return self.result.ctypes.data

        def notify_shape(self, name, shape):
            self.shape = tuple(shape)

    CREATOR = ResampleCreator()
    trt.get_plugin_registry().register_creator(CREATOR, "")


@unittest.skipUnless(LEVEL == 10, "of level 10")
class ShapeInputs(Case):
    GIVEN = np.float32([1, 2, 3, 4])

    def result(self, network, **inputs):
        plan = self.built(network)
        self.assertIsNotNone(plan, self.log.errors())
        context, out = self.engine(plan).create_execution_context(), Allocator()
        for name, value in inputs.items():
            context.set_input_shape(name, value.shape)
            context.set_tensor_address(name, value.ctypes.data)
        context.set_output_allocator("y", out)
        self.assertTrue(context.execute_async_v3(0), self.log.errors())
        return out.result[: int(np.prod(out.shape))].tolist()

    def network_of(self, shape_of):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (4,))
        layer = network.add_plugin_v3([x], [shape_of(network)], Resample())
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        return network

    def test_interfaces_among_the_bases(self):
        self.assertEqual(Resample.__bases__, (trt.IPluginV3,))
        self.assertTrue(issubclass(Resample, trt.IPluginV3OneCore) and issubclass(Resample, trt.IPluginCapability))
        self.assertIsInstance(Resample(), trt.IPluginV3OneBuild)
        self.assertFalse(issubclass(Resample, trt.IPluginV3OneBuildV2))
        self.assertTrue(issubclass(trt.IPluginV3OneBuildV2, trt.IPluginV3OneBuild))
        self.assertNotIsInstance(trt.IPluginV3(), trt.IPluginCapability)
        with self.assertRaises(TypeError):
            trt.IPluginV3OneCore()

    def test_constants(self):
        numbers = np.int64([2])
        network = self.network_of(lambda network: network.add_constant((1,), trt.Weights(numbers)).get_output(0))
        self.assertEqual(tuple(network.get_output(0).shape), (2,))
        self.assertEqual(self.result(network, x=self.GIVEN), [1, 3])

    def test_data(self):
        network = self.network_of(lambda network: network.add_input("size", trt.int32, (1,)))
        self.assertEqual(tuple(network.get_output(0).shape), (-1,))
        for size, wanted in ((1, [1]), (8, [1, 1, 2, 2, 3, 3, 4, 4])):
            self.assertEqual(self.result(network, x=self.GIVEN, size=np.int32([size])), wanted)

    def test_wrong_ones(self):
        network = self.network_of(lambda network: network.add_input("size", trt.float32, (1,)))
        self.assertIsNone(self.built(network))
        self.assertRegex(self.log.errors()[-1], "shape input 0, 'size', is of type Float, not Int32 or Int64")

    def parsed_model(self, nodes, shape_inputs=(1,), inputs=("x", "size")):
        onnx = need("onnx")
        helper, types = onnx.helper, onnx.TensorProto
        attributes = {"tensorrt_plugin_shape_input_indices": list(shape_inputs), "plugin_version": "1"}
        nodes = [helper.make_node(*node, **settings) for *node, settings in nodes]
        nodes.append(helper.make_node("Resample", list(inputs), ["y"], name="resample", **attributes))
        graph_inputs = [helper.make_tensor_value_info("x", types.FLOAT, [4]), helper.make_tensor_value_info("like", types.FLOAT, ["n", 3])]
        graph = helper.make_graph(nodes, "g", graph_inputs, [helper.make_tensor_value_info("y", types.FLOAT, ["m"])],
                                  [onnx.numpy_helper.from_array(np.int64([2]), "two"), onnx.numpy_helper.from_array(np.int64(0), "zero")])
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
        self.network = self.builder.create_network(EXPLICIT)
        self.parser = trt.OnnxParser(self.network, self.log)
        parsed = self.parser.parse(model.SerializeToString())
        self.said = "\n".join(self.parser.get_error(i).desc() for i in range(self.parser.num_errors))
        return parsed

    def test_nodes_of_a_model(self):
        like = np.zeros((3, 3), np.float32)
        rows = [("Shape", ["like"], ["shape"], {}), ("Gather", ["shape", "zero"], ["rows"], {}), ("Mul", ["rows", "two"], ["size"], {})]
        data = [("ReduceMax", ["x"], ["most"], {}), ("Cast", ["most"], ["size"], {"to": 6})]
        for nodes, inputs, indices, shape, wanted in (
            ([], ("x", "two"), (1,), (2,), [1, 3]),
            ([], ("two", "x"), (-2,), (2,), [1, 3]),
            (rows, ("x", "size"), (1,), (-1,), [1, 1, 2, 3, 3, 4]),
            (data, ("x", "size"), (1,), (-1,), [1, 2, 3, 4]),
        ):
            self.assertTrue(self.parsed_model(nodes, indices, inputs), self.said)
            self.assertEqual(CREATOR.fields, [])
            layer = self.network.get_layer(self.network.num_layers - 1)
            self.assertEqual((layer.name, layer.num_inputs, layer.get_input(0).name), ("resample", 2, "x"))
            self.assertEqual(tuple(self.network.get_output(0).shape), shape)
            self.config = self.builder.create_builder_config()
            profile = self.builder.create_optimization_profile()
            profile.set_shape("like", (1, 3), (2, 3), (4, 3))
            self.config.add_optimization_profile(profile)
            self.assertEqual(self.result(self.network, x=self.GIVEN, like=like), wanted)

    def test_indices_that_cannot_be(self):
        self.assertFalse(self.parsed_model([], (2,), ("x", "two")))
        self.assertRegex(self.said, "node 'resample': tensorrt_plugin_shape_input_indices names input 2 of 2")
        self.assertFalse(self.parsed_model([], (1.5,), ("x", "two")))
        self.assertRegex(self.said, "attribute 'tensorrt_plugin_shape_input_indices' of node 'resample' is no list of integers")
        self.assertFalse(self.parsed_model([], (1,), ("x", "two", "", "zero")))
        self.assertRegex(self.said, "its input 2 is left out, and others behind it are not")
        self.assertFalse(self.parsed_model([], (1,), ("x", "nothing")))
        self.assertRegex(self.said, "its input 1, 'nothing', is given by nothing before it")


if __name__ == "__main__":
    harness.main()
