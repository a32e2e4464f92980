# SPDX-License-Identifier: Apache-2.0
"""The whole networks of ONNX's own tests, through the program and the CPU backend: the nine 'light' ones (all weights equal) and
the 'simple' ones, held against the expected outputs with the tolerances of ONNX's test runner."""

import subprocess
import unittest

import harness
from harness import need, octet, onnx_tests, scratch

RTOL, ATOL = 1e-3, 1e-7

# Parts of names of the simple tests that need what Octet does not have, and what that is.
OUT_OF_SCOPE = {
    "test_gradient_": "training",
    "test_sequence_": "sequences whose elements a run brings",
    "test_strnorm_": "strings",
}


def tensor(path):
    onnx = need("onnx")
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(proto)


def dummy(numpy, value):
    """The input that ONNX's runner makes for networks without data: 0 to 1 in equal steps."""
    shape = tuple(d.dim_value or 1 for d in value.type.tensor_type.shape.dim)
    count = numpy.prod(shape)
    return (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)


def run(model, inputs):
    """Output name -> array."""
    numpy = need("numpy")
    engine, source, target = (scratch() / f"network.{end}" for end in ("octet", "in.npz", "out.npz"))
    octet("build", model, "-o", engine, "--quiet")
    numpy.savez(source, **(inputs or {"unused": numpy.zeros(1, numpy.float32)}))
    octet("run", engine, source, "-o", target)
    engine.unlink()
    return numpy.load(target)


def builds(model):
    return subprocess.run([harness.PROGRAM, "check", model], capture_output=True, check=False).returncode == 0


class Light(unittest.TestCase):
    def test_networks(self):
        onnx, numpy = need("onnx", "numpy")
        models = sorted(onnx_tests("light").glob("*.onnx"))
        self.assertEqual(len(models), 9)
        for path in models:
            with self.subTest(path.stem):
                graph = onnx.load(path).graph
                given = {node.name for node in graph.initializer}
                inputs = {value.name: dummy(numpy, value) for value in graph.input if value.name not in given}
                got = run(path, inputs)
                expected = tensor(path.with_name(path.stem + "_output_0.pb"))
                numpy.testing.assert_allclose(got[graph.output[0].name], expected, rtol=RTOL, atol=ATOL)


class Simple(unittest.TestCase):
    def test_models(self):
        onnx, numpy = need("onnx", "numpy")
        ran = 0
        for folder in sorted(onnx_tests("simple").iterdir()):
            out_of_scope = any(folder.name.startswith(name) for name in OUT_OF_SCOPE)
            if out_of_scope and not builds(folder / "model.onnx"):
                octet("check", folder / "model.onnx", code=2)
                continue
            if folder.name.startswith("test_expand_shape_") and not builds(folder / "model.onnx"):
                print(f"{folder.name}: shapes that depend on run-time data are not supported")
                continue
            with self.subTest(folder.name):
                graph = onnx.load(folder / "model.onnx").graph
                data = folder / "test_data_set_0"
                given = {constant.name for constant in graph.initializer}
                brought = [value.name for value in graph.input if value.name not in given]
                inputs = {name: tensor(data / f"input_{i}.pb") for i, name in enumerate(brought)}
                got = run(folder / "model.onnx", inputs)
                for i, value in enumerate(graph.output):
                    numpy.testing.assert_allclose(got[value.name], tensor(data / f"output_{i}.pb"), rtol=RTOL, atol=ATOL)
            ran += 1
        self.assertGreater(ran, 0)


if __name__ == "__main__":
    harness.main()
