#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""octet.ray on a cluster of one node: results are those of one process, to the byte, and what is wrong is said as it is there."""

import asyncio
import concurrent.futures
import gc
import http.client
import json
import math
import os
import threading
import time
import tracemalloc
import unittest
import unittest.mock
import warnings
import weakref

import harness
import rays
from harness import scratch

CALIBRATION, TEST = 200, 120


def setUpModule():
    rays.need()
    global np, octet, ray, serve
    import numpy as np
    import ray
    import ray.data
    from ray import serve

    import octet
    import octet.ray
    import octet.ray.serve

    # CPUs of the scheduler's: more actors than this machine has processors.
    ray.init(address="local", num_cpus=6, include_dashboard=False, log_to_driver=False, logging_level="error", object_store_memory=128 << 20)
    ray.data.DataContext.get_current().enable_progress_bars = False


def tearDownModule():
    if "ray" in globals() and ray.is_initialized():
        ray.shutdown()


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return octet.compile(rays.MODEL, **options)


class Calibrates(unittest.TestCase):
    def test_the_bytes_of_one_machine(self):
        expected = compiled(calibration=rays.images("train", CALIBRATION)[0], method="mse").to_bytes()
        # Another order, other batches, and so many parts that sums of sums are added.
        shuffled = rays.dataset("train", CALIBRATION, blocks=20).random_shuffle(seed=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = octet.ray.calibrate(shuffled, rays.MODEL.read_bytes(), workers=2, batch_size=3, method="mse")
        self.assertEqual(made.to_bytes(), expected)

    def test_what_is_wrong(self):
        good = rays.dataset("train", 10, blocks=2)
        with rays.Wrong(self, "invalid_model"):
            octet.ray.observe(good, b"no model")
        with rays.Wrong(self, "invalid_argument", "workers 0"):
            octet.ray.observe(good, rays.MODEL, workers=0)
        with rays.Wrong(self, "invalid_argument", "'pixels'", "'label'"):  # an actor says so
            octet.ray.observe(good, rays.MODEL, columns={"image": "pixels"})

    def test_what_is_wrong_where_an_actor_is(self):
        """A folder that only the caller sees, for example."""
        from octet.ray._calibrate import _Watcher

        options = {"equalize": True, "input_shapes": {}, "weights_folder": None, "threads": 1}
        watcher = _Watcher(ray.put(b"no model"), options, None)
        (error,) = watcher({"image": rays.images("train", 1)[0]})["error"].to_pylist()
        self.assertEqual(json.loads(error)[1], "invalid_model")


class Searches(unittest.TestCase):
    """What is wrong with one; ray_cluster_test.py has what it finds."""

    def search(self, metric, **options):
        return octet.ray.search(rays.MODEL, rays.images("test", 4)[0], metric, calibration=rays.images("train", 20)[0], min_value=0, effort=1, workers=1, **options)

    def test_what_it_does_not_take(self):
        for name, given in (("cache", "a.cache"), ("progress", print)):
            with rays.Wrong(self, "invalid_argument", name):
                self.search(min, **{name: given})

    def test_a_metric_that_ends_its_process(self):
        from octet.ray import _search

        seen = scratch() / "ended"

        def ends(got, truth, which):
            with seen.open("a") as file:
                file.write("x")
            os._exit(1)

        with unittest.mock.patch.object(_search, "_RETRIES", 1), self.assertRaises(ray.exceptions.WorkerCrashedError):
            self.search(ends)
        self.assertEqual(seen.read_text(), "xx")


class Evaluates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = compiled(calibration=rays.images("train", CALIBRATION)[0])
        cls.images, cls.labels = rays.images("test", TEST)
        cls.logits = octet.Context(cls.engine).run(cls.images)[0]

    def test_sums_are_exact(self):
        losses = rays.losses({"logits": self.logits}, {"label": self.labels})
        order = np.argsort(-self.logits, axis=1, kind="stable")
        expected = {f"top{k}": int((order[:, :k] == self.labels[:, None]).any(1).sum()) for k in (1, 3)}
        expected |= {"samples": TEST, "loss": math.fsum(losses["loss"]), "even": int(losses["even"].sum())}
        self.assertGreater(expected["top1"], 0.9 * TEST)
        count = octet.ray.top_k(k=(3, 1))
        found = octet.ray.evaluate(rays.dataset("test", TEST, blocks=7), self.engine, lambda *both: {**count(*both), **rays.losses(*both)}, workers=2)
        self.assertEqual(found, expected)

    def absent(self):
        """The code of a device that is not there."""
        with self.assertRaises(octet.Error) as caught:
            octet.Context(self.engine, device="cuda:77")
        return caught.exception.code

    def test_a_device_that_actors_have_not(self):
        with rays.Wrong(self, self.absent(), "cuda"):
            octet.ray.evaluate(rays.dataset("test", 10, blocks=1), self.engine, octet.ray.top_k("label"), workers=1, device="cuda:77")

    def test_top_k_by_hand(self):
        scores = np.array([[1, 1, 0], [1, 1, 0], [0, 0, np.nan], [3, 2, 1], [3, 2, 1]], np.float32)
        found = octet.ray.top_k("c", k=(1, 2))({"y": scores}, {"c": np.array([0, 1, 1, 7, -1])})
        self.assertEqual({name: values.tolist() for name, values in found.items()}, {"top1": [1, 0, 0, 0, 0], "top2": [1, 1, 0, 0, 0]})

    def test_batches_are_answered(self):
        predictor = octet.ray.Predictor(self.engine, rows=16)
        answered = predictor({"image": self.images, "label": self.labels})
        self.assertEqual(list(answered), ["label", "logits"])
        np.testing.assert_array_equal(answered["logits"], self.logits)
        ragged = np.empty(2, object)
        ragged[:] = list(self.images[:2])
        np.testing.assert_array_equal(octet.ray.Predictor(self.engine, columns={"image": "x"}, keep=["x"])({"x": ragged})["logits"], self.logits[:2])
        from octet.ray._evaluate import _Judge

        judge = _Judge(self.engine, octet.ray.top_k(), None, {})
        self.assertEqual(judge({"image": self.images[:0], "label": self.labels[:0]})["sums"].to_pylist(), ['{"samples": [0, 1, false]}'])
        with rays.Wrong(self, "invalid_argument", "called as outputs"):
            octet.ray.Predictor(self.engine, keep=["logits"])({"image": self.images, "logits": self.labels})
        with rays.Wrong(self, "invalid_argument", "rows"):
            octet.ray.Predictor(self.engine, rows=0)
        with rays.Wrong(self, "io"):
            octet.ray.Predictor(scratch() / "absent.octet")


class ReadsRequests(unittest.TestCase):
    """Without a server: what a client's bytes become, and what they cost."""

    @classmethod
    def setUpClass(cls):
        cls.engine = compiled()

    def read(self, **changes):
        from octet.ray._requests import arrays_of

        given = {"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": [0.5] * 64, **changes}
        return arrays_of(json.dumps({"inputs": [given]}).encode(), self.engine)[0]["image"]

    def test_values_are_looked_at_before_numpy(self):
        from octet.ray._requests import _converted

        np.testing.assert_array_equal(self.read(data=[[1] * 32, [0.5] * 32]).ravel(), np.float32([1] * 32 + [0.5] * 32))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        long = ["x" * (1 << 20)] + ["y"] * 63  # as text of NumPy's: 256 MiB
        for values in (long, [True] * 64, [None] * 64, [{}] * 64, [10**400] * 64, [[1], 2] * 32):
            with rays.Wrong(self, "invalid_argument", "do not become float32"):
                self.read(data=values)
        self.assertLess(tracemalloc.get_traced_memory()[1], 32 << 20)
        for dtype, values in (("int8", [128]), ("int8", [-129]), ("uint8", [-1]), ("int64", [1 << 63]), ("int64", [0.5]), ("int64", [True]), ("bool", [1])):
            with self.assertRaises((TypeError, OverflowError), msg=dtype):
                _converted(values, dtype)
        for dtype, values in (("int8", [-128, 127]), ("uint64", [(1 << 64) - 1]), ("bool", [True, False]), ("int32", [])):
            self.assertEqual(_converted(values, dtype).tolist(), values)

    def test_shapes_are_looked_at_before_they_are_multiplied(self):
        for shape in ([10**4000] * 1000, [1] * 65, [1] * 200000, [1 << 31, 1, 8, 8], [1 << 62] * 4, [64], [1, 1, 8, 8, 1], [1, 1, 8.0, 8], [True, 1, 8, 8], "1188"):
            with rays.Wrong(self, "invalid_argument", "shape") as caught:
                self.read(shape=shape)
            self.assertLess(len(caught.said), 500)
        with rays.Wrong(self, "invalid_argument", "64 values for shape"):
            self.read(shape=[2**31 - 1, 1, 8, 8])

    def test_what_does_not_fit_into_memory(self):
        with unittest.mock.patch("octet.ray._requests._converted", side_effect=MemoryError), rays.Wrong(self, "out_of_memory", "bytes"):
            self.read()


def made(*nodes, inputs, outputs, **constants):
    """An engine of nodes (operator, inputs, output, attributes) whose sizes may be names, which are open."""
    harness.need("onnx")
    from onnx import TensorProto, helper, numpy_helper

    def told(tensors):
        return [helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape) for name, kind, shape in tensors]

    graph = helper.make_graph([helper.make_node(name, read, [written], **attributes) for name, read, written, attributes in nodes], "made", told(inputs),
                              told(outputs), [numpy_helper.from_array(array, name) for name, array in constants.items()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return octet.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())


class ServesRows(unittest.TestCase):
    """One engine of a replica: which requests share a run."""

    def served(self, engine, most_rows=4, max_rows=64):
        from octet.ray._served import Served

        return Served(engine, device="cpu", threads=1, most_rows=most_rows, max_rows=max_rows)

    def looked_up(self, *more, shape=("n", 3), rows=50):
        """Rows of a table by indices; with more nodes from `rows` to `y`."""
        table = np.random.default_rng(3).random((rows, 2)).astype(np.float32)
        nodes = [("Gather", ["table", "ids"], "rows", {}), *(more or [("Neg", ["rows"], "y", {})])]
        return made(*nodes, inputs=[("ids", "INT64", list(shape))], outputs=[("y", "FLOAT", [*shape, 2])], table=table)

    def centered(self, **options):
        """Of each row, less what all rows of the run have: rows depend on each other."""
        return self.looked_up(("ReduceMean", ["rows"], "mean", {"axes": [0], "keepdims": 1}), ("Sub", ["rows", "mean"], "y", {}), **options)

    def asked(self, served, *ids):
        return [answer["y"] for answer in served.answer([served.accept({"ids": np.array(each, np.int64)}) for each in ids])]

    def test_indices_are_tried(self):
        for rows in (50, 2):
            self.assertTrue(self.served(self.looked_up(rows=rows)).batches, rows)
        served = self.served(self.centered())
        self.assertFalse(served.batches)
        one, other = self.asked(served, [[1, 2, 3]], [[4, 5, 6]])
        self.assertFalse(one.any() or other.any(), "each is alone, and its own mean")
        served.check()

    def test_open_sizes_are_tried(self):
        self.assertTrue(self.served(self.looked_up(shape=("n", "m"))).batches)
        self.assertFalse(self.served(self.centered(shape=("n", "m"))).batches)

    def refusing(self, make):
        """An engine of which nothing made up could be run."""
        from octet.ray import _served

        with unittest.mock.patch.object(_served.Served, "_made_up", return_value=None):
            return self.served(make())

    def test_requests_tell_where_nothing_made_up_does(self):
        apart, together = self.refusing(self.looked_up), self.refusing(self.centered)
        contexts = [octet.Context(served.engine) for served in (apart, together)]
        groups = [[[[1, 2, 3]], [[1, 2, 3]]], [[[1, 2, 3]], [[4, 5, 6], [7, 8, 9]]], [[[1, 1, 1]], [[2, 2, 2]]], [[[3, 1, 2]] * 9]]
        found = []
        self.asked(apart, np.zeros((0, 3)))  # tells nothing either
        for group in groups:
            for served, context in zip((apart, together), contexts):
                for answer, ids in zip(self.asked(served, *group), group):
                    np.testing.assert_array_equal(answer, context.run(np.array(ids, np.int64))[0])
            found.append(apart.batches)
        self.assertEqual(found, [False, True, True, True], "two that are the same tell nothing")
        self.assertFalse(together.batches)
        unlike = apart.answer([[np.zeros((2, 3), np.int64)], [np.zeros((0, 3), np.int64)]])
        self.assertEqual([type(answer) for answer in unlike], [dict, octet.Error], "one that was accepted before")

    def test_rows_of_one_request_are_limited(self):
        served = self.served(self.looked_up())
        ids = np.arange(30).reshape(10, 3)
        self.assertEqual([len(piece[0]) for piece in served.pieces([ids])], [4, 4, 2])
        with rays.Wrong(self, "invalid_argument", "65 rows", "64"):
            served.accept({"ids": np.zeros((65, 3), np.int64)})

    def test_others_have_their_turn_between_pieces(self):
        from octet.ray._served import Queue

        ids = np.arange(48).reshape(16, 3)
        order = []

        async def ask(queue, name, rows):
            answer = await queue.ask({"ids": rows})
            order.append(name)
            return answer["y"]

        async def both(served):
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                queue = Queue(served, thread, 1, 0)
                return await asyncio.gather(ask(queue, "large", ids), ask(queue, "small", ids[:1]))

        served = self.served(self.looked_up())
        large, small = asyncio.run(both(served))
        expected = octet.Context(served.engine).run(ids)[0]
        np.testing.assert_array_equal(large, expected)
        np.testing.assert_array_equal(small, expected[:1])
        self.assertEqual(order, ["small", "large"])

    def test_health_behind_requests(self):
        """A check that waits is not waited for while runs succeed; what it finds is said the next time."""
        from octet.ray import _serve

        async def look():
            replica = _serve.EngineReplica(self.looked_up())
            queue = replica._only
            queue.served._known = (queue.served._known[0], [b"other bytes"])
            release = threading.Event()
            replica._thread.submit(release.wait)
            queue.succeeded = time.monotonic()
            try:
                await replica.check_health()
            finally:
                release.set()
            with self.assertRaisesRegex(RuntimeError, "other answers"):
                await replica.check_health()
            queue.served._known = None
            await replica.check_health()

        with unittest.mock.patch.object(_serve, "_PATIENCE_S", 0.05):
            asyncio.run(look())

    def test_what_json_has_no_numbers_for(self):
        from octet.ray._requests import answer_of

        self.assertEqual(json.loads(answer_of("m", "7", {"y": np.float16([0.5])}))["outputs"][0]["data"], [0.5])
        for value in (np.nan, np.inf, -np.inf):
            with rays.Wrong(self, "unsupported", "'y'", "JSON"):
                answer_of("m", None, {"x": np.zeros(3, np.int8), "y": np.array([0, value], np.float32)})


class Serves(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (cls.port,) = free_ports(1)
        serve.start(http_options={"host": "127.0.0.1", "port": cls.port})
        cls.engine = compiled(calibration=rays.images("train", CALIBRATION)[0])
        cls.images = rays.images("test", TEST)[0]
        cls.logits = octet.Context(cls.engine).run(cls.images)[0]
        folder = scratch() / "models"
        folder.mkdir()
        cls.engine.save(folder / "digits.octet")
        compiled().save(folder / "real.octet")
        compiled(calibration=cls.images, method="minmax").save(folder / "other.octet")
        (folder / "broken.octet").write_bytes(b"no engine")
        cls.several = {name: octet.Context(octet.Engine.load(folder / f"{name}.octet")).run(cls.images[:1])[0] for name in ("digits", "real", "other")}
        cls.handle = serve.run(octet.ray.serve.Engine.bind(folder, max_batch_size=8, max_models=2), name="several", route_prefix="/")

    @classmethod
    def tearDownClass(cls):
        serve.shutdown()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body).encode())
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def request(self, rows, **changes):
        return {"id": "7", "inputs": [{"name": "image", "datatype": "FP32", "shape": list(rows.shape), "data": rows.ravel().tolist(), **changes}]}

    def test_requests_of_all_sizes_at_once(self):
        random = np.random.default_rng(2)
        sizes = [int(size) for size in random.integers(1, 12, 60)]
        begins = [int(random.integers(0, TEST - size)) for size in sizes]
        handle = self.handle.options(multiplexed_model_id="digits")
        asked = [handle.infer.remote({"image": self.images[begin:begin + size]}) for begin, size in zip(begins, sizes)]
        wrong = [handle.infer.remote({"image": self.images[:1].astype(np.float64)}), handle.infer.remote({"image": self.images[:0]}),
                 handle.infer.remote({"picture": self.images[:1]}), handle.infer.remote({"image": self.images[:, :, :5]}), handle.infer.remote(7)]
        for answer, begin, size in zip(asked, begins, sizes):
            np.testing.assert_array_equal(answer.result()["logits"], self.logits[begin:begin + size])
        for answer in wrong:
            with self.assertRaises(octet.Error) as caught:
                answer.result()
            self.assertEqual(caught.exception.code, "invalid_argument")

    def test_models_make_room_for_each_other(self):
        for name in ("digits", "real", "other", "digits", "other", "real"):
            answer = self.handle.options(multiplexed_model_id=name).infer.remote({"image": self.images[:1]}).result()
            np.testing.assert_array_equal(answer["logits"], self.several[name], name)
        for name in ("absent", "../models/digits", "broken", ""):
            with self.assertRaises(octet.Error):
                self.handle.options(multiplexed_model_id=name).infer.remote({"image": self.images[:1]}).result()

    def test_over_http(self):
        self.assertEqual(self.ask("GET", "/v2/health/ready")[0], 200)
        status, told = self.ask("GET", "/v2/models/digits")
        self.assertEqual((status, told["inputs"]), (200, [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}]))
        made = harness.octet("inspect", scratch() / "models/digits.octet", "--provenance", "--json").json
        self.assertEqual(told["properties"], {"engine": made["engine_hash"], "calibration": made["provenance"]["methods"],
                                              **{key: str(made["provenance"][key]) for key in ("octet", "model_hash", "data_hash", "samples")}})
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda at: self.ask("POST", "/v2/models/digits/infer", self.request(self.images[at:at + 2])), range(0, 40, 2)))
        for at, (status, answer) in zip(range(0, 40, 2), answers):
            self.assertEqual((status, answer["id"], answer["outputs"][0]["shape"]), (200, "7", [2, 10]), answer)
            np.testing.assert_array_equal(np.float32(answer["outputs"][0]["data"]), self.logits[at:at + 2].ravel())

    def test_wrong_requests_over_http(self):
        rows = self.images[:1]
        deep = b'{"inputs":' + b"[" * 100000
        cases = [(400, b"{"), (400, deep), (400, []), (400, {"inputs": [7]}), (400, {"inputs": []}), (400, self.request(rows, name="picture")),
                 (400, self.request(rows, datatype="INT8")), (400, self.request(rows, shape=[1, 1, 8, 9])), (400, self.request(rows, shape=[-1, 1, 8, 8])),
                 (400, self.request(rows, shape=[1 << 62] * 4)), (400, self.request(rows, data=["x"] * 64)), (400, self.request(rows, data=None)),
                 (400, self.request(rows, data=[[1], [[2]]])), (400, self.request(rows, shape=[0, 1, 8, 8], data=[])), (200, self.request(rows))]
        for expected, body in cases:
            status, answer = self.ask("POST", "/v2/models/digits/infer", body)
            self.assertEqual(status, expected, str(body)[:200])
            self.assertEqual("error" in answer, expected != 200)
        for method, path in (("GET", "/v2/models/absent"), ("GET", "/v2/models/..%2Fmodels%2Fdigits"), ("POST", "/v2/models/digits"), ("GET", "/v3")):
            self.assertEqual(self.ask(method, path)[0], 404, path)
        self.assertEqual(self.ask("GET", "/v2/models/broken")[0], 400)

    def test_health_is_what_an_engine_gives(self):
        from octet.ray._served import Served

        served = Served(self.engine, device="cpu", threads=1, most_rows=4, max_rows=64)
        served.check()
        arrays, _ = served._known
        served._known = (arrays, [b"other bytes"])
        with self.assertRaises(RuntimeError):
            served.check()

    def test_an_engine_that_made_room_is_freed(self):
        from octet.ray._served import Queue, Served

        async def ask(count):
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                queue = Queue(Served(self.engine, device="cpu", threads=1, most_rows=4, max_rows=64), thread, 4, 0.001)
                asked = [asyncio.ensure_future(queue.ask({"image": self.images[at:at + 1]})) for at in range(count)]
                await asyncio.sleep(0)
                asked[0].cancel()
                answers = await asyncio.gather(*asked[1:])
                kept = weakref.ref(queue.served)
                del queue, asked
                await asyncio.sleep(0)
                return [answer["logits"] for answer in answers], kept

        answers, kept = asyncio.run(ask(30))
        np.testing.assert_array_equal(np.concatenate(answers), self.logits[1:30])
        gc.collect()
        self.assertIsNone(kept())


def free_ports(count):
    import tritons

    return tritons.free_ports(count)


if __name__ == "__main__":
    harness.main()
