#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients send to Triton's real server at the same time and for long: malformed requests among good ones, batches and images of any size, sequences.
Answers are those of `octet run` to the byte. OCTET_TRITON_REQUESTS says how many requests a server outlives (2000)."""

import http.client
import json
import os
import random
import threading
import unittest

import harness
import tritons
from harness import digits_engine, need, octet, scratch
from tritons import Server, add_model, images

REQUESTS = int(os.environ.get("OCTET_TRITON_REQUESTS", "2000"))


class Soak(unittest.TestCase):
    """Requests of which one in twenty is malformed, by connections that stay: every good one is answered right, in batches with whatever it meets there,
    and the server's memory, descriptors and threads stay as they are."""

    CONNECTIONS = 4

    def body(self, rows, **change):
        """By the protocol's extension for binary data: the request's bytes and its headers."""
        sent = change.pop("bytes", rows.tobytes())
        tensor = {"name": "image", "shape": list(rows.shape), "datatype": "FP32", "parameters": {"binary_data_size": len(sent)}, **change}
        told = json.dumps({"inputs": [tensor], "outputs": [{"name": change.pop("output", "logits"), "parameters": {"binary_data": True}}]}).encode()
        return told + sent, {"Inference-Header-Content-Length": str(len(told))}

    def malformed(self, rows):
        return [
            self.body(rows, datatype="INT32"), self.body(rows, datatype="FP16"), self.body(rows, shape=[1, 64]), self.body(rows, shape=[2, 1, 8, 8]),
            self.body(rows, shape=[0, 1, 8, 8]), self.body(rows, shape=[9, 1, 8, 8], bytes=b"\0" * 2304), self.body(rows, bytes=b"\0" * 255),
            self.body(rows, name="picture"), self.body(rows, shape=[1 << 40, 1, 8, 8]), (b"{", {}), (b"\xff" * 300, {"Inference-Header-Content-Length": "250"}),
        ]

    def test_malformed_requests_among_good_ones(self):
        tritons.need()
        sent, want = images()
        repository = scratch() / "soak"
        add_model(repository, "digits", {"model.octet": digits_engine()},
                  'backend: "octet"\nmax_batch_size: 8\ndynamic_batching { }\ninstance_group [ { count: 2 kind: KIND_CPU } ]\n')
        good = [(first, count, *self.body(sent[first:first + count])) for first in range(8) for count in (1, 2, 4)]
        bad = self.malformed(sent[:1])
        failures, middle = [], []
        with Server(repository) as server:

            def ask(connection, body, headers):
                connection.request("POST", "/v2/models/digits/infer", body, headers)
                answer = connection.getresponse()
                return answer, answer.read()

            def part(number, requests):
                """Half of them is done twice, and what the server has is looked at in between."""
                order, connection = random.Random(number), http.client.HTTPConnection("127.0.0.1", server.http, timeout=600)
                for i in range(requests):
                    if i % 20 == 7:
                        answer, said = ask(connection, *order.choice(bad))
                        if answer.status not in (400, 500) or b"error" not in said:
                            failures.append((answer.status, said))
                        continue
                    first, count, *request = order.choice(good)
                    answer, said = ask(connection, *request)
                    if answer.status != 200 or not said.endswith(want[first:first + count].tobytes()):
                        failures.append((answer.status, said))
                connection.close()

            for _ in range(3):  # the first is to warm up
                threads = [threading.Thread(target=part, args=(number, REQUESTS // 2 // self.CONNECTIONS)) for number in range(self.CONNECTIONS)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(failures[:3], [])
                middle.append(server.resident())
            print(f"{REQUESTS // 2} requests a part; memory, descriptors, threads:", *middle)
            self.assertEqual(server.metric("octet_compilations_total"), 0)
            (_, descriptors, running), (grown, *after) = middle[1], (middle[2][0] - middle[1][0], *middle[2][1:])
            self.assertLessEqual(after[0], descriptors)
            self.assertLessEqual(after[1], running)
            # Allocators keep what a moment took; a leak would grow with requests: 100 bytes of each are 5 MB of 50,000.
            self.assertLess(grown, 4 << 20, middle)


class Sizes(unittest.TestCase):
    def test_batches_and_images_of_any_order(self):
        """Images of three sizes that the configuration names, in batches of any size: nothing is planned for them after readiness."""
        tritons.need()
        numpy, onnx = need("numpy", "onnx")
        import tritonclient.grpc as grpc
        helper = onnx.helper
        value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 3, "H", "W"])
        weights = numpy.random.default_rng(4).standard_normal((3, 3, 3, 3)).astype(numpy.float32)
        graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])], "open",
                                  [value("x")], [value("y")], [onnx.numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch() / "open.onnx")
        made = numpy.random.default_rng(5)
        sizes = (16, 16), (24, 16), (17, 33)
        numpy.savez(scratch() / "open_calib.npz", x=made.random((4, 3, 16, 16), dtype=numpy.float32))
        octet("build", scratch() / "open.onnx", "--int8", "--calib", scratch() / "open_calib.npz", "-o", scratch() / "open.octet", "--quiet")
        data, want = [], []
        for i, size in enumerate(sizes):
            data.append(made.random((8, 3, *size), dtype=numpy.float32))
            numpy.savez(scratch() / f"open{i}.npz", x=data[-1])
            octet("run", scratch() / "open.octet", scratch() / f"open{i}.npz", "-o", scratch() / f"open_want{i}.npz")
            with numpy.load(scratch() / f"open_want{i}.npz") as arrays:
                want.append(arrays["y"])
        repository = scratch() / "sizes"
        named = ";".join(f"3x{height}x{width}" for height, width in sizes)
        add_model(repository, "open", {"model.octet": scratch() / "open.octet"},
                  f'backend: "octet"\nmax_batch_size: 8\ndynamic_batching {{ }}\nparameters {{ key: "shapes" value: {{ string_value: "{named}" }} }}\n')
        order, failures = random.Random(6), []
        with Server(repository) as server:

            def ask(asked):
                client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
                for i, first, count in asked:
                    rows = data[i][first:first + count]
                    tensor = grpc.InferInput("x", list(rows.shape), "FP32")
                    tensor.set_data_from_numpy(rows)
                    if client.infer("open", [tensor]).as_numpy("y").tobytes() != want[i][first:first + count].tobytes():
                        failures.append((i, first, count))

            def chosen():
                count = order.randint(1, 8)
                return order.randrange(len(sizes)), order.randint(0, 8 - count), count

            threads = [threading.Thread(target=ask, args=([chosen() for _ in range(40)],)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertGreaterEqual(server.metric("octet_rows_total", model="open"), 160)
            self.assertEqual(server.metric("octet_compilations_total"), 0)


STATEFUL = """
backend: "octet"
max_batch_size: 4
sequence_batching {
  oldest { max_candidate_sequences: 8 }
  state [ {
    input_name: "h" output_name: "n" data_type: TYPE_FP32 dims: [ 4 ]
    initial_state: { name: "zeros" data_type: TYPE_FP32 dims: [ 4 ] zero_data: true }
  } ]
}
"""


class Sequences(unittest.TestCase):
    def test_the_server_keeps_states(self):
        """Sums of what a sequence has sent, of several sequences at once; a malformed request in the middle changes none."""
        tritons.need()
        numpy, onnx = need("numpy", "onnx")
        import tritonclient.grpc as grpc
        helper, kind = onnx.helper, onnx.TensorProto.FLOAT
        value = lambda name: helper.make_tensor_value_info(name, kind, ["N", 4])
        graph = helper.make_graph([helper.make_node("Add", ["x", "h"], ["n"]), helper.make_node("Neg", ["n"], ["y"])], "sums",
                                  [value("x"), value("h")], [value("y"), value("n")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch() / "sums.onnx")
        octet("build", scratch() / "sums.onnx", "-o", scratch() / "sums.octet", "--quiet")
        repository = scratch() / "stateful"
        add_model(repository, "sums", {"model.octet": scratch() / "sums.octet"}, STATEFUL)
        failures = []
        with Server(repository) as server:
            _, config = server.json("/v2/models/sums/config")
            self.assertEqual(([i["name"] for i in config["input"]], [o["name"] for o in config["output"]]), (["x"], ["y"]))

            def ask(client, rows, **of_sequence):
                tensor = grpc.InferInput("x", list(rows.shape), "FP32")
                tensor.set_data_from_numpy(rows)
                return client.infer("sums", [tensor], **of_sequence).as_numpy("y")

            def sequence(number):
                client, total = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}"), numpy.zeros((1, 4), "f")
                for i in range(12):
                    row = numpy.float32([[number, i, number * i, 1]])
                    total += row
                    got = ask(client, row, sequence_id=number, sequence_start=i == 0, sequence_end=i == 11)
                    if got.tobytes() != (-total).tobytes():
                        failures.append((number, i, got))
                    if i == 5:
                        try:
                            ask(client, numpy.zeros((1, 5), "f"), sequence_id=number)
                            failures.append("no error")
                        except grpc.InferenceServerException:
                            pass

            threads = [threading.Thread(target=sequence, args=(number,)) for number in range(1, 5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])


if __name__ == "__main__":
    harness.main()
