# SPDX-License-Identifier: Apache-2.0
"""The execution provider in ONNX Runtime: the bundled digits, as a Q/DQ model and with calibrations, and everything that can be wrong.
OCTET_PROVIDER_RUNS says how many runs a session outlives (2000)."""

import functools
import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

import harness
import provider
from harness import DIGITS, digits_engine, octet, scratch
from provider import reference, run, run_octet, same, session
from unequal_channels import network

RUNS = int(os.environ.get("OCTET_PROVIDER_RUNS", "2000"))


def setUpModule():
    global np, onnx, ort
    np, onnx = harness.need("numpy", "onnx")
    ort = provider.runtime()


@functools.cache
def images():
    with np.load(DIGITS / "digits.npz") as digits:
        return digits["train_images"][:200, None].astype(np.float32) / 16


@functools.cache
def qdq():
    """The digits as a Q/DQ model."""
    path = scratch() / "digits_qdq.onnx"
    octet("export", digits_engine(), "--onnx", path)
    return path


@functools.cache
def cached():
    """A calibration of the FP32 digits, and the engine built of it."""
    cache, engine = scratch() / "digits.cache", scratch() / "from_cache.octet"
    np.savez(scratch() / "calib.npz", image=images())
    octet("build", DIGITS / "digits.onnx", "--int8", "--calib", scratch() / "calib.npz", "--calib-cache", cache, "-o", engine, "--quiet")
    return cache, engine


def fails(test, text, *arguments, **options):
    with test.assertRaises(Exception) as caught:
        session(*arguments, **options)
    test.assertIn(text, str(caught.exception))


class Codes(unittest.TestCase):
    """A Q/DQ model."""

    def test_equals_the_program_in_any_batch(self):
        made = session(qdq())
        for batch in (1, 7, 3, 64, 7, 1):
            feeds = {"image": images()[:batch]}
            same(self, run_octet(qdq(), feeds), run(made, feeds))

    def test_is_near_onnxruntime(self):
        harness.need_vnni()
        feeds = {"image": images()[:50]}
        ours, theirs = run(session(qdq()), feeds), run(reference(qdq()), feeds)
        for name, value in theirs.items():
            self.assertTrue((ours[name].argmax(1) == value.argmax(1)).all())

    def test_of_memory_equals_the_program_on_what_was_given(self):
        made = session(qdq().read_bytes(), save_models=scratch())
        feeds = {"image": images()[:5]}
        same(self, run_octet(scratch() / "part0.onnx", feeds), run(made, feeds))

    def test_of_the_sessions_graph(self):
        made = session(qdq(), source="session", save_models=scratch())
        feeds = {"image": images()[:5]}
        same(self, run_octet(scratch() / "part0.onnx", feeds), run(made, feeds))

    def test_bound_memory(self):
        made = session(qdq())
        name = made.get_outputs()[0].name
        out = np.zeros((9, 10), np.float32)
        binding = made.io_binding()
        binding.bind_cpu_input("image", np.ascontiguousarray(images()[:9]))
        binding.bind_output(name, "cpu", 0, np.float32, out.shape, out.ctypes.data)
        made.run_with_iobinding(binding)
        same(self, run(made, {"image": images()[:9]}), {name: out})

    def test_empty_batch(self):
        out = session(qdq()).run(None, {"image": images()[:0]})[0]
        self.assertEqual((0, 10), out.shape)

    def test_threads_at_once(self):
        for streams in (1, 2, 5):
            made = session(qdq(), threads=2, streams=streams)
            expected = [run(made, {"image": images()[i : i + 1 + i]}) for i in range(8)]
            wrong = []

            def body(i):
                for _ in range(20):
                    got = run(made, {"image": images()[i : i + 1 + i]})
                    wrong.extend(n for n in got if got[n].tobytes() != expected[i][n].tobytes())

            threads = [threading.Thread(target=body, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([], wrong)

    def test_sizes_that_do_not_fit(self):
        made = session(qdq())
        for feeds in ({"image": images()[:1, :, :5]}, {"image": images()[:1, 0]}, {"image": images()[:1].astype(np.float64)}):
            with self.assertRaises(Exception):
                made.run(None, feeds)
        same(self, run_octet(qdq(), {"image": images()[:1]}), run(made, {"image": images()[:1]}))


class Soak(unittest.TestCase):
    """Runs of which one in twenty is wrong: every good one is right, and memory and descriptors stay as they are."""

    def test_wrong_runs_among_good_ones(self):
        helper, kind = onnx.helper, onnx.TensorProto
        table = onnx.numpy_helper.from_array(np.arange(64, dtype=np.float32).reshape(16, 4), "table")
        value = lambda name, of, shape: helper.make_tensor_value_info(name, of, shape)
        graph = helper.make_graph([helper.make_node("Gather", ["table", "rows"], ["found"]), helper.make_node("Add", ["found", "x"], ["y"])], "lookup",
                                  [value("rows", kind.INT64, ["N"]), value("x", kind.FLOAT, ["N", "M"])], [value("y", kind.FLOAT, ["N", 4])], [table])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch() / "lookup.onnx")
        lookup, digit = session(scratch() / "lookup.onnx", take="all"), session(qdq())
        rows = lambda *chosen: {"rows": np.int64(chosen), "x": np.ones((len(chosen), 4), np.float32)}
        good = [(lookup, rows(3)), (lookup, rows(1, 15)), *((digit, {"image": images()[i : i + n]}) for i, n in ((0, 1), (5, 1), (7, 2)))]
        good = [(made, feeds, made.run(None, feeds)[0].tobytes()) for made, feeds in good]
        bad = [(lookup, rows(16)), (lookup, rows(2, -17)), (lookup, {**rows(1, 2), "x": np.ones((2, 3), np.float32)}),
               (lookup, {**rows(1, 2, 3), "x": np.ones((2, 4), np.float32)}), (lookup, {**rows(1), "rows": np.int32([1])}),
               (digit, {"image": images()[:1, :, :5]}), (digit, {"image": images()[:1].astype(np.float64)}), (digit, {})]

        def part(order):
            for i in range(RUNS // 2):
                if i % 20 == 7:
                    made, feeds = bad[order.integers(len(bad))]
                    with self.assertRaises(Exception):
                        made.run(None, feeds)
                    continue
                made, feeds, want = good[order.integers(len(good))]
                self.assertEqual(want, made.run(None, feeds)[0].tobytes())

        def held():
            gc.collect()
            status = pathlib.Path("/proc/self/status").read_text()
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status).group(1)), len(os.listdir("/proc/self/fd"))

        seen = []
        for number in range(3):  # the first is to warm up
            part(np.random.default_rng(number))
            seen.append(held())
        self.assertEqual(seen[1][1], seen[2][1])
        self.assertLess(seen[2][0] - seen[1][0], 2 << 20, seen)  # 40 bytes of each of 50,000


class Calibrated(unittest.TestCase):
    """An FP32 model."""

    def test_with_a_cache(self):
        cache, engine = cached()
        feeds = {"image": images()[:20]}
        same(self, run_octet(engine, feeds), run(session(DIGITS / "digits.onnx", calibration_cache=cache), feeds))

    def test_without_is_left(self):
        feeds = {"image": images()[:20]}
        same(self, run(reference(DIGITS / "digits.onnx"), feeds), run(session(DIGITS / "digits.onnx"), feeds))

    def test_as_fp32_where_all_is_to_be_taken(self):
        feeds = {"image": images()[:20]}
        same(self, run_octet(DIGITS / "digits.onnx", feeds), run(session(DIGITS / "digits.onnx", take="all"), feeds))

    def test_favor(self):
        """Layers stay in f32 by what a cache says that they lose, as octet build keeps them."""
        model = network(scratch() / "favored")
        cache, data = model.with_name("net.cache"), model.with_name("x.npz")
        feeds, outputs = dict(np.load(data)), []
        for favor in ("accuracy", "speed"):
            engine = model.with_name(f"{favor}.octet")
            octet("build", model, "--int8", "--calib", data, "--calib-cache", cache, "--favor", favor, "-o", engine, "--quiet")
            got = run(session(model, calibration_cache=cache, favor=favor), feeds)
            same(self, run_octet(engine, feeds), got)
            outputs.append(got["y"])
        self.assertTrue((outputs[0] != outputs[1]).any(), "one has a layer in f32")

    def test_cache_of_another_model(self):
        cache, _ = cached()
        model = onnx.load(DIGITS / "digits.onnx")
        for weights in model.graph.initializer:
            if len(weights.dims) == 4:
                weights.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weights) * np.float32(1.5), weights.name))
        other = scratch() / "other.onnx"
        onnx.save(model, other)
        fails(self, "Octet: ", other, calibration_cache=cache)
        session(other, calibration_cache=cache, cache_of_any_model=1).run(None, {"image": images()[:2]})

    def test_cache_that_is_missing_or_damaged(self):
        fails(self, "there is no calibration cache", DIGITS / "digits.onnx", calibration_cache=scratch() / "none")
        bad = scratch() / "bad.cache"
        bad.write_text("TRT-8601-EntropyCalibration2\nimage: zz\n")
        fails(self, "bad.cache", DIGITS / "digits.onnx", calibration_cache=bad)

    def test_observed(self):
        np.savez(scratch() / "six.npz", image=images()[:6])
        engine, expected_cache, cache = scratch() / "six.octet", scratch() / "six.cache", scratch() / "observed.cache"
        octet("build", DIGITS / "digits.onnx", "--int8", "--calib", scratch() / "six.npz", "--calib-cache", expected_cache, "-o", engine, "--quiet")
        probe = {"image": images()[100:110]}
        int8, real = run_octet(engine, probe), run_octet(DIGITS / "digits.onnx", probe)
        made = session(DIGITS / "digits.onnx", int8="observe:6", calibration_cache=cache)
        for i in range(5):
            made.run(None, {"image": images()[i : i + 1]})
        self.assertFalse(cache.exists())
        made.run(None, {"image": images()[5:6]})
        for step in range(3000):
            got = run(made, probe)
            name = next(iter(got))
            if got[name].tobytes() == int8[name].tobytes():
                break
            self.assertEqual(real[name].tobytes(), got[name].tobytes(), f"after {step} runs: neither FP32 nor INT8")
            time.sleep(0.01)
        same(self, int8, run(made, probe))
        self.assertEqual(expected_cache.read_bytes(), cache.read_bytes())
        # Whoever comes later is quantized from the first run on.
        same(self, int8, run(session(DIGITS / "digits.onnx", int8="observe:6", calibration_cache=cache), probe))

    def test_session_that_ends_while_it_is_observed(self):
        for runs in (0, 1, 3):
            made = session(DIGITS / "digits.onnx", int8="observe:3")
            for i in range(runs):
                made.run(None, {"image": images()[i : i + 1]})
            del made


class Parts(unittest.TestCase):
    """Models that are not Octet's as a whole."""

    def test_a_foreign_node_in_the_middle(self):
        self.check_foreign(provider.with_foreign_node(qdq()))

    def test_a_foreign_node_behind_which_no_shape_is_known(self):
        """The convolution that follows tells the rank."""
        self.check_foreign(provider.with_foreign_node(qdq(), told=False))

    def test_a_convolution_far_behind_a_foreign_node(self):
        """The search for what tells the rank needs no more stack for a long chain than for a short one, nor a look at all nodes for each."""
        path, count, node = scratch() / "far.onnx", 20000, onnx.helper.make_node
        nodes = [node("Relu", ["x"], ["made"]), provider.foreign_node("made", "0"),
                 *(node("Relu", [str(i)], [str(i + 1)]) for i in range(count)), node("Conv", [str(count), "weights"], ["y"])]
        value = lambda name, sizes: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes)
        constants = {"weights": np.ones([4, 8, 1, 1], np.float32), "no_pads": np.zeros(8, np.int64)}
        provider.save_foreign(path, nodes, [value("x", [1, 8, 2, 2])], [value("y", None)], constants)
        asked = provider.options()
        asked.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        feeds = {"x": np.arange(-8, 24, dtype=np.float32).reshape(1, 8, 2, 2)}
        got = run(ort.InferenceSession(str(path), asked, enable_fallback=0), feeds)
        same(self, {"y": np.repeat(np.maximum(feeds["x"], 0).sum(1, keepdims=True), 4, 1)}, got)

    def check_foreign(self, path):
        feeds = {"image": images()[:9]}
        asked = provider.options()
        asked.enable_profiling, asked.profile_file_prefix = True, str(scratch() / "foreign")
        made = provider.runtime().InferenceSession(str(path), asked, enable_fallback=0)
        ours, theirs = run(made, feeds), run(reference(path), feeds)
        for name, value in theirs.items():
            self.assertTrue((ours[name].argmax(1) == value.argmax(1)).all())
        ran = [event["args"]["provider"] for event in json.loads(pathlib.Path(made.end_profiling()).read_text())
               if event["name"].endswith("_kernel_time")]
        self.assertEqual([provider.NAME, "CPUExecutionProvider", provider.NAME], ran)

    def test_weights_that_two_parts_share(self):
        """Transposed for two products with a foreign node between them. Of a DequantizeLinear alone ONNX Runtime gives each its own."""
        path, random = scratch() / "shared_weights.onnx", np.random.default_rng(3)
        node, weights = onnx.helper.make_node, random.integers(-100, 100, [64, 64], np.int8)
        nodes = [node("DequantizeLinear", ["codes", "w_scale", "zero"], ["reals"]), node("Transpose", ["reals"], ["weights"], perm=[1, 0])]
        for i, (given, made) in enumerate([("x", "between"), ("padded", "y")]):
            nodes += [node("QuantizeLinear", [given, "x_scale", "zero"], [f"{i}q"]), node("DequantizeLinear", [f"{i}q", "x_scale", "zero"], [f"{i}d"]),
                      node("MatMul", [f"{i}d", "weights"], [f"{i}c"]), node("QuantizeLinear", [f"{i}c", "x_scale", "zero"], [f"{i}r"]),
                      node("DequantizeLinear", [f"{i}r", "x_scale", "zero"], [made])]
            if i == 0:
                nodes.append(provider.foreign_node("between", "padded"))
        value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [9, 64])
        constants = {"codes": weights, "zero": np.array(0, np.int8), "no_pads": np.zeros(4, np.int64),
                     "w_scale": np.array(0.02, np.float32), "x_scale": np.array(0.04, np.float32)}
        provider.save_foreign(path, nodes, [value("x")], [value("y")], constants, value_info=[value("between"), value("padded")])
        straight = onnx.load(path)
        foreign = next(n for n in straight.graph.node if n.name == "foreign")
        foreign.op_type, foreign.domain = "Identity", ""
        del foreign.input[1]
        onnx.save(straight, scratch() / "straight.onnx")
        feeds = {"x": random.normal(size=[9, 64]).astype(np.float32)}
        expected = run_octet(scratch() / "straight.onnx", feeds)
        for level in "DISABLE_ALL", "ENABLE_ALL":
            saved = scratch() / f"parts_{level}"
            saved.mkdir()
            asked = provider.options(save_models=saved)
            asked.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
            got = run(ort.InferenceSession(str(path), asked, enable_fallback=0), feeds)
            self.assertEqual(["part0.onnx", "part1.onnx"], sorted(p.name for p in saved.iterdir()))
            for part in saved.iterdir():
                coverage = json.loads(octet("inspect", part, "--json").out)["coverage"]
                self.assertEqual(coverage["total_macs"], coverage["int8_macs"], part)
            same(self, expected, got)

    def test_initializers_that_are_inputs(self):
        model = onnx.load(qdq())
        weights = next(t for t in model.graph.initializer if len(t.dims) == 4)
        model.graph.input.append(onnx.helper.make_tensor_value_info(weights.name, weights.data_type, list(weights.dims)))
        path = scratch() / "replaceable.onnx"
        onnx.save(model, path)
        made = session(path)
        feeds = {"image": images()[:3]}
        same(self, run_octet(qdq(), feeds), run(made, feeds))
        values = onnx.numpy_helper.to_array(weights)
        same(self, run_octet(qdq(), feeds), run(made, {**feeds, weights.name: values}))
        with self.assertRaises(Exception) as caught:
            made.run(None, {**feeds, weights.name: np.zeros_like(values)})
        self.assertIn(f"initializer '{weights.name}'", str(caught.exception))
        # In the same memory, whose content was right before.
        binding = made.io_binding()
        kept = np.ascontiguousarray(values.copy())
        binding.bind_cpu_input("image", np.ascontiguousarray(feeds["image"]))
        binding.bind_input(weights.name, "cpu", 0, kept.dtype, kept.shape, kept.ctypes.data)
        binding.bind_output(made.get_outputs()[0].name)
        made.run_with_iobinding(binding)
        kept[...] = 0
        with self.assertRaises(Exception) as caught:
            made.run_with_iobinding(binding)
        self.assertIn(f"initializer '{weights.name}'", str(caught.exception))

    def test_weights_that_a_program_puts_in(self):
        path = scratch() / "apart.onnx"
        onnx.save(onnx.load(DIGITS / "digits.onnx"), path, save_as_external_data=True, location="apart.weights", size_threshold=0)
        model = onnx.load(DIGITS / "digits.onnx")
        weights = next(t for t in model.graph.initializer if len(t.dims) == 4)
        values = onnx.numpy_helper.to_array(weights) * np.float32(0.5)
        kept = ort.OrtValue.ortvalue_from_numpy(values)
        options = provider.options(take="all", save_models=scratch())
        options.add_external_initializers([weights.name], [kept])
        made = ort.InferenceSession(str(path), options, enable_fallback=0)
        weights.CopyFrom(onnx.numpy_helper.from_array(values, weights.name))
        expected = scratch() / "halved.onnx"
        onnx.save(model, expected)
        feeds = {"image": images()[:3]}
        ours, theirs = run(made, feeds), run_octet(expected, feeds)
        for name, value in theirs.items():
            self.assertTrue((ours[name].argmax(1) == value.argmax(1)).all())
        same(self, run_octet(scratch() / "part0.onnx", feeds), ours)


class Compiled(unittest.TestCase):
    """EPContext models."""

    def compiled(self, name, **config):
        path = scratch() / name
        path.unlink(missing_ok=True)
        session(qdq(), {"ep.context_enable": "1", "ep.context_file_path": str(path), **config})
        return path

    def test_engine_inside(self):
        path = self.compiled("inside.onnx", **{"ep.context_embed_mode": "1"})
        feeds = {"image": images()[:4]}
        same(self, run_octet(qdq(), feeds), run(session(path), feeds))
        same(self, run_octet(qdq(), feeds), run(session(path.read_bytes()), feeds))
        node, = onnx.load(path).graph.node
        self.assertEqual(("EPContext", "com.microsoft"), (node.op_type, node.domain))

    def test_engine_beside(self):
        path = self.compiled("beside.onnx", **{"ep.context_embed_mode": "0"})
        feeds = {"image": images()[:4]}
        same(self, run_octet(qdq(), feeds), run(session(path), feeds))

    def test_model_compiler(self):
        path = scratch() / "compiler.onnx"
        ort.ModelCompiler(provider.options(), str(qdq()), embed_compiled_data_into_model=True).compile_to_file(str(path))
        feeds = {"image": images()[:4]}
        same(self, run_octet(qdq(), feeds), run(session(path), feeds))

    def changed(self, path, name, value):
        model = onnx.load(path)
        for attribute in model.graph.node[0].attribute:
            if attribute.name == name:
                attribute.s = value(attribute.s)
        made = scratch() / "changed.onnx"
        onnx.save(model, made)
        return made

    def test_damaged(self):
        path = self.compiled("whole.onnx", **{"ep.context_embed_mode": "1"})
        fails(self, "Octet: ", self.changed(path, "ep_cache_context", lambda b: b[:-7] + bytes(7)))
        fails(self, "Octet: ", self.changed(path, "ep_cache_context", lambda b: b[:100]))
        fails(self, "Octet: ", self.changed(path, "ep_cache_context", lambda b: b""))
        fails(self, "is not the one", self.changed(path, "notes", lambda b: b"octet engine 0"))
        beside = self.compiled("beside2.onnx", **{"ep.context_embed_mode": "0"})
        for name in (b"../digits.octet", b"/etc/passwd", b"", b"..", b"none.octet"):
            fails(self, "Octet: ", self.changed(beside, "ep_cache_context", lambda _, name=name: name))

    def test_declared_type_that_is_not_the_engines(self):
        model = onnx.load(self.compiled("declared.onnx", **{"ep.context_embed_mode": "1"}))
        feeds = {"image": np.tile(images(), (20, 1, 1, 1))}
        for wrong in (onnx.TensorProto.UINT8, onnx.TensorProto.INT32, onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING):
            model.graph.output[0].type.tensor_type.elem_type = wrong
            with self.assertRaises(Exception) as caught:
                session(model.SerializeToString()).run(None, feeds)
            self.assertIn("Octet: ", str(caught.exception))

    def test_observing_has_nothing_to_compile(self):
        with self.assertRaises(Exception) as caught:
            session(DIGITS / "digits.onnx", {"ep.context_enable": "1", "ep.context_file_path": str(scratch() / "no.onnx")}, int8="observe:2")
        self.assertIn("octet.calibration_cache", str(caught.exception))


class Told(unittest.TestCase):
    """Options that are wrong, and machines that are unfit."""

    def test_options(self):
        for name, value, text in (
            ("colour", "red", "there is no option"), ("thread", "2", "did you mean 'threads'?"), ("threads", "many", "octet.threads"), ("threads", "-1", "octet.threads"),
            ("threads", "99999999999999999999", "octet.threads"), ("streams", "0", "octet.streams"), ("int8", "observe:0", "octet.int8"),
            ("int8", "observe:", "octet.int8"), ("int8", "yes", "octet.int8"), ("take", "some", "octet.take"), ("device", "tpu:0", "tpu"),
            ("device", "cuda:99", "Octet: "), ("source", "web", "octet.source"), ("x" * 900, "y" * 2000, "there is no option"),
            ("observe_megabytes", "0", "octet.observe_megabytes"), ("cache_of_any_model", "maybe", "cache_of_any_model")):
            with self.subTest(name=name[:20], value=value[:20]):
                fails(self, text, qdq(), **{name: value})

    def test_all_that_is_wrong_at_once(self):
        fails(self, "octet.streams", qdq(), threads="x", streams="y")
        fails(self, "octet.threads", qdq(), threads="x", streams="y")

    def test_without_the_prefix(self):
        made = ort.SessionOptions()
        made.add_provider_for_devices(provider.devices(), {"threads": "1"})
        ort.InferenceSession(str(qdq()), made)

    def test_named_device_goes_before_the_offered_ones(self):
        session(qdq(), {"ep.octetexecutionprovider.device": "cuda:99"}, device="cpu")

    def test_unfit_processor_declines(self):
        script = ("import provider, numpy as np, sys; s = provider.session(sys.argv[1]); r = provider.reference(sys.argv[1]);"
                  "x = {'image': np.ones((2, 1, 8, 8), np.float32)}; a, b = s.run(None, x)[0], r.run(None, x)[0]; assert (a == b).all()")
        subprocess.run([sys.executable, "-c", script, qdq()], check=True, env={**os.environ, "OCTET_CPU_ISA": "none"},
                       cwd=pathlib.Path(__file__).parent)

    def test_gpu_by_its_name(self):
        """Emulated, and not among ONNX Runtime's devices: its own process, since the driver is chosen once."""
        emulated = harness.emulated_gpu()
        if emulated is None:
            self.skipTest("the emulated GPU was not built")
        script = ("import provider, numpy as np, sys; x = {'image': np.load(sys.argv[2])}; a = provider.session(sys.argv[1]).run(None, x)[0];"
                  "b = provider.session(sys.argv[1], device='cuda:0').run(None, x)[0]; assert a.tobytes() == b.tobytes()")
        np.save(scratch() / "three.npy", images()[:3])
        kernels = {"OCTET_KERNEL_CACHE": str(scratch() / "kernels")}
        done = subprocess.run([sys.executable, "-c", script, qdq(), scratch() / "three.npy"], check=False, capture_output=True, text=True,
                              env={**os.environ, **emulated, **kernels}, cwd=pathlib.Path(__file__).parent)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_no_gpu_is_no_device(self):
        if os.path.exists("/dev/nvidia0"):
            self.skipTest("there is a GPU")
        self.assertEqual([], provider.devices("GPU"))
        self.assertEqual(1, len(provider.devices("CPU")))

    def test_malformed_models(self):
        for content in (b"", b"\x08", b"\x3a\x05abc", os.urandom(200)):
            path = scratch() / "malformed.onnx"
            path.write_bytes(content)
            with self.assertRaises(Exception):
                session(path)


if __name__ == "__main__":
    harness.main()
