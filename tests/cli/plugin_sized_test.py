# SPDX-License-Identifier: Apache-2.0
"""Plugins whose results data size, on reals and on codes, on the host and on CUDA pointers: on the emulated GPU; on a real one where
OCTET_TEST_DEVICE names it."""

import os
import unittest

import numpy as np

import harness
from harness import BUILD, ROOT, octet, scratch
from plugins import model, plugin

SIZED = ROOT / "tests/plugin_faults/sized_cuda.cc"
EMULATOR = BUILD / "tests/gpu/emulator"
DEVICE = os.environ.get("OCTET_TEST_DEVICE", "")
ENVIRONMENT = {} if DEVICE else {"OCTET_CUDA_DRIVER": str(EMULATOR / "libcuda_emulated.so"), "OCTET_KERNEL_CACHE": "off",
                                 "OCTET_NVRTC": str(EMULATOR / "libnvrtc_emulated.so")}

# The fault, and what check finds of it.
FAULTS = (("TELLS_TOO_MUCH", "it gives output 'places' the sizes 1048.*, its shape rule at most 120"),
          ("TELLS_PAST", "it writes past the end of told_dims of output 'places'"),
          ("TELLS_ONE", "of output 'places' is not written"))


def sized():
    return plugin(SIZED, "-std=c++20", f"-I{ROOT / 'src'}")


def detector(name, dtype=None, fused=False):
    """A convolution, the plugin, and what is behind it; around the plugin Q (and DQ) of this type."""
    from onnx import TensorProto, helper
    rng = np.random.default_rng(3)
    constants = [("w", (rng.normal(size=(4, 3, 3, 3)) / 5).astype(np.float32)), ("half", np.float32([0.5]))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1], name="conv")]
    if dtype is not None:
        constants += [("s", np.float32(0.04)), ("zero", dtype(120 if dtype == np.uint8 else -8))]
        nodes.append(helper.make_node("QuantizeLinear", ["a", "s", "zero"], ["q"], name="quantize"))
    if fused:
        nodes.append(helper.make_node("DequantizeLinear", ["q", "s", "zero"], ["d"], name="dequantize"))
    nodes += [helper.make_node("Above", [nodes[-1].output[0]], ["y", "places"], name="above", domain="org.sized"),
              helper.make_node("Mul", ["y", "half"], ["z"], name="mul")]
    return model(name, nodes, [("x", [1, 3, 12, 12])], [("z", ["n"]), ("places", ["n"], TensorProto.INT64)], constants,
                 domains=("org.sized",))


def pictures(count, seed):
    return np.random.default_rng(seed).normal(size=(count, 3, 12, 12)).astype(np.float32)


class Sized(unittest.TestCase):
    def setUp(self):
        if not DEVICE and not (EMULATOR / "libnvrtc_emulated.so").exists():
            self.skipTest(f"{EMULATOR} was not built")

    def test_codes_of_every_kind_give_the_same_everywhere(self):
        np.savez(scratch() / "calib.npz", x=pictures(16, 1))
        np.savez(scratch() / "x.npz", x=pictures(1, 2))
        for name, flags, op, detectors in (
                ("reals", [], "Above", {}), ("calibrated", ["--int8", "--calib", scratch() / "calib.npz"], "Above.codes", {}),
                ("u8", [], "Above.codes", {"dtype": np.uint8}), ("s8", [], "Above.codes", {"dtype": np.int8}),
                ("fused_u8", [], "Above.codes", {"dtype": np.uint8, "fused": True}),
                ("fused_s8", [], "Above.codes", {"dtype": np.int8, "fused": True})):
            with self.subTest(name):
                engine = scratch() / f"{name}.octet"
                octet("build", detector(name, **detectors), *flags, "-o", engine, "--plugin", sized())
                layers = octet("inspect", engine, "--plugin", sized(), "--json").json["layers"]
                self.assertIn(f"org.sized/{op}", [layer["op"] for layer in layers])
                results = []
                for device in ("cpu", DEVICE or "cuda"):
                    octet("run", engine, scratch() / "x.npz", "-o", scratch() / "got.npz", "--plugin", sized(), "--device", device,
                          "--force", env=ENVIRONMENT)
                    results.append(dict(np.load(scratch() / "got.npz")))
                host, gpu = results
                self.assertGreater(host["z"].size, 50)
                self.assertLess(host["z"].size, 4 * 144)
                np.testing.assert_array_equal(host["places"], gpu["places"])
                # Float convolutions add in another order there.
                np.testing.assert_allclose(host["z"], gpu["z"], rtol=0, atol=1e-5 if name == "reals" else 0)
                self.assertTrue((host["z"] > 0).all())

    def test_a_plugin_for_gpus_alone(self):
        from onnx import helper
        source = scratch() / "gpus_alone.cc"
        text = (SIZED.parent / "faulty_cuda.cc").read_text()
        for line in ('.combination<&Sum::reals_on_host>("reals", two, real)', '.combination<&Sum::codes_on_host>("int8", codes, code)'):
            self.assertIn(line, text)
            text = text.replace(line, "")
        source.write_text(text)
        library = plugin(source, "-std=c++20", f"-I{ROOT / 'src'}", f"-I{SIZED.parent}")
        path = model("gpus_alone", [helper.make_node("GainedSum", ["x", "x"], ["y"], name="sum", domain="org.faults", gain=1.5)],
                     [("x", [1, 3, 12, 12])], [("y", [1, 3, 12, 12])], domains=("org.faults",))
        x = pictures(1, 4)
        np.savez(scratch() / "alone.npz", x=x)
        engine = scratch() / "gpus_alone.octet"
        built = octet("build", path, "-o", engine, "--plugin", library)
        self.assertIn("'sum' (org.faults/GainedSum): the plugin's combinations are for CUDA pointers alone", built.err)
        octet("run", engine, scratch() / "alone.npz", "-o", scratch() / "summed.npz", "--plugin", library, "--device", DEVICE or "cuda",
              env=ENVIRONMENT)
        np.testing.assert_allclose(np.load(scratch() / "summed.npz")["y"].ravel(), (2.5 * x).ravel(), rtol=1e-6)
        error = octet("run", engine, scratch() / "alone.npz", "--plugin", library, "--device", "cpu", code=2).err
        self.assertIn("has no combination for these numbers on the host; calibration, comparison and engines on the CPU need one", error)

    def test_a_size_that_is_read_alone(self):
        from onnx import TensorProto, helper
        source = scratch() / "counted.cc"
        text = SIZED.read_text()
        for line, more in (('.output({"places", OCTET_PORT_DATA_SIZED, 1, 1})', '.output({"count", 0, 1, 1})'),
                           ("s.at_most(1, {s.input(0).elements()}, 0);", "s.set(2, {1});"),
                           ("call.set_dims(1, {kept});", "call.output(2).data<int64_t>()[0] = kept;"),
                           ("auto* stream = static_cast<CUstream>(call.stream());",
                            'launch("tell", stream, 1, call.output(2).data<int64_t>(), call.output(0).told_dims(), 0ll);'),
                           ("results = {f32(), s64()", ", s64()")):
            self.assertIn(line, text)
            text = text.replace(line, line + more)
        source.write_text(text)
        library = plugin(source, "-std=c++20", f"-I{ROOT / 'src'}", f"-I{SIZED.parent}")
        path = model("counted", [helper.make_node("Above", ["x"], ["", "", "count"], name="above", domain="org.sized")],
                     [("x", [1, 3, 12, 12])], [("count", [1], TensorProto.INT64)], domains=("org.sized",))
        x = pictures(1, 5)
        np.savez(scratch() / "counted_x.npz", x=x)
        engine = scratch() / "counted.octet"
        octet("build", path, "-o", engine, "--plugin", library)
        for device in ("cpu", DEVICE or "cuda"):
            octet("run", engine, scratch() / "counted_x.npz", "-o", scratch() / "counted.npz", "--plugin", library, "--device", device,
                  "--force", env=ENVIRONMENT)
            self.assertEqual(np.load(scratch() / "counted.npz")["count"].tolist(), [(x > 0).sum()])

    def test_nothing_is_found(self):
        from onnx import helper
        faulty = plugin(SIZED.parent / "faulty_cuda.cc", "-std=c++20", f"-I{ROOT / 'src'}")
        nodes = [helper.make_node("Above", ["x"], ["y", "places"], name="above", domain="org.sized"),
                 helper.make_node("GainedSum", ["y", "y"], ["z"], name="sum", domain="org.faults", gain=1.5)]
        path = model("nothing", nodes, [("x", [1, 3, 12, 12])], [("z", ["n"])], domains=("org.sized", "org.faults"))
        engine = scratch() / "nothing.octet"
        plugins = ("--plugin", sized(), "--plugin", faulty)
        octet("build", path, "-o", engine, *plugins)
        x = pictures(1, 6)
        for name, pixels in (("some", x), ("none", -np.abs(x))):
            np.savez(scratch() / f"{name}.npz", x=pixels)
            for device in ("cpu", DEVICE or "cuda"):
                octet("run", engine, scratch() / f"{name}.npz", "-o", scratch() / "found.npz", *plugins, "--device", device, "--force",
                      env=ENVIRONMENT)
                above = pixels[pixels > 0]
                np.testing.assert_allclose(np.load(scratch() / "found.npz")["z"], 2.5 * above, rtol=1e-6)

    def test_the_run_on_the_device_is_the_plugins(self):
        np.savez(scratch() / "x.npz", x=pictures(1, 2))
        engine = scratch() / "told.octet"
        octet("build", detector("told"), "-o", engine, "--plugin", sized())
        run = ("run", engine, scratch() / "x.npz", "--plugin", sized(), "--device", DEVICE or "cuda")
        error = octet(*run, code=2, env={**ENVIRONMENT, "OCTET_TEST_FAULT": "TELLS_TOO_MUCH"}).err
        self.assertIn("run of org.sized/Above failed: it gives output 'places' the sizes 1048", error)

    @unittest.skipIf(DEVICE, "the emulated GPU counts")
    def test_further_runs_take_no_memory_of_the_device(self):
        np.savez(scratch() / "x.npz", x=pictures(1, 2))
        engine = scratch() / "again.octet"
        octet("build", detector("again"), "-o", engine, "--plugin", sized())
        octet("bench", engine, "--plugin", sized(), "--device", "cuda", "--iterations", 100, "--warmup", 1,
              env={**ENVIRONMENT, "OCTET_EMULATED_FAIL": "cuMemAlloc_v2:100:2"})

    def test_check_finds_what_is_told_wrong(self):
        check = ("plugin", "check", sized(), "--device", DEVICE or "cuda", "--threads", 2, "--json")
        self.assertTrue(octet(*check, env=ENVIRONMENT).json["passed"])
        for fault, words in FAULTS:
            result = octet(*check, code=1, env={**ENVIRONMENT, "OCTET_TEST_FAULT": fault}).json
            wrong = [f for f in result["findings"] if not f["passed"] and f["combination"] == "gpu" and f["check"] in ("memory", "results")]
            self.assertTrue(wrong, result["findings"])
            self.assertRegex(wrong[0]["message"], words)


if __name__ == "__main__":
    harness.main()
