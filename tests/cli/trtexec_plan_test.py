# SPDX-License-Identifier: Apache-2.0
"""What a plan of octet trtexec remembers beside its engine: profiles, verbosity, how it was built; and the plugins that it needs."""

import json
import unittest

import harness
import numpy as np
import plugins
from harness import BUILD, ROOT, command, digits_engine, need, octet, scratch
from trtexec_support import MODEL, QUICK, lines, quick, trtexec

RANGE = ("--minShapes=image:1x1x8x8", "--optShapes=image:4x1x8x8", "--maxShapes=image:16x1x8x8")


def loaded(plan, *flags, code=0):
    return trtexec(f"--loadEngine={plan}", *QUICK, *flags, code=code)


class Profiles(unittest.TestCase):
    def saved(self, *flags):
        plan = scratch() / "profiles.plan"
        quick(*flags, f"--saveEngine={plan}", "--skipInference", "--force")
        return plan

    def test_a_loaded_plan_has_its_profiles(self):
        plan = self.saved("--profile=0", *RANGE, "--profile=1", "--optShapes=*:20x1x8x8")
        result = loaded(plan, "--dumpOptimizationProfile")
        self.assertIn("Input binding for image with dimensions 4x1x8x8 and type fp32 is created.", lines(result.out))
        self.assertIn("Model input image (profile 0): min=1x1x8x8, opt=4x1x8x8, max=16x1x8x8", lines(result.out))
        self.assertIn("Model input image (profile 1): min=20x1x8x8, opt=20x1x8x8, max=20x1x8x8", lines(result.out))
        self.assertNotIn("no shapes were provided", result.err)
        self.assertIn("with dimensions 20x1x8x8", loaded(plan, "--useProfile=1").out)
        self.assertIn("with dimensions 16x1x8x8", loaded(plan, "--shapes=image:16x1x8x8").out)
        for shape, profile, ends in ((64, 0, "[1x1x8x8]..[16x1x8x8]"), (16, 1, "[20x1x8x8]..[20x1x8x8]")):
            said = loaded(plan, f"--shapes=image:{shape}x1x8x8", f"--useProfile={profile}", code=1).err
            self.assertIn(f"Set dimension [{shape}x1x8x8] for tensor image does not satisfy any optimization profiles. "
                          f"Valid range for profile {profile}: {ends}.", said)
        self.assertIn("Selected profile index 2 exceeds the number of profiles", loaded(plan, "--useProfile=2", code=1).err)
        self.assertIn("The plan has its profiles", loaded(plan, "--maxShapes=image:3x1x8x8").err)

    def test_shapes_beyond_the_profile_are_refused_before_any_work(self):
        for flag in ("--shapes=image:17x1x8x8", "--shapes=image:1x1x9x8"):
            result = quick(*RANGE, flag, code=1)
            self.assertIn("does not satisfy any optimization profiles. Valid range for profile 0: [1x1x8x8]..[16x1x8x8].", result.err)
            self.assertNotIn("Start parsing network model.", result.out)

    def test_profiles_that_do_not_grow_or_fit_are_refused(self):
        for flags, text in (
                (("--minShapes=image:4x1x8x8", "--optShapes=image:2x1x8x8", "--maxShapes=image:1x1x8x8"),
                 "minShapes, optShapes and maxShapes of input 'image' make no optimization profile: min 4, opt 2, max 1 at axis 0"),
                (("--minShapes=image:1x1x8", "--maxShapes=image:4x1x8x8"), "3, 4 and 4 sizes for min, opt and max"),
                (("--optShapes=image:2x3x8x8",), "do not match the static shapes! It takes ?x1x8x8, given is 2x3x8x8."),
                (("--optShapes=image:2x8x8",), "do not match the static shapes! It takes ?x1x8x8, given is 2x8x8."),
                (("--profile=0", "--optShapes=image:2x1x8x8", "--profile=1", "--optShapes=photo:2x1x8x8"), 'input tensor with name "photo"')):
            with self.subTest(flags=flags):
                result = quick(*flags, code=1)
                self.assertIn(text, result.err)
                self.assertIn("FAILED", result.out.splitlines()[-1])

    def test_engines_without_profiles_run_at_sizes_that_are_said(self):
        result = loaded(digits_engine())
        self.assertIn("Automatically overriding shape to: 1x1x8x8", result.err)
        self.assertIn("with dimensions 3x1x8x8", loaded(digits_engine(), "--shapes=image:3x1x8x8").out)
        self.assertIn("with dimensions 5x1x8x8", loaded(digits_engine(), "--maxShapes=image:5x1x8x8").out)
        self.assertIn("exceeds the number of profiles", loaded(digits_engine(), "--useProfile=1", code=1).err)

    def test_verbosity_is_that_of_the_build_where_none_is_given(self):
        layers = scratch() / "layers.json"
        for saved, asked, kind in (("detailed", (), dict), ("detailed", ("--profilingVerbosity=layer_names_only",), str),
                                   ("layer_names_only", (), str), ("layer_names_only", ("--profilingVerbosity=detailed",), dict)):
            loaded(self.saved(*RANGE, f"--profilingVerbosity={saved}"), f"--exportLayerInfo={layers}", *asked)
            self.assertEqual({type(layer) for layer in json.loads(layers.read_text())["Layers"]}, {kind}, (saved, asked))


class Refits(unittest.TestCase):
    def other(self, name, change):
        onnx = need("onnx")
        model = onnx.load(MODEL)
        change(onnx, model)
        onnx.save(model, scratch() / name)
        return scratch() / name

    def outputs(self, *flags):
        output = scratch() / "refit.json"
        trtexec(*QUICK, "--shapes=image:3x1x8x8", f"--exportOutput={output}", *flags)
        return json.loads(output.read_text())

    def test_other_weights_and_the_ranges_that_there_were(self):
        def scaled(onnx, model):
            for weights in model.graph.initializer:
                values = onnx.numpy_helper.to_array(weights)
                if values.dtype == np.float32:
                    weights.CopyFrom(onnx.numpy_helper.from_array(values * np.float32(0.5), weights.name))
        model, plan, cache = self.other("half.onnx", scaled), scratch() / "refit.plan", scratch() / "refit.cache"
        data = ("--int8", f"--calibData={harness.digits() / 'calib'}", f"--calibPreprocess={harness.DIGITS / 'preprocess.json'}")
        before = self.outputs(f"--onnx={MODEL}", *data, f"--calibCacheOut={cache}", "--refit", f"--saveEngine={plan}")
        result = loaded(plan, f"--refitFromOnnx={model}", "--shapes=image:3x1x8x8")
        self.assertRegex(result.out, r"Engine refitted in [\d.e-]+ sec\.\n")
        octet("build", model, "--int8", "--calib-cache", cache, "--force-cache", "-o", scratch() / "half.octet", "--quiet")
        fresh = self.outputs(f"--loadEngine={scratch() / 'half.octet'}")
        refitted = self.outputs(f"--loadEngine={plan}", f"--refitFromOnnx={model}")
        self.assertEqual(refitted, fresh)
        self.assertNotEqual(refitted, before)
        self.assertEqual(self.outputs(f"--loadEngine={plan}", f"--refitFromOnnx={MODEL}"), before)

    def test_weights_beside_the_model_are_refused_before_it_is_built(self):
        onnx = need("onnx")
        path = scratch() / "beside.onnx"
        onnx.save(onnx.load(MODEL), path, save_as_external_data=True, location="beside.bin", size_threshold=0)
        refused = trtexec(f"--onnx={path}", *QUICK, "--refit", code=1)
        self.assertIn("takes its weights from the model, not from files beside it", refused.err)
        self.assertNotIn("Finished parsing", refused.out)

    def test_another_model_is_refused(self):
        plan = scratch() / "whole.plan"
        quick("--refit", f"--saveEngine={plan}", "--skipInference")

        def renamed(onnx, model):
            model.graph.node[0].op_type = "Relu"

        def shorter(onnx, model):
            del model.graph.node[-1]

        def wider(onnx, model):
            weights = next(w for w in model.graph.initializer if len(w.dims) == 4)
            weights.CopyFrom(onnx.numpy_helper.from_array(np.zeros((2, 2, 2, 2), np.float32), weights.name))
        for name, change, text in (("renamed", renamed, "node 0 (Relu"), ("shorter", shorter, "nodes, and the engine's"), ("wider", wider, "its weights ")):
            said = loaded(plan, f"--refitFromOnnx={self.other(name + '.onnx', change)}", code=1).err
            self.assertIn("the model is not the engine's with other weights: ", said)
            self.assertIn(text, said)
        both = (f"--refitFromOnnx={self.other('again.onnx', renamed)}", "--skipInference")
        self.assertIn("the model is not the engine's", quick("--refit", *both, code=1).err)
        self.assertIn("built without --refit", quick(*both, code=1).err)
        self.assertIn("built without --refit", loaded(digits_engine(), f"--refitFromOnnx={MODEL}", code=1).err)
        self.assertIn("No such file", loaded(plan, f"--refitFromOnnx={scratch() / 'absent.onnx'}", code=1).err)


class Plugins(unittest.TestCase):
    def test_operators_of_a_library(self):
        onnx = need("onnx")
        library = plugins.plugin(plugins.EXAMPLES / "layer_normalization.cc")
        node = onnx.helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"], domain="octet.examples")
        ones = np.ones(16, np.float32)
        model = plugins.model("with_plugin", [node], [("x", [2, 16])], [("y", [2, 16])], [("scale", ones), ("bias", ones)])
        plan = scratch() / "plugin.plan"
        self.assertIn("--dynamicPlugins", trtexec(f"--onnx={model}", *QUICK, code=1).err)
        for flag in ("--plugins", "--staticPlugins", "--dynamicPlugins"):
            said = trtexec(f"--onnx={model}", *QUICK, f"{flag}={library}", f"--saveEngine={plan}")
            self.assertIn(f"Loading supplied plugin library: {library}", lines(said.out))
            loaded(plan, f"{flag}={library}")
        said = loaded(plan, code=1).err
        self.assertIn("--dynamicPlugins=<file> loads a library with operators", said)
        self.assertNotIn("an engine of TensorRT", said)

    def of_tensorrt(self, level, file):
        """A library of tensorrt/tests, linked as programs link theirs."""
        folder = BUILD / f"tensorrt/lib-{level}"
        if not list(folder.glob("libnvinfer.so*")):
            self.skipTest(f"{folder} has no libraries")
        library = scratch() / f"{file}{level}.so"
        command("c++", "-std=c++17", "-shared", "-fPIC", "-O1", f"-I{ROOT}/tensorrt/include-{level}", f"-I{ROOT}/tensorrt/cudart/include",
                ROOT / f"tensorrt/tests/{file}.cc", "-o", library, f"-L{folder}", "-lnvinfer", f"-Wl,-rpath,{folder}")
        return library

    def test_plugins_of_tensorrt(self):
        onnx = need("onnx")
        nodes = [onnx.helper.make_node("Relu", ["x"], ["r"]), onnx.helper.make_node("ScaleBy", ["r"], ["y"], name="scale", factor=3.0)]
        model = plugins.model("of_tensorrt", nodes, [("x", ["n", 4])], [("y", ["n", 4])], domains=())
        (scratch() / "x.bin").write_bytes(np.float32([-1, 2, 0.5, 4]).tobytes())
        run = (f"--loadInputs=x:{scratch() / 'x.bin'}", f"--exportOutput={scratch() / 'plugin.json'}", "--shapes=x:1x4")
        for level, version in (("8", "--tensorrtVersion=8.6.1"), ("10", "--tensorrtVersion=10.16.0")):
            library, plan = self.of_tensorrt(level, "scale_plugin"), scratch() / f"scale{level}.plan"
            ranges = ("--minShapes=x:1x4", "--optShapes=x:2x4", "--maxShapes=x:4x4")
            for flags in ((f"--onnx={model}", *ranges, f"--saveEngine={plan}"), (f"--loadEngine={plan}",)):
                trtexec(*flags, *QUICK, *run, version, f"--dynamicPlugins={library}")
                self.assertEqual(json.loads((scratch() / "plugin.json").read_text())[0]["values"], [0, 6, 1.5, 12])
            said = loaded(plan, code=1).err
            self.assertIn("has plugins of TensorRT: --dynamicPlugins=<file> loads the library that has them", said)
            self.assertNotIn("an engine of TensorRT", said)
            self.assertIn("exceeds", loaded(plan, version, f"--plugins={library}", "--useProfile=1", code=1).err)
            refused = trtexec(f"--onnx={model}", *QUICK, version, f"--plugins={library}", "--refit", code=1)
            self.assertIn("--refit: plans with plugins", refused.err)
            self.assertNotIn("Finished parsing", refused.out)  # before it is built

    def test_what_is_no_such_library(self):
        said = quick(f"--dynamicPlugins={scratch() / 'absent.so'}", code=1).err
        self.assertIn("there is no plugin", said)
        empty = scratch() / "empty.cc"
        empty.write_text("")
        command("c++", "-shared", empty, "-o", scratch() / "empty.so")
        for library in (MODEL, scratch() / "empty.so"):
            said = quick(f"--dynamicPlugins={library}", code=1).err
            self.assertIn(f"loading '{library}', which has no function octet_plugin", said)
            self.assertIn("as a library of TensorRT's plugins", said)


class Caches(unittest.TestCase):
    def test_one_that_cannot_be_read_is_not_replaced(self):
        cache = scratch() / "theirs.cache"
        cache.write_text("TRT-8601-EntropyCalibration2\nimage: what is this\n")
        data = ("--int8", f"--calibData={harness.digits() / 'calib'}", f"--calibPreprocess={harness.DIGITS / 'preprocess.json'}", "--skipInference")
        for flag in ("--calibCacheOut", "--calib"):
            said = quick(f"{flag}={cache}", *data, code=1).err
            self.assertIn("line 2: tensor 'image'", said)
            self.assertIn("what is this", cache.read_text())
        quick(f"--calibCacheOut={cache}", *data, "--force")
        self.assertIn("\nimage: 3", cache.read_text())


class Inspected(unittest.TestCase):
    def test_an_engine_says_what_it_carries_nowhere_else(self):
        plan = scratch() / "inspected.plan"
        quick(*RANGE, f"--saveEngine={plan}", "--skipInference")
        self.assertEqual([layer["name"] for layer in octet("inspect", plan, "--json").json["layers"]],
                         [layer["name"] for layer in octet("inspect", MODEL, "--json").json["layers"]])


if __name__ == "__main__":
    harness.main()
