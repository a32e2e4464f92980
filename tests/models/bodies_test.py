# SPDX-License-Identifier: Apache-2.0
"""Bodies of If, Loop and Scan are calibrated over all rounds, quantized and inspected like the graph around them; states go from one step of
a sequence to the next. Against ONNX Runtime."""

import unittest

import harness
from harness import need, octet, onnxruntime_session, scratch
from nodes import Small, expected

# What codes of 8 bits may cost these models, whose FP32 outputs are the truth. One rounding of a full-scale signal is 50 dB.
LEAST_DB = 20


def body(name, nodes, inputs, outputs):
    onnx = need("onnx")
    infos = [[onnx.helper.make_tensor_value_info(n, t, shape) for n, t, shape in values] for values in (inputs, outputs)]
    return onnx.helper.make_graph(nodes, name, *infos)


def decibels(truth, got):
    numpy = need("numpy")
    truth, got = numpy.float64(truth), numpy.float64(got)
    return 10 * numpy.log10((truth**2).sum() / max(((truth - got) ** 2).sum(), 1e-30))


class WithModels(unittest.TestCase):
    def setUp(self):
        self.onnx, self.numpy = need("onnx"), need("numpy")
        self.helper = self.onnx.helper
        self.float, self.int, self.bool = (getattr(self.onnx.TensorProto, t) for t in ("FLOAT", "INT64", "BOOL"))
        self.rng = self.numpy.random.default_rng(19)

    def reals(self, *shape):
        return self.rng.normal(0, 1, shape).astype(self.numpy.float32)

    def built(self, path, data, *flags):
        """The engine in INT8 and in FP32, and the layers of the first."""
        engine, plain = path.with_suffix(".octet"), path.with_suffix(".float.octet")
        self.summary = octet("build", path, "--int8", "--calib", data, "-o", engine, "--json", *flags).json
        octet("build", path, "-o", plain, "--quiet")
        return engine, plain, octet("inspect", engine, "--json").json

    def outputs(self, engine, feeds):
        source, target = scratch() / "one.npz", scratch() / "one_out.npz"
        self.numpy.savez(source, **feeds)
        octet("run", engine, source, "-o", target)
        with self.numpy.load(target) as arrays:
            return dict(arrays)

    def hold(self, path, data, samples, inside, flags=()):
        """FP32 equals ONNX Runtime, INT8 is near it, and `inside` layers of bodies count as INT8."""
        engine, plain, inspection = self.built(path, data, *flags)
        counted = [layer for layer in inspection["layers"] if "/" in layer["name"] and layer["precision"] == "int8" and layer["macs"]]
        self.assertEqual(len(counted), inside, [(l["name"], l["op"], l["precision"], l["reason"]) for l in inspection["layers"]])
        for layer in counted:
            self.assertNotEqual(layer["kernel"], "reference", layer["name"])
            self.assertTrue(all(tensor["scale"] > 0 for tensor in layer["inputs"] if tensor["type"][:3] in ("u8[", "s8[")))
        self.assertEqual(inspection["coverage"]["int8_macs"], inspection["coverage"]["total_macs"])
        self.assertGreater(inspection["coverage"]["total_macs"], 0)
        for feeds in samples:
            want, real, codes = expected(path, feeds), self.outputs(plain, feeds), self.outputs(engine, feeds)
            for name, truth in want.items():
                self.numpy.testing.assert_allclose(real[name], truth, rtol=2e-4, atol=2e-4)
                self.assertGreater(decibels(truth, codes[name]), LEAST_DB, name)
        self.assertEqual(*(octet("run", engine, "--random", "1", "--json", env={"OCTET_CPU_ISA": isa}).out for isa in ("avx2", "none")))
        return engine

    def saved(self, name, **arrays):
        path = scratch() / f"{name}.npz"
        self.numpy.savez(path, **arrays)
        return path


class Bodies(WithModels):
    def conv(self, x, w, y):
        return self.helper.make_node("Conv", [x, w], [y], pads=[1, 1, 1, 1], name=f"conv_{y}")

    def two_branches(self):
        small = Small()
        small.shapes["x"] = ("n", 3, 12, 12)
        x = small.feed("x", self.reals(1, 3, 12, 12))
        condition = small.node("Greater", [small.node("ReduceMean", [x], keepdims=0), small.const(self.numpy.float32(0))])
        for name, shape in (("w1", (8, 3, 3, 3)), ("w2", (4, 8, 3, 3)), ("w3", (4, 3, 3, 3))):
            small.const(self.reals(*shape) / 5, name)
        deep = [self.conv("x", "w1", "a"), self.helper.make_node("Relu", ["a"], ["b"]), self.conv("b", "w2", "r")]
        branches = [body("t", deep, [], [("r", self.float, None)]), body("e", [self.conv("x", "w3", "r")], [], [("r", self.float, None)])]
        y = small.node("If", [condition], then_branch=branches[0], else_branch=branches[1])
        small.node("Relu", [y], ["y"])
        return small.save("y")

    def signed(self, count):
        return self.reals(count, 3, 12, 12) + self.numpy.where(self.numpy.arange(count) % 2, 0.3, -0.3).astype("float32")[:, None, None, None]

    def test_both_branches_of_an_if(self):
        path, samples = self.two_branches(), self.signed(48)
        engine = self.hold(path, self.saved("branches", x=samples), [{"x": samples[i:i + 1]} for i in range(4)], 3)
        names = [layer["name"] for layer in octet("inspect", engine, "--json").json["layers"]]
        self.assertTrue(any(".then_branch/" in name for name in names) and any(".else_branch/" in name for name in names))
        data = self.saved("branches_eval", x=samples)
        found = octet("eval", engine, "--data", data, "--against", path, "--json").json
        self.assertGreater(found["sqnr_db"], LEAST_DB)
        self.assertGreater(octet("compare", engine, "--against", path, "--calib", data, "--json").json["sqnr_db"], LEAST_DB)

    def test_a_branch_that_no_sample_takes_stays_in_f32(self):
        path = self.two_branches()
        engine, _, inspection = self.built(path, self.saved("one_branch", x=abs(self.signed(40))))
        kinds = {name: {layer["precision"] for layer in inspection["layers"] if f".{name}/" in layer["name"] and layer["macs"]}
                 for name in ("then_branch", "else_branch")}
        self.assertEqual(kinds, {"then_branch": {"int8"}, "else_branch": {"f32"}})
        self.assertTrue(any(".else_branch/" in missing["tensor"] for missing in self.summary["missing_ranges"]))
        negative = {"x": -abs(self.reals(1, 3, 12, 12))}
        self.numpy.testing.assert_allclose(
            self.outputs(engine, negative)["y"], expected(path, negative)["y"], rtol=2e-4, atol=2e-4)

    def test_keeping_a_layer_of_a_body_in_f32(self):
        path, data = self.two_branches(), self.saved("kept", x=self.signed(40))
        _, _, inspection = self.built(path, data, "--keep-float", "n2_If/then_branch/conv_a")
        precisions = sorted(layer["precision"] for layer in inspection["layers"] if layer["macs"])
        self.assertEqual(precisions, ["f32", "int8", "int8"])
        octet("build", path, "--int8", "--calib", data, "--keep-float", "conv_z", "-o", scratch() / "z.octet", code=2)

    def test_a_loop(self):
        small = Small()
        small.shapes["x"] = ("n", 16)
        x = small.feed("x", self.reals(1, 16))
        small.const(self.reals(16, 16) / 4, "w")
        nodes = [self.helper.make_node("MatMul", ["h", "w"], ["m"]), self.helper.make_node("Add", ["m", "x"], ["a"]),
                 self.helper.make_node("Tanh", ["a"], ["next"]), self.helper.make_node("Identity", ["on"], ["still"])]
        loop = body("loop", nodes, [("i", self.int, []), ("on", self.bool, []), ("h", self.float, ["n", 16])],
                    [("still", self.bool, []), ("next", self.float, ["n", 16])])
        small.node("Loop", [small.const(self.numpy.array(5)), "", x], ["y"], body=loop)
        samples = self.reals(64, 16)
        self.hold(small.save("y"), self.saved("loop", x=samples), [{"x": samples[i:i + 1]} for i in range(4)], 1)

    def test_a_loop_with_a_convolution(self):
        small = Small()
        x = small.feed("x", self.reals(1, 4, 10, 10))
        small.const(self.reals(4, 4, 3, 3) / 6, "w")
        nodes = [self.conv("h", "w", "c"), self.helper.make_node("Relu", ["c"], ["r"]), self.helper.make_node("Add", ["r", "x"], ["next"]),
                 self.helper.make_node("Identity", ["on"], ["still"]), self.helper.make_node("ReduceMax", ["next"], ["top"], keepdims=0)]
        loop = body("loop", nodes, [("i", self.int, []), ("on", self.bool, []), ("h", self.float, [1, 4, 10, 10])],
                    [("still", self.bool, []), ("next", self.float, [1, 4, 10, 10]), ("top", self.float, [])])
        small.node("Loop", [small.const(self.numpy.array(3)), "", x], ["y", "tops"], body=loop)
        samples = self.reals(40, 4, 10, 10)
        self.hold(small.save("y", "tops"), self.saved("loop_conv", x=samples), [{"x": samples[i:i + 1]} for i in range(3)], 1)

    def test_a_scan_over_time(self):
        small = Small()
        state, xs = small.feed("state", self.reals(8)), small.feed("xs", self.reals(6, 8))
        small.const(self.reals(8, 8) / 4, "w")
        nodes = [self.helper.make_node("MatMul", ["s", "w"], ["m"]), self.helper.make_node("Add", ["m", "x"], ["a"]),
                 self.helper.make_node("Tanh", ["a"], ["s_out"]), self.helper.make_node("Identity", ["s_out"], ["y_out"])]
        step = body("step", nodes, [("s", self.float, [8]), ("x", self.float, [8])], [("s_out", self.float, [8]), ("y_out", self.float, [8])])
        small.node("Scan", [state, xs], ["last", "ys"], body=step, num_scan_inputs=1)
        path = small.save("last", "ys")
        folder = scratch() / "scan"
        folder.mkdir()
        feeds = [{"state": self.reals(8), "xs": self.reals(6, 8)} for _ in range(40)]
        for i, sample in enumerate(feeds):
            self.numpy.savez(folder / f"{i:03}.npz", **sample)
        self.hold(path, folder, feeds[:3], 1)


class States(WithModels):
    """A voice detector's shape: frames [N,64], state [2,N,16], a rate that chooses a branch."""

    def detector(self):
        small = Small()
        small.shapes.update(input=("batch", 64), state=(2, "batch", 16))
        x, state = small.feed("input", self.reals(1, 64)), small.feed("state", self.reals(2, 1, 16))
        rate = small.feed("sr", self.numpy.array(16000))
        fast = small.node("Equal", [rate, small.const(self.numpy.array(16000))])
        names = {}
        for branch, taps in (("fast", 8), ("slow", 4)):
            names[branch] = [small.const(self.reals(16, 1, taps) / 4, f"{branch}_w1"), small.const(self.reals(16, 32) / 6, f"{branch}_w2"),
                             small.const(self.reals(16, 16) / 5, f"{branch}_w3"), small.const(self.reals(1, 16) / 3, f"{branch}_w4")]
        small.const(self.numpy.array([1]), "one")
        small.const(self.numpy.array([0]), "zero")
        branches = {branch: self.branch(branch, names[branch]) for branch in names}
        small.node("If", [fast], ["output", "stateN"], then_branch=branches["fast"], else_branch=branches["slow"])
        return small.save("output", "stateN")

    def branch(self, name, weights):
        node = self.helper.make_node
        strides = [8] if name == "fast" else [4]
        nodes = [
            node("Unsqueeze", ["input", "one"], ["u"]), node("Conv", ["u", weights[0]], ["c"], strides=strides, name=f"{name}_front"),
            node("Relu", ["c"], ["r"]), node("ReduceMean", ["r"], ["f"], axes=[2], keepdims=0),
            node("Split", ["state"], ["h", "k"], axis=0),
            node("Squeeze", ["h", "zero"], ["h1"]), node("Squeeze", ["k", "zero"], ["k1"]), node("Concat", ["f", "h1"], ["j"], axis=1),
            node("Gemm", ["j", weights[1]], ["g"], transB=1, name=f"{name}_gate"), node("Tanh", ["g"], ["h2"]),
            node("Gemm", ["k1", weights[2]], ["q"], transB=1, name=f"{name}_keep"), node("Add", ["q", "h2"], ["p"]), node("Tanh", ["p"], ["k2"]),
            node("Gemm", ["k2", weights[3]], ["s"], transB=1, name=f"{name}_head"), node("Sigmoid", ["s"], ["o"]),
            node("Unsqueeze", ["h2", "zero"], ["h3"]), node("Unsqueeze", ["k2", "zero"], ["k3"]), node("Concat", ["h3", "k3"], ["n"], axis=0)]
        return body(name, nodes, [], [("o", self.float, None), ("n", self.float, None)])

    def recordings(self, folder, count, rate):
        """Files of 12 frames; frames of one follow each other."""
        folder.mkdir(exist_ok=True)
        for i in range(count):
            time = self.numpy.arange(12 * 64) / 40 + self.rng.uniform(0, 9)
            wave = (self.numpy.sin(time) * self.rng.uniform(0.3, 2) + 0.2 * self.reals(12 * 64)).astype("float32").reshape(12, 64)
            self.numpy.savez(folder / f"{i:02}.npz", input=wave, sr=self.numpy.array(rate if i % 2 else 16000))
        return folder

    def truth(self, path, folder):
        """ONNX Runtime's answers, its states carried by hand."""
        session = onnxruntime_session(path)
        answers = []
        for file in sorted(folder.glob("*.npz")):
            arrays = self.numpy.load(file)
            state = self.numpy.zeros((2, 1, 16), "float32")
            for frame in arrays["input"]:
                output, state = session.run(None, {"input": frame[None], "state": state, "sr": arrays["sr"]})
                answers.append(output)
        return self.numpy.concatenate(answers)

    def test_states_go_along_a_sequence(self):
        path = self.detector()
        folder = self.recordings(scratch() / "voices", 8, 8000)
        links = ("--state", "stateN:state")
        engine, plain, inspection = self.built(path, folder, *links)
        self.assertEqual(self.summary["calibration"]["samples"], 96)
        inside = [layer for layer in inspection["layers"] if "_branch/" in layer["name"] and layer["macs"]]
        self.assertEqual(len(inside), 8)
        self.assertEqual({layer["precision"] for layer in inside}, {"int8"})
        truth, target = self.truth(path, folder), scratch() / "voices_out.npz"
        for file, least in ((plain, 80), (engine, LEAST_DB)):
            octet("run", file, folder, *links, "-o", target)
            self.assertGreater(decibels(truth, self.numpy.load(target)["output"]), least)
        # Without states the same frames give something else: the test can fail.
        octet("run", plain, folder, "-o", target, code=2)
        data = ("--data", folder, *links)
        self.assertGreater(octet("eval", engine, *data, "--against", path, "--json").json["sqnr_db"], LEAST_DB)
        for more in ((), ("--layers",)):
            found = octet("compare", engine, "--against", path, "--calib", folder, *links, *more, "--json").json
            self.assertGreater(found["sqnr_db"], LEAST_DB)
        within = [layer for layer in found["layers"] if "_branch/" in layer["layer"] and layer["precision"] == "int8"]
        self.assertGreaterEqual(len(within), 8)
        for layer in within:
            self.assertTrue(layer["exact"] or layer["sqnr_db"] > LEAST_DB / 2, layer)

    def test_states_as_samples(self):
        """Without --state the state is data like other data, along the axis that is found, or told."""
        path = self.detector()
        arrays = {"input": self.reals(40, 64), "state": self.reals(2, 40, 16), "sr": self.numpy.array(16000)}
        data = self.saved("with_states", **arrays)
        octet("build", path, "--int8", "--calib", data, "-o", scratch() / "told.octet", "--sample-axis", "state:1")
        found, told = (octet("build", path, "--int8", "--calib", data, "-o", scratch() / f"axis{i}.octet", "--json", *flags).json["calibration"]
                       for i, flags in enumerate(((), ("--sample-axis", "state:1"))))
        self.assertEqual(found["samples"], 40)
        self.assertEqual(found["inputs"], told["inputs"])
        error = octet("build", path, "--int8", "--calib", data, "-o", scratch() / "x.octet", "--sample-axis", "state:0", code=2).err
        self.assertIn("state", error)

    def test_mistakes(self):
        path = self.detector()
        folder = self.recordings(scratch() / "few_voices", 2, 16000)
        build = ("build", path, "--int8", "--calib", folder, "-o", scratch() / "m.octet")
        for flags, words in ((("--state", "stateM:state"), "no output 'stateM'"), (("--state", "stateN:stat"), "no input 'stat'"),
                             (("--state", "output:state"), "cannot be"), (("--state", "stateN"), "expected OUTPUT:INPUT"),
                             (("--sample-axis", "state"), "expected NAME:AXIS"), (("--sample-axis", "state:7"), "axis 7"),
                             (("--sample-axis", "stat:1"), "no input 'stat'")):
            with self.subTest(flags=flags):
                self.assertIn(words, octet(*build, *flags, code=2).err)


if __name__ == "__main__":
    harness.main()
