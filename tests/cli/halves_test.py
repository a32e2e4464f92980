# SPDX-License-Identifier: Apache-2.0
"""Layers of f16 and bf16: what is rounded where, against NumPy to the bit; constraints; and weights that f16 does not hold, before and after."""

import unittest

import harness
from harness import octet, scratch


def bf16(numpy, x):
    bits = x.astype("f").view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f")


def rounding(numpy, name):
    if name == "f16":
        return lambda x: x.astype("f2").astype("f")
    return lambda x: bf16(numpy, x)


def save(folder, name, nodes, inputs, outputs, weights):
    onnx = harness.need("onnx")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    infos = [[helper.make_tensor_value_info(n, real, shape) for n, shape in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, name, *infos, initializer=[onnx.numpy_helper.from_array(v, k) for k, v in weights.items()])
    path = folder / f"{name}.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def run(numpy, engine, arrays, env=None):
    numpy.savez(engine.parent / "in.npz", **arrays)
    out = engine.parent / "out.npz"
    octet("run", engine, engine.parent / "in.npz", "-o", out, "--force", env=env)
    return dict(numpy.load(out))


class Exact(unittest.TestCase):
    """Integers, whose sums no order changes: what is rounded can be told to the bit."""

    @classmethod
    def setUpClass(cls):
        cls.numpy, onnx = harness.need("numpy"), harness.need("onnx")
        numpy, make = cls.numpy, onnx.helper.make_node
        cls.folder = scratch() / "halves_exact"
        cls.folder.mkdir()
        random = numpy.random.default_rng(2)
        cls.w0 = random.integers(-30, 30, (8, 4, 3, 3)).astype("f")
        cls.w1 = random.integers(-9, 9, (8, 100)).astype("f") / 64
        cls.x = random.integers(-3000, 3000, (1, 4, 6, 6)).astype("f") / 64
        nodes = [make("Conv", ["x", "w0"], ["a"], "conv"), make("Relu", ["a"], ["b"], "relu"), make("MaxPool", ["b"], ["c"], "pool", kernel_shape=[4, 4]),
                 make("Flatten", ["c"], ["d"], "flat"), make("MatMul", ["d", "w1"], ["y"], "head")]
        cls.model = save(cls.folder, "exact", nodes, [("x", [1, 4, 6, 6])], [("y", [1, 100])], {"w0": cls.w0, "w1": cls.w1})

    def test_what_is_slower_says_so(self):
        engine = self.folder / "slow.octet"
        for flags, says in (([], False), (["--fp16"], True), (["--bf16"], False)):
            built = octet("build", self.model, "-o", engine, "--force", *flags)
            measured = octet("bench", engine, "--iterations", "1")
            for result in (built, measured):
                self.assertEqual(result.err.count("slower than FP32"), int(says), (flags, result.err))

    def expected(self, r):
        numpy, x, w = self.numpy, r(self.x).astype("d"), r(self.w0).astype("d")
        windows = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        conv = numpy.einsum("nchwij,ocij->nohw", windows, w).astype("f")
        pooled = numpy.maximum(r(conv), 0).max(axis=(2, 3)).astype("d")
        return r((pooled @ r(self.w1).astype("d")).astype("f"))

    def build(self, *flags):
        engine = self.folder / "exact.octet"
        return engine, octet("build", self.model, "--json", "--force", "-o", engine, *flags).json

    def test_what_is_rounded(self):
        for name, flag in (("f16", "--fp16"), ("bf16", "--bf16")):
            engine, _ = self.build(flag)
            want = self.expected(rounding(self.numpy, name))
            plain = self.expected(lambda x: x)
            self.assertFalse(self.numpy.array_equal(want, plain))
            for isa in ("none", "avx2", None):
                got = run(self.numpy, engine, {"x": self.x}, env={"OCTET_CPU_ISA": isa} if isa else None)["y"]
                self.assertTrue(self.numpy.array_equal(got, want), (name, isa, got[0, :5], want[0, :5]))

    def test_layers_say_so(self):
        engine, built = self.build("--fp16")
        self.assertEqual({node["resolved"] for node in built["nodes"]}, {"f16"})
        layers = octet("inspect", engine, "--json").json["layers"]
        self.assertEqual([layer["precision"] for layer in layers if layer["macs"]], ["f16", "f16"])
        # The pool and the reshape move values that are rounded already.
        # The input is rounded by a step, each product rounds its own result.
        self.assertEqual(len([layer for layer in layers if layer["op"] == "RoundTo"]), 1)
        self.assertEqual(["rounds to f16" in layer["kernel_reason"] for layer in layers if layer["macs"]], [True, True])

    def test_weights_take_half_the_bytes(self):
        whole = self.build()[1]["bytes"]
        engine, half = self.build("--fp16")
        weights = self.w0.nbytes + self.w1.nbytes
        self.assertLess(half["bytes"], whole - weights // 2 + 2500)
        again = octet("inspect", engine, "--json").json
        self.assertEqual([x["inputs"][0]["type"][:3] for x in again["layers"] if x["macs"]], ["f32", "f32"])

    def test_constraints_choose_too(self):
        _, built = self.build("--precision", "conv:bf16,head:f16", "--constraints", "obey")
        types = {node["name"]: node["resolved"] for node in built["nodes"]}
        self.assertEqual((types["conv"], types["head"], types["pool"]), ("bf16", "f16", "f32"))
        _, built = self.build("--fp16", "--precision", "head:f32", "--output-type", "head:bf16", "--constraints", "obey")
        node = next(node for node in built["nodes"] if node["name"] == "head")
        self.assertEqual((node["resolved"], node["resolved_output"]), ("f32", "bf16"))

    def test_a_layer_rounds_as_its_last_node_asks(self):
        flags = ("--output-type", "conv*:f32,relu*:f16", "--constraints")
        _, built = self.build(*flags, "prefer")
        types = {node["name"]: (node["layer"], node["resolved_output"]) for node in built["nodes"]}
        self.assertEqual((types["conv"], types["relu"]), (("conv", "f16"), ("conv", "f16")))
        refused = octet("build", self.model, "--force", "-o", self.folder / "no.octet", *flags, "obey", code=2)
        self.assertIn("'conv': a result of f32 is asked for", refused.err)
        self.assertIn("the layer's one result is of 16 bits", refused.err)
        # A reader of 16 bits rounds what it reads: the result itself is f32.
        self.build("--precision", "pool:f16", "--output-type", "relu:f32", "--constraints", "obey")

    def test_beside_int8(self):
        self.numpy.savez(self.folder / "calib.npz", x=self.numpy.repeat(self.x, 8, axis=0))
        _, built = self.build("--int8", "--calib", self.folder / "calib.npz", "--bf16", "--precision", "head:f32,conv:int8", "--constraints", "obey")
        types = {node["name"]: node["resolved"] for node in built["nodes"]}
        self.assertEqual((types["conv"], types["head"]), ("int8", "f32"))
        _, built = self.build("--int8", "--calib", self.folder / "calib.npz", "--bf16", "--precision", "conv:bf16", "--constraints", "obey")
        self.assertEqual({n["name"]: n["resolved"] for n in built["nodes"]}["conv"], "bf16")

    def test_best_takes_what_is_fastest(self):
        _, built = self.build("--best")
        self.assertIn({n["name"]: n["resolved"] for n in built["nodes"]}["conv"], ("f32", "bf16"))
        self.numpy.savez(self.folder / "calib.npz", x=self.numpy.repeat(self.x, 8, axis=0))
        _, built = self.build("--best", "--calib", self.folder / "calib.npz")
        self.assertEqual({n["name"]: n["resolved"] for n in built["nodes"]}["conv"], "int8")


    def test_best_is_decided_by_the_target(self):
        for target, types in (("cpu:avx2", ("f32", "f32")), ("cpu:amx", ("bf16", "f32")), ("cuda", ("f16", "f16")), ("cuda:sm90", ("f16", "f16"))):
            with self.subTest(target):
                _, built = self.build("--best", "--for", target)
                resolved = {node["name"]: node["resolved"] for node in built["nodes"]}
                self.assertEqual((resolved["conv"], resolved["pool"]), types)
                self.assertEqual(built["target"], target)
        _, built = self.build("--best")
        self.assertRegex(built["target"], "^cpu:[a-z0-9_]+$")

    def test_reproducible_ones_are_for_a_machine_by_name(self):
        calib = ("--best", "--int8", "--calib", self.folder / "calib.npz", "--reproducible", "--force", "-o", self.folder / "for.octet")
        for flags in ((), ("--for", "cpu")):
            self.assertIn("needs --for and a machine by name", octet("build", self.model, *calib, *flags, code=2).err)
        octet("build", self.model, *calib, "--for", "cpu:avx2")

    def test_targets_that_decide_nothing_or_are_unknown(self):
        for flags, words in ((("--for", "cuda"), "no use where"), (("--best", "--for", "cuda:sm1"), "expected one of: cpu, cpu:none"),
                             (("--best", "--for", "gpu"), "no target is called 'gpu'")):
            with self.subTest(flags):
                result = octet("build", self.model, *flags, "-o", self.folder / "no.octet", code=2)
                self.assertIn(words, result.err)


class LeftOut(unittest.TestCase):
    """A recurrent layer whose first result is left out: what is asked of its result is asked of the next."""

    def test_first_result(self):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        make, folder, random = onnx.helper.make_node, scratch() / "left_out", numpy.random.default_rng(3)
        folder.mkdir()
        weights = {"w": random.standard_normal((1, 16, 3)).astype("f"), "r": random.standard_normal((1, 16, 4)).astype("f")}
        nodes = [make("LSTM", ["x", "w", "r"], ["", "h"], "lstm", hidden_size=4), make("Relu", ["h"], ["y"], "relu")]
        model, engine, data = save(folder, "lstm", nodes, [("x", [5, 1, 3])], [("y", [1, 1, 4])], weights), folder / "lstm.octet", folder / "x.npz"
        for name in ("f32", "f16", "bf16"):
            built = octet("build", model, "--output-type", f"lstm:{name}", "--constraints", "obey", "--json", "--force", "-o", engine).json
            self.assertEqual({node["name"]: node["resolved_output"] for node in built["nodes"]}["lstm"], name)
        numpy.savez(data, x=random.standard_normal((5, 1, 3)).astype("f"))
        for name in ("f32", "int8"):
            octet("build", model, "--int8", "--calib", data, "--output-type", f"lstm:{name}", "--force", "-o", engine)
        refused = octet("build", model, "--int8", "--calib", data, "--output-type", "lstm:int8", "--constraints", "obey", "--force", "-o", engine, code=2)
        self.assertIn("'lstm': a result of int8 is asked for", refused.err)


class Stray(unittest.TestCase):
    """Attributes of a file that are named as those by which a plan has kernels round: they round nothing."""

    def built(self, op, inputs, size, value=None):
        onnx = harness.need("onnx")
        helper, types = onnx.helper, onnx.TensorProto
        node = helper.make_node(op, inputs, ["y"], "node")
        if value is not None:
            node.attribute.extend(helper.make_attribute(key, value) for key in ("rounds", "octet.rounds"))
        result = types.BOOL if op == "Equal" else types.FLOAT
        infos = [helper.make_tensor_value_info(name, types.FLOAT, [size]) for name in inputs]
        graph = helper.make_graph([node], "stray", infos, [helper.make_tensor_value_info("y", result, [size])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path, engine = self.folder / "stray.onnx", self.folder / f"{op}_{value}.octet"
        path.write_bytes(model.SerializeToString())
        octet("build", path, "-o", engine)
        return engine

    def test_are_not_obeyed(self):
        numpy = harness.need("numpy")
        self.folder = scratch() / "halves_stray"
        self.folder.mkdir()
        many = numpy.linspace(-1, 1, 65_536, dtype="f")
        for op, inputs, x in (("Equal", ("x", "x2"), many), ("Exp", ("x",), many[::8192])):
            engines = [self.built(op, inputs, x.size, value) for value in (None, "f16", 3)]
            for env in ({"OCTET_CPU_ISA": "none"}, None):
                plain, *stray = [run(numpy, engine, dict.fromkeys(inputs, x), env=env)["y"] for engine in engines]
                for got in stray:
                    self.assertTrue(numpy.array_equal(got, plain), (op, env))
        self.assertFalse(numpy.array_equal(plain, rounding(numpy, "f16")(plain)))


class Underflow(unittest.TestCase):
    """first has weights that f16 loses; second makes up for them; alone has them where nothing can."""

    @classmethod
    def setUpClass(cls):
        cls.numpy, onnx = harness.need("numpy"), harness.need("onnx")
        numpy, make = cls.numpy, onnx.helper.make_node
        cls.folder = scratch() / "halves_underflow"
        cls.folder.mkdir()
        random = numpy.random.default_rng(5)
        w0 = (random.standard_normal((8, 4, 3, 3)) * 1e-7).astype("f")
        w1 = (random.standard_normal((8, 8, 1, 1)) * 100).astype("f")
        w2 = (random.standard_normal((4, 8, 1, 1)) * 1e-7).astype("f")
        nodes = [make("Conv", ["x", "w0"], ["a"], "first", pads=[1] * 4), make("Relu", ["a"], ["b"], "relu"), make("Conv", ["b", "w1"], ["c"], "second"),
                 make("Sigmoid", ["c"], ["d"], "sigmoid"), make("Mul", ["d", "k"], ["e"], "mul"), make("Conv", ["e", "w2"], ["y"], "alone")]
        weights = {"w0": w0, "w1": w1, "w2": w2, "k": numpy.asarray([1e4], "f")}
        cls.model = save(cls.folder, "under", nodes, [("x", ["N", 4, 8, 8])], [("y", ["N", 4, 8, 8])], weights)
        cls.data = cls.folder / "x.npz"
        numpy.savez(cls.data, x=random.standard_normal((16, 4, 8, 8)).astype("f"))

    def build(self, *flags):
        engine = self.folder / "under.octet"
        done = octet("build", self.model, "--fp16", "--calib", self.data, "--json", "--force", "-o", engine, *flags)
        sqnr = octet("compare", engine, "--against", self.model, "--calib", self.data, "--json").json["sqnr_db"]
        return done.json, sqnr

    def test_before_and_after(self):
        before, lost = self.build()
        report = {one["tensor"]: one for one in before["half_weights"]}
        self.assertEqual(set(report), {"w0", "w2"})
        w0 = report["w0"]
        onnx = harness.need("onnx")
        values = next(onnx.numpy_helper.to_array(w) for w in onnx.load(self.model).graph.initializer if w.name == "w0")
        half = self.numpy.abs(values.astype("f2").astype("f"))
        self.assertEqual(w0["flushed"], int(((half == 0) & (values != 0)).sum()))
        self.assertEqual(w0["subnormal"], int(((half > 0) & (half < 2.0**-14)).sum()))
        self.assertEqual((w0["elements"], w0["infinite"], w0["layer"]), (values.size, 0, "first"))
        self.assertGreater(w0["error"], 0.05)
        lines = [w for w in before["warnings"] if "affected by this issue" in w]
        self.assertIn("2 weights are affected by this issue: Detected subnormal FP16 values.", lines)

        after, kept = self.build("--fix-subnormals")
        remedies = {one["tensor"]: one for one in after["half_weights"]}
        self.assertIn("rescaled", remedies["w0"]["remedy"])
        self.assertEqual(remedies["w2"]["type"], "bf16")
        types = {node["name"]: node["resolved"] for node in after["nodes"]}
        self.assertEqual((types["first"], types["second"], types["alone"]), ("f16", "f16", "bf16"))
        self.assertLess(lost, 25)
        self.assertGreater(kept, lost + 15)

    def test_both_types(self):
        both, sqnr = self.build("--bf16")
        types = {node["name"]: node["resolved"] for node in both["nodes"]}
        self.assertEqual((types["first"], types["second"], types["alone"]), ("bf16", "f16", "bf16"))
        self.assertGreater(sqnr, self.build()[1])

    def test_without_data_nothing_is_measured(self):
        done = octet("build", self.model, "--fp16", "--json", "--force", "-o", self.folder / "u.octet").json
        self.assertIsNone(done["half_weights"][0]["error"])
        text = octet("build", self.model, "--fp16", "--force", "-o", self.folder / "u.octet").out
        self.assertRegex(text, r"w0 +first +288 ")
        quiet = octet("build", self.model, "--bf16", "--json", "--force", "-o", self.folder / "u.octet").json
        self.assertEqual(quiet["half_weights"], [])


class Overflow(unittest.TestCase):
    """A result beyond 65504, which no weight tells of."""

    def test_is_told_and_remedied(self):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        make = onnx.helper.make_node
        folder = scratch() / "halves_overflow"
        folder.mkdir()
        random = numpy.random.default_rng(9)
        weights = {"w0": random.standard_normal((8, 4, 3, 3)).astype("f"), "k": numpy.asarray([3e4], "f"), "w1": random.standard_normal((4, 8, 1, 1)).astype("f") / 1024}
        nodes = [make("Conv", ["x", "w0"], ["a"], "first"), make("Mul", ["a", "k"], ["b"], "large"), make("Sigmoid", ["a"], ["g"], "gate"),
                 make("Mul", ["b", "g"], ["c"], "gated"), make("Conv", ["c", "w1"], ["y"], "second")]
        model = save(folder, "over", nodes, [("x", ["N", 4, 8, 8])], [("y", ["N", 4, 6, 6])], weights)
        data = folder / "x.npz"
        numpy.savez(data, x=random.standard_normal((16, 4, 8, 8)).astype("f"))

        def build(*flags):
            built = octet("build", model, *flags, "--json", "--force", "-o", folder / "over.octet").json
            y = run(numpy, folder / "over.octet", {"x": numpy.load(data)["x"]})["y"]
            said = [w for w in built["warnings"] if "beyond 65504" in w]
            return {node["name"]: node["resolved"] for node in built["nodes"]}, said, y

        types, said, y = build("--fp16", "--calib", data)
        self.assertEqual(types["large"], "f16")
        self.assertRegex(said[0], "of layer '[^']+' reaches [0-9.e+]+; they become infinite")
        self.assertFalse(numpy.isfinite(y).all())
        types, said, y = build("--fp16", "--bf16", "--calib", data)
        self.assertEqual((types["large"], types["gated"], types["second"], types["gate"]), ("bf16", "bf16", "bf16", "f16"))
        self.assertIn("compute in bf16", said[0])
        self.assertTrue(numpy.isfinite(y).all())
        self.assertEqual(build("--fp16", "--bf16")[1], [])  # nothing is run
        self.assertEqual(build("--int8", "--bf16", "--calib", data)[1], [])  # bf16 holds them
        # Who asks for f16 gets it, and is not told of a remedy.
        types, said, y = build("--fp16", "--bf16", "--calib", data, "--precision", "large:f16", "--constraints", "obey")
        self.assertEqual((types["large"], types["gated"]), ("f16", "bf16"))
        self.assertEqual(sorted("compute in bf16" in line for line in said), [False, True])
        self.assertTrue([line for line in said if "'large'" in line and "they become infinite" in line])

    def test_ranges_decide_in_int8(self):
        """A cache gives the engine that its data gave."""
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        make, folder, random = onnx.helper.make_node, scratch() / "overflow8", numpy.random.default_rng(9)
        folder.mkdir()
        weights = {"w0": random.standard_normal((8, 4, 3, 3)).astype("f"), "k": numpy.asarray([3e4], "f"), "axis": numpy.asarray(2, "i8"),
                   "w1": random.standard_normal((4, 8, 1, 1)).astype("f") / 1024}
        nodes = [make("Conv", ["x", "w0"], ["a"], "first"), make("Mul", ["a", "k"], ["b"], "large"), make("CumSum", ["b", "axis"], ["c"], "sums"),
                 make("Conv", ["c", "w1"], ["y"], "second")]
        model, data, cache = save(folder, "sums", nodes, [("x", ["N", 4, 8, 8])], [("y", ["N", 4, 6, 6])], weights), folder / "x.npz", folder / "sums.cache"
        numpy.savez(data, x=random.standard_normal((16, 4, 8, 8)).astype("f"))
        engines, told = [], []
        for flags in (("--calib", data, "--calib-cache", cache), ("--calib-cache", cache)):
            built = octet("build", model, "--int8", "--fp16", "--bf16", *flags, "--json", "--force", "-o", folder / "sums.octet").json
            self.assertEqual({node["name"]: node["resolved"] for node in built["nodes"]}["sums"], "bf16")
            told.append([line for line in built["warnings"] if "65504" in line])
            engines.append((folder / "sums.octet").read_bytes())
        self.assertIn("compute in bf16", told[0][0])
        self.assertEqual(told[0], told[1])
        self.assertEqual(*engines)


class Trained(unittest.TestCase):
    def test_retinaface(self):
        model = harness.shared_model("retinaface_mobilenet025")
        done = octet("build", model, "--fp16", "--json", "-o", scratch() / "face.octet", "--shape", "input:1x3x160x160").json
        counts = [one["subnormal"] + one["flushed"] + one["infinite"] for one in done["half_weights"]]
        self.assertTrue(counts and min(counts) > 0)
        self.assertTrue([w for w in done["warnings"] if "Detected subnormal FP16 values." in w])


if __name__ == "__main__":
    harness.main()
