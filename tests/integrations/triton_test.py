#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The backend in Triton's real server, asked by its own client: answers are those of `octet run` to the byte, whatever else goes on.
OCTET_TRITON_RELOADS says how often a model is loaded again under load (3)."""

import functools
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

import harness
import tritons
from harness import DIGITS, digits, digits_engine, need, octet, scratch
from tritons import Server, add_model, images

RELOADS = int(os.environ.get("OCTET_TRITON_RELOADS", "3"))
ASKED = 4000  # requests at most, until enough values are counted
CACHES = ("--cache-config=local,size=1048576",)

ENSEMBLE = """
platform: "ensemble"
max_batch_size: 4
input [ { name: "image" data_type: TYPE_FP32 dims: [ 1, 8, 8 ] } ]
output [ { name: "logits" data_type: TYPE_FP32 dims: [ 10 ] } ]
ensemble_scheduling { step [ {
  model_name: "digits" model_version: 1
  input_map { key: "image" value: "image" }
  output_map { key: "logits" value: "logits" }
} ] }
"""


@functools.cache
def calibrated():
    """The digits' model with its calibration cache beside it, and its engine."""
    engine, cache = scratch() / "calibrated.octet", scratch() / "model.cache"
    octet("build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "--preprocess", DIGITS / "preprocess.json",
          "--calib-cache", cache, "-o", engine, "--quiet")
    return cache, engine


class Triton(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tritons.need()
        cls.numpy = need("numpy")
        repository = scratch() / "repository"
        add_model(repository, "digits.octet", {"model.octet": digits_engine()})
        cache, _ = calibrated()
        several = 'backend: "octet"\nversion_policy { all {} }\ninstance_group [ { count: 2 } ]\n'
        add_model(repository, "digits", {"model.octet": digits_engine()}, several)
        add_model(repository, "digits", {"model.onnx": DIGITS / "digits.onnx", "model.cache": cache,
                                         "model.cache.json": cache.with_name("model.cache.json")}, version=2)
        add_model(repository, "cached", {"model.octet": digits_engine()}, 'backend: "octet"\nresponse_cache { enable: true }\n')
        add_model(repository, "ensemble", {}, ENSEMBLE)
        add_model(repository, "large", {"model.octet": digits_engine()},
                  'backend: "octet"\nmax_batch_size: 12\ndynamic_batching { max_queue_delay_microseconds: 2000 }\n')
        cls.server = Server(repository, "--model-control-mode=explicit", "--load-model=*", *CACHES,
                            f"--cache-directory={tritons.HOME / 'caches'}")
        cls.repository = repository

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def client(self, protocol):
        import tritonclient.grpc
        import tritonclient.http
        module = {"http": tritonclient.http, "grpc": tritonclient.grpc}[protocol]
        return module, module.InferenceServerClient(f"127.0.0.1:{getattr(self.server, protocol)}")

    def ask(self, protocol, model, rows, version=""):
        module, client = self.client(protocol)
        tensor = module.InferInput("image", list(rows.shape), "FP32")
        tensor.set_data_from_numpy(rows)
        return client.infer(model, [tensor], model_version=version).as_numpy("logits")

    def expect(self, got, first, count=1):
        want = images()[1][first:first + count]
        self.assertEqual(got.shape, want.shape)
        self.assertEqual(got.tobytes(), want.tobytes())

    def test_answers_are_those_of_octet_run(self):
        sent, _ = images()
        for protocol in "http", "grpc":
            for model, version in ("digits.octet", ""), ("digits", "1"), ("digits", "2"), ("cached", ""), ("cached", ""), ("ensemble", ""):
                with self.subTest(protocol=protocol, model=model, version=version):
                    self.expect(self.ask(protocol, model, sent[:3], version), 0, 3)
        self.assertEqual(self.server.metric("nv_cache_num_hits_per_model", model="cached"), 3)

    def test_configuration_is_completed(self):
        _, config = self.server.json("/v2/models/digits.octet/config")
        self.assertEqual((config["max_batch_size"], config["input"][0]["dims"], config["output"][0]["dims"]), (4, [1, 8, 8], [10]))
        self.assertIn("dynamic_batching", config)
        _, described = self.server.json("/v2/models/digits.octet")
        self.assertEqual(described["inputs"], [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}])

    def unregister(self, client, region):
        """Gives a region back: the server holds it until the request is released, which a backend does just after it has answered."""
        while True:
            try:
                return client.unregister_system_shared_memory(region)
            except Exception as error:  # of a class that only tritonclient's environment has
                self.assertIn("currently in use", str(error))
                time.sleep(0.001)

    def test_system_shared_memory(self):
        import tritonclient.utils.shared_memory as shared
        sent, want = images()
        module, client = self.client("grpc")
        region = shared.create_shared_memory_region("octet", f"/octet-{os.getpid()}", sent[:4].nbytes + want[:4].nbytes)
        try:
            shared.set_shared_memory_region(region, [sent[:4]])
            client.register_system_shared_memory("octet", f"/octet-{os.getpid()}", sent[:4].nbytes + want[:4].nbytes)
            tensor = module.InferInput("image", [4, 1, 8, 8], "FP32")
            tensor.set_shared_memory("octet", sent[:4].nbytes)
            output = module.InferRequestedOutput("logits")
            output.set_shared_memory("octet", want[:4].nbytes, sent[:4].nbytes)
            before = self.server.metric("octet_copied_bytes_total", model="digits.octet")
            client.infer("digits.octet", [tensor], outputs=[output])
            self.expect(shared.get_contents_as_numpy(region, "float32", [4, 10], sent[:4].nbytes), 0, 4)
            self.unregister(client, "octet")
            # Where the load's costs say that four rows run at once they are read and written in place; else in parts of it, in place too.
            self.assertEqual(self.server.metric("octet_copied_bytes_total", model="digits.octet"), before)
        finally:
            shared.destroy_shared_memory_region(region)

    def test_nothing_is_planned_after_readiness(self):
        sent, _ = images()
        order = random.Random(1)
        def ask():
            for _ in range(15):
                count = order.randint(1, 6)
                first = order.randint(0, 12 - count)
                self.expect(self.ask("grpc", "large", sent[first:first + count]), first, count)
        self.in_threads([ask] * 4)
        self.assertEqual(self.server.metric("octet_compilations_total"), 0)
        self.assertGreaterEqual(self.server.metric("octet_rows_total", model="large"), 60)

    def in_threads(self, bodies):
        failures = []

        def guarded(body):
            try:
                body()
            except BaseException as error:  # pylint: disable=broad-exception-caught
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def infer_json(self, **change):
        tensor = {"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0.0] * 64, **change.pop("tensor", {})}
        return self.server.json("/v2/models/digits.octet/infer", {"inputs": [tensor], **change})

    def test_malformed_requests(self):
        sent, _ = images()
        wrong = [
            ({"tensor": {"datatype": "INT32", "data": [0] * 64}}, 400),
            ({"tensor": {"datatype": "BYTES", "data": ["x"] * 64}}, 400),
            ({"tensor": {"shape": [1, 1, 8, 9], "data": [0.0] * 72}}, 400),
            ({"tensor": {"shape": [1, 64]}}, 400),
            ({"tensor": {"shape": [5, 1, 8, 8], "data": [0.0] * 320}}, 400),
            ({"tensor": {"shape": [-1, 1, 8, 8]}}, 500),  # says the server's own reading of JSON
            ({"tensor": {"shape": [0, 1, 8, 8], "data": []}}, 400),
            ({"tensor": {"data": [0.0] * 63}}, 500),
            ({"tensor": {"name": "picture"}}, 400),
            ({"outputs": [{"name": "nothing"}]}, 400),
        ]
        for change, code in wrong:
            with self.subTest(change=change):
                status, answer = self.infer_json(**change)
                self.assertEqual(status, code, answer)
                self.assertTrue(answer["error"])
                self.expect(self.ask("http", "digits.octet", sent[:1]), 0)
        for body in b"", b"{", b"\xff" * 100, b'{"inputs": 3}', b'{"inputs": []}':
            status, _ = self.server.request("/v2/models/digits.octet/infer", body or b" ")
            self.assertIn(status, (400, 500), body)
        for length in "0", "7", "-1", "99999999999":
            self.server.request("/v2/models/digits.octet/infer", b"x" * 64, {"Inference-Header-Content-Length": length})
        self.expect(self.ask("http", "digits.octet", sent[:1]), 0)
        self.assertIn(self.server.json("/v2/models/nobody/infer", {"inputs": []})[0], (400, 404))

    def load(self, name, code=200):
        status, answer = self.server.json(f"/v2/repository/models/{name}/load", {})
        self.assertEqual(status, code, answer)
        return answer.get("error", "")

    def test_what_does_not_load_says_why(self):
        add_model(self.repository, "wrong", {"model.octet": DIGITS / "digits.onnx"}, 'backend: "octet"\n')
        self.assertIn("engine", self.load("wrong", 400))
        add_model(self.repository, "uncalibrated", {"model.onnx": DIGITS / "digits.onnx"}, 'backend: "octet"\n')
        self.assertIn("there is no calibration cache", self.load("uncalibrated", 400))
        add_model(self.repository, "typo", {"model.octet": digits_engine()},
                  'backend: "octet"\nparameters { key: "thread" value: { string_value: "2" } }\n')
        self.assertIn("did you mean 'threads'?", self.load("typo", 400))
        add_model(self.repository, "unlike", {"model.octet": digits_engine()},
                  'backend: "octet"\nmax_batch_size: 2\ninput [ { name: "image" data_type: TYPE_FP32 dims: [ 3, 8, 8 ] } ]\n')
        self.assertIn("the configuration says [3, 8, 8]", self.load("unlike", 400))
        self.assertTrue(self.server.alive())

    def test_loads_again_under_load(self):
        sent, _ = images()
        stop = threading.Event()

        def ask():
            while not stop.is_set():
                self.expect(self.ask("grpc", "digits", sent[3:5]), 3, 2)

        def load():
            try:
                middle = None
                for i in range(RELOADS):
                    config = self.repository / "digits/config.pbtxt"
                    config.write_text(config.read_text() + "#\n")  # else nothing has changed, and nothing is loaded
                    self.load("digits")
                    if i == RELOADS // 2:
                        middle = self.server.resident()
                # A version that is not let go would keep its engine.
                grown = self.server.resident()[0] - middle[0]
                if RELOADS >= 20:
                    self.assertLess(grown, (RELOADS - RELOADS // 2) * digits_engine().stat().st_size)
            finally:
                stop.set()

        self.in_threads([ask, ask, load])
        self.assertEqual(self.server.metric("nv_inference_request_failure", model="digits"), 0)
        self.assertGreaterEqual(self.server.text().count('"loading: digits:1"'), RELOADS + 1)

    def test_clients_that_are_killed(self):
        sent, _ = images()
        script = ("import sys; sys.path.append(sys.argv[1])\n"
                  "import numpy, tritonclient.grpc as t\n"
                  "c = t.InferenceServerClient('127.0.0.1:' + sys.argv[2]); x = t.InferInput('image', [4, 1, 8, 8], 'FP32')\n"
                  "x.set_data_from_numpy(numpy.zeros((4, 1, 8, 8), 'float32'))\n"
                  "done = lambda result, error: None\n"
                  "print('asks', flush=True)\n"
                  "while True: c.async_infer('large', [x], done)\n")
        clients = [subprocess.Popen([sys.executable, "-c", script, str(tritons.FOLDER), str(self.server.grpc)], stdout=subprocess.PIPE)
                   for _ in range(2)]
        try:
            for client in clients:
                client.stdout.readline()
            for _ in range(3):
                self.expect(self.ask("grpc", "large", sent[5:6]), 5)
        finally:
            for client in clients:
                client.send_signal(signal.SIGKILL)
                client.wait()
                client.stdout.close()
        self.expect(self.ask("grpc", "large", sent[6:7]), 6)
        self.assertTrue(self.server.alive())

    def test_a_request_that_is_cancelled(self):
        sent, _ = images()
        module, client = self.client("grpc")
        tensor = module.InferInput("image", [1, 1, 8, 8], "FP32")
        tensor.set_data_from_numpy(sent[:1])
        heard = threading.Event()
        for _ in range(20):
            heard.clear()
            client.async_infer("large", [tensor], lambda result, error: heard.set()).cancel()
            self.assertTrue(heard.wait(60))
        self.expect(self.ask("grpc", "large", sent[:1]), 0)


class Page(unittest.TestCase):
    def test_every_configuration_of_the_page_serves(self):
        tritons.need()
        repository = scratch() / "page"
        cache, _ = calibrated()
        blocks = re.findall(r"```protobuf\n(.*?)```", (harness.ROOT / "docs/serving.md").read_text(), re.S)
        self.assertGreaterEqual(len(blocks), 3)
        for i, block in enumerate(blocks):
            onnx = "model.onnx" in block
            files = {"model.onnx": DIGITS / "digits.onnx", "model.cache": cache} if onnx else {"model.octet": digits_engine()}
            add_model(repository, f"block{i}", files, block)
        with Server(repository) as server:
            for i in range(len(blocks)):
                self.assertEqual(server.status(f"/v2/models/block{i}/ready"), 200, server.text())

    def test_the_page_tells_of_every_number(self):
        page = (harness.ROOT / "docs/serving.md").read_text()
        metrics = (harness.ROOT / "integrations/triton/metrics.cc").read_text()
        settings = (harness.ROOT / "integrations/triton/settings.cc").read_text()
        names = re.findall(r'"(octet_\w+)"', metrics) + re.findall(r'^      \{"(\w+)",', settings, re.M) + re.findall(r'with\("([a-z-]+)"', settings)
        self.assertGreaterEqual(len(names), 14)
        self.assertEqual([name for name in names if f"`{name}" not in page], [])


class Drift(unittest.TestCase):
    """Data beyond what calibration saw raise the counters in Triton's own metrics, above what the page's alarm is set at; the dashboard asks for numbers
    and labels that are there."""

    def counted(self, server, name, side=""):
        """By (model, version, tensor)."""
        found = {}
        for labels, value in re.findall(rf"^{name}{{(.*)}} (\S+)$", server.metrics_text(), re.M):
            by = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if not side or by["side"] == side:
                key = by["model"], by["version"], by["tensor"]
                found[key] = found.get(key, 0) + float(value)
        return found

    def test_drifted_requests_raise_the_counters(self):
        tritons.need()
        from tritonclient import http
        numpy = need("numpy")
        arrays = numpy.load(DIGITS / "digits.npz")
        usual = arrays["test_images"][:64, None].astype(numpy.float32) / 16
        repository = scratch() / "drifting"
        # All of a processor's time, so that the test need not wait.
        watched = 'backend: "octet"\nmax_batch_size: 4\nparameters { key: "clip_watch" value: { string_value: "100" } }\n'
        _, engine = calibrated()
        add_model(repository, "digits", {"model.octet": engine}, watched)
        with Server(repository) as server:
            client = http.InferenceServerClient(f"127.0.0.1:{server.http}")

            def share(rows):
                """Of the values counted while these rows are asked for, the part that is clipped above calibration's, of the worst tensor."""
                before = [self.counted(server, name) for name in ("octet_clipped_values_total", "octet_values_total")]
                for _ in range(ASKED):
                    tensor = http.InferInput("image", list(rows[:1].shape), "FP32")
                    tensor.set_data_from_numpy(rows[random.randrange(len(rows))][None])
                    client.infer("digits", [tensor])
                    after = [self.counted(server, name) for name in ("octet_clipped_values_total", "octet_values_total")]
                    grown = {key: after[1][key] - before[1].get(key, 0) for key in after[1]}
                    if grown and min(grown.values()) > 0 and sum(grown.values()) > 20000:
                        break
                self.assertGreater(sum(grown.values()), 20000, "nothing was counted")
                usual_share = self.counted(server, "octet_calibration_clipped_share")
                return max((after[0].get(key, 0) - before[0].get(key, 0)) / grown[key] - usual_share[key] for key in grown)

            self.assertLess(share(usual), 0.02)
            self.assertGreater(share(3 * usual), 0.02)
            self.assertGreater(sum(self.counted(server, "octet_clipped_values_total", "high").values()), 0)
            text = server.metrics_text()
        dashboard = (harness.ROOT / "integrations/grafana/octet.json").read_text()
        asked = set(re.findall(r"octet_\w+(?=\{|\[)", dashboard))
        drift = {"octet_values_total", "octet_clipped_values_total", "octet_calibration_clipped_share"}
        self.assertLessEqual(drift, asked)
        for name in asked:
            line = re.search(rf"^{name}{{(.*)}}", text, re.M)
            self.assertIsNotNone(line, f"{name} is not among the server's metrics")
            labels = set(re.findall(r'(\w+)="', line.group(1)))
            self.assertLessEqual({"model", "version", *(["tensor"] if name in drift else [])}, labels, name)


class Limits(unittest.TestCase):
    def test_a_memory_limit_ends_a_load_and_not_the_server(self):
        tritons.need()
        repository = scratch() / "limited"
        add_model(repository, "digits.octet", {"model.octet": digits_engine()})
        with Server(repository, "--model-control-mode=explicit", "--backend-config=octet,memory-limit=64K") as server:
            status, answer = server.json("/v2/repository/models/digits.octet/load", {})
            self.assertEqual(status, 400, answer)
            self.assertIn("limit 64 KiB", answer["error"])
            self.assertEqual(server.status("/v2/health/live"), 200)

    def test_an_instance_more_adds_no_weights(self):
        """A product by 32 MiB of codes, whose values need a few KiB: an instance has its plans' memory and at most 8 MiB beside it."""
        tritons.need()
        numpy, onnx = need("numpy", "onnx")
        helper, numbers = onnx.helper, onnx.numpy_helper
        scale = lambda name: numbers.from_array(numpy.float32(0.01), name)
        zero = lambda kind, name: numbers.from_array(numpy.zeros((), kind), name)
        codes = numpy.random.default_rng(3).integers(-127, 128, (4096, 8192)).astype(numpy.int8)
        weights = [numbers.from_array(codes, "w"), *(scale(f"s{i}") for i in range(3)), zero(numpy.uint8, "zx"), zero(numpy.int8, "zw"), zero(numpy.uint8, "zy")]
        nodes = [("QuantizeLinear", ["x", "s0", "zx"], "xq"), ("DequantizeLinear", ["xq", "s0", "zx"], "xd"), ("DequantizeLinear", ["w", "s1", "zw"], "wd"),
                 ("MatMul", ["xd", "wd"], "m"), ("QuantizeLinear", ["m", "s2", "zy"], "mq"), ("DequantizeLinear", ["mq", "s2", "zy"], "y")]
        value = lambda name, size: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", size])
        graph = helper.make_graph([helper.make_node(op, read, [to]) for op, read, to in nodes], "product", [value("x", 4096)], [value("y", 8192)], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch() / "product.onnx")
        octet("build", scratch() / "product.onnx", "-o", scratch() / "product.octet", "--quiet")
        resident = {}
        for count in 1, 5:
            repository = scratch() / f"product{count}"
            add_model(repository, "product", {"model.octet": scratch() / "product.octet"}, 'backend: "octet"\nmax_batch_size: 2\n'
                      f'instance_group [ {{ count: {count} kind: KIND_CPU }} ]\n'
                      'parameters { key: "threads" value: { string_value: "1" } }\nparameters { key: "clip_watch" value: { string_value: "0" } }\n')
            with Server(repository) as server:
                resident[count] = server.resident()[0]
        self.assertGreater(resident[1], codes.nbytes)
        self.assertLess((resident[5] - resident[1]) / 4, 8 << 20, resident)


if __name__ == "__main__":
    harness.main()
