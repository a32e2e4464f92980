# SPDX-License-Identifier: Apache-2.0
"""Outputs of types that a level of the module tensorrt lacks: clients' memory is as large as the type that they are told."""

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
