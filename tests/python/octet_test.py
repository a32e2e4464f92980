# SPDX-License-Identifier: Apache-2.0
"""The Python module octet: the bundled digits through arrays, iterators and folders, and everything that can be wrong."""

import ast
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import unittest
import warnings

import harness
import octet_module
from harness import DIGITS, ROOT, digits, digits_engine, octet as program, scratch
from octet_module import FOLDER, MODEL, compiled, images


def setUpModule():
    global np, octet
    np, octet = harness.need("numpy"), octet_module.built()


class FromTheArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.calibration = images("calib")[0]
        cls.engine = compiled(calibration=cls.calibration)

    def test_three_lines_give_an_int8_result(self):
        test, labels = images("test")
        logits = octet.Context(self.engine, threads=2).run(test)[0]
        self.assertEqual((logits.dtype, logits.shape), (np.float32, (500, 10)))
        self.assertGreaterEqual((logits.argmax(1) == labels).mean(), 0.98)
        self.assertEqual(self.engine.inspect()["coverage"]["macs"], 1)

    def test_channels_may_be_left_as_they_are(self):
        unequal = compiled(calibration=self.calibration, equalize=False)
        self.assertIn(b'\\"equalize\\":false', unequal.to_bytes())
        self.assertNotIn(b'\\"equalize\\"', self.engine.to_bytes())
        with self.assertRaisesRegex(octet.Error, "equalize=False has no use without"):
            compiled(equalize=False)

    def test_what_accuracy_may_cost(self):
        for favor, time in (("speed", 0), ("accuracy", 0.2), (3, 0.03)):
            self.assertIn(f'\\"accuracy_time\\":{float(time)}'.encode(), compiled(calibration=self.calibration, favor=favor).to_bytes())
        for wrong in ("most", -1, 101, float("nan"), [1]):
            with self.assertRaisesRegex(octet.Error, "expected 'speed', 'accuracy' or a number"):
                compiled(calibration=self.calibration, favor=wrong)
        with self.assertRaisesRegex(octet.Error, "favor has no use without"):
            compiled(favor="speed")
        with self.assertRaisesRegex(octet.Error, "favor has no use without precision='int8'"):
            compiled(calibration=self.calibration, precision="fp16", favor="speed")
        with self.assertRaisesRegex(octet.Error, "an observation keeps none"):
            compiled(calibration=octet.Observer(MODEL).observe(self.calibration[:4]), favor="speed")

    def test_a_device_may_run_the_samples(self):
        self.assertIn(b'\\"device\\":\\"test device\\"', compiled(calibration=self.calibration, device="test:1").to_bytes())
        self.assertNotIn(b'\\"device\\"', self.engine.to_bytes())
        with self.assertRaisesRegex(octet.Error, "device has no use without calibration"):
            compiled(device="test:1")
        with self.assertRaisesRegex(octet.Error, "no device"):
            compiled(calibration=self.calibration, device="test:one")
        with self.assertRaisesRegex(octet.Error, "an observation was made on the CPU"):
            compiled(calibration=octet.Observer(MODEL).observe(self.calibration[:4]), device="test:1")

    def test_every_way_to_give_the_data_gives_the_same_engine(self):
        expected = self.engine.to_bytes()
        data = self.calibration
        name = self.engine.inputs[0].name
        ways = {
            "mapping": {name: data}, "generator": (data[i : i + 7] for i in range(0, len(data), 7)),
            "pairs with labels": [(data[i : i + 50], np.zeros(50)) for i in range(0, len(data), 50)],
            "mappings": iter([{name: data}]), "float64": data.astype(np.float64), "not contiguous": np.asfortranarray(data),
            "read-only": np.frombuffer(data.tobytes(), np.float32).reshape(data.shape), "one by one": list(data[:, None]),
        }
        for way, value in ways.items():
            self.assertEqual(compiled(calibration=value).to_bytes(), expected, way)

    def test_an_iterator_may_reuse_its_memory(self):
        def batches():
            buffer = np.empty((50, 1, 8, 8), np.float32)
            for i in range(0, len(self.calibration), 50):
                buffer[:] = self.calibration[i : i + 50]
                yield buffer
        self.assertEqual(compiled(calibration=batches()).to_bytes(), self.engine.to_bytes())

    def test_report(self):
        report = self.engine.report
        self.assertEqual(report["samples"], len(self.calibration))
        self.assertEqual(report["inputs"][0]["samples"], len(self.calibration))
        self.assertEqual({r["method"] for r in report["ranges"]}, {"entropy"})
        self.assertTrue(all(r["threshold"] > 0 for r in report["ranges"]))
        self.assertIsNone(octet.Engine.from_bytes(bytes(self.engine)).report)

    def test_methods_ranges_and_types(self):
        bytes_of = {method: compiled(calibration=self.calibration, method=method).to_bytes() for method in ("minmax", "percentile:99.9")}
        self.assertEqual(len(set(bytes_of.values())), 2)
        tensor = self.engine.report["ranges"][0]["tensor"]
        given = compiled(calibration=self.calibration, ranges={tensor: 0.5}).report["ranges"]
        self.assertEqual(next(r for r in given if r["tensor"] == tensor)["threshold"], 0.5)
        for written in (np.float32(0.5), np.array(0.5), np.array([-0.5, 0.5]), (-0.5, 0.5)):
            again = compiled(calibration=self.calibration, ranges={tensor: written}).report["ranges"]
            self.assertEqual(next(r for r in again if r["tensor"] == tensor)["threshold"], 0.5)
        kept = compiled(calibration=self.calibration, layer_precisions={"/4/c2/Conv": "fp32"}, constraints="obey").inspect()
        self.assertEqual(next(layer["precision"] for layer in kept["layers"] if "/4/c2/Conv" in layer["nodes"]), "f32")
        self.assertEqual({layer["precision"] for layer in compiled(precision="fp32").inspect()["layers"]} & {"int8"}, set())

    def test_cache_is_made_and_read(self):
        cache = scratch() / "python.cache"
        made = compiled(calibration=self.calibration, cache=cache)
        self.assertTrue(cache.read_text().startswith("TRT-"))
        self.assertEqual(compiled(cache=cache).to_bytes(), made.to_bytes())

        def never():
            raise AssertionError("the cache is there")
            yield
        self.assertEqual(compiled(calibration=never(), cache=str(cache)).to_bytes(), made.to_bytes())

    def test_model_as_bytes(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine = octet.compile(MODEL.read_bytes(), calibration=self.calibration)
        self.assertTrue(np.array_equal(*(octet.Context(e).run(self.calibration)[0] for e in (engine, self.engine))))

    def test_compare(self):
        reference = compiled()
        errors = octet.compare(reference, self.engine, self.calibration[:20])
        self.assertEqual([e["sqnr_db"] for e in errors if not e["exact"]], sorted(e["sqnr_db"] for e in errors if not e["exact"]))
        self.assertTrue(all(e["exact"] for e in octet.compare(reference, reference, [self.calibration[:3]])))

    def test_onnx_runtime_agrees_with_the_exported_model(self):
        onnxruntime = harness.need("onnxruntime")
        session = onnxruntime.InferenceSession(self.engine.export_onnx(), providers=["CPUExecutionProvider"])
        test = images("test", 100)[0]
        mine = octet.Context(self.engine).run(test)[0]
        self.assertEqual((session.run(None, {session.get_inputs()[0].name: test})[0].argmax(1) == mine.argmax(1)).mean(), 1)


class FromAFolder(unittest.TestCase):
    def test_it_is_the_engine_of_the_program(self):
        preprocess = json.loads((DIGITS / "preprocess.json").read_text())
        engine = compiled(calibration=digits() / "calib", preprocess=preprocess)
        self.assertEqual(engine.to_bytes(), digits_engine().read_bytes())
        loaded = octet.Engine.load(digits_engine())
        self.assertEqual(loaded.preprocess["scale"], engine.preprocess["scale"])
        self.assertEqual(loaded.inspect()["layers"], program("inspect", digits_engine(), "--json").json["layers"])
        told = program("inspect", digits_engine(), "--provenance", "--json").json
        self.assertEqual((loaded.hash, loaded.provenance), (told["engine_hash"], told["provenance"]))
        self.assertTrue(octet.compare(compiled(), engine, digits() / "calib"))


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = octet.Engine.load(digits_engine())
        cls.images = images("test", 24)[0]
        cls.expected = octet.Context(cls.engine).run(cls.images)[0]

    def test_what_the_engine_says_of_itself(self):
        (given,), (result,) = self.engine.inputs, self.engine.outputs
        self.assertEqual((given.dtype, given.shape, result.name), ("float32", (None, 1, 8, 8), "logits"))
        self.assertIn("shape=(None, 1, 8, 8)", repr(given))

    def test_inputs_in_every_form(self):
        context, name = octet.Context(self.engine), self.engine.inputs[0].name
        strided = np.repeat(self.images, 2, axis=0)[::2]
        backwards = np.ascontiguousarray(self.images[::-1])[::-1]
        for given in ([self.images], [[self.images]], [(self.images,)], [{name: self.images}], [strided], [backwards],
                      [memoryview(self.images)], [np.asfortranarray(self.images)]):
            self.assertTrue(np.array_equal(context.run(*given)[0], self.expected))

    def test_dlpack_alone_is_enough(self):
        class Exporter:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()
        self.assertTrue(np.array_equal(octet.Context(self.engine).run(Exporter(self.images))[0], self.expected))
        given = compiled(calibration=Exporter(images("calib")[0])).inspect()["coverage"]
        self.assertEqual(given["macs"], 1)

    def test_out_is_written_in_place(self):
        context = octet.Context(self.engine)
        out = np.zeros((24, 10), np.float32)
        self.assertIs(context.run(self.images, out=out)[0], out)
        self.assertTrue(np.array_equal(out, self.expected))
        wide = np.zeros((24, 20), np.float32)
        context.run(self.images, out=[wide[:, ::2]])
        self.assertTrue(np.array_equal(wide[:, ::2], self.expected))
        self.assertFalse(wide[:, 1::2].any())

    def test_results_outlive_context_and_engine(self):
        context = octet.Context(octet.Engine.load(digits_engine()))
        result = context.run(self.images)[0]
        context.run(np.zeros_like(self.images))
        del context
        gc.collect()
        self.assertTrue(np.array_equal(result, self.expected))

    def test_threads_may_share_a_context(self):
        context, wrong = octet.Context(self.engine), []

        def work(count):
            for _ in range(20):
                wrong.extend([count] * (not np.array_equal(context.run(self.images[:count])[0], self.expected[:count])))
        workers = [threading.Thread(target=work, args=(count,)) for count in (1, 2, 3, 24)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    def test_drift_is_seen_in_what_codes_clip(self):
        engine = compiled(calibration=images("calib")[0], method="minmax")
        watch = octet.ClipWatch(engine, model='digits "1"', version="2", share=1)
        contexts = [octet.Context(engine, watch=watch) for _ in range(2)]
        for context in contexts:
            context.run(images("calib")[0])
            watch.finish()
        same = watch.tensors()
        self.assertEqual((watch.runs, watch.failures), (2, 0))
        self.assertEqual((same[0]["tensor"], same[0]["values"], same[0]["calibrated"]), ("image", 2 * 200 * 64, 0.0))
        self.assertEqual((same[0]["below"], same[0]["above"]), (0, 0))
        out, drifted = np.empty((200, 10), np.float32), 3 * images("calib")[0]
        contexts[0].run(drifted, out=out)
        watch.finish()
        above = int((drifted > np.float32(same[0]["codes"][1])).sum())
        self.assertGreater(above, 0)
        self.assertEqual(watch.tensors()[0]["above"], above)
        label = 'model="digits \\"1\\"",version="2",tensor="image"'
        for line in (f"octet_values_total{{{label}}} {3 * 200 * 64}", f'octet_clipped_values_total{{{label},side="high"}} {above}',
                     f"octet_calibration_clipped_share{{{label}}} 0"):
            self.assertIn(line, octet.metrics().splitlines())
        del context, contexts, watch
        gc.collect()
        self.assertNotIn("digits", octet.metrics())
        for wrong in ({"share": 0}, {"share": 2}):
            with self.assertRaises(octet.Error):
                octet.ClipWatch(engine, **wrong)
        with self.assertRaises(octet.Error) as caught:
            octet.ClipWatch(compiled())
        self.assertEqual(caught.exception.code, "unsupported")

    def test_parts_of_calibration_add_up(self):
        calibration = images("calib")[0]
        observer = octet.Observer(MODEL)
        parts = [observer.observe(calibration[begin:begin + 70]) for begin in (140, 0, 70)]
        total = octet.Observation()
        for part in parts:
            total.merge(pickle.loads(pickle.dumps(part)))
        self.assertEqual(total.samples, len(calibration))
        self.assertEqual(compiled(calibration=total).to_bytes(), compiled(calibration=calibration).to_bytes())
        for wrong in (lambda: octet.Observation.from_bytes(b"no observation"), lambda: observer.observe("folder"),
                      lambda: compiled(calibration=octet.Observation()), lambda: total.merge(octet.Observer(MODEL, equalize=False).observe(calibration[:1]))):
            with self.assertRaises(octet.Error) as caught:
                wrong()
            self.assertEqual(caught.exception.code, "invalid_argument")

    def test_files_bytes_and_pickles(self):
        path = scratch() / "python.octet"
        self.engine.save(path)
        for engine in (octet.Engine.load(str(path)), octet.Engine.from_bytes(path.read_bytes()), pickle.loads(pickle.dumps(self.engine))):
            self.assertTrue(np.array_equal(octet.Context(engine).run(self.images)[0], self.expected))

    def test_prepare(self):
        context = octet.Context(self.engine)
        context.prepare((24, 1, 8, 8))
        self.assertTrue(np.array_equal(context.run(self.images)[0], self.expected))

    def test_types_that_numpy_lacks(self):
        onnx, types = harness.need("onnx", "ml_dtypes")
        from onnx import TensorProto, helper
        graph = helper.make_graph(
            [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT), helper.make_node("Cast", ["x"], ["z"], to=TensorProto.FLOAT8E5M2)],
            "g", [helper.make_tensor_value_info("x", TensorProto.BFLOAT16, [4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4]), helper.make_tensor_value_info("z", TensorProto.FLOAT8E5M2, [4])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        engine = octet.compile(model.SerializeToString())
        self.assertEqual([info.dtype for info in engine.inputs + engine.outputs], ["bfloat16", "float32", "float8_e5m2"])
        given = np.array([1, -2.5, 0.125, 3e8], np.float32).astype(types.bfloat16)
        real, small = octet.Context(engine).run(given)
        np.testing.assert_array_equal(real, given.astype(np.float32))
        self.assertEqual(small.dtype, types.float8_e5m2)
        np.testing.assert_array_equal(small[:3], given[:3].astype(types.float8_e5m2))


class Wrong(unittest.TestCase):
    def fails(self, code, *words):
        test = self

        class Context:
            def __enter__(self):
                return self

            def __exit__(self, kind, error, _):
                test.assertIs(kind, octet.Error, f"{kind}: {error}")
                test.assertEqual(error.code, code)
                for word in words:
                    test.assertIn(word, str(error))
                return True
        return Context()

    def test_models_and_engines(self):
        with self.fails("invalid_model", "compiling a model of 4 bytes"):
            octet.compile(b"none")
        with self.fails("io", "nowhere.onnx"):
            octet.compile("nowhere.onnx")
        with self.fails("invalid_model"):
            octet.Engine.from_bytes(b"none")
        with self.fails("io"):
            octet.Engine.load("nowhere.octet")
        with self.assertRaises(TypeError):
            octet.compile(17)
        try:
            octet.compile(b"none")
        except octet.Error as error:
            self.assertTrue(error.message and error.context)
            self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))

    def test_options(self):
        data = images("calib", 20)[0]
        for options, word in (({"method": "best"}, "percentile"), ({"precision": "int7"}, "int7"), ({"constraints": "maybe"}, "obey"),
                              ({"preprocess": {"rezise": 8}}, "rezise"), ({"keep_float": ["nowhere"]}, "nowhere"),
                              ({"layer_precisions": {"nowhere": "int8"}}, "nowhere"), ({"ranges": {"nowhere": 1}}, "nowhere"),
                              ({"precision": "fp32"}, "no use"), ({"input_shapes": {"image": (1, 2)}}, "image")):
            with self.fails("invalid_argument", word):
                compiled(calibration=data, **options)
        with self.fails("invalid_argument", "no such file"):
            compiled(cache=scratch() / "nowhere.cache")

    def test_data(self):
        good = images("calib", 20)[0]
        cases = ((17, "int"), ([], "before the first sample"), (["text"], "str"), ([17], "int"), ([[good, good, good]], "3 arrays"),
                 (good.reshape(20, 4, 4, 4), "20,4,4,4"), ({"other": good}, "other"), (np.float32(1), "first axis"), ([object()], "object"),
                 (np.full_like(good, np.nan), "NaN"), (good.astype("U4"), "<U"), (good.astype(">f4"), ">f4"), (good[:0], "first axis"))
        for data, word in cases:
            with self.subTest(word), self.fails("invalid_argument", word):
                compiled(calibration=data, precision="int8")
        with self.fails("invalid_argument"):
            compiled(precision="int8")

    def test_what_the_users_code_raises_passes_through(self):
        good = images("calib", 20)[0]

        class Own(Exception):
            pass

        def broken():
            yield good
            raise Own("mine")

        def stage(*_):
            raise Own("mine")
        for options in ({"calibration": broken()}, {"calibration": good, "progress": stage}):
            with self.assertRaises(Own) as raised:
                compiled(**options)
            self.assertEqual(str(raised.exception), "mine")
        with self.assertRaises(KeyboardInterrupt):
            compiled(calibration=good, progress=lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with self.assertRaises(Own):
            octet.compare(compiled(), compiled(), broken())

    def test_progress_ends_a_build(self):
        seen = []
        compiled(calibration=images("calib", 20)[0], progress=lambda *step: seen.append(step))
        self.assertEqual([seen[0][0], "calibrate" in {stage for stage, _, _ in seen}], ["import", True])
        with self.fails("cancelled"):
            compiled(calibration=images("calib", 20)[0], progress=lambda stage, done, total: stage != "calibrate")

    def test_runs(self):
        context, good = octet.Context(octet.Engine.load(digits_engine())), images("test", 4)[0]
        cases = (([good.astype(np.float64)], "f64"), ([], "0 inputs"), ([good, good], "2 inputs"), ([good[0]], "image"), ([[1, 2]], "list"),
                 ([{"x": good}], "unknown: ['x']"), ([None], "NoneType"), ([np.zeros((1,) * 9, np.float32)], "9 dimensions"),
                 ([np.zeros(4, complex)], "complex"), ([np.zeros(4, "datetime64[s]")], "datetime"))
        for given, word in cases:
            with self.fails("invalid_argument", word):
                context.run(*given)
        for out, word in ((np.zeros((4, 9), np.float32), "f32[4,10]"), (np.zeros((4, 10)), "f64"), (bytes(160), "writable"), ([], "0 outputs")):
            with self.fails("invalid_argument", word):
                context.run(good, out=out)
        read_only = np.zeros((4, 10), np.float32)
        read_only.flags.writeable = False
        with self.fails("invalid_argument", "writable"):
            context.run(good, out=read_only)
        self.assertEqual(context.run(good)[0].shape, (4, 10))
        with self.fails("invalid_argument", "nowhere"):
            octet.Context(octet.Engine.load(digits_engine()), device="nowhere")
        with self.fails("invalid_argument"):
            octet.Context(octet.Engine.load(digits_engine()), threads=0)


# What no limit of the test's own process is set for.
NO_MORE_THREADS = """
import resource, sys
sys.path.insert(0, sys.argv[2])
import octet
engine = octet.Engine.load(sys.argv[1])
pages = int(open("/proc/self/statm").read().split()[0])
# A thread's stack has 8 MiB.
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (6 << 20), resource.RLIM_INFINITY))
for threads in (5, 2, 5):
    try:
        octet.Context(engine, threads=threads)
    except octet.Error as error:
        print(error.code, error.field, error.message.split(":")[0])
"""


class Threads(unittest.TestCase):
    def test_a_system_that_starts_no_more(self):
        said = subprocess.run([sys.executable, "-c", NO_MORE_THREADS, str(digits_engine()), str(FOLDER)], capture_output=True, text=True, check=True,
                              env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}).stdout
        self.assertEqual(said, "out_of_memory ContextOptions.threads the system starts no more threads\n" * 3)


class Texts(unittest.TestCase):
    def test_everything_is_typed_and_told(self):
        stub = FOLDER / "octet/_octet.pyi"
        classes = {node.name: node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ClassDef)}
        for name in ("Engine", "TensorInfo"):
            for member in classes[name].body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                    self.assertTrue(ast.get_docstring(member), f"{name}.{member.name}")
                    self.assertIsNotNone(member.returns, f"{name}.{member.name}")
        self.assertTrue((ROOT / "python/octet/py.typed").exists())
        for name in octet.__all__:
            if name != "__version__":
                self.assertTrue(getattr(octet, name).__doc__, name)

    def test_version(self):
        self.assertIn(octet.__version__, program("--version").out)

    def test_the_page_runs(self):
        page = (ROOT / "docs/python.md").read_text()
        blocks = page.split("```python\n")[1:]
        self.assertGreaterEqual(len(blocks), 4)
        code = "".join(block.split("```")[0] for block in blocks)
        folder = scratch() / "page"
        folder.mkdir()
        (folder / "digits.onnx").write_bytes(MODEL.read_bytes())
        (folder / "digits.npz").write_bytes((DIGITS / "digits.npz").read_bytes())
        run = f"import os, sys; os.chdir({str(folder)!r}); sys.path.insert(0, {str(FOLDER)!r})\n{code}"
        harness.command(sys.executable, "-W", "ignore", "-c", run)
        self.assertTrue((folder / "digits.octet").exists())


if __name__ == "__main__":
    harness.main()
