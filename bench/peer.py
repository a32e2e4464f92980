# SPDX-License-Identifier: Apache-2.0
"""One peer runtime in a process of its own, driven by bench/cpu.py over standard input.

    peer.py onnxruntime|openvino MODEL.onnx THREADS [INPUT:1x3x640x640 ...]     then one line "SECONDS" per measurement

It answers each line with one JSON object: {"ms": median, "min_ms": fastest, "processor_ms": median, "runs": n} or {"error": reason}.
"""

import json
import statistics
import sys
import time

import numpy as np

WARMUP = 5


def open_onnxruntime(path, threads, shapes):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
    feed = {}
    for entry in session.get_inputs():
        fixed = [size if isinstance(size, int) else 1 for size in entry.shape]  # a dynamic batch is 1
        feed[entry.name] = make_input(shapes.get(entry.name, fixed)).astype(types[entry.type])
    return lambda: session.run(None, feed)


def open_openvino(path, threads, _shapes):
    import openvino

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                "ENABLE_CPU_PINNING": False}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(make_input(list(compiled.input(0).shape))))
    return request.infer


def make_input(shape):
    return np.random.default_rng(1).random(shape, dtype=np.float32)


def measure(run, seconds):
    for _ in range(WARMUP):
        run()
    times, processor = [], []
    stop = time.perf_counter() + seconds
    while not times or time.perf_counter() < stop:
        start, busy = time.perf_counter(), time.process_time()
        run()
        processor.append((time.process_time() - busy) * 1e3)
        times.append((time.perf_counter() - start) * 1e3)
    return {"ms": statistics.median(times), "min_ms": min(times), "processor_ms": statistics.median(processor),
            "runs": len(times)}


def answer(value):
    print(json.dumps(value), flush=True)


def main():
    runtime, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    given = (argument.rsplit(":", 1) for argument in sys.argv[4:])
    shapes = {name: [int(size) for size in sizes.split("x")] for name, sizes in given}
    try:
        run = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}[runtime](path, threads, shapes)
        run()
    except Exception as error:  # the reason goes into the report
        answer({"error": (str(error).strip() or type(error).__name__).splitlines()[0][:200]})
        return
    answer({"ready": True})
    for line in sys.stdin:
        answer(measure(run, float(line)))


if __name__ == "__main__":
    main()
