# SPDX-License-Identifier: Apache-2.0
"""octet trtexec: its command line, every flag, shapes and profiles, as scripts use them."""

import json
import re
import subprocess
import unittest

import harness
from harness import BUILD, PROGRAM, ROOT, digits_engine, octet
from trtexec_support import MODEL, PREFIX, QUICK, lines, quick, trtexec

FLAGS = (ROOT / "tensorrt/trtexec/flags.def").read_text()
EFFECTS = {name: effect for effect, name in re.findall(r'^(USED|IDLE|REFUSED)\("(-[-\w]+)"', FLAGS, re.M)}
SWITCHES = {name for name, value in re.findall(r'^\w+\("(-[-\w]+)", \w+, "([^"]*)"', FLAGS, re.M) if not value}
VALUES = {
    "--minShapesCalib": "input:1x1x8x8", "--optShapesCalib": "input:1x1x8x8", "--maxShapesCalib": "input:1x1x8x8",
    "--inputIOFormats": "fp16:chw", "--outputIOFormats": "fp32:chw+hwc", "--sparsity": "enable", "--useRuntime": "full",
    "--runtimePlatform": "SameAsBuild", "--memPoolSize": "workspace:64", "--tacticSources": "-CUDNN,+CUBLAS",
    "--preview": "+profileSharing0806", "--tempfileControls": "in_memory:allow", "--allocationStrategy": "static"}


class Program(unittest.TestCase):
    def test_the_first_line_and_the_last(self):
        result = quick("--skipInference")
        command = f"{PROGRAM} trtexec --onnx={MODEL} {' '.join(QUICK)} --skipInference"
        first, *_, last = result.out.splitlines()
        self.assertEqual(first, f"&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b72] # {command}")
        self.assertEqual(last, f"&&&& PASSED TensorRT.trtexec [TensorRT v101600] [b72] # {command}")

    def test_the_program_of_that_name(self):
        program = BUILD / "tensorrt/trtexec"
        done = subprocess.run([program, f"--onnx={MODEL}", "--skipInference"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.splitlines()[-1].endswith(f"# {program} --onnx={MODEL} --skipInference"))

    def test_every_other_line_has_the_prefix(self):
        result = quick("--dumpLayerInfo", "--dumpProfile", "--verbose", "--safe")
        for line in result.out.splitlines()[1:-1] + result.err.splitlines():
            self.assertRegex(line, PREFIX)
        severities = lambda text: {PREFIX.match(line).group(1) for line in text.splitlines() if PREFIX.match(line)}
        self.assertLessEqual(severities(result.out), {"I", "V"})
        self.assertLessEqual(severities(result.err), {"W", "E"})

    def test_help(self):
        for flags in ((), ("--help",), ("-h",)):
            result = trtexec(*flags)
            self.assertIn("=== Model Options ===", result.out)
            self.assertIn("PASSED", result.out.splitlines()[-1])
            for flag in EFFECTS:
                self.assertIn(f"  {flag}", result.out)

    def test_unknown_flags(self):
        result = trtexec(f"--onnx={MODEL}", "--nosuch=3", "--other", code=1)
        self.assertEqual(lines(result.err), ["Unknown option: --nosuch 3", "Unknown option: --other "])
        self.assertIn("=== Build Options ===", result.out)
        self.assertIn("FAILED", result.out.splitlines()[-1])

    def test_a_value_behind_a_blank_is_a_flag_of_its_own(self):
        result = trtexec("--onnx", str(MODEL), code=1)
        self.assertEqual(lines(result.err), [f"Unknown option: {MODEL} ", f"a value stands behind '=': --onnx={MODEL}"])
        self.assertEqual(lines(trtexec(f"--onnx={MODEL}", "--verbos", code=1).err), ["Unknown option: --verbos ", "did you mean '--verbose'?"])

    def test_no_model(self):
        self.assertEqual(lines(trtexec("--int8", code=1).err), ["Model missing or format not recognized"])

    def test_the_older_version(self):
        for result in (quick("--tensorrtVersion=8.6.1"), quick(env={"OCTET_TENSORRT_VERSION": "8.6.1"})):
            self.assertIn("[TensorRT v8601] #", result.out)
            text = lines(result.out)
            for line in ("Max batch: explicit batch", "minTiming: 1", "Heuristic: Disabled", "TensorRT version: 8.6.1", "Plugins:"):
                self.assertIn(line, text)
            self.assertNotIn("MaxTactics: -1", text)
        self.assertIn("expected 8.6.1 or 10.16.0", trtexec("--tensorrtVersion=7", code=1).err)


class Flags(unittest.TestCase):
    def test_each_does_what_it_did_or_says_why_not(self):
        idle = [flag for flag, effect in EFFECTS.items() if effect == "IDLE"]
        self.assertGreater(len(idle), 60)
        given = [flag if flag in SWITCHES else f"{flag}={VALUES.get(flag, '1')}" for flag in idle]
        said = lines(quick("--skipInference", *given).err)
        for flag in idle:
            self.assertEqual(sum(line.startswith(f"{flag} has no effect here: ") for line in said), 1, flag)

    def test_refused_flags_end_the_run(self):
        refused = [flag for flag, effect in EFFECTS.items() if effect == "REFUSED"]
        self.assertEqual(refused, ["--maxBatch", "--batch"])
        for flag in refused:
            result = quick(f"{flag}=x", code=1)
            self.assertIn(f"{flag} is refused: ", result.err)

    def test_all_of_both_versions_are_there(self):
        # Those by which the two differ, and a few of each group.
        for flag in """--batch --buildOnly --deploy --explicitBatch --explicitPrecision --heuristic --maxBatch --minTiming --model --nvtxMode
                --output --uff --uffInput --uffNHWC --workspace --adjustForDLA --allocationStrategy --allowWeightStreaming
                --asyncFileReader --bf16 --calibProfile --cpuOnly --decomposableAttentions --distributiveIndependence --dumpKernelText
                --dumpOptimizationProfile --enablePluginOverride --errorOnTimingCacheMiss --getPlanVersionOnly --int4
                --l2LimitForTiling --markDebug --markUnfusedTensorsAsDebugTensors --maxTactics --monitorMemory --noCompilationCache
                --pi --pluginInstanceNorm --profile --refitFromOnnx --remoteAutoTuningConfig --reportCapabilityDLA
                --runtimePlatform --safetyPlugins --saveAllDebugTensors --saveDebugTensors --stripAllWeights --stripWeights
                --stronglyTyped --tilingOptimizationLevel --uint8AsymmetricQuantizationDLA --useProfile --weightStreamingBudget
                --weightless --int8 --fp16 --best --calib --memPoolSize --timingCacheFile --separateProfileRun --exportTimes
                --percentile --device --plugins""".split():
            self.assertIn(flag, EFFECTS)
        self.assertGreater(len(EFFECTS), 140)

    def test_wrong_values(self):
        for flags, text in (
                (("--iterations=x",), "--iterations=x: expected an integer"),
                (("--iterations=99999999999999999999",), "expected an integer"),
                (("--duration=nan",), "expected a number"),
                (("--duration=-2",), "--duration: expected no less than 0, or -1"),
                (("--infStreams=0",), "expected an integer from 1 to 256"),
                (("--avgRuns=0",), "expected an integer from 1"),
                (("--percentile=101",), "Percentile 101.000000is not in [0,100]"),
                (("--memPoolSize=workspace:4X",), "invalid unit specifier 'X'"),
                (("--memPoolSize=workspace:-4",), "Negative memory pool size: -4.000000"),
                (("--memPoolSize=other:4",), "Unknown memory pool: other"),
                (("--sparsity=maybe",), "Unknown sparsity mode: maybe"),
                (("--profilingVerbosity=all",), "Unknown profilingVerbosity: all"),
                (("--shapes=a:1x2x",), "Cannot find input tensor"),
                (("--shapes=a:1xq",), "'q' is no dimension"),
                (("--shapes=a",), "expected name:value"),
                (("--shapes='a:1x2",), "Found invalid number of 's"),
                (("--shapes=a:1x1x1x1x1x1x1x1x1",), "at most 8 dimensions"),
                (("--shapes=a:99999999999999999999",), "is no dimension"),
                (("--shapes=*a*:1",), "at most one '*'"),
                (("--optShapes=input:1x1x8x8", "--optShapes=input:1x1x8x8"), "without --profile are not allowed"),
                (("--profile=0", "--optShapes=input:1x1x8x8", "--profile=0", "--optShapes=input:1x1x8x8"), "index cannot be the same"),
                (("--profile=1", "--optShapes=input:1x1x8x8"), "missing shape spec at profile index 0"),
                (("--useProfile=3",), "exceeds the number of profiles"),
                (("--minShapesCalib=input:1x1x8x8",), "Must specify only --optShapesCalib or all of"),
                (("--batch=4",), "--batch and --maxBatch flags should not be used"),
                (("--best", "--stronglyTyped"), "cannot be both set"),
                (("--int8", "--fp8"), "fp8 and int8 aren't allowed"),
                (("--loadEngine=a", "--saveEngine=b"), "Incompatible load and save"),
                (("--weightStreamingBudget=1",), "can only be set with --allowWeightStreaming"),
                (("--loadInputs=nosuch:file",), 'Cannot find input tensor with name "nosuch"'),
                (("--loadInputs=nosuch:",), "no file is named for input 'nosuch'"),
                (("--loadInputs=image:/no/such.bin",), "'/no/such.bin': cannot open: No such file or directory"),
                (("--inputIOFormats=fp32",), "Invalid IOFormat fp32"),
                (("--inputIOFormats=fp33:chw",), "Invalid DataType fp33"),
                (("--device=gpu",), "gpu"),
                (("--calibMethod=minmax",), "--calibMethod has no use without --int8"),
                (("--saveEngine=",), "--saveEngine names no file")):
            with self.subTest(flags=flags):
                result = quick(*flags, code=1)
                self.assertIn(text, result.err)
                self.assertIn("FAILED", result.out.splitlines()[-1])

    def test_quoted_names_keep_their_colons(self):
        self.assertIn('"a:b"', quick("--shapes='a:b':1x1x8x8", code=1).err)


class Shapes(unittest.TestCase):
    def test_profiles(self):
        name = json.loads(octet("inspect", digits_engine(), "--json").out)["layers"][0]["inputs"][0]["name"]
        result = quick(f"--minShapes={name}:1x1x8x8", f"--optShapes={name}:4x1x8x8", f"--maxShapes={name}:8x1x8x8",
                       "--dumpOptimizationProfile")
        text = lines(result.out)
        self.assertIn(f"Input build shape (profile 0): {name}=1x1x8x8+4x1x8x8+8x1x8x8", text)
        self.assertIn(f"Input inference shape : {name}=4x1x8x8", text)
        self.assertIn(f"Input binding for {name} with dimensions 4x1x8x8 and type fp32 is created.", text)
        self.assertIn(f"Model input {name} (profile 0): min=1x1x8x8, opt=4x1x8x8, max=8x1x8x8", text)
        self.assertIn(f"Set shape of input tensor {name} for optimization profile 0 to: MIN=1x1x8x8 OPT=4x1x8x8 MAX=8x1x8x8", text)
        self.assertIn(f"Set shape of input tensor {name} to: 4x1x8x8", text)
        result = quick("--optShapes=*:2x1x8x8", "--dumpOptimizationProfile")
        self.assertIn(f"Model input {name} (profile 0): min=2x1x8x8, opt=2x1x8x8, max=2x1x8x8", lines(result.out))
        self.assertIn("optShapes is being broadcasted to minShapes for tensor *", lines(result.err))
        self.assertIn(f"Input binding for {name} with dimensions 2x1x8x8 and type fp32 is created.", lines(result.out))
        result = quick("--profile=0", f"--optShapes={name}:2x1x8x8", "--profile=1", f"--optShapes={name}:3x1x8x8", "--useProfile=1")
        self.assertIn(f"Input binding for {name} with dimensions 3x1x8x8 and type fp32 is created.", lines(result.out))
        self.assertIn("Automatically overriding shape to: 1x1x8x8", quick().err)
        self.assertIn("do not match the static shapes", quick(f"--shapes={name}:1x1x9x8", code=1).err)


if __name__ == "__main__":
    harness.main()
