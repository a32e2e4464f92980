# SPDX-License-Identifier: Apache-2.0
"""Outputs of types that a level of the module tensorrt lacks: clients' memory is as large as the type that they are told."""

import unittest

import harness
import numpy as np
from harness import octet, scratch
from trt_support import EXPLICIT, LEVEL, Case, trt

SIZES = {"FLOAT": 4, "HALF": 2, "INT8": 1, "INT32": 4, "BOOL": 1, "UINT8": 1, "INT64": 8, "BF16": 2}
COUNT = 64


def cast_to(name):
    """x f32[64] -> Cast -> y."""
    from onnx import TensorProto, helper, save
    kind = getattr(TensorProto, name)
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=kind)], "cast",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [COUNT])],
                              [helper.make_tensor_value_info("y", kind, [COUNT])])
    path = scratch() / f"cast_{name}.onnx"
    save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


class Indices(Case):
    @unittest.skipIf(LEVEL < 10, "level 8 has no type of indices")
    def test_their_type(self):
        """As an argument and as a property; what a layer cannot have is no silent nothing."""
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 3, 4))
        count = network.add_constant((), np.array([2], np.int32)).get_output(0)
        layers = [(network.add_topk(x, trt.TopKOperation.MAX, 1, 4, trt.int64), 1), (network.add_non_zero(x, trt.int64), 0),
                  (network.add_nms(x, x, count, trt.int64), 0)]
        for layer, output in layers:
            self.assertEqual((layer.indices_type, layer.get_output(output).dtype), (trt.int64, trt.int64), layer.name)
            with self.assertRaisesRegex(ValueError, "indices_type"):
                layer.indices_type = trt.float32
            layer.indices_type = trt.int32
            self.assertEqual(layer.get_output(output).dtype, trt.int32)
        self.assertIsNone(network.add_nms(x, x, count, trt.float32))
        self.assertIn("indices are INT32 or INT64", self.log.errors()[-1])
        self.assertEqual(network.add_nms(x, x, count).indices_type, trt.int32)


class Types(Case):
    def written(self, engine):
        """What lies behind y as the client sees it, after a run over 1, 2, ..."""
        context = engine.create_execution_context()
        kind = engine.get_tensor_dtype("y")
        own = COUNT * SIZES[kind.name]
        x, y = np.arange(COUNT, dtype=np.float32) + 1, np.full(16 * COUNT, 0xAA, np.uint8)
        self.assertTrue(context.set_tensor_address("x", x.ctypes.data))
        self.assertTrue(context.set_tensor_address("y", y.ctypes.data))
        self.assertTrue(context.execute_async_v3(0))
        self.assertTrue((y[own:] == 0xAA).all(), kind)
        if kind.name != "BF16":  # NumPy has none
            np.testing.assert_array_equal(y[:own].view(trt.nptype(kind)).astype(np.float32), x)

    def test_built_from_a_network(self):
        for name in ("DOUBLE", "INT64", "BFLOAT16", "FLOAT16"):
            with self.subTest(name):
                network = self.builder.create_network(EXPLICIT)
                parser = trt.OnnxParser(network, self.log)
                self.assertTrue(parser.parse(cast_to(name).read_bytes()))
                self.written(self.engine(self.builder.build_serialized_network(network, self.config)))

    @unittest.skipIf(LEVEL < 10, "level 8 has no strongly typed networks")
    def test_parsed_halves_compute_in_halves(self):
        """x times a third, rounded, plus x: of this x both sums, of the product that is rounded and of the one that is not, are different halves."""
        from onnx import TensorProto, helper, numpy_helper
        x, third = np.array([0.9], np.float16), np.array([1 / 3], np.float16)
        nodes = [helper.make_node("Mul", ["x", "third"], ["product"]), helper.make_node("Add", ["product", "x"], ["y"])]
        infos = [[helper.make_tensor_value_info(name, TensorProto.FLOAT16, [1])] for name in "xy"]
        graph = helper.make_graph(nodes, "halves", *infos, initializer=[numpy_helper.from_array(third, "third")])
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        network = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        self.assertTrue(trt.OnnxParser(network, self.log).parse(model.SerializeToString()))
        context = self.engine(self.builder.build_serialized_network(network, self.config)).create_execution_context()
        y = np.zeros(1, np.float16)
        self.assertTrue(context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data))
        self.assertTrue(context.execute_async_v3(0))
        self.assertEqual(y, x * third + x)
        self.assertNotEqual(y, np.float16(np.float32(x) * np.float32(third) + np.float32(x)))

    def test_built_by_octet(self):
        told = {"FLOAT16": True, "INT64": LEVEL >= 10, "BFLOAT16": LEVEL >= 10, "DOUBLE": False, "INT16": False}
        for name, has in told.items():
            with self.subTest(name):
                path = scratch() / f"cast_{name}.octet"
                octet("build", cast_to(name), "-o", path, "--quiet")
                engine = trt.Runtime(self.log).deserialize_cuda_engine(path.read_bytes())
                if has:
                    self.written(engine)
                else:
                    self.assertIsNone(engine)
                    self.assertIn("which clients of this level have no type for", self.log.errors()[-1])


if __name__ == "__main__":
    harness.main()
