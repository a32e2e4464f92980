# SPDX-License-Identifier: Apache-2.0
"""What a user of ONNX Runtime's TensorRT provider writes: onnxruntime_program.py MODEL SAMPLES.npz FOLDER [NATIVE]. The model runs by the CPU
provider and by TensorRT's in FP32, FP16, INT8 with a table of ONNX Runtime's own calibration, INT8 with a cache of TensorRT's, of an engine
cache and of an EP context. FOLDER gets the caches, results.npz with what each way gave, and input.npz with the first sample."""

import os
import pathlib
import sys

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, create_calibrator, write_calibration_table


class Reader(CalibrationDataReader):
    def __init__(self, name, samples):
        self.feeds = iter([{name: sample[None]} for sample in samples])

    def get_next(self):
        return next(self.feeds, None)


class Client:
    def __init__(self, model, samples):
        self.model = model
        self.calibration, self.samples = samples["calibration"], samples["test"]
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        self.input = session.get_inputs()[0].name
        self.results = {"cpu": self.run(session)}

    def run(self, session):
        return np.concatenate([session.run(None, {self.input: sample[None]})[0] for sample in self.samples])

    def session(self, name, model=None, **options):
        # Relative, as the provider wants it for an EP context.
        pathlib.Path(name).mkdir(exist_ok=True)
        options = {"trt_engine_cache_enable": "True", "trt_engine_cache_path": name, **options}
        providers = [("TensorrtExecutionProvider", options), "CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(model or self.model, providers=providers, enable_fallback=0)
        assert session.get_providers()[0] == "TensorrtExecutionProvider"
        return session

    def engines(self, name):
        """Each with when it was written: who takes one from the cache leaves it as it is."""
        return {engine: engine.stat().st_mtime_ns for engine in pathlib.Path(name).glob("*.engine")}

    def table(self):
        """As ONNX Runtime calibrates, into the file that its provider reads."""
        cache = pathlib.Path("int8")
        cache.mkdir()
        calibrator = create_calibrator(self.model, [], augmented_model_path="augmented.onnx", calibrate_method=CalibrationMethod.MinMax)
        calibrator.set_execution_providers(["CPUExecutionProvider"])
        calibrator.collect_data(Reader(self.input, self.calibration))
        write_calibration_table(calibrator.compute_data().data, str(cache))
        return {"trt_int8_enable": "True", "trt_int8_calibration_table_name": "calibration.flatbuffers"}

    def native(self, cache):
        folder = pathlib.Path("native")
        folder.mkdir()
        (folder / "tensorrt.cache").write_bytes(pathlib.Path(cache).read_bytes())
        return {"trt_int8_enable": "True", "trt_int8_use_native_calibration_table": "True",
                "trt_int8_calibration_table_name": "tensorrt.cache"}

    def context(self):
        """A model that is its engine, made by one session and run by another."""
        model = "context.onnx"
        self.run(self.session("made", trt_dump_ep_context_model="True", trt_ep_context_file_path=model))
        return self.session("context", model)


def main(model, samples, folder, native=None):
    os.chdir(folder)
    client = Client(model, np.load(samples))
    ways = {"fp32": {}, "fp16": {"trt_fp16_enable": "True"}, "int8": client.table()}
    if native:
        ways["native"] = client.native(native)
    for name, options in ways.items():
        client.results[name] = client.run(client.session(name, **options))
        assert len(client.engines(name)) == 1, name
    before = client.engines("fp32")
    client.results["cached"] = client.run(client.session("fp32"))
    assert client.engines("fp32") == before, "the cached engine was built again"
    client.results["context"] = client.run(client.context())
    np.savez("results.npz", **client.results)
    np.savez("input.npz", **{client.input: client.samples[:1]})
    print(onnxruntime.__version__)


main(*sys.argv[1:])
