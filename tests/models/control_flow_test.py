# SPDX-License-Identifier: Apache-2.0
"""Models whose sizes depend on data, and If, Loop and Scan, against ONNX Runtime through the command line."""

import unittest

import harness
from harness import need, octet
from nodes import Small, expected


def body(name, nodes, inputs, outputs):
    onnx = need("onnx")
    infos = [[onnx.helper.make_tensor_value_info(n, t, shape) for n, t, shape in values] for values in (inputs, outputs)]
    return onnx.helper.make_graph(nodes, name, *infos)


class ControlFlow(unittest.TestCase):
    def setUp(self):
        self.onnx, self.numpy = need("onnx"), need("numpy")
        self.float, self.int, self.bool = (getattr(self.onnx.TensorProto, t) for t in ("FLOAT", "INT64", "BOOL"))
        self.rng = self.numpy.random.default_rng(11)

    def reals(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype(self.numpy.float32)

    def hold(self, small, outputs, *other_feeds):
        """One engine, equal to ONNX Runtime on every set of inputs."""
        path = small.save(*outputs)
        engine, source, target = (path.with_suffix(end) for end in (".octet", ".in.npz", ".out.npz"))
        octet("build", path, "-o", engine, "--quiet")
        for feeds in (small.feeds, *other_feeds):
            want = expected(path, feeds)
            self.numpy.savez(source, **feeds)
            octet("run", engine, source, "-o", target)
            with self.numpy.load(target) as have:
                for name in outputs:
                    self.assertEqual(have[name].shape, want[name].shape, name)
                    self.numpy.testing.assert_allclose(have[name], want[name], rtol=1e-4, atol=1e-5)
        return engine

    def test_branches_of_fully_connected_layers(self):
        """A Gemm is a product for who runs the branch, though none for who quantizes it."""
        small, helper = Small(), self.onnx.helper
        x = small.feed("x", self.reals(3, 8))
        weights = [small.const(self.reals(4, 8)) for _ in range(2)]
        branches = {}
        for name, weight in zip(("then_branch", "else_branch"), weights):
            product = helper.make_node("Gemm", [x, weight], [f"{name}_y"], transB=1)
            branches[name] = body(name, [product], [], [(f"{name}_y", self.float, (3, 4))])
        total = small.node("ReduceSum", [x], keepdims=0)
        small.node("If", [small.node("Greater", [total, small.const(self.numpy.float32(0))])], ["y"], **branches)
        self.hold(small, ["y"], {"x": -small.feeds["x"]})

    def detector(self):
        """A convolution for boxes and scores, NMS, and a second head on what it chose."""
        numpy = self.numpy
        small = Small()
        image = small.feed("image", self.reals(1, 3, 16, 16))
        features = small.node("Relu", [small.node("Conv", [image, small.const(self.reals(8, 3, 3, 3))], strides=[2, 2], pads=[1, 1, 1, 1])])
        raw = small.node("Conv", [features, small.const(self.reals(4, 8, 1, 1))])
        flat = small.node("Transpose", [small.node("Reshape", [raw, small.const(numpy.array([1, 4, -1]))])], perm=[0, 2, 1])
        center, size = (small.node("Slice", [flat, *(small.const(numpy.array([v])) for v in (begin, begin + 2, 2))]) for begin in (0, 2))
        size = small.node("Add", [small.node("Abs", [size]), small.const(numpy.float32([0.5]))])
        boxes = small.node("Concat", [small.node("Sub", [center, size]), small.node("Add", [center, size])], axis=2)
        scores = small.node("Reshape", [small.node("Sigmoid", [small.node("Conv", [features, small.const(self.reals(2, 8, 1, 1))])]),
                                        small.const(numpy.array([1, 2, -1]))])
        threshold = small.feed("threshold", numpy.float32([0.6]))
        chosen = small.node("NonMaxSuppression", [boxes, scores, small.const(numpy.array([20])), small.const(numpy.float32([0.4])), threshold],
                            ["chosen"])
        rows = small.node("Gather", [chosen, small.const(numpy.array(2))], axis=1)
        picked = small.node("Gather", [small.node("Squeeze", [boxes, small.const(numpy.array([0]))]), rows], ["picked"])
        hidden = small.node("Relu", [small.node("Gemm", [picked, small.const(self.reals(4, 6)), small.const(self.reals(6))])])
        small.node("Softmax", [small.node("MatMul", [hidden, small.const(self.reals(6, 5))])], ["head"], axis=-1)
        return small

    def test_a_detector_with_nms_inside(self):
        small = self.detector()
        others = [{"image": self.reals(1, 3, 16, 16), "threshold": self.numpy.float32([t])} for t in (0.3, 0.7, 0.6)]
        others.append({"image": self.reals(1, 3, 16, 16), "threshold": self.numpy.float32([2])})  # nothing is found
        engine = self.hold(small, ["chosen", "picked", "head"], *others)
        layers = {layer["op"]: layer for layer in octet("inspect", engine, "--json").json["layers"]}
        self.assertEqual(layers["NonMaxSuppression"]["kernel"], "reference")
        self.assertIn("depends on run-time data", layers["NonMaxSuppression"]["kernel_reason"])
        self.assertNotEqual(layers["Conv"]["kernel"], "during the run")
        self.assertEqual(layers["Softmax"]["kernel"], "during the run")
        self.assertGreater(octet("bench", engine, "--seconds", "0.05", "--warmup", "1", "--json").json["runs"], 0)

    def test_shapes_given_as_inputs_and_computed(self):
        numpy = self.numpy
        small = Small()
        x = small.feed("x", self.reals(4, 6))
        shape = small.feed("shape", numpy.array([3, 8]))
        y = small.node("Reshape", [x, shape])
        positive = small.node("ReduceSum", [small.node("Cast", [small.node("Greater", [y, small.const(numpy.float32(0))])], to=self.int)],
                              keepdims=1)
        count = small.node("Reshape", [positive, small.const(numpy.array([1]))])
        flat = small.node("Reshape", [y, small.const(numpy.array([-1]))])
        small.node("TopK", [flat, count], ["top", "at"])
        small.node("Range", [small.const(numpy.array(0)), small.node("Squeeze", [count]), small.const(numpy.array(2))], ["range"])
        small.node("Expand", [small.node("Slice", [y, small.const(numpy.array([0])), small.const(numpy.array([1]))]),
                              small.node("Concat", [count, small.const(numpy.array([1]))], axis=0)], ["expanded"])
        engine = self.hold(small, ["top", "at", "range", "expanded"],
                           *({"x": self.reals(4, 6), "shape": numpy.array(s)} for s in ([24, 1], [3, 8], [2, 12])))
        types = octet("inspect", engine).out
        for line in ("output top: f32[?]", "output at: s64[?]", "output range: s64[?]", "output expanded: f32[?,?]"):
            self.assertIn(line, types)

    def test_if_takes_either_branch(self):
        numpy, helper = self.numpy, self.onnx.helper
        small = Small()
        x = small.feed("x", self.reals(2, 3))
        condition = small.node("Greater", [small.node("ReduceSum", [x], keepdims=0), small.const(numpy.float32(0))])
        small.const(self.reals(3, 5), "w")
        then_branch = body("t", [helper.make_node("MatMul", ["x", "w"], ["r"])], [], [("r", self.float, None)])
        else_branch = body("e", [helper.make_node("Neg", ["x"], ["r"])], [], [("r", self.float, None)])
        y = small.node("If", [condition], then_branch=then_branch, else_branch=else_branch)
        small.node("Relu", [y], ["y"])
        engine = self.hold(small, ["y"], {"x": numpy.ones((2, 3), numpy.float32)}, {"x": -numpy.ones((2, 3), numpy.float32)})
        self.assertIn("output y: f32[2,?]", octet("inspect", engine).out)

    def test_a_branch_whose_size_data_tell(self):
        numpy, helper = self.numpy, self.onnx.helper
        small = Small()
        x = small.feed("x", self.reals(6))
        condition = small.node("Greater", [small.node("ReduceSum", [x], keepdims=0), small.const(numpy.float32(0))])
        then_branch = body("t", [helper.make_node("NonZero", ["p"], ["r"])], [], [("r", self.int, None)])
        else_branch = body("e", [helper.make_node("NonZero", ["x"], ["r"])], [], [("r", self.int, None)])
        small.node("Relu", [x], ["p"])
        y = small.node("If", [condition], then_branch=then_branch, else_branch=else_branch)
        small.node("Gather", [x, y], ["y"])
        engine = self.hold(small, ["y"], *({"x": self.reals(6) + shift} for shift in (-0.5, 0.5, 0)))
        self.assertIn("output y: f32[?,?]", octet("inspect", engine).out)

    def test_finding_nothing_is_a_case_of_its_own(self):
        """No size that the compiler tries is 0, and the branch for 0 must survive."""
        numpy, helper = self.numpy, self.onnx.helper
        small = Small()
        x = small.feed("x", self.reals(6))
        found = small.node("NonZero", [small.node("Relu", [x])], ["found"])
        count = small.node("Gather", [small.node("Shape", [found]), small.const(numpy.array(1))])
        condition = small.node("Equal", [count, small.const(numpy.array(0))])
        none = helper.make_node("Constant", [], ["r"], value_floats=[-1.0])
        then_branch = body("t", [none], [], [("r", self.float, None)])
        some = [helper.make_node("Gather", ["x", "found"], ["g"]), helper.make_node("Reshape", ["g", "flat"], ["r"])]
        small.const(numpy.array([-1]), "flat")
        else_branch = body("e", some, [], [("r", self.float, None)])
        small.node("If", [condition], ["y"], then_branch=then_branch, else_branch=else_branch)
        self.hold(small, ["y"], *({"x": numpy.float32(values)} for values in ([-1] * 6, [1, -1, 2, -1, 3, 4], [1] * 6)))

    def test_an_if_that_the_shapes_decide_disappears(self):
        numpy, helper = self.numpy, self.onnx.helper
        small = Small()
        x = small.feed("x", self.reals(1, 3))
        rank = small.node("Size", [small.node("Shape", [x])])
        condition = small.node("Equal", [rank, small.const(numpy.array(2))])
        small.const(numpy.array([0]), "axes")
        then_branch = body("t", [helper.make_node("Squeeze", ["x", "axes"], ["r"])], [], [("r", self.float, None)])
        else_branch = body("e", [helper.make_node("Identity", ["x"], ["r"])], [], [("r", self.float, None)])
        y = small.node("If", [condition], then_branch=then_branch, else_branch=else_branch)
        small.node("Relu", [y], ["y"])
        engine = self.hold(small, ["y"])
        self.assertNotIn("If", [layer["op"] for layer in octet("inspect", engine, "--json").json["layers"]])

    def test_a_loop_that_data_end(self):
        numpy, helper = self.numpy, self.onnx.helper
        small = Small()
        start, limit = small.feed("start", self.reals(3)), small.feed("limit", numpy.float32([40]))
        small.const(numpy.float32([1.5]), "factor")
        nodes = [helper.make_node("Mul", ["v", "factor"], ["scaled"]), helper.make_node("Add", ["scaled", "factor"], ["next"]),
                 helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0), helper.make_node("Squeeze", ["limit"], ["top"]),
                 helper.make_node("Less", ["sum", "top"], ["on"]), helper.make_node("Identity", ["next"], ["step"])]
        loop = body("loop", nodes, [("i", self.int, []), ("go", self.bool, []), ("v", self.float, [3])],
                    [("on", self.bool, []), ("next", self.float, [3]), ("step", self.float, [3])])
        small.node("Loop", ["", small.const(numpy.array(True)), start], ["last", "steps"], body=loop)
        small.node("ReduceMax", ["steps"], ["best"], axes=[0], keepdims=0)
        engine = self.hold(small, ["last", "steps", "best"],
                           *({"start": self.reals(3), "limit": numpy.float32([v])} for v in (5, 90, 40)))
        source = engine.with_suffix(".in.npz")
        numpy.savez(source, start=numpy.zeros(3, numpy.float32), limit=numpy.float32([numpy.inf]))
        error = octet("run", engine, source, "--max-loop-trips", "50", code=2).err
        self.assertIn("have run 50 times", error)
        self.assertIn("--max-loop-trips", error)

    def test_scan_in_both_directions(self):
        helper = self.onnx.helper
        small = Small()
        state, xs = small.feed("state", self.reals(4)), small.feed("xs", self.reals(7, 4))
        small.const(self.reals(4, 4), "w")
        nodes = [helper.make_node("MatMul", ["s", "w"], ["m"]), helper.make_node("Add", ["m", "x"], ["a"]),
                 helper.make_node("Tanh", ["a"], ["s_out"]), helper.make_node("Identity", ["s_out"], ["y_out"])]
        step = body("step", nodes, [("s", self.float, [4]), ("x", self.float, [4])], [("s_out", self.float, [4]), ("y_out", self.float, [4])])
        small.node("Scan", [state, xs], ["last", "ys"], body=step, num_scan_inputs=1)
        small.node("Scan", [state, xs], ["first", "back"], body=step, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1])
        self.hold(small, ["last", "ys", "first", "back"])


if __name__ == "__main__":
    harness.main()
