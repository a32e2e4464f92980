# SPDX-License-Identifier: Apache-2.0
"""Types that are asked for: none, prefer and obey with every reason, what is refused at once, and the gate on coverage."""

import re
import unittest

import harness
from harness import octet, scratch


def tensors(numpy, seed, *shapes):
    random = numpy.random.default_rng(seed)
    return [random.standard_normal(shape).astype("f") * 0.3 for shape in shapes]


class Net:
    """x [1,4,8,8] -> first (Conv), relu -> second (Conv) -> sum (Add, with relu) -> pool -> flat -> head (MatMul) -> soft -> y; ArgMax of it -> best;
    and up (ConvTranspose) of the sum -> u."""

    def __init__(self, folder):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, convert = onnx.helper, onnx.numpy_helper.from_array
        w = tensors(numpy, 3, (4, 4, 3, 3), (4, 4, 3, 3), (4, 10), (4, 2, 2, 2))
        make = helper.make_node
        nodes = [make("Conv", ["x", "w0"], ["a"], "first", pads=[1] * 4), make("Relu", ["a"], ["b"], "relu"),
                 make("Conv", ["b", "w1"], ["c"], "second", pads=[1] * 4), make("Add", ["c", "b"], ["d"], "sum"),
                 make("GlobalAveragePool", ["d"], ["e"], "pool"), make("Flatten", ["e"], ["f"], "flat"),
                 make("MatMul", ["f", "w2"], ["g"], "head"), make("Softmax", ["g"], ["y"], "soft", axis=1),
                 make("ArgMax", ["g"], ["best"], "best", axis=1), make("ConvTranspose", ["d", "w3"], ["u"], "up", strides=[2, 2])]
        info = helper.make_tensor_value_info
        real, integer = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
        outputs = [info("y", real, [1, 10]), info("best", integer, [1, 1]), info("u", real, [1, 2, 16, 16])]
        graph = helper.make_graph(nodes, "net", [info("x", real, [1, 4, 8, 8])], outputs,
                                  initializer=[convert(value, f"w{i}") for i, value in enumerate(w)])
        self.model = folder / "net.onnx"
        self.model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        self.data = folder / "net.npz"
        numpy.savez(self.data, x=numpy.random.default_rng(4).standard_normal((32, 4, 8, 8)).astype("f"))
        self.folder = folder

    def build(self, *arguments, name="net", code=0, data=True):
        calib = ("--calib", self.data) if data else ()
        return octet("build", self.model, "--int8", *calib, "--json", "--force", "-o", self.folder / f"{name}.octet", *arguments, code=code)

    def refused(self, *arguments, **others):
        path = self.folder / "refused.octet"
        said = self.build(*arguments, name="refused", code=2, **others).json["error"]["message"]
        assert not path.exists()
        return said


def nodes_of(result):
    return {node["name"]: node for node in result["nodes"]}


class Constraints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch() / "constraints"
        cls.folder.mkdir()
        cls.net = Net(cls.folder)
        cls.plain = nodes_of(cls.net.build(name="plain").json)

    def layers(self, name):
        found = octet("inspect", self.folder / f"{name}.octet", "--json").json
        return [(layer["name"], layer["precision"], layer["kernel"]) for layer in found["layers"]]

    def test_what_nobody_asks(self):
        self.assertEqual(self.plain["first"]["resolved"], "int8")
        self.assertEqual(self.plain["relu"]["layer"], self.plain["first"]["layer"])
        self.assertEqual({node["requested"] for node in self.plain.values()}, {None})
        self.assertEqual(self.plain["best"]["resolved"], "s64")

    def test_prefer_is_met_where_it_can_be(self):
        built = self.net.build("--precision", "second:fp32,head:int8").json
        nodes = nodes_of(built)
        self.assertEqual((nodes["second"]["requested"], nodes["second"]["resolved"]), ("f32", "f32"))
        self.assertEqual(nodes["second"]["reason_code"], "kept_by_user")
        self.assertIn("second:f32", nodes["second"]["reason"])
        self.assertEqual(nodes["head"]["resolved"], "int8")
        self.assertFalse([w for w in built["warnings"] if "constraints" in w])

    def test_prefer_warns_of_each_that_is_not_met(self):
        built = self.net.build("--precision", "soft:int8,up:int8").json
        said = [w for w in built["warnings"] if "obeys the requested constraints" in w]
        self.assertEqual(len(said), 2, built["warnings"])
        self.assertTrue(nodes_of(built)["soft"]["violated"])
        self.assertEqual(nodes_of(built)["soft"]["resolved"], "f32")

    def test_none_takes_the_fastest_and_keeps_what_was_asked(self):
        built = self.net.build("--precision", "second:f32,soft:int8", "--constraints", "none", name="none").json
        self.assertEqual(self.layers("none"), self.layers("plain"))
        self.assertFalse([w for w in built["warnings"] if "constraints" in w])
        kept = nodes_of(octet("inspect", self.folder / "none.octet", "--json").json)
        self.assertEqual((kept["second"]["requested"], kept["second"]["resolved"]), ("f32", "int8"))

    def test_obey_lists_every_node_with_its_reason(self):
        said = self.net.refused("--precision", "*:int8", "--constraints", "obey")
        broken = [name for name, node in self.plain.items() if node["resolved"] == "f32"]
        for name in ("soft", "up"):
            self.assertIn(name, broken)
            self.assertRegex(said, rf"'{name}': int8 is asked for, and it gets f32")
        for code in ("kept_for_accuracy", "model_output"):
            self.assertIn(f"({code})", said)
        self.assertNotIn("'best'", said)  # integers cannot be asked, and a pattern is not about them

    def test_the_relaxation_builds_and_asks_for_no_more_than_needed(self):
        said = self.net.refused("--precision", "*:int8", "--constraints", "obey")
        types = re.search(r"instead: types (\S+)", said).group(1)
        built = self.net.build("--precision", f"*:int8,{types}", "--constraints", "obey").json
        nodes = nodes_of(built)
        self.assertFalse([name for name, node in nodes.items() if node["violated"]])
        relaxed = {entry.rsplit(":", 1)[0] for entry in types.split(",")}
        for name in relaxed:
            rest = ",".join(entry for entry in types.split(",") if entry.rsplit(":", 1)[0] != name)
            again = self.net.refused("--precision", "*:int8" + ("," + rest if rest else ""), "--constraints", "obey")
            self.assertIn(f"'{name}'", again)

    def test_a_name_counts_before_its_operator_in_all_of_a_layer(self):
        nodes = nodes_of(self.net.build("--precision", "Conv:int8,first:f32", "--constraints", "obey", name="named").json)
        self.assertEqual({name: (nodes[name]["requested"], nodes[name]["resolved"]) for name in ("first", "relu", "second")},
                         {"first": ("f32", "f32"), "relu": ("f32", "f32"), "second": ("int8", "int8")})

    def test_obey_fails_before_data_are_read(self):
        broken = self.folder / "broken.npz"
        broken.write_bytes(b"no zip")
        said = self.net.refused("--calib", broken, "--precision", "soft:int8", "--constraints", "obey", data=False)
        self.assertIn("'soft'", said)

    def test_a_range_that_is_missing_is_a_reason(self):
        ranges = self.folder / "ranges.txt"
        ranges.write_text("x: 4\nb: 0 4\n")
        said = self.net.refused("--ranges", ranges, "--precision", "first:int8,second:int8", "--constraints", "obey", data=False)
        self.assertIn("'second': int8 is asked for, and it gets f32", said)
        self.assertIn("(no_range)", said)
        self.assertNotIn("'first'", said)

    def test_a_node_of_integers_is_a_violation_by_its_name(self):
        said = self.net.refused("--precision", "best:int8", "--constraints", "obey")
        self.assertIn("(not_real)", said)

    def test_obey_alone_binds_nothing_and_says_so(self):
        built = self.net.build("--constraints", "obey", name="alone").json
        self.assertTrue([w for w in built["warnings"] if "none is given" in w])
        self.assertEqual((self.folder / "alone.octet").read_bytes(), (self.folder / "plain.octet").read_bytes())

    def test_all_that_is_wrong_is_one_error(self):
        said = self.net.refused("--precision", "secnod:f32,first:int8,first:f32,second:int8,zz*:int8", "--keep-float", "second")
        self.assertRegex(said, "'secnod:f32' matches no node and no operator; did you mean 'second'")
        self.assertIn("'first:f32' contradicts 'first:int8'", said)
        self.assertIn("'zz*:int8' matches no", said)
        self.assertIn("'second' is to be kept in f32", said)
        self.assertIn("4 of the precision constraints are wrong", said)

    def test_nodes_of_one_layer_have_one_type(self):
        said = self.net.refused("--precision", "first:int8,relu:f32")
        self.assertIn("are one layer", said)
        # Patterns are no names: the last that matches a node of the layer counts, and what the other asked for is a violation.
        said = self.net.refused("--precision", "first*:int8,relu*:f32", "--constraints", "obey")
        self.assertIn("'first': int8 is asked for", said)

    def test_entries_that_are_no_constraints_are_all_listed(self):
        said = self.net.refused("--precision", "first,second:int9,:f32", "--output-type", "first:float12")
        for entry in ("'first'", "'second:int9'", "':f32'", "'first:float12'"):
            self.assertIn(entry, said)

    def test_int8_of_a_build_without_it(self):
        said = octet("build", self.net.model, "--precision", "first:int8", "-o", self.folder / "f.octet", code=2).err
        self.assertIn("'first:int8': this build makes no INT8", said)
        octet("build", self.net.model, "--precision", "*:f32", "--constraints", "obey", "-o", self.folder / "f.octet")

    def test_a_name_counts_before_patterns_and_the_last_pattern(self):
        nodes = nodes_of(self.net.build("--precision", "second:int8,*:f32,hea?:int8").json)
        self.assertEqual(nodes["second"]["requested"], "int8")
        self.assertEqual(nodes["head"]["requested"], "int8")
        self.assertEqual(nodes["first"]["resolved"], "f32")
        self.assertEqual(nodes["head"]["resolved"], "int8")
        nodes = nodes_of(self.net.build("--precision", "*:int8,MatMul:f32").json)
        self.assertEqual((nodes["head"]["resolved"], nodes["first"]["resolved"]), ("f32", "int8"))

    def test_int8_that_the_default_would_not_take(self):
        # Its inputs are f32, and nobody reads codes from it: asked for, it computes on codes all the same.
        flags = ("--precision", "*:f32,pool:int8", "--constraints", "obey")
        self.assertEqual(nodes_of(self.net.build(*flags).json)["pool"]["resolved"], "int8")
        alone = nodes_of(self.net.build("--precision", "first:f32,second:f32,sum:f32,head:f32,up:f32").json)
        self.assertEqual(alone["pool"]["resolved"], "f32")

    def test_results_as_codes_and_as_reals(self):
        real = self.net.build("--output-type", "first:f32", "--precision", "first:int8", "--constraints", "obey", name="real").json
        node = nodes_of(real)["first"]
        self.assertEqual((node["resolved"], node["resolved_output"]), ("int8", "f32"))
        self.assertEqual(self.plain["first"]["resolved_output"], "int8")
        layer = next(x for x in octet("inspect", self.folder / "real.octet", "--json").json["layers"] if "first" in x["nodes"] and x["macs"])
        self.assertTrue(layer["outputs"][0]["type"].startswith("f32"), layer["outputs"])

        self.assertEqual(self.plain["head"]["resolved_output"], "f32")
        codes = self.net.build("--output-type", "head:int8", "--constraints", "prefer", name="codes").json
        self.assertEqual(nodes_of(codes)["head"]["requested_output"], "int8")

    def test_a_result_that_the_caller_reads_keeps_its_type(self):
        said = self.net.refused("--output-type", "soft:int8", "--constraints", "obey")
        self.assertIn("'soft': a result of int8 is asked for", said)
        self.assertIn("(model_output)", said)
        self.assertIn("types of results soft:f32", said)

    def test_check_tells_before_any_build(self):
        done = octet("check", self.net.model, "--precision", "soft:int8", "--constraints", "obey", "--json", code=2).json
        self.assertFalse(done["builds"])
        self.assertIn("'soft': int8 is asked for", done["problems"][0]["message"])
        self.assertEqual(nodes_of(done)["soft"]["requested"], "int8")
        text = octet("check", self.net.model, "--precision", "second:f32").out
        self.assertRegex(text, r"second +second +f32 +f32")
        unknown = octet("check", self.net.model, "--precision", "zz:f32", "--json", code=2).json
        self.assertIn("'zz:f32' matches no", unknown["problems"][0]["message"])

    def test_the_engine_remembers(self):
        report = self.folder / "asked.html"
        self.net.build("--precision", "second:f32,soft:int8", "--report", report, name="asked")
        kept = octet("inspect", self.folder / "asked.octet", "--json").json
        self.assertEqual(kept["constraints"], {"mode": "prefer", "types": ["second:f32", "soft:int8"], "output_types": []})
        self.assertTrue(nodes_of(kept)["soft"]["violated"])
        text = octet("inspect", self.folder / "asked.octet").out
        self.assertRegex(text, r"soft +soft +int8 +f32 !")
        self.assertIn("1 of 2 nodes did not get", text)
        self.assertIn("ArgMax", octet("inspect", self.folder / "asked.octet", "--nodes").out)
        page = report.read_text()
        self.assertIn('<tr class="violated"><td class="w">soft</td>', page)

    def test_an_operator_with_an_exception_by_name(self):
        """Of operators too that stand in layers of others: a Relu behind a convolution."""
        digits = harness.DIGITS / "digits.onnx"
        for asked in ("Conv:int8,/3/c1/Conv:f32", "Relu:int8,/3/Relu:f32", "Add:f32,/3/Add:int8", "MatMul:f32,/8/Gemm:int8"):
            told = octet("check", digits, "--precision", asked, "--constraints", "obey", "--json").json
            nodes = nodes_of(told)
            name, wanted = asked.split(",")[1].split(":")
            self.assertEqual(nodes[name]["resolved"], wanted, asked)
            self.assertTrue(told["builds"], asked)

    def test_the_gate_on_coverage(self):
        path = self.folder / "gate.octet"
        failed = self.net.build("--min-coverage", "100", name="gate", code=1).json
        self.assertFalse(path.exists())
        self.assertFalse(failed["passed"])
        self.assertIsNone(failed["engine"])
        share = failed["coverage"]["macs"]
        self.assertEqual(failed["thresholds"][0]["value"], 100 * share)
        self.assertLess(share, 1)
        self.assertGreater(share, 0.5)
        self.assertTrue(self.net.build("--min-coverage", "50", name="gate").json["passed"])
        self.assertTrue(path.exists())
        octet("check", self.net.model, "--min-coverage", "100", code=1)

    def test_the_gate_on_time(self):
        failed = self.net.build("--min-time-coverage", "100", name="time_gate", code=1).json
        self.assertFalse((self.folder / "time_gate.octet").exists())
        self.assertEqual(failed["thresholds"][0]["name"], "min_time_coverage")
        self.assertEqual(failed["thresholds"][0]["value"], 100 * failed["coverage"]["time"])
        self.assertTrue(self.net.build("--min-time-coverage", "1%", name="time_gate").json["passed"])
        # A gate on time is never left unjudged: not even where nothing is INT8.
        real = octet("build", self.net.model, "--min-time-coverage", "1%", "-o", self.folder / "real.octet", "--json", code=1).json
        self.assertEqual((real["thresholds"][0]["value"], real["coverage"]["time"]), (0, 0))

    def test_layers_say_their_time_and_what_helps(self):
        data = ("--calib", self.net.data)
        text = octet("build", self.net.model, "--int8", *data, "-o", self.folder / "told.octet", "--force").out
        self.assertRegex(text, r"NOT IN INT8 +OP +TIME +WHY +WHAT HELPS")
        self.assertRegex(text, r"\n  \S+ +\w+ +\d+\.\d % ")

    def test_coverage_by_bytes_and_time(self):
        coverage = self.net.build().json["coverage"]
        self.assertTrue(0 < coverage["bytes"] < 1)
        self.assertEqual(coverage["bytes"], coverage["int8_bytes"] / coverage["total_bytes"])
        self.assertTrue(0 < coverage["time"] < 1)
        # Without INT8 there is no time to share.
        self.assertRegex(octet("build", self.net.model, "-o", self.folder / "f.octet", "--force").out, r"0.0 % of multiplications, 0.0 % of bytes in INT8")


class Explicit(unittest.TestCase):
    """Where the model brings Q/DQ, these decide; constraints are held against them."""

    @classmethod
    def setUpClass(cls):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, convert = onnx.helper, onnx.numpy_helper.from_array
        make = helper.make_node
        nodes = [make("QuantizeLinear", ["x", "s", "z"], ["xq"], "q"), make("DequantizeLinear", ["xq", "s", "z"], ["xd"], "dq"),
                 make("DequantizeLinear", ["w", "s", "z"], ["wd"], "dqw"), make("Conv", ["xd", "wd"], ["y"], "conv"), make("Exp", ["y"], ["e"], "exp")]
        info = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 2, 4, 4])] for n in "xe"]
        weights = {"s": numpy.float32(0.02), "z": numpy.int8(0), "w": numpy.arange(4, dtype="i1").reshape(2, 2, 1, 1)}
        graph = helper.make_graph(nodes, "qdq", *info, initializer=[convert(numpy.asarray(v), k) for k, v in weights.items()])
        cls.model = scratch() / "constrained_qdq.onnx"
        cls.model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())

    def build(self, *arguments, code=0):
        return octet("build", self.model, "--json", "--force", "-o", scratch() / "constrained_qdq.octet", *arguments, code=code).json

    def test_they_are_held_against_it(self):
        self.build("--precision", "conv:int8,exp:f32", "--constraints", "obey")
        said = self.build("--precision", "conv:f32,exp:int8", "--constraints", "obey", code=2)["error"]["message"]
        self.assertIn("'conv': f32 is asked for, and it gets int8", said)
        self.assertIn("(qdq_in_model)", said)
        self.assertIn("'exp': int8 is asked for, and it gets f32", said)


class Reasons(unittest.TestCase):
    """One layer for each reason for which INT8 cannot be had, and the layers that compute in f32 and write codes."""

    WHY = {"running": "no_integer_form", "wide": "refused_by_operator", "relu": "model_output", "pool": "model_output", "soft": "kept_for_accuracy", "best": "not_real"}

    @classmethod
    def setUpClass(cls):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, convert = onnx.helper, onnx.numpy_helper.from_array
        make, info = helper.make_node, helper.make_tensor_value_info
        w = tensors(numpy, 5, (4, 4, 3, 3), (4, 4, 3, 3), (4, 2, 3, 3), (8, 8))
        weights = {f"w{i}": value for i, value in enumerate(w)} | {"one": numpy.array(1), "gain": numpy.ones(8, "f")}
        nodes = [make("Conv", ["x", "w0"], ["a"], "first", pads=[1] * 4), make("CumSum", ["a", "one"], ["b"], "running"),
                 make("Conv", ["b", "w1"], ["y0"], "behind", pads=[1] * 4), make("ConvTranspose", ["a", "w2"], ["c"], "wide", strides=[17, 17]),
                 make("Relu", ["c"], ["y1"], "relu"), make("GlobalAveragePool", ["a"], ["y2"], "pool"), make("Softmax", ["a"], ["y3"], "soft", axis=3),
                 make("Softmax", ["a"], ["d"], "inner", axis=3), make("MatMul", ["d", "d"], ["y4"], "square"),
                 make("LayerNormalization", ["a", "gain"], ["e"], "norm"), make("MatMul", ["e", "w3"], ["y5"], "head"),
                 make("ArgMax", ["a"], ["y6"], "best", axis=1)]
        outputs = [info(f"y{i}", 1 if i < 6 else 7, None) for i in range(7)]
        graph = helper.make_graph(nodes, "reasons", [info("x", 1, ["N", 4, 8, 8])], outputs, [convert(v, k) for k, v in weights.items()])
        cls.folder = scratch() / "reasons"
        cls.folder.mkdir()
        cls.model = cls.folder / "reasons.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), cls.model)
        numpy.savez(cls.folder / "x.npz", x=numpy.random.default_rng(4).standard_normal((32, 4, 8, 8)).astype("f"))

    def build(self, *arguments, code=0):
        return octet("build", self.model, "--int8", "--calib", self.folder / "x.npz", "--json", "--force", "-o", self.folder / "reasons.octet", *arguments,
                     code=code).json

    def asked(self):
        return "--precision", "*:int8,best:int8"

    def test_obey_tells_all(self):
        said = self.build(*self.asked(), "--constraints", "obey", code=2)["error"]["message"]
        found = dict(re.findall(r"^ *'(\w+)': int8 is asked for, and it gets .* \((\w+)\)$", said, re.M))
        self.assertEqual(found, self.WHY)
        types = re.search(r"instead: types (\S+)", said).group(1)
        without = types.replace("best:s64", "").strip(",")
        nodes = nodes_of(self.build("--precision", f"*:int8,{without}", "--constraints", "obey"))
        self.assertEqual([name for name, node in nodes.items() if node["violated"]], [])

    def test_prefer_warns_of_all(self):
        built = self.build(*self.asked())
        said = "\n".join(built["warnings"])
        for name, code in self.WHY.items():
            self.assertRegex(said, rf"obeys the requested constraints: '{name}': int8 is asked for.*\({code}\)")
            self.assertEqual(nodes_of(built)[name]["reason_code"], code)

    def test_none_keeps_all(self):
        built = self.build(*self.asked(), "--constraints", "none")
        self.assertFalse([text for text in built["warnings"] if "constraints" in text])
        for name in self.WHY:
            node = nodes_of(built)[name]
            self.assertEqual((node["requested"], node["violated"]), ("int8", True))

    def test_rows_as_codes_count_as_either(self):
        """Softmax and LayerNormalization compute in f32, and write codes where only codes are read."""
        plain = nodes_of(self.build())
        for name in ("inner", "norm"):
            self.assertEqual((plain[name]["resolved"], plain[name]["resolved_output"], plain[name]["reason_code"]), ("int8", "int8", "codes_of_rows"))
        for asked in ("int8", "f32"):
            nodes = nodes_of(self.build("--precision", f"inner:{asked},norm:{asked}", "--constraints", "obey"))
            for name in ("inner", "norm"):
                self.assertEqual((nodes[name]["resolved"], nodes[name]["violated"]), (asked, False))
        nodes = nodes_of(self.build("--output-type", "inner:int8,norm:int8", "--constraints", "obey"))
        self.assertFalse(nodes["norm"]["violated"])


class Loss(unittest.TestCase):
    def test_int8_overrides_what_channels_lose(self):
        numpy, onnx = harness.need("numpy"), harness.need("onnx")
        helper, convert = onnx.helper, onnx.numpy_helper.from_array
        weights = [numpy.ones((2, 1, 3, 3), "f"), numpy.ones((2, 2, 1, 1), "f")]
        weights[1][:, 1] = 1e4  # results rest on the quiet channel as on the other
        nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "wise", group=2, pads=[1] * 4),
                 helper.make_node("Conv", ["a", "w1"], ["y"], "point")]
        info = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["N", 2, 8, 8])] for n in "xy"]
        graph = helper.make_graph(nodes, "loss", *info, initializer=[convert(w, f"w{i}") for i, w in enumerate(weights)])
        folder = scratch() / "loss"
        folder.mkdir()
        model = folder / "loss.onnx"
        model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        x = numpy.random.default_rng(1).standard_normal((16, 2, 8, 8)).astype("f")
        x[:, 1] *= 1e-4
        numpy.savez(folder / "x.npz", x=x)
        common = ("build", model, "--int8", "--calib", folder / "x.npz", "--json", "--force", "-o", folder / "loss.octet")
        default = octet(*common)
        self.assertEqual(nodes_of(default.json)["wise"]["reason_code"], "channel_loss")
        self.assertNotIn("would stay real", " ".join(default.json["warnings"]))
        for asked in ("wise:int8", "*:int8"):
            built = octet(*common, "--precision", asked, "--constraints", "prefer" if "*" in asked else "obey")
            self.assertEqual(nodes_of(built.json)["wise"]["resolved"], "int8")
            self.assertRegex(" ".join(built.json["warnings"]), r"1 layer is INT8 since that is asked for, and would stay real for accuracy: 'wise' "
                             r"\(one scale for all channels of 'x' would cost [0-9.]+ % of the model's outputs\)")


if __name__ == "__main__":
    harness.main()
