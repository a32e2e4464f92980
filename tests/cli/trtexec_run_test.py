# SPDX-License-Identifier: Apache-2.0
"""What octet trtexec measures, builds and calibrates: its blocks, files and statistics, as scripts and NVIDIA's engine explorer read them."""

import json
import re
import struct
import unittest

import harness
import trex_reader
from harness import DIGITS, digits, digits_engine, need, octet, scratch, shared_model
from trtexec_support import MODEL, QUICK, lines, quick, trtexec


class Measuring(unittest.TestCase):
    def summary(self, *flags):
        result = trtexec(f"--onnx={MODEL}", "--cpuThreads=1", *flags)
        return trex_reader.profiling_log(result.out), lines(result.out), result

    def test_the_report(self):
        times = scratch() / "times.json"
        found, text, _ = self.summary("--duration=0.1", "--warmUp=20", "--percentile=50,99", "--avgRuns=2", f"--exportTimes={times}")
        records = json.loads(times.read_text())
        self.assertGreaterEqual(records[0]["startComputeMs"], 20)
        self.assertGreaterEqual(records[-1]["endComputeMs"], 120)
        summary = found["=== Performance summary ==="]
        low, high, mean, median, half, _ = summary["GPU Compute Time"]
        self.assertLessEqual(low, median)
        self.assertLessEqual(half, high)
        self.assertLessEqual(low, mean)
        self.assertEqual(summary["Latency"], summary["GPU Compute Time"])
        self.assertIn("Trace averages of 2 runs:", text)
        warm = next(line for line in text if line.startswith("Warmup completed"))
        self.assertRegex(warm, r"^Warmup completed [1-9]\d* queries over 20 ms$")
        self.assertIn("Explanations of the performance metrics are printed in the verbose logs.", text)
        self.assertNotIn("=== Explanations of the performance metrics ===", text)

    def test_open_sizes_that_nobody_gives_are_those_of_an_image(self):
        model = shared_model("yunet_n_dynamic")
        self.assertIn("Automatically overriding shape to: 1x3x224x224", trtexec(f"--onnx={model}", *QUICK).err)
        self.assertNotIn("overriding", trtexec(f"--onnx={model}", *QUICK, "--shapes=input:1x3x320x320").err)

    def test_open_sizes_that_do_not_run_are_told(self):
        onnx = need("onnx")
        make, float_ = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
        graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "z"], ["y"])], "g",
                                       [make("x", float_, ["n", "k"]), make("z", float_, ["k", "m"])], [make("y", float_, ["n", "m"])])
        path = scratch() / "product.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
        said = lines(trtexec(f"--onnx={path}", *QUICK, code=1).err)
        self.assertEqual(said[-1].strip(), "open sizes were taken as --shapes=x:1x8,z:1x8; that flag gives others")
        trtexec(f"--onnx={path}", *QUICK, "--shapes=x:1x8,z:8x3")

    def test_iterations_and_duration_are_both_reached(self):
        for iterations, flags in ((40, ("--duration=0",)), (1, ("--duration=0.05",))):
            times = scratch() / "times.json"
            _, text, _ = self.summary("--warmUp=0", f"--iterations={iterations}", f"--exportTimes={times}", *flags)
            latencies = trex_reader.latencies(times.read_text())
            self.assertGreaterEqual(len(latencies), iterations)
            if flags == ("--duration=0",):
                self.assertEqual(len(latencies), iterations)
            self.assertIn(f"Timing trace has {len(latencies)} queries", " ".join(text))

    def test_times_agree_with_the_report(self):
        times = scratch() / "times.json"
        found, *_ = self.summary("--warmUp=0", "--duration=0", "--iterations=9", f"--exportTimes={times}")
        records = json.loads(times.read_text())
        self.assertEqual(list(records[0]), ["startEnqMs", "endEnqMs", "startH2dMs", "endH2dMs", "startComputeMs", "endComputeMs",
                                            "startD2hMs", "endD2hMs", "h2dMs", "computeMs", "d2hMs", "latencyMs"])
        ordered = sorted(record["latencyMs"] for record in records)
        self.assertEqual(found["=== Performance summary ==="]["Latency"][3], ordered[4])
        self.assertEqual(found["=== Performance summary ==="]["Latency"][:2], [ordered[0], ordered[-1]])

    def test_streams(self):
        times = scratch() / "times.json"
        _, _, result = self.summary("--warmUp=0", "--duration=0", "--iterations=5", "--infStreams=3", f"--exportTimes={times}")
        self.assertEqual(len(json.loads(times.read_text())), 15)
        self.assertIn("* Multiple inference streams are used.", result.err)
        found = re.findall(r"Created execution context with device memory size: ([\d.]+) MiB", result.out)
        self.assertEqual(len(found), 3)
        self.assertGreater(float(found[0]), 0)
        begins = [record["startComputeMs"] for record in json.loads(times.read_text())]
        self.assertEqual(begins, sorted(begins))

    def test_skipped_and_timed(self):
        text = lines(quick("--skipInference").out)
        self.assertIn("Skipped inference phase since --skipInference is added.", text)
        self.assertNotIn("Starting inference", text)
        self.assertIn("Begin deserialization engine timing...", lines(quick("--timeDeserialize").out))

    def test_timing_cache(self):
        cache = scratch() / "timing.json"
        result = quick(f"--timingCacheFile={cache}")
        self.assertIn("timingCacheMode: global", lines(result.out))
        self.assertEqual(json.loads(cache.read_text())["format"], "octet-tuning")
        self.assertIn("bytes of timing cache from", quick(f"--timingCacheFile={cache}").out)


class Engines(unittest.TestCase):
    def test_saved_and_loaded(self):
        plan, one, two = (scratch() / name for name in ("digits.plan", "one.json", "two.json"))
        result = quick(f"--saveEngine={plan}", f"--exportOutput={one}")
        self.assertRegex(result.out, r"Created engine with size: [\d.]+ MiB\n")
        self.assertRegex(result.out, r"Engine built in [\d.e-]+ sec\.\n")
        result = trtexec(f"--loadEngine={plan}", *QUICK, f"--exportOutput={two}")
        self.assertRegex(result.out, r"Engine loaded in [\d.e-]+ sec\.\n")
        self.assertNotIn("=== Build Options ===", result.out)
        self.assertEqual(one.read_text(), two.read_text())
        record, = json.loads(one.read_text())
        self.assertEqual(list(record), ["name", "dimensions", "values"])
        self.assertEqual(record["dimensions"], "1x10")
        self.assertEqual(len(record["values"]), 10)

    def test_what_is_no_engine(self):
        other = scratch() / "other.plan"
        other.write_bytes(b"ftrt" + bytes(100))
        self.assertIn("build Octet's from the model, with --onnx", trtexec(f"--loadEngine={other}", code=1).err)
        self.assertIn("FAILED", trtexec(f"--loadEngine={scratch() / 'absent'}", code=1).out.splitlines()[-1])

    def test_no_file_of_others_is_replaced(self):
        other = scratch() / "kept.json"
        other.write_text("mine")
        data = ("--int8", f"--calibData={digits() / 'calib'}", f"--calibPreprocess={DIGITS / 'preprocess.json'}")
        for flag in ("--saveEngine", "--exportTimes", "--exportOutput", "--exportProfile", "--exportLayerInfo", "--calibCacheOut",
                     "--timingCacheFile"):
            quick(f"{flag}={other}", *data, code=1)
            self.assertEqual(other.read_text(), "mine")
        # The details of a cache lie beside it.
        quick(f"--calibCacheOut={other.with_suffix('')}", *data, code=1)
        self.assertEqual(other.read_text(), "mine")
        self.assertIn("would replace what this command reads", quick(f"--saveEngine={MODEL}", "--force", code=1).err)
        quick(f"--exportTimes={other}", "--force")
        self.assertEqual(len(json.loads(other.read_text())), 5)
        quick(f"--exportTimes={other}")

    def test_outputs_are_printed(self):
        result = quick("--dumpOutput")
        text = lines(result.out)
        at = next(i for i, line in enumerate(text) if line.endswith(": (1x10)"))
        self.assertEqual(len(text[at + 1].split()), 10)

    def test_inputs_from_files(self):
        data = scratch() / "ones.bin"
        data.write_bytes(struct.pack("<64f", *([1.0] * 64)))
        info = json.loads(octet("inspect", digits_engine(), "--json").out)["layers"][0]["inputs"][0]["name"]
        one, two = scratch() / "ones.json", scratch() / "random.json"
        result = quick(f"--loadInputs={info}:{data}", f"--exportOutput={one}")
        self.assertIn(f"Using values loaded from {data} for input {info}", lines(result.out))
        quick(f"--exportOutput={two}")
        self.assertNotEqual(json.loads(one.read_text()), json.loads(two.read_text()))
        data.write_bytes(bytes(60))
        self.assertIn("has 60 bytes, input", quick(f"--loadInputs={info}:{data}", code=1).err)

    def test_numbers_that_json_lacks(self):
        """Each is null; to put it in place of the number's text moved all that followed, once for each."""
        onnx = harness.need("onnx")
        helper = onnx.helper
        count = 200_000
        graph = helper.make_graph([helper.make_node("Sqrt", ["x"], ["y"])], "roots",
                                  *[[helper.make_tensor_value_info(n, 1, [1, count])] for n in "xy"])
        model, data, record = scratch() / "roots.onnx", scratch() / "roots.bin", scratch() / "roots.json"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        data.write_bytes(struct.pack(f"<{count}f", *([-1.0, float("inf"), 4.0, 9.0] * (count // 4))))
        trtexec(f"--onnx={model}", *QUICK, f"--loadInputs=x:{data}", f"--exportOutput={record}")
        self.assertEqual(json.loads(record.read_text())[0]["values"], [None, None, 2, 3] * (count // 4))

    def test_raw_bindings(self):
        folder = scratch() / "raw"
        folder.mkdir()
        quick("--dumpRawBindingsToFile", cwd=folder)
        sizes = {path.name.split(".", 1)[1]: path.stat().st_size for path in folder.iterdir()}
        self.assertEqual(sizes, {"input.1.1.8.8.fp32.raw": 256, "output.1.10.fp32.raw": 40})


class Calibration(unittest.TestCase):
    def test_synthetic_ranges_are_called_so(self):
        result = quick("--int8")
        self.assertIn("RANGES ARE SYNTHETIC: timing only, accuracy meaningless", lines(result.err))
        self.assertIn("Calibration: Dynamic", lines(result.out))
        self.assertIn("FP32 and INT8 precisions have been specified - more performance might be enabled by additionally specifying "
                      "--fp16 or --best", lines(result.out))

    def test_data_and_cache(self):
        cache, engines = scratch() / "digits.cache", [scratch() / "data.plan", scratch() / "cache.plan"]
        result = quick("--int8", f"--calibData={digits() / 'calib'}", f"--calibPreprocess={DIGITS / 'preprocess.json'}",
                       f"--calibCacheOut={cache}", f"--saveEngine={engines[0]}", "--skipInference")
        self.assertNotIn("SYNTHETIC", result.err)
        self.assertTrue(cache.read_text().startswith("TRT-8601-EntropyCalibration2\n"))
        result = quick("--int8", f"--calib={cache}", f"--saveEngine={engines[1]}", "--skipInference")
        self.assertIn(f"Calibration: {cache}", lines(result.out))
        right = [octet("eval", engine, "--data", digits() / "test", "--json", "--preprocess", DIGITS / "preprocess.json").json["top1"]
                 for engine in engines]
        self.assertEqual(right[0], right[1])
        self.assertGreater(right[0], 0.8)

    def test_methods(self):
        for method in ("entropy2", "minmax", "percentile:99.9", "mse"):
            quick("--int8", f"--calibData={digits() / 'calib'}", f"--calibPreprocess={DIGITS / 'preprocess.json'}",
                  f"--calibMethod={method}", "--skipInference")
        self.assertIn("entropy", quick("--int8", f"--calibData={digits() / 'calib'}", "--calibMethod=best", code=1).err)

    def test_a_missing_cache(self):
        self.assertIn("no such calibration cache", quick("--int8", f"--calib={scratch() / 'absent'}", code=1).err)
        for endless in ("/dev/zero", scratch()):
            quick("--int8", f"--calibData={digits() / 'calib'}", f"--calibPreprocess={endless}", code=1)


class Constraints(unittest.TestCase):
    CONV = "/3/c1/Conv"
    NO_EFFECT = '--layerPrecision/--layerOutputTypes flags have no effect when --precisionConstraints flag is set to "none".'

    def types(self, *flags):
        """Node -> type, of an engine that was calibrated."""
        plan = scratch() / "constrained.plan"
        result = quick("--int8", f"--calibData={digits() / 'calib'}", f"--calibPreprocess={DIGITS / 'preprocess.json'}",
                       f"--saveEngine={plan}", "--skipInference", *flags)
        layers = octet("inspect", plan, "--json").json["layers"]
        return {node: layer["precision"] for layer in layers for node in layer["nodes"]}, result

    def test_layers_get_what_they_are_asked_for(self):
        free, _ = self.types()
        self.assertEqual(free[self.CONV], "int8")
        obeyed, result = self.types("--precisionConstraints=obey", f"--layerPrecisions={self.CONV}:fp32")
        self.assertEqual(obeyed[self.CONV], "f32")
        self.assertIn(f"Set layer {self.CONV} to precision fp32", lines(result.out))
        self.assertIn("Precision: FP32+INT8 (obey precision constraints)", lines(result.out))
        self.assertIn(f"LayerPrecisions: {self.CONV}:fp32", lines(result.out))
        # Later entries override earlier ones.
        later, _ = self.types("--precisionConstraints=prefer", f"--layerPrecisions={self.CONV}:fp32,{self.CONV}:int8")
        self.assertEqual(later, free)

    def test_without_a_mode_they_have_no_effect(self):
        free, result = self.types(f"--layerPrecisions={self.CONV}:fp32")
        self.assertEqual(free[self.CONV], "int8")
        self.assertIn(self.NO_EFFECT, lines(result.err))

    def test_what_cannot_be_obeyed(self):
        result = quick("--precisionConstraints=obey", f"--layerPrecisions={self.CONV}:int8", "--skipInference", code=1)
        self.assertIn(self.CONV, result.err)
        self.assertIn('please add --layerPrecision/--layerOutputTypes flags', quick("--precisionConstraints=obey", "--skipInference").err)
        self.assertIn("Unknown precision constraints: x", quick("--precisionConstraints=x", code=1).err)
        self.assertIn("Invalid DataType fp33", quick(f"--layerPrecisions={self.CONV}:fp33", code=1).err)
        self.assertIn("expected layerName:type", quick(f"--layerPrecisions={self.CONV}:fp32+fp16", code=1).err)
        self.assertIn("have one type", quick(f"--layerOutputTypes={self.CONV}:fp32+int8", code=1).err)

    def test_half_precision(self):
        plan = scratch() / "half.plan"
        self.assertIn("Precision: FP32+FP16", lines(quick("--fp16", f"--saveEngine={plan}").out))
        self.assertIn("f16", {layer["precision"] for layer in octet("inspect", plan, "--json").json["layers"]})


class Layers(unittest.TestCase):
    def explore(self, *model, flags=()):
        graph, times = scratch() / "graph.json", scratch() / "profile.json"
        result = trtexec(*model, *QUICK, "--profilingVerbosity=detailed", f"--exportLayerInfo={graph}", f"--exportProfile={times}",
                         "--dumpProfile", "--dumpLayerInfo", "--separateProfileRun", *flags)
        return trex_reader.Plan(graph.read_text(), times.read_text()), result

    def test_all_three_together(self):
        plan, result = self.explore(f"--onnx={MODEL}", "--int8")
        text = lines(result.out)
        self.assertIn("Layer Information:", text)
        self.assertIn("=== Performance summary ===", text)
        at = next(i for i, line in enumerate(text) if re.fullmatch(r"=== Profile \(\d+ iterations \) ===", line))
        self.assertEqual(text[at + 1], "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer")
        shown = [line[50:] for line in text[at + 2:] if line[50:]]
        self.assertEqual(shown[-1], "Total")
        self.assertLessEqual(set(shown[:-1]), {layer["Name"] for layer in plan.layers})
        shares = sum(record["percentage"] for record in plan.times)
        self.assertAlmostEqual(shares, 100, 2)
        for layer in plan.layers:
            self.assertTrue(any(line.startswith(f"Name: {layer['Name']}, LayerType: {layer['LayerType']}, Inputs: [")
                                for line in text), layer["Name"])

    def test_without_a_separate_run_there_is_no_report(self):
        result = quick("--dumpProfile")
        self.assertIn("The e2e network timing is not reported since it is inaccurate due to the extra synchronizations when the "
                      "profiler is enabled.", lines(result.out))
        self.assertNotIn("=== Performance summary ===", result.out)

    def test_names_alone(self):
        graph = scratch() / "graph.json"
        quick(f"--exportLayerInfo={graph}")
        found = json.loads(graph.read_text())
        self.assertTrue(all(isinstance(layer, str) for layer in found["Layers"]))
        self.assertEqual(len(found["Bindings"]), 2)

    def test_schema_11(self):
        graph = scratch() / "graph.json"
        quick(f"--exportLayerInfo={graph}", "--profilingVerbosity=detailed", "--inspectorSchema=11")
        found = json.loads(graph.read_text())
        self.assertEqual([tensor["IOMode"] for tensor in found["I/O Tensors"]], ["Input", "Output"])
        tensor = found["Layers"][0]["Inputs"][0]
        self.assertEqual(tensor["Format"], "Row major linear FP32 format (kLINEAR)")
        self.assertEqual(tensor["DataType"], "Float")

    def test_logs_as_the_explorer_reads_them(self):
        result = quick("--int8", "--useCudaGraph")
        build = trex_reader.build_log(result.out)
        self.assertEqual(build["=== Model Options ==="], {"Format": "ONNX", "Model": str(MODEL), "Output": ""})
        options = build["=== Build Options ==="]
        self.assertEqual(options["Precision"], "FP32+INT8")
        self.assertEqual(list(options)[:3], ["Memory Pools", "avgTiming", "Precision"])
        device = trex_reader.profiling_log(result.out)["=== Device Information ==="]
        self.assertEqual(device["Compute Capability"], 0)
        self.assertGreaterEqual(device["SMs"], 1)
        inference = trex_reader.profiling_log(result.out)["=== Inference Options ==="]
        self.assertEqual(inference["CUDA Graph"], "Enabled")
        self.assertEqual(inference["Duration"], "0s (+ 0ms warm up)")
        self.assertEqual(inference["Weight Streaming Budget"], "100.000000%")

    def test_real_models(self):
        for name, flags in (("cifar10_resnet20", ("--int8",)), ("cifar10_silunet", ("--int8",)), ("cifar10_vit", ("--int8",)),
                            ("polygraphy_residual_block", ("--int8",)), ("mobilenet_v2_imagenet_qdq", ())):
            with self.subTest(name=name):
                plan, _ = self.explore(f"--onnx={shared_model(name)}", flags=(*flags, f"--saveEngine={scratch() / 'model.plan'}"))
                self.assertTrue(plan.layers)
                if "resnet" in name:
                    convolutions = [layer for layer in plan.layers if layer.get("ParameterType") == "Convolution"]
                    self.assertEqual(len(convolutions), 21)
                    self.assertEqual(sum(layer["HasReLU"] for layer in convolutions), 19)
                    ours = octet("inspect", scratch() / "model.plan", "--shape", "input:1x3x32x32", "--json").json["layers"]
                    self.assertEqual([layer["macs"] for layer in convolutions],
                                     [layer["macs"] for layer in ours if layer["op"] == "QConv"])


if __name__ == "__main__":
    harness.main()
