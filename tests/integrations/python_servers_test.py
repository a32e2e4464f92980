#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recipes of docs/serving.md with the real programs: the examples of LitServe and MLServer answer as Octet does, and what KServe's runtime starts serves a
repository without a configuration."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import harness
import rays
import tritons
from harness import ROOT, digits_engine, scratch

STARTS = 1200  # looks at a server that does not come up, 50 ms each
KSERVE = ROOT / "integrations/kserve"


def setUpModule():
    global np, octet
    rays.need()
    import numpy as np

    import octet


def post(url, body):
    """The status and what the answer says."""
    asked = urllib.request.Request(url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def await_server(process, url, log):
    """Until it answers there."""
    for _ in range(STARTS):
        try:
            urllib.request.urlopen(url, timeout=10)
            return
        except OSError:
            time.sleep(0.05)
        if process.poll() is not None:
            break
    raise AssertionError(log.read_text())


def post_all(url, bodies):
    """The answers to requests of which eight are outstanding."""
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda body: post(url, body), bodies))


class LitServe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (rays.FOLDER / "litserve").exists():
            raise unittest.SkipTest(f"{rays.FOLDER / 'litserve'} is absent; ./dev setup installs it")
        (port,) = tritons.free_ports(1)
        cls.url = f"http://127.0.0.1:{port}"
        cls.log = scratch() / "litserve.log"
        with cls.log.open("w") as log:
            cls.server = subprocess.Popen([sys.executable, ROOT / "examples/litserve/serve.py", digits_engine(), str(port)], stdout=log, stderr=log,
                                          start_new_session=True)
        cls.addClassCleanup(cls.end)
        await_server(cls.server, cls.url + "/health", cls.log)

    @classmethod
    def end(cls):
        os.killpg(cls.server.pid, 9)  # its workers, too
        cls.server.wait()

    def test_answers_and_wrong_requests(self):
        images = rays.images("test", 40)[0]
        expected = octet.Context(octet.Engine.load(digits_engine())).run(images)[0]
        wrong = [{}, {"input": "x"}, {"input": [[1]]}, {"input": [[[1] * 8] * 9]}, {"input": [[[1] * 8] * 7 + [[1]]]}, {"input": None}, [7],
                 {"input": [[[10**400] * 8] * 8]}]
        bodies = [{"input": image.tolist()} for image in images]
        bodies[5:5] = wrong
        answers = post_all(self.url + "/predict", bodies)
        for status, said in answers[5:5 + len(wrong)]:
            self.assertIn(status, (400, 422), said)
        right = answers[:5] + answers[5 + len(wrong):]
        self.assertEqual({status for status, _ in right}, {200}, self.log.read_text()[-3000:])
        np.testing.assert_array_equal(np.float32([said["output"] for _, said in right]), expected)


class MLServer(unittest.TestCase):
    """OCTET_MLSERVER is a Python with mlserver installed, which wants other versions of much that the tests use."""

    @classmethod
    def setUpClass(cls):
        python = os.environ.get("OCTET_MLSERVER")
        if not python:
            raise unittest.SkipTest("OCTET_MLSERVER names no Python with mlserver")
        http, grpc, metrics = tritons.free_ports(3)
        folder = scratch() / "mlserver"
        shutil.copytree(ROOT / "examples/mlserver", folder)
        shutil.copy(digits_engine(), folder / "model.octet")
        settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc, "metrics_port": metrics, "parallel_workers": 0}
        (folder / "settings.json").write_text(json.dumps(settings))
        cls.url, cls.log = f"http://127.0.0.1:{http}/v2/models/digits", scratch() / "mlserver.log"
        with cls.log.open("w") as log:
            cls.server = subprocess.Popen([python, "-c", "import sys; from mlserver.cli import main; sys.argv[1:] = ['start', '.']; main()"], cwd=folder,
                                          stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": str(pathlib.Path(octet.__file__).parent.parent)})
        cls.addClassCleanup(cls.end)
        await_server(cls.server, cls.url + "/ready", cls.log)

    @classmethod
    def end(cls):
        cls.server.terminate()
        cls.server.wait()

    def test_answers_and_wrong_requests(self):
        images = rays.images("test", 20)[0]
        expected = octet.Context(octet.Engine.load(digits_engine())).run(images)[0]

        def body(image, **other):
            return {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, *image.shape], "data": image.ravel().tolist(), **other}]}

        wrong = [{"shape": [1, 1, 8, 9]}, {"name": "x"}, {"datatype": "INT64"}, {"datatype": "FP64"}, {"data": []}, {"datatype": "BYTES", "data": ["a"], "shape": [1]}]
        bodies = [body(images[0], **other) for other in wrong] + [{"inputs": []}] + [body(image) for image in images]
        answers = post_all(self.url + "/infer", bodies)
        self.assertEqual({status for status, _ in answers[:len(wrong) + 1]}, {400}, answers[:len(wrong) + 1])
        right = answers[len(wrong) + 1:]
        self.assertEqual({status for status, _ in right}, {200}, self.log.read_text()[-3000:])
        np.testing.assert_array_equal(np.float32([said["outputs"][0]["data"] for _, said in right]), expected)


class KServe(unittest.TestCase):
    def hold(self, kind, value, schema, where):
        """To the type that the schema says: of its kinds the fields, of others no more than that they are there."""
        if kind.startswith("list["):
            self.assertIsInstance(value, list, where)
            for i, item in enumerate(value):
                self.hold(kind[5:-1], item, schema, f"{where}[{i}]")
        elif kind in schema:
            self.assertLessEqual(set(value), set(schema[kind]["fields"]), where)
            self.assertLessEqual(set(schema[kind]["required"]), set(value), where)
            for key, item in value.items():
                self.hold(schema[kind]["fields"][key], item, schema, f"{where}.{key}")
        elif kind == "dict(str, str)":
            self.assertEqual({type(item) for pair in value.items() for item in pair}, {str}, where)
        elif kind in ("str", "int", "bool"):
            self.assertEqual(type(value).__name__, kind, where)
        else:
            self.assertEqual(kind, "V1ObjectMeta", where)

    def test_files_hold_to_the_schema(self):
        yaml = harness.need("yaml")
        schema = json.loads((ROOT / "tests/integrations/kserve_schema.json").read_text())
        files = {"runtime": ("serving.kserve.io/v1alpha1", "ClusterServingRuntime"), "service": ("serving.kserve.io/v1beta1", "InferenceService")}
        for name, (version, kind) in files.items():
            made = yaml.safe_load((KSERVE / f"{name}.yaml").read_text())
            self.assertEqual((made["apiVersion"], made["kind"]), (version, kind))
            self.hold(f"V1{version.rpartition('/v1')[2]}{kind}", made, schema, name)
        with self.assertRaises(AssertionError):
            self.hold("V1beta1ModelSpec", {"modelFormat": {"name": "octet"}, "storageURI": "s3://models"}, schema, "a typing error")
        with self.assertRaises(AssertionError):
            self.hold("V1alpha1ServingRuntimeSpec", {"containers": [{"name": "a", "args": "tritonserver"}]}, schema, "a text for a list")

    def test_what_the_runtime_starts(self):
        tritons.need()
        yaml = harness.need("yaml")
        runtime, service = (yaml.safe_load((KSERVE / f"{name}.yaml").read_text()) for name in ("runtime", "service"))
        (container,) = runtime["spec"]["containers"]
        self.assertEqual(container["name"], "kserve-container")  # KServe looks for it by that name
        model = service["spec"]["predictor"]["model"]
        self.assertEqual((model["runtime"], model["protocolVersion"]), (runtime["metadata"]["name"], runtime["spec"]["protocolVersions"][0]))
        self.assertIn(model["modelFormat"], [{key: kind[key] for key in ("name", "version")} for kind in runtime["spec"]["supportedModelFormats"]])
        program, *arguments = container["args"]
        self.assertEqual(program, "tritonserver")
        told = dict(argument.removeprefix("--").split("=", 1) for argument in arguments)
        # KServe's own ports and folder, and where the annotations say that metrics are.
        self.assertEqual((told.pop("http-port"), told.pop("grpc-port"), told.pop("model-repository")), ("8080", "9000", "/mnt/models"))
        self.assertEqual(told.pop("metrics-port"), runtime["spec"]["annotations"]["prometheus.kserve.io/port"])
        repository = scratch() / "kserve"
        tritons.add_model(repository, "digits.octet", {"model.octet": digits_engine()})
        image = rays.images("test", 1)[0]
        with tritons.Server(repository, *(f"--{flag}={value}" for flag, value in told.items())) as server:
            status, answer = server.json("/v2/models/digits.octet/infer", {
                "inputs": [{"name": "image", "datatype": "FP32", "shape": list(image.shape), "data": image.ravel().tolist()}]})
            self.assertEqual(status, 200, answer)
            expected = octet.Context(octet.Engine.load(digits_engine())).run(image)[0]
            np.testing.assert_array_equal(np.float32(answer["outputs"][0]["data"]), expected.ravel())


if __name__ == "__main__":
    harness.main()
