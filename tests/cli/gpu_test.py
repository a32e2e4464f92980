#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--device cuda as a user meets it, on the emulated GPU: the CPU's bits, and one clear error for all that a machine can lack."""

import os
import pathlib
import tempfile
import unittest

from harness import BUILD, DIGITS, digits, digits_engine, main, octet

EMULATOR = BUILD / "tests/gpu/emulator"
DRIVER, NVRTC = EMULATOR / "libcuda_emulated.so", EMULATOR / "libnvrtc_emulated.so"


class Gpu(unittest.TestCase):
    def setUp(self):
        if not DRIVER.exists() or not NVRTC.exists():
            self.skipTest(f"{EMULATOR} was not built")
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)
        self.image = sorted((digits() / "test/3").iterdir())[0]

    def on_gpu(self, *arguments, code=0, **variables):
        env = {"OCTET_CUDA_DRIVER": str(DRIVER), "OCTET_NVRTC": str(NVRTC), "OCTET_KERNEL_CACHE": str(self.folder / "kernels")}
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

    def test_devices(self):
        listed = self.on_gpu("devices", "--json", OCTET_EMULATED_DEVICES=2).json["devices"]
        self.assertEqual([d["name"] for d in listed], ["cpu", "cuda:0", "cuda:1"])
        self.assertTrue(all(d["usable"] for d in listed))
        absent = self.on_gpu("devices", "--json", OCTET_CUDA_DRIVER="/no/such").json["devices"]
        self.assertEqual([d["name"] for d in absent], ["cpu", "cuda:0"])
        self.assertIn("/no/such", absent[1]["missing"])
        old = self.on_gpu("devices", "--json", OCTET_EMULATED_DEVICES=2, OCTET_EMULATED_CAPABILITY="7.5").json["devices"]
        self.assertEqual(len(old), 3)
        self.assertIn("7.5", old[2]["missing"])

    def test_layers_say_where_they_run(self):
        layers = self.on_gpu("bench", digits_engine(), "--device", "cuda", "--layers", "--json", "--seconds", 0).json["layers"]
        self.assertEqual({layer["device"] for layer in layers} - {"cpu"}, {"cuda:0"})

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
        self.assertIn("twice", self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:0", code=2).err)
        self.assertIn("cuda:7", self.on_gpu("bench", digits_engine(), "--device", "cuda:0,cuda:7", code=2).err)

    def test_what_a_machine_lacks(self):
        self.refused("/no/such", OCTET_CUDA_DRIVER="/no/such")
        self.refused("libnvrtc", OCTET_NVRTC="/no/such")
        self.refused("device", OCTET_EMULATED_DEVICES=0)
        self.refused("cuda:7", device="cuda:7")
        self.refused("7.5", OCTET_EMULATED_CAPABILITY="7.5")
        self.refused("12.0", OCTET_EMULATED_CAPABILITY="12.0")

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


if __name__ == "__main__":
    main()
