# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's TensorRT provider on a GPU: onnxruntime_gpu_program.py MODEL INPUT.npz CACHE FOLDER. The model runs in FP32, FP16 and INT8 by a
calibration cache of TensorRT's; FOLDER/WAY gets the engine and output.npy, and FOLDER/times.json the microseconds of one run of INT8 whose input
and output stay on the GPU: each waited for, as ONNX Runtime runs, one behind another, and captured by it in a CUDA graph."""

import json
import pathlib
import shutil
import sys
import time

import numpy as np
import onnxruntime

RUNS = 500


def session(model, folder, **options):
    folder.mkdir(exist_ok=True)
    options = {"trt_engine_cache_enable": "True", "trt_engine_cache_path": str(folder), **options}
    made = onnxruntime.InferenceSession(model, providers=[("TensorrtExecutionProvider", options)], enable_fallback=0)
    assert made.get_providers()[0] == "TensorrtExecutionProvider"
    return made


def on_gpu(made, sample):
    """A binding of values that lie on the GPU, and the output."""
    binding = made.io_binding()
    put, = made.get_inputs()
    got, = made.get_outputs()
    output = onnxruntime.OrtValue.ortvalue_from_shape_and_type(got.shape, np.float32, "cuda", 0)
    binding.bind_ortvalue_input(put.name, onnxruntime.OrtValue.ortvalue_from_numpy(sample, "cuda", 0))
    binding.bind_ortvalue_output(got.name, output)
    return binding, output


def lap(made, binding, options):
    began = time.perf_counter()
    for _ in range(RUNS):
        made.run_with_iobinding(binding, options)
    binding.synchronize_outputs()
    return (time.perf_counter() - began) / RUNS * 1e6


def median(made, binding, options=None):
    lap(made, binding, options)
    return sorted(lap(made, binding, options) for _ in range(5))[2]


def unwaited():
    options = onnxruntime.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    return options


def main(model, samples, cache, folder):
    folder = pathlib.Path(folder).absolute()
    (name, sample), = np.load(samples).items()
    native = {"trt_int8_enable": "True", "trt_int8_use_native_calibration_table": "True", "trt_int8_calibration_table_name": "tensorrt.cache"}
    results, times = {}, {}
    for way, options in {"fp32": {}, "fp16": {"trt_fp16_enable": "True"}, "int8": native}.items():
        (folder / way).mkdir()
        shutil.copy(cache, folder / way / "tensorrt.cache")
        made = session(model, folder / way, **options)
        results[way], = made.run(None, {name: sample})
        np.save(folder / way / "output.npy", results[way])
    binding, output = on_gpu(made, sample)
    times["each waited for"] = median(made, binding)
    assert (output.numpy() == results["int8"]).all(), "what lies on the GPU differs from what was copied"
    times["one behind another"] = median(made, binding, unwaited())
    (folder / "times.json").write_text(json.dumps(times))
    captured = session(model, folder / "int8", trt_cuda_graph_enable="True", **native)
    binding, output = on_gpu(captured, sample)
    times["captured"] = median(captured, binding)
    assert (output.numpy() == results["int8"]).all(), "a captured graph gives something else"
    (folder / "times.json").write_text(json.dumps(times))
    print(onnxruntime.__version__, times)


main(*sys.argv[1:])
