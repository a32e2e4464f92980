# SPDX-License-Identifier: Apache-2.0
"""octet check: what a model is, and all its problems at once; the generated pages hold what the program says."""

import subprocess
import sys
import unittest

import harness
from harness import DIGITS, ROOT, octet, scratch


def save(name, nodes, inputs, outputs, initializers=(), opsets=(("", 17),)):
    """A model file of onnx.helper parts; inputs and outputs are (name, shape)."""
    onnx = harness.need("onnx")
    helper = onnx.helper
    infos = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n, shape in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, name, *infos, initializer=list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in opsets], ir_version=8)
    path = scratch() / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


class Sound(unittest.TestCase):
    def test_digits(self):
        said = octet("check", DIGITS / "digits.onnx", "--json").json
        self.assertTrue(said["builds"])
        self.assertEqual(said["problems"], [])
        self.assertEqual(said["inputs"], [{"name": "image", "type": "f32[?,1,8,8]", "dims": ["N"]}])
        self.assertEqual({op["name"]: op["count"] for op in said["operators"]}["Conv"], 9)
        self.assertEqual(said["coverage"]["layers"], 1.0)
        # 9 convolutions and a Gemm: the weights in f32 take four times what they take in INT8, biases apart.
        self.assertEqual(said["parameters"] * 4, said["parameter_bytes"])
        self.assertLess(said["memory"]["int8"]["weight_bytes"] * 3, said["memory"]["f32"]["weight_bytes"])
        self.assertGreater(said["memory"]["int8"]["arena_bytes"], 0)

    def test_says_the_same_as_a_build(self):
        engine = harness.digits_engine()
        built = octet("inspect", engine, "--json").json
        said = octet("check", DIGITS / "digits.onnx", "--json").json
        self.assertEqual([(l["name"], l["precision"]) for l in said["layers"]],
                         [(l["name"], l["precision"]) for l in built["layers"]])
        self.assertEqual(said["coverage"], built["coverage"])

    def test_text(self):
        text = octet("check", DIGITS / "digits.onnx").out
        self.assertIn("f32[N,1,8,8]", text)
        self.assertTrue(text.endswith("it builds\n"))

    def test_shape(self):
        said = octet("check", DIGITS / "digits.onnx", "--shape", "image:3x1x8x8", "--json").json
        self.assertEqual(said["planned_shapes"], ["3x1x8x8"])


class Int8Forms(unittest.TestCase):
    """What docs/operators.md says of operators that have no INT8 form of their own, held against models."""

    def layers_of(self, op, *, inputs, shape, constants=(), **attributes):
        """The layers that hold the node, in a model that has a convolution before it and a product behind."""
        onnx, numpy = harness.need("onnx", "numpy")
        helper, random = onnx.helper, numpy.random.default_rng(3)

        def weights(*sizes):
            return random.normal(size=sizes).astype("float32") / 8
        arrays = {f"c{i}": array(random) for i, array in enumerate(constants)}
        arrays |= {"w": weights(8, 8, 1, 1), "v": weights(shape[-1], 16)}
        nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="before"),
                 helper.make_node("Reshape", ["a", "sizes"], ["b"], name="shaped"),
                 helper.make_node(op, [*inputs, *(f"c{i}" for i in range(len(constants)))], ["d"], name="node", **attributes),
                 helper.make_node("MatMul", ["d", "v"], ["y"], name="behind")]
        initializers = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
        initializers.append(onnx.numpy_helper.from_array(numpy.array(shape), "sizes"))
        path = save(f"form_{op}", nodes, [("x", [1, 8, 8, 8])], [("y", None)], initializers)
        return [layer for layer in octet("check", path, "--json").json["layers"] if "node" in layer["nodes"]]

    def test_operators_that_become_others(self):
        def matrix(random):
            return random.normal(size=(8, 8)).astype("float32")

        def channel(random):
            return random.uniform(0.5, 1, size=8).astype("float32")
        cases = (("Gemm", {"inputs": ["b"], "shape": [64, 8], "constants": [matrix]}),
                 ("Einsum", {"inputs": ["b"], "shape": [64, 8], "constants": [matrix], "equation": "ij,jk->ik"}),
                 ("BatchNormalization", {"inputs": ["b"], "shape": [1, 8, 8, 8], "constants": [channel] * 4}))
        for op, model in cases:
            with self.subTest(op):
                layers = self.layers_of(op, **model)
                self.assertEqual([layer["precision"] for layer in layers], ["int8"], layers)

    def test_operators_that_stay(self):
        (layer,) = self.layers_of("Exp", inputs=["b"], shape=[64, 8])
        self.assertEqual((layer["precision"], layer["reason_code"]), ("f32", "no_integer_form"))

    def between_codes(self, op, *constants):
        """The layer that holds the node, of a Q/DQ model where codes come and codes are wanted."""
        onnx, numpy = harness.need("onnx", "numpy")
        helper, names = onnx.helper, [f"c{i}" for i in range(len(constants))]
        arrays = {"s": numpy.float32(0.02), "z": numpy.uint8(3), "w": numpy.full((8, 8, 1, 1), 0.1, "float32"), **dict(zip(names, constants, strict=True))}
        nodes = []
        for at, (value, made) in enumerate((("x", "d0"), ("p", "d1"))):
            nodes += [helper.make_node("QuantizeLinear", [value, "s", "z"], [f"q{at}"]),
                      helper.make_node("DequantizeLinear", [f"q{at}", "s", "z"], [made])]
        nodes.insert(2, helper.make_node(op, ["d0", *names], ["p"], name="node"))
        nodes.append(helper.make_node("Conv", ["d1", "w"], ["y"], name="behind"))
        initializers = [onnx.numpy_helper.from_array(numpy.asarray(array), name) for name, array in arrays.items()]
        path = save(f"between_{op}", nodes, [("x", [1, 8, 8, 8])], [("y", None)], initializers)
        (layer,) = [layer for layer in octet("check", path, "--json").json["layers"] if "node" in layer["nodes"]]
        return layer

    def test_functions_between_codes(self):
        float32 = harness.need("numpy").float32
        for op, constants in (("Pow", [float32(2)]), ("Div", [float32(3)]), ("Max", [float32(0.1)]), ("Min", [float32(0.5)]), ("Neg", [])):
            self.assertEqual(self.between_codes(op, *constants)["reason_code"], "table_of_codes", op)
        for op in ("Exp", "Abs"):
            self.assertEqual(self.between_codes(op)["precision"], "f32", op)

    def test_rows_that_write_codes(self):
        for op, model in (("Softmax", {}), ("LayerNormalization", {"constants": [lambda random: random.uniform(0.5, 1, size=8).astype("float32")]})):
            with self.subTest(op):
                (layer,) = self.layers_of(op, inputs=["b"], shape=[64, 8], **model)
                self.assertEqual(layer["reason_code"], "codes_of_rows")


class Shared(unittest.TestCase):
    def test_every_model_builds(self):
        packed = sorted((harness.SHARED / "models").glob("*.onnx.xz"))
        if not packed:
            self.skipTest("../shared/models is absent")
        for path in packed:
            name = path.name.removesuffix(".onnx.xz")
            with self.subTest(name):
                said = octet("check", harness.shared_model(name), "--json").json
                self.assertEqual(said["problems"], [])
                self.assertGreater(said["parameters"], 0)
                self.assertGreater(len(said["layers"]), 0)
                self.assertTrue(all(layer["reason"] for layer in said["layers"] if layer["precision"] == "f32" and layer["op"] != "Reorder"))


class Broken(unittest.TestCase):
    def test_every_problem_at_once(self):
        onnx = harness.need("onnx")
        helper, numpy = onnx.helper, harness.need("numpy")
        weights = []
        for n in (1, 2):
            tensor = onnx.numpy_helper.from_array(numpy.zeros((2, 2), numpy.float32), f"w{n}")
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=f"missing{n}.bin")
            weights.append(tensor)
        nodes = [helper.make_node("NoSuchOp", ["x"], ["a"], name="first"),
                 helper.make_node("NoSuchOp", ["a"], ["b"], name="second"),
                 helper.make_node("Strange", ["b"], ["y"], name="third", domain="org.strange")]
        model = save("broken", nodes, [("x", [2, 2])], [("y", [2, 2])], weights, (("", 17), ("org.strange", 3)))
        said = octet("check", model, "--json", code=2).json
        self.assertFalse(said["builds"])
        unsupported = [op for op in said["operators"] if not op["supported"]]
        self.assertEqual(sorted((op["name"], op["domain"], op["opset"], op["count"], op["nodes"]) for op in unsupported),
                         [("NoSuchOp", "", 17, 2, ["first", "second"]), ("Strange", "org.strange", 3, 1, ["third"])])
        text = "\n".join(problem["message"] for problem in said["problems"])
        for word in ("NoSuchOp", "Strange", "missing1.bin", "missing2.bin"):
            self.assertIn(word, text)
        printed = octet("check", model, code=2).out
        self.assertIn("missing2.bin", printed)
        self.assertIn("NoSuchOp", printed)

    def test_problems_of_several_nodes(self):
        onnx = harness.need("onnx")
        helper = onnx.helper
        nodes = [helper.make_node("Relu", ["x", "x"], ["a"], name="two_inputs"),
                 helper.make_node("Add", ["a"], ["y"], name="one_input")]
        model = save("arity", nodes, [("x", [2])], [("y", [2])])
        said = octet("check", model, "--json", code=2).json
        context = str(said["problems"])
        self.assertIn("two_inputs", context)
        self.assertIn("one_input", context)

    def test_shapes_that_do_not_fit(self):
        onnx = harness.need("onnx")
        model = save("misfit", [onnx.helper.make_node("Add", ["x", "z"], ["y"], name="sum")],
                     [("x", [2, 3]), ("z", [2, 4])], [("y", None)])
        said = octet("check", model, "--json", code=2).json
        self.assertEqual(len(said["problems"]), 1)
        self.assertIn("sum", str(said["problems"]))

    def test_no_model(self):
        page = scratch() / "page.onnx"
        page.write_text("<!DOCTYPE html><html><body>404</body></html>")
        for arguments in ((page,), (page, "--json"), ("nowhere.onnx",), ()):
            result = octet("check", *arguments, code=2)
            self.assertIn("error: ", result.err)
            if "--json" in arguments:
                self.assertEqual(result.json["error"]["code"], "invalid_model")
            else:
                self.assertEqual(result.out, "")


class Operators(unittest.TestCase):
    def test_table(self):
        listed = octet("check", "--list-ops", "--json").json["operators"]
        ops = {op["name"]: op for op in reversed(listed)}  # of a name that several domains have, ONNX's own
        self.assertEqual((ops["Conv"]["f32_kernel"], ops["Conv"]["int8"]), ("own, oneDNN", "compute"))
        self.assertEqual((ops["MatMul"]["f32_kernel"], ops["MatMul"]["int8"]), ("own, oneDNN", "compute"))
        self.assertEqual((ops["Sigmoid"]["f32_kernel"], ops["Sigmoid"]["int8"]), ("own", "table"))
        self.assertEqual(ops["Upsample"]["import"], "read as other operators")
        self.assertEqual(ops["QLinearAdd"]["domain"], "com.microsoft")
        self.assertNotIn("QConv", ops)
        text = octet("check", "--list-ops").out
        self.assertTrue(text.endswith(f"{len(listed)} operators\n"))

    def test_pages_are_fresh(self):
        script = ROOT / "tools/generate_docs.py"
        done = subprocess.run([sys.executable, script, "--check", harness.PROGRAM], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main()
