#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""octet.ray on a cluster of one node: results are those of one process, to the byte, and what is wrong is said as it is there."""

import asyncio
import concurrent.futures
import gc
import http.client
import json
import math
import unittest
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

        served = Served(self.engine, device="cpu", threads=1, most_rows=4)
        served.check()
        arrays, _ = served._known
        served._known = (arrays, [b"other bytes"])
        with self.assertRaises(RuntimeError):
            served.check()

    def test_an_engine_that_made_room_is_freed(self):
        from octet.ray._served import Queue, Served

        async def ask(count):
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                queue = Queue(Served(self.engine, device="cpu", threads=1, most_rows=4), thread, 4, 0.001)
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
