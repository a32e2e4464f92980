# SPDX-License-Identifier: Apache-2.0
"""One peer runtime in a process of its own, driven by bench/cpu.py over standard input.

    peer.py onnxruntime|openvino|ncnn MODEL.onnx|MODEL.param THREADS [INPUT:1x3x640x640 ...]     then one line "SECONDS" per measurement

First it answers {"first_result_ms": from the model file to the first result, "memory_bytes": n}, then each line with {"ms": median,
"min_ms": fastest, "processor_ms": median, "runs": n, "memory_bytes": n}, or with {"error": reason}. Memory is the process's peak less what the
interpreter and the imported packages took before the model was opened.
"""

import argparse
import importlib
import json
import resource
import statistics
import sys
import time

import numpy as np

WARMUP = 5


def open_onnxruntime(onnxruntime, path, threads, shapes):
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


def open_openvino(openvino, path, threads, _shapes):
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                "ENABLE_CPU_PINNING": False}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(make_input(list(compiled.input(0).shape))))
    return request.infer


def open_ncnn(ncnn, path, threads, _shapes):
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()[2:]
    first, last = lines[0].split(), lines[-1].split()  # ncnn_model.py writes the input first and the result last
    width, height, channels = (int(part.split("=")[1]) for part in first[-3:])
    net = ncnn.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = threads, False
    if net.load_param(path) != 0 or net.load_model(path.replace(".param", ".bin")) != 0:
        raise RuntimeError("ncnn cannot load the model")
    image = ncnn.Mat(make_input([channels, height, width]))
    result = next(part for part in reversed(last) if "=" not in part)

    def run():
        extractor = net.create_extractor()
        extractor.input(first[1], image)
        status, output = extractor.extract(result)
        if status != 0:
            raise RuntimeError(f"ncnn ends with status {status}")
        return output

    return run


def make_input(shape):
    return np.random.default_rng(1).random(shape, dtype=np.float32)


OPEN = {"onnxruntime": open_onnxruntime, "openvino": open_openvino, "ncnn": open_ncnn}


def memory(key):
    """Bytes from the kernel's account of this process: VmRSS now, VmHWM at most."""
    with open("/proc/self/status", encoding="ascii") as status:
        found = {line.split(":")[0]: line.split()[1] for line in status if line.startswith("Vm")}
    if key in found:
        return int(found[key]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(run, seconds):
    begin = time.perf_counter()
    for _ in range(WARMUP):
        run()
        if time.perf_counter() - begin > seconds:
            break  # five runs of a second each tell no more than one
    times, processor = [], []
    stop = time.perf_counter() + seconds
    while not times or time.perf_counter() < stop:
        start, busy = time.perf_counter(), time.process_time()
        run()
        processor.append((time.process_time() - busy) * 1e3)
        times.append((time.perf_counter() - start) * 1e3)
    return {"ms": statistics.median(times), "min_ms": min(times), "processor_ms": statistics.median(processor),
            "runs": len(times)}


def reason_of(error):
    """The line of a message that says most: OpenVINO begins with where in its source it was."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Exception from", "Check "))]
    return ((telling or lines or [type(error).__name__])[0])[:200]


def answer(value):
    print(json.dumps(value), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime", choices=OPEN)
    parser.add_argument("model")
    parser.add_argument("threads", type=int)
    parser.add_argument("shapes", nargs="*", help="NAME:1x3x224x224")
    options = parser.parse_args()
    runtime, path, threads = options.runtime, options.model, options.threads
    given = (shape.rsplit(":", 1) for shape in options.shapes)
    shapes = {name: [int(size) for size in sizes.split("x")] for name, sizes in given}
    try:
        package = importlib.import_module(runtime)
        empty, begin = memory("VmRSS"), time.perf_counter()
        run = OPEN[runtime](package, path, threads, shapes)
        run()
        first = (time.perf_counter() - begin) * 1e3
    except Exception as error:  # the reason goes into the report
        answer({"error": reason_of(error)})
        return
    answer({"first_result_ms": first, "memory_bytes": memory("VmHWM") - empty})
    for line in sys.stdin:
        answer({**measure(run, float(line)), "memory_bytes": memory("VmHWM") - empty})


if __name__ == "__main__":
    main()
