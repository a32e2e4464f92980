# SPDX-License-Identifier: Apache-2.0
"""A peer runtime that does as much as it can, in a process of its own, driven by bench/throughput.py over standard input.

    throughput_peer.py onnxruntime|openvino MODEL.onnx      onnxruntime: one thread; openvino: its throughput mode on all CPUs

It prints a line when it is ready; each line "SECONDS" that it reads is answered with {"throughput": images per second}, or {"error": reason}.
"""

import json
import sys
import time

import numpy as np


def make_input(shape):
    return np.random.default_rng(1).random(shape, np.float32)


def open_onnxruntime(path):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {entry.name: make_input(entry.shape) for entry in session.get_inputs()}

    def run(seconds):
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            session.run(None, feed)
            count += 1
        return count / (time.perf_counter() - start)
    return run


def open_openvino(path):
    import openvino
    compiled = openvino.Core().compile_model(path, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT"})
    queue = openvino.AsyncInferQueue(compiled)  # as many requests as the runtime thinks best
    image = {0: openvino.Tensor(make_input(list(compiled.input(0).shape)))}

    def run(seconds):
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            queue.start_async(image, share_inputs=True)
            count += 1
        queue.wait_all()
        return count / (time.perf_counter() - start)
    return run


def main():
    try:
        run = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}[sys.argv[1]](sys.argv[2])
        run(0.3)  # warm-up
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            print(json.dumps({"throughput": run(float(line))}), flush=True)
    except Exception as error:  # the reason goes into the report
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:200]}), flush=True)


if __name__ == "__main__":
    main()
