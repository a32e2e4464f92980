#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--device cuda as a user meets it, on the emulated GPU: the CPU's bits, and one clear error for all that a machine can lack."""

import json
import os
import pathlib
import tempfile
import unittest

import plugins
from harness import DIGITS, EMULATOR, digits, digits_engine, emulated_gpu, main, octet
from processes import Tag
from trtexec_support import MODEL, QUICK, lines

DRIVER, NVRTC = EMULATOR / "libcuda_emulated.so", EMULATOR / "libnvrtc_emulated.so"


def two_convolutions(separable=False):
    """A quantized model of two convolutions of one shape; or of a depthwise one and one of 1x1."""
    import numpy as np
    from onnx import helper

    def weights(*shape):
        return (np.arange(np.prod(shape)) % 7 - 3).astype(np.int8).reshape(shape)

    constants = [("s", np.float32(0.02)), ("z", np.uint8(3)), ("ws", np.float32(0.01)), ("wz", np.int8(0)),
                 ("w1", weights(16, 16, 1, 1)), ("w0", weights(16, 1, 3, 3) if separable else weights(16, 16, 1, 1))]
    attributes = [{"group": 16, "pads": [1, 1, 1, 1]} if separable else {}, {}]
    image, nodes, x = [1, 16, *[64 if separable else 8] * 2], [], "x"
    for i in range(3):
        nodes += [helper.make_node("QuantizeLinear", [x, "s", "z"], [f"q{i}"], f"quantize{i}"),
                  helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], f"dequantize{i}")]
        if i < 2:
            x = f"c{i}"
            nodes += [helper.make_node("DequantizeLinear", [f"w{i}", "ws", "wz"], [f"wd{i}"], f"weights{i}"),
                      helper.make_node("Conv", [f"d{i}", f"wd{i}"], [x], f"conv{i}", **attributes[i])]
    return plugins.model(f"two_convolutions_{separable}", nodes, [("x", image)], [("d2", image)], constants,
                         domains=())


class Gpu(unittest.TestCase):
    def setUp(self):
        if emulated_gpu() is None:
            self.skipTest(f"{EMULATOR} was not built")
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)
        self.image = sorted((digits() / "test/3").iterdir())[0]

    def on_gpu(self, *arguments, code=0, **variables):
        env = {**emulated_gpu(), "OCTET_KERNEL_CACHE": str(self.folder / "kernels")}
        return octet(*arguments, code=code, env={**env, **{name: str(value) for name, value in variables.items()}}, cwd=self.folder)

    def run_digit(self, code=0, device="cuda", **variables):
        return self.on_gpu("run", digits_engine(), self.image, "-o", "out.npz", "--force", "--device", device, code=code, **variables)

    def refused(self, *words, **variables):
        error = self.run_digit(code=2, **variables).err
        lines = [line for line in error.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(lines), 1, error)
        for word in words:
            self.assertIn(word, error)
        self.assertFalse((self.folder / "out.npz").exists())

    def test_same_bytes_as_on_the_cpu(self):
        octet("run", digits_engine(), self.image, "-o", self.folder / "cpu.npz")
        self.run_digit()
        self.assertEqual((self.folder / "out.npz").read_bytes(), (self.folder / "cpu.npz").read_bytes())

    def test_calibration(self):
        data = ("--calib", digits() / "calib", "--max-samples", "6")
        told, thresholds = {}, {}
        for name, run, flags in (("cpu", octet, ()), ("gpu", self.on_gpu, ("--device", "cuda"))):
            engine, cache = self.folder / f"{name}.octet", self.folder / f"{name}.cache"
            run("build", MODEL, "--int8", *data, *flags, "--calib-cache", cache, "-o", engine, "--quiet")
            told[name] = octet("inspect", engine, "--provenance", "--json").json
            details = json.loads((self.folder / f"{name}.cache.json").read_text())
            thresholds[name] = {one["name"]: one["threshold"] for one in details["tensors"]}
        self.assertNotIn("device", told["cpu"]["provenance"])
        self.assertEqual(told["gpu"]["provenance"]["device"], "Emulated GPU")
        self.assertIn(" --device DEVICE", told["gpu"]["command"])
        self.assertEqual(told["gpu"]["provenance"]["data_hash"], told["cpu"]["provenance"]["data_hash"])
        # Sums of reals differ in their last bits, and ranges by a bin where they do.
        self.assertEqual(set(thresholds["cpu"]), set(thresholds["gpu"]))
        for tensor, threshold in thresholds["cpu"].items():
            self.assertAlmostEqual(thresholds["gpu"][tensor] / threshold, 1, delta=2e-3, msg=tensor)
        # The cache remembers the device: its engine is that of the data, to the byte.
        octet("build", MODEL, "--int8", "--calib-cache", self.folder / "gpu.cache", "-o", self.folder / "again.octet", "--quiet")
        self.assertEqual((self.folder / "again.octet").read_bytes(), (self.folder / "gpu.octet").read_bytes())
        # A device beside it measures nothing, which is said, and has to be there all the same.
        again = ("build", MODEL, "--int8", "--calib-cache", self.folder / "gpu.cache", "-o", self.folder / "again.octet", "--device")
        told = self.on_gpu(*again, "cuda", "--force")
        self.assertIn("nothing is measured on cuda", told.out + told.err)
        self.assertEqual((self.folder / "again.octet").read_bytes(), (self.folder / "gpu.octet").read_bytes())
        self.assertIn("there is no device cuda:7", self.on_gpu(*again, "cuda:7", "--force", code=2).err)

    def test_calibration_refuses_what_it_cannot_do(self):
        build = ("build", MODEL, "--int8", "--calib", digits() / "calib", "-o", "x.octet", "--device", "cuda")
        self.assertIn("there is no device cuda:7", self.on_gpu(*build[:-1], "cuda:7", code=2).err)
        self.assertIn("takes no --device", octet(*build, "--reproducible", code=2).err)
        self.assertIn("--device has no use without", octet("build", MODEL, "-o", "x.octet", "--device", "cuda", code=2).err)
        self.assertFalse((self.folder / "x.octet").exists())

    def test_sensitivity(self):
        flags = ("sensitivity", MODEL, "--calib", digits() / "calib", "--max-samples", "4", "--samples", "2", "--no-times", "--json")
        cpu, gpu = octet(*flags).json, self.on_gpu(*flags, "--device", "cuda").json
        losses = lambda result: {tuple(layer["layers"]): layer["alone"] for layer in result["layers"]}
        self.assertEqual(set(losses(cpu)), set(losses(gpu)))
        for layers, lost in losses(cpu).items():
            self.assertAlmostEqual(losses(gpu)[layers] / lost, 1, delta=0.2, msg=layers)

    def test_devices(self):
        listed = self.on_gpu("devices", "--json", OCTET_EMULATED_DEVICES=2).json["devices"]
        self.assertEqual([d["name"] for d in listed], ["cpu", "cuda:0", "cuda:1"])
        self.assertTrue(all(d["usable"] and d["note"] == "" for d in listed))
        (self.folder / "open").mkdir(mode=0o700)
        (self.folder / "open").chmod(0o777)
        told = self.on_gpu("devices", "--json", OCTET_KERNEL_CACHE=self.folder / "open").json["devices"]
        self.assertRegex(told[1]["note"], "compiled kernels are not kept: '.*' may be written by other users")
        absent = self.on_gpu("devices", "--json", OCTET_CUDA_DRIVER="/no/such").json["devices"]
        self.assertEqual([d["name"] for d in absent], ["cpu", "cuda:0"])
        self.assertIn("/no/such", absent[1]["missing"])
        old = self.on_gpu("devices", "--json", OCTET_EMULATED_DEVICES=2, OCTET_EMULATED_CAPABILITY="7.2").json["devices"]
        self.assertEqual(len(old), 3)
        self.assertIn("7.2", old[2]["missing"])

    def test_trtexec_describes_the_gpus(self):
        def block(*flags, **variables):
            done = self.on_gpu("trtexec", f"--onnx={MODEL}", *QUICK, *flags, OCTET_EMULATED_DEVICES=2, OCTET_EMULATED_NAME="NVIDIA H200,NVIDIA L4",
                               OCTET_EMULATED_CAPABILITY="9.0,8.9", OCTET_EMULATED_ATTRIBUTES="16:132,37:6144,13:1980000", **variables)
            said = lines(done.out)
            begin = said.index("=== Device Information ===")
            return said[begin + 1:said.index("", begin)]

        second = block("--device=1")
        self.assertEqual(second[:3], ["Available Devices: ", '  Device 0: "NVIDIA H200" UUID: GPU-00010203-0405-0607-0809-0a0b0c0d0e0f',
                                      '  Device 1: "NVIDIA L4" UUID: GPU-10111213-1415-1617-1819-1a1b1c1d1e1f'])
        memory = second.pop(8)
        self.assertRegex(memory, r"^Device Global Memory: [1-9]\d* MiB$")
        self.assertEqual(second[3:], [
            "Selected Device: NVIDIA L4", "Selected Device ID: 1", "Selected Device UUID: GPU-10111213-1415-1617-1819-1a1b1c1d1e1f",
            "Compute Capability: 8.9", "SMs: 132", "Shared Memory per SM: 100 KiB", "Memory Bus Width: 6144 bits (ECC enabled)",
            "Application Compute Clock Rate: 1.98 GHz", "Application Memory Clock Rate: 1 GHz"])
        self.assertEqual(block("--tensorrtVersion=8.6.1")[:2], ["Selected Device: NVIDIA H200", "Compute Capability: 9.0"])
        self.assertIn("Compute Capability: 0.0", block("--device=cpu"))

    def test_chips_whose_kernels_were_not_measured(self):
        for capability, known, level, tuned in (("9.0", "90", "sm_90a", True), ("8.6", "86,90", "sm_86", False), ("10.0", "80,90,100", "sm_100", False),
                                                ("12.0", "80,90", "compute_90", False), ("99.0", "90,120", "compute_90", False)):
            chip = {"OCTET_EMULATED_CAPABILITY": capability, "OCTET_EMULATED_NVRTC_ARCHS": known}
            listed = self.on_gpu("devices", "--json", **chip).json["devices"]
            self.assertEqual([(d["level"], d["tuned"]) for d in listed[1:]], [(level, tuned)])
            self.assertTrue(listed[0]["tuned"])
            self.assertIn(f"({level}{'' if tuned else ', untuned'})", self.on_gpu("devices", **chip).out)
            inspected = ("inspect", digits_engine(), "--device", "cuda")
            self.assertEqual(self.on_gpu(*inspected, "--json", **chip).json["tuned"], tuned)
            said = self.on_gpu(*inspected, "--wide", **chip).out
            self.assertTrue(said.endswith(f"kernels for {level}{'' if tuned else ' (untuned)'}\n"), said[-200:])
            self.assertEqual("the chip has no wgmma" in said, capability != "9.0")

    def test_chips_that_are_newer_than_octet(self):
        octet("run", digits_engine(), self.image, "-o", self.folder / "cpu.npz")
        for capability, known in (("10.0", "80,90,100"), ("10.3", "80,90"), ("12.0", "80,90,120"), ("12.1", "80,90"), ("99.0", "90")):
            self.run_digit(OCTET_EMULATED_CAPABILITY=capability, OCTET_EMULATED_NVRTC_ARCHS=known)
            self.assertEqual((self.folder / "out.npz").read_bytes(), (self.folder / "cpu.npz").read_bytes(), capability)
            (self.folder / "out.npz").unlink()
        # PTX is kept like machine code: a compiler that compiles nothing shows that the second run takes it.
        self.run_digit(OCTET_EMULATED_CAPABILITY="99.0", OCTET_EMULATED_NVRTC_ARCHS="90", OCTET_EMULATED_NVRTC_FAIL=5)
        (self.folder / "out.npz").unlink()
        # A driver that is older than the compiler's PTX.
        self.refused("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "is of CUDA 13.1", "driver for CUDA 13.0", "install a newer driver", "preparing '",
                     OCTET_EMULATED_CAPABILITY="12.0", OCTET_EMULATED_NVRTC_ARCHS="80,90", OCTET_EMULATED_NVRTC_VERSION=13010)
        # Machine code of the chip's own has no such version.
        self.run_digit(OCTET_EMULATED_CAPABILITY="12.0", OCTET_EMULATED_NVRTC_VERSION=13010)
        # Without a compiler it is known at least whose kernels would run.
        listed = self.on_gpu("devices", "--json", OCTET_EMULATED_CAPABILITY="12.0", OCTET_NVRTC="/no/such").json["devices"]
        self.assertEqual(listed[1]["level"], "compute_90")

    def test_a_number_that_no_gpu_has_is_no_cpu(self):
        model = f"--onnx={DIGITS / 'digits.onnx'}"
        flags = ("trtexec", model, "--iterations=1", "--duration=0", "--warmUp=0")
        self.assertIn("cuda:3", self.on_gpu(*flags, "--device=3", code=1).err)
        self.assertIn("Selected Device UUID: GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", self.on_gpu(*flags).out)
        self.assertIn("Selected Device UUID: cpu", self.on_gpu(*flags, "--device=3", OCTET_CUDA_DRIVER="/no/such").out)

    def test_layers_say_where_they_run(self):
        layers = self.on_gpu("bench", digits_engine(), "--device", "cuda", "--layers", "--json", "--seconds", 0).json["layers"]
        self.assertEqual({layer["device"] for layer in layers} - {"cpu"}, {"cuda:0"})

    def test_data_that_stay_on_the_gpu(self):
        measured = self.on_gpu("bench", digits_engine(), "--device", "cuda", "--no-transfers", "--iterations", "16", "--json").json
        self.assertEqual(measured["runs"], 16)
        self.assertGreater(measured["throughput"], 0)
        # One plan is made ready, that of data on the device; its part of the host's memory is the only one.
        self.on_gpu("bench", digits_engine(), "--device", "cuda", "--no-transfers", "--iterations", "1",
                    OCTET_EMULATED_FAIL="cuMemHostAlloc:2:719:*")
        error = octet("bench", digits_engine(), "--no-transfers", code=2).err
        self.assertIn("expected --device cuda, got cpu", error)
        for wish in ("--no-transfers", "--no-chains"):
            several = self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:1", wish, code=2, OCTET_EMULATED_DEVICES=2).err
            self.assertIn("several devices", several)
        alone = self.on_gpu("bench", "--layer", "Chain{kind=x}(f32[1]) -> f32[1]", "--device", "cuda", code=2).err
        self.assertIn("cannot be run alone", alone)

    def test_layers_of_one_shape_are_measured_once(self):
        report = self.on_gpu("bench", two_convolutions(), "--device", "cuda", "--tune", "here.json", "--json").json
        times = {}
        for layer in report["layers"]:
            times.setdefault(layer["signature"], []).append([kernel["microseconds"] for kernel in layer["kernels"]])
        alike = [all_times for all_times in times.values() if len(all_times) > 1]
        self.assertTrue(alike)
        for all_times in alike:
            self.assertTrue(all(one == all_times[0] for one in all_times))

    def test_choices_of_chains_and_of_their_parts(self):
        model, file = two_convolutions(separable=True), self.folder / "here.json"

        def bench(*more):
            return self.on_gpu("bench", model, "--device", "cuda", "--iterations", "1", *more)

        self.on_gpu("bench", model, "--device", "cuda", "--tune", file)
        choices = json.loads(file.read_text())
        chains = [choice for choice in choices["choices"] if choice["layer"].startswith("Chain{")]
        self.assertEqual(len(chains), 1)
        for more in ((), ("--no-chains",)):
            self.assertNotIn("fall back", bench("--tuning", file, *more).err)
        chains[0]["kernel"] = "no_such_kernel"
        file.write_text(json.dumps(choices))
        self.assertIn("no_such_kernel is not offered", bench("--tuning", file).err)
        # There is no chain of which it could be a choice.
        self.assertNotIn("no_such_kernel", bench("--tuning", file, "--no-chains").err)

    def test_several_gpus(self):
        def bench(*more, code=0):
            return self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:1", "--seconds", "0.05", *more, code=code,
                               OCTET_EMULATED_DEVICES=2)

        measured = bench("--json").json
        self.assertEqual([d["device"] for d in measured["devices"]], ["cuda:0", "cuda:1"])
        self.assertEqual([s["device"] for s in measured["streams"]], ["cuda:0", "cuda:1"])
        self.assertTrue(all(d["throughput"] > 0 for d in measured["devices"]))
        self.assertAlmostEqual(measured["throughput"], sum(d["throughput"] for d in measured["devices"]), places=3)
        text = bench("--streams", "2").out
        self.assertIn("together", text)
        self.assertEqual(text.count("cuda:1"), 3)  # two streams, and what they do
        self.assertIn("name one of them", bench("--layers", code=2).err)
        lost = self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:1", "--seconds", "0.05", code=2, OCTET_EMULATED_DEVICES=2,
                           OCTET_EMULATED_FAIL="cuGraphLaunch:1:719:*").err
        self.assertRegex(lost, "error: device cuda:[01] .* takes no more work in this process")
        self.assertIn("twice", self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:0", code=2).err)
        self.assertIn("cuda:7", self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:7", code=2).err)

    def test_all_gpus(self):
        """Two of different generations: samples are shared, and the counts are the CPU's; so they are when one is lost, which is said."""
        two = {"OCTET_EMULATED_DEVICES": 2, "OCTET_EMULATED_CAPABILITY": "9.0,7.5", "OCTET_EMULATED_NAME": "Large GPU,Small GPU"}
        listed = self.on_gpu("devices", "--json", **two).json["devices"]
        self.assertEqual([(d["chip"], d["level"]) for d in listed[1:]], [("Large GPU", "sm_90a"), ("Small GPU", "sm_75")])
        data = self.folder / "data"
        for label in range(4):
            (data / str(label)).mkdir(parents=True)
            for image in sorted((digits() / f"test/{label}").iterdir())[:3]:
                (data / str(label) / image.name).write_bytes(image.read_bytes())
        against = ("eval", digits_engine(), "--data", data, "--against", DIGITS / "digits.onnx", "--json")
        cpu = octet(*against).json
        everywhere = self.on_gpu(*against, "--device", "cuda:all", **two).json
        self.assertEqual(everywhere, cpu)
        self.assertEqual(self.on_gpu(*against[:4], "--json", "--device", "cuda:0,cpu", **two).json["top1"], cpu["top1"])
        lost = self.on_gpu(*against, "--device", "cuda:all", **two, OCTET_EMULATED_FAIL="cuStreamSynchronize:3:719:*:1").json
        self.assertEqual({**lost, "warnings": cpu["warnings"]}, cpu)
        self.assertRegex(" ".join(lost["warnings"]), "cuda:1 was left out: device cuda:1 .*failed.* takes no more work in this process")
        both = self.on_gpu(*against, "--device", "cuda:all", **two, code=2, OCTET_EMULATED_FAIL="cuStreamSynchronize:3:719:*:1,cuStreamSynchronize:3:719:*:0")
        self.assertRegex(both.err, "error: .*failed")
        measured = self.on_gpu("bench", digits_engine(), "--device", "cuda:all", "--seconds", "0.05", "--json", **two).json
        self.assertEqual([d["isa"] for d in measured["devices"]], ["sm_90a", "sm_75"])
        one = self.on_gpu("bench", digits_engine(), "--device", "cuda:all", "--seconds", "0.05", "--json").json
        self.assertEqual(one["device"], "cuda:0")
        for command in (("bench", digits_engine()), against[:4]):
            self.assertIn("cuda:all", self.on_gpu(*command, "--device", "cuda:all", code=2, OCTET_EMULATED_DEVICES=0).err)
            self.assertIn("twice", self.on_gpu(*command, "--device", "cuda:all,cuda:1", code=2, **two).err)
        self.assertIn("'cuda:all'", self.run_digit(code=2, device="cuda:all").err)

    def test_kernels_of_an_older_chip(self):
        octet("run", digits_engine(), self.image, "-o", self.folder / "cpu.npz")
        for chip, older, level in (("9.0", "7.5", "compute_75"), ("9.0", "8.9", "compute_89"), ("9.0", "9.0", "compute_90"), ("8.0", "7.5", "compute_75")):
            asked = {"OCTET_EMULATED_CAPABILITY": chip, "OCTET_CUDA_ARCHITECTURE": older}
            self.assertEqual(self.on_gpu("devices", "--json", **asked).json["devices"][1]["level"], level)
            self.run_digit(**asked)
            self.assertEqual((self.folder / "out.npz").read_bytes(), (self.folder / "cpu.npz").read_bytes(), level)
            (self.folder / "out.npz").unlink()
        for older in ("9.0", "8", "8.4", "x", "-7.5", "7.5 ", "7.55"):
            self.refused(f"OCTET_CUDA_ARCHITECTURE={older}", "no newer than this one (8.6)", OCTET_EMULATED_CAPABILITY="8.6", OCTET_CUDA_ARCHITECTURE=older)

    def test_what_a_machine_lacks(self):
        self.refused("/no/such", OCTET_CUDA_DRIVER="/no/such")
        self.refused("libnvrtc", OCTET_NVRTC="/no/such")
        self.refused("device", OCTET_EMULATED_DEVICES=0)
        self.refused("cuda:7", device="cuda:7")
        self.refused("CUDA_VISIBLE_DEVICES is ''", OCTET_EMULATED_DEVICES=0, CUDA_VISIBLE_DEVICES="")
        for capability in ("7.2", "6.1"):
            self.refused(f"capability {capability}", "mma of s8", "from 7.5 on", OCTET_EMULATED_CAPABILITY=capability)
        for capability in ("7.5", "8.6", "8.9", "9.0"):
            self.run_digit(OCTET_EMULATED_CAPABILITY=capability)

    def test_libraries_of_another_kind(self):
        self.refused("has no function cuInit", OCTET_CUDA_DRIVER=NVRTC)
        self.refused("(has no function nvrtc", OCTET_NVRTC=DRIVER)
        self.refused("CUDA 11.8", "12.0 is needed", OCTET_EMULATED_DRIVER_VERSION=11080)
        self.refused("is of CUDA 11.8", "12.0 is needed", OCTET_EMULATED_NVRTC_VERSION=11080)
        self.run_digit(OCTET_EMULATED_NVRTC_VERSION=15020)

    def test_compilers_and_drivers_that_do_not_fit(self):
        self.refused("(CUDA 13.", "does not take -arch=sm_80", "newer one", OCTET_EMULATED_NVRTC_FAIL=5)
        self.refused("does not take", OCTET_EMULATED_NVRTC_FAIL=1)
        for error in (200, 209):
            self.refused("is of CUDA 13.", "driver for CUDA 12.0", "preparing '", OCTET_EMULATED_DRIVER_VERSION=12000,
                         OCTET_EMULATED_FAIL=f"cuModuleLoadData:1:{error}")

    def test_a_compiler_that_lacks_a_function_is_passed_over(self):
        for name, library in (("first", DRIVER), ("second", NVRTC)):
            (self.folder / name / "lib64").mkdir(parents=True)
            (self.folder / name / "lib64/libnvrtc.so.12").symlink_to(library)
        self.run_digit(OCTET_NVRTC="", CUDA_HOME=self.folder / "first", CUDA_PATH=self.folder / "second")

    def compiler(self, name, *lines):
        program = self.folder / name
        program.write_text("\n".join(("#!/bin/sh", *lines, "")))
        program.chmod(0o755)
        return program

    def test_kernel_compilers_that_do_not_answer(self):
        late = ("does not compile kernel", "within 1 s", "preparing '")
        for name, lines in (("sleeps", ("exec sleep 1000",)), ("closes", ("exec sleep 1000 <&- >&- 2>&-",)),
                            ("has_children", ("sleep 1000 &", "(setsid sleep 1000 &)", "echo busy >&2", "sleep 1000"))):
            tag = Tag()
            self.refused(*late, OCTET_KERNEL_COMPILER=self.compiler(name, *lines), OCTET_KERNEL_COMPILER_SECONDS=1, **tag.env)
            self.assertEqual(tag.end(), 0, name)
        self.refused(*late, "it said:\n  busy\n", OCTET_KERNEL_COMPILER=self.folder / "has_children", OCTET_KERNEL_COMPILER_SECONDS=1)
        self.refused("dies: Segmentation fault while it compiles kernel", "preparing '",
                     OCTET_KERNEL_COMPILER=self.compiler("dies", "kill -SEGV $$"))
        for other in ("/no/such", "/bin/false", "/bin/true"):  # then this process compiles
            self.run_digit(OCTET_KERNEL_COMPILER=other)

    def test_failing_calls(self):
        self.refused("cuda:0 has", OCTET_EMULATED_FAIL="cuMemAlloc_v2:1:2")
        self.refused("kernel", "cuda:0", "the CPU does", OCTET_EMULATED_FAIL="cuLaunchKernelEx:1:719:*")
        for function in ("cuModuleLoadData", "cuMemcpyAsync", "cuStreamSynchronize", "cuStreamCreate"):
            for error in ("2", "700:*"):
                self.refused(OCTET_EMULATED_FAIL=f"{function}:1:{error}")

    def test_a_kernel_cache_of_any_bytes(self):
        self.run_digit()
        good = (self.folder / "out.npz").read_bytes()
        kept = sorted((self.folder / "kernels").iterdir())
        self.assertTrue(kept)
        for i, file in enumerate(kept):
            data = bytearray(file.read_bytes())
            data[(i * 97) % len(data)] ^= 1
            file.write_bytes((b"", bytes(data), bytes(data[: len(data) // 2]), b"\xff" * 100)[i % 4])
        self.run_digit()
        self.assertEqual((self.folder / "out.npz").read_bytes(), good)
        self.run_digit(OCTET_KERNEL_CACHE="/proc/no/such")
        self.assertEqual((self.folder / "out.npz").read_bytes(), good)

    def test_what_runs_on_the_cpu_says_why(self):
        import numpy as np
        from onnx import helper

        nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Pow", ["r", "three"], ["y"], "cube")]
        model = plugins.model("cube", nodes, [("x", [4, 4])], [("y", [4, 4])], [("three", np.float32(3))], domains=())
        layers = {layer["name"]: layer for layer in self.on_gpu("inspect", model, "--device", "cuda", "--json").json["layers"]}
        self.assertEqual((layers["relu"]["device"], layers["cube"]["device"]), ("cuda:0", "cpu"))
        self.assertIn("lower_reals: the exponent is not -1, 0, 1/2, 1 or 2", layers["cube"]["kernel_reason"])
        self.assertIn("r.to_host", layers)
        chain = next(layer for layer in self.on_gpu("inspect", two_convolutions(separable=True), "--device", "cuda", "--json").json["layers"]
                     if layer["op"] == "Chain")
        self.assertIn("one kernel for 2 layers (depthwise_pointwise)", chain["kernel_reason"])


if __name__ == "__main__":
    main()
