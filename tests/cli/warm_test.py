#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""octet warm: kernels for chips that are not here. What it leaves is what a run on such a chip takes, and nothing of it is compiled twice."""

import os
import pathlib
import stat
import tempfile
import unittest

from harness import EMULATOR, ROOT, digits, digits_engine, emulated_gpu, main, need, octet

PYTHON = ROOT / ".venv"
# An RTX 3090, as the emulated driver is told to be one: octet warm knows it by the same numbers.
RTX3090 = {"OCTET_EMULATED_CAPABILITY": "8.6", "OCTET_EMULATED_NAME": "NVIDIA GeForce RTX 3090",
           "OCTET_EMULATED_ATTRIBUTES": "16:82,13:1695000,36:9751000,37:384,38:6291456"}


RTX5090 = {"OCTET_EMULATED_CAPABILITY": "12.0", "OCTET_EMULATED_NAME": "NVIDIA GeForce RTX 5090",
           "OCTET_EMULATED_ATTRIBUTES": "16:170,13:2407000,36:14000000,37:512,38:100663296"}


class Warm(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)
        self.kernels = self.folder / "of" / "image"

    def warm(self, *arguments, code=0, gpu="rtx3090", **variables):
        return octet("warm", digits_engine(), "--for", gpu, "-o", self.kernels, *arguments, code=code, env=variables, cwd=self.folder)

    def files(self):
        return {file.name: file.stat().st_mtime_ns for file in self.kernels.iterdir()}

    def emulated(self):
        gpu = emulated_gpu()
        if gpu is None:
            self.skipTest(f"{EMULATOR} was not built")
        return gpu

    def test_a_run_finds_all_of_its_kernels(self):
        gpu = self.emulated()
        # No driver is asked: there is none.
        first = self.warm("--json", "--batches", "1,2", OCTET_NVRTC=gpu["OCTET_NVRTC"], OCTET_CUDA_DRIVER="/no/such").json
        self.assertEqual(first["gpus"], [{"name": "rtx3090", "product": "NVIDIA GeForce RTX 3090", "arch": "sm_86"}])
        self.assertGreater(first["kernels"], 3)
        self.assertEqual(first["compiled"], first["kernels"])
        files = self.files()
        self.assertEqual(len(files), first["kernels"])
        for file in self.kernels.iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode) & 0o022, 0)
            self.assertTrue(file.stat().st_mode & stat.S_IROTH)
        self.assertTrue(self.kernels.stat().st_mode & stat.S_IXOTH)
        again = self.warm("--json", "--batches", "1,2", OCTET_NVRTC=gpu["OCTET_NVRTC"]).json
        self.assertEqual((again["kernels"], again["compiled"]), (first["kernels"], 0))
        # A compiler that compiles nothing shows that nothing is compiled.
        image = sorted((digits() / "test/3").iterdir())[0]
        env = {**gpu, **RTX3090, "OCTET_KERNEL_CACHE": str(self.kernels), "OCTET_EMULATED_NVRTC_FAIL": "5"}
        octet("run", digits_engine(), image, "-o", "gpu.npz", "--device", "cuda", env=env, cwd=self.folder)
        octet("run", digits_engine(), image, "-o", "cpu.npz", cwd=self.folder)
        self.assertEqual((self.folder / "gpu.npz").read_bytes(), (self.folder / "cpu.npz").read_bytes())
        octet("bench", digits_engine(), "--device", "cuda", "--batch", "2", "--no-transfers", "--iterations", "1", env=env, cwd=self.folder)
        self.assertEqual(self.files(), files)

    def test_a_chip_that_the_compiler_may_know(self):
        gpu = self.emulated()
        image = sorted((digits() / "test/3").iterdir())[0]
        for known, arch in (("80,90,120", "sm_120"), ("80,90", "compute_90")):
            compiler = {**gpu, "OCTET_EMULATED_NVRTC_ARCHS": known}
            said = self.warm("--json", gpu="rtx5090", **compiler).json
            self.assertEqual(said["gpus"], [{"name": "rtx5090", "product": "NVIDIA GeForce RTX 5090", "arch": arch}])
            self.assertEqual(said["compiled"], said["kernels"])
            env = {**compiler, **RTX5090, "OCTET_KERNEL_CACHE": str(self.kernels), "OCTET_EMULATED_NVRTC_FAIL": "5"}
            octet("run", digits_engine(), image, "-o", "gpu.npz", "--force", "--device", "cuda", env=env, cwd=self.folder)

    def test_kernels_in_front_of_sizes_that_data_tell(self):
        gpu, numpy, onnx = self.emulated(), need("numpy"), need("onnx")
        helper, random = onnx.helper, numpy.random.default_rng(1)
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["r"]), helper.make_node("NonZero", ["r"], ["y"])]
        graph = helper.make_graph(nodes, "found", [helper.make_tensor_value_info("x", 1, [1, 4, 32, 32])],
                                  [helper.make_tensor_value_info("y", 7, None)],
                                  [onnx.numpy_helper.from_array(random.standard_normal((4, 4, 1, 1)).astype("f"), "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (self.folder / "found.onnx").write_bytes(model.SerializeToString())
        numpy.savez(self.folder / "x.npz", x=random.standard_normal((1, 4, 32, 32)).astype("f"))
        octet("build", "found.onnx", "-o", "found.octet", "--quiet", cwd=self.folder)
        said = octet("warm", "found.octet", "--for", "rtx3090", "-o", self.kernels, "--json", env=gpu, cwd=self.folder).json
        self.assertTrue(said["sizes_depend_on_data"])
        self.assertGreater(said["kernels"], 0)
        env = {**gpu, **RTX3090, "OCTET_KERNEL_CACHE": str(self.kernels), "OCTET_EMULATED_NVRTC_FAIL": "5"}
        octet("run", "found.octet", "x.npz", "-o", "y.npz", "--device", "cuda", env=env, cwd=self.folder)

    def test_nvidias_compiler_without_a_gpu(self):
        if not list(PYTHON.glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.*")):
            self.skipTest("Python's nvidia-cuda-nvrtc is absent; ./dev setup installs it")
        env = {"VIRTUAL_ENV": str(PYTHON), "OCTET_CUDA_DRIVER": "/no/such"}
        first = self.warm("--json", gpu="h200", **env).json
        self.assertEqual(first["gpus"][0]["arch"], "sm_90a")
        self.assertGreater(first["compiled"], 3)
        # Of the same architecture: what is alike is there.
        all_of_it = self.warm("--json", gpu="sm90", **env).json
        self.assertEqual([gpu["name"] for gpu in all_of_it["gpus"]], ["h100", "h100_pcie", "h200"])
        self.assertLess(all_of_it["compiled"], all_of_it["kernels"])
        said = self.warm(gpu="sm90", **env).out
        self.assertIn(f"{all_of_it['kernels']} kernels for h100 (sm_90a)", said)
        self.assertIn(" 0 compiled", said)

    def test_batches_that_the_model_does_not_take(self):
        gpu = self.emulated()
        said = self.warm("--shape", "image:2x1x8x8", "--batches", "1,2,4", OCTET_NVRTC=gpu["OCTET_NVRTC"])
        self.assertEqual([line for line in said.err.splitlines() if line.startswith("warning: ")],
                         [f"warning: --batches {batch} has no effect: input 'image' is 2x1x8x8" for batch in (1, 4)])
        self.assertNotIn("warning", self.warm("--batches", "1,2", OCTET_NVRTC=gpu["OCTET_NVRTC"]).err)

    def test_nvidias_compiler_for_later_chips(self):
        if not list(PYTHON.glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.13")):
            self.skipTest("Python's nvidia-cuda-nvrtc of CUDA 13 is absent; ./dev setup installs it")
        env = {"VIRTUAL_ENV": str(PYTHON), "OCTET_CUDA_DRIVER": "/no/such"}
        said = self.warm("--json", gpu="b200,sm120", **env).json
        self.assertEqual([(gpu["name"], gpu["arch"]) for gpu in said["gpus"]],
                         [("b200", "sm_100"), ("rtx5090", "sm_120"), ("rtx_pro_6000", "sm_120")])
        self.assertGreater(said["compiled"], 3)

    def refused(self, *words, **options):
        error = self.warm(code=2, **options).err
        self.assertEqual(sum(line.startswith("error: ") for line in error.splitlines()), 1, error)
        for word in words:
            self.assertIn(word, error)

    def test_errors(self):
        self.refused("libnvrtc", "pip install nvidia-cuda-nvrtc-cu12", "/no/such", OCTET_NVRTC="/no/such")
        nvrtc = self.emulated()["OCTET_NVRTC"]
        self.refused("no GPU 'voodoo'", "h200", "sm90", "rtx5090", "sm120", gpu="voodoo", OCTET_NVRTC=nvrtc)
        self.assertFalse(self.kernels.exists())
        self.kernels.parent.mkdir()
        self.kernels.write_text("a file")
        self.refused("image' cannot be made", OCTET_NVRTC=nvrtc)
        self.kernels.unlink()
        self.kernels.mkdir()
        self.kernels.chmod(0o777)
        self.refused("may be written by other users", "chmod go-w", OCTET_NVRTC=nvrtc)
        self.assertEqual(list(self.kernels.iterdir()), [])
        self.kernels.chmod(0o755)
        self.refused("does not take", OCTET_NVRTC=nvrtc, OCTET_EMULATED_NVRTC_FAIL="5")
        self.assertEqual(list(self.kernels.iterdir()), [])

    def test_a_cache_that_cannot_be_written_is_told_once(self):
        gpu = self.emulated()
        image = sorted((digits() / "test/3").iterdir())[0]
        for cache, words in (("/proc/octet", "'/proc/octet' cannot be made"), (str(self.folder / "open"), "may be written by other users")):
            (self.folder / "open").mkdir(exist_ok=True)
            (self.folder / "open").chmod(0o777)
            env = {**gpu, "HOME": "/proc", "OCTET_KERNEL_CACHE": cache}
            said = octet("run", digits_engine(), image, image, "--device", "cuda", env=env, cwd=self.folder).err
            self.assertEqual(said.count("compiled kernels are not kept"), 1, said)
            self.assertIn(words, said)
        env["OCTET_KERNEL_CACHE"] = "off"
        self.assertNotIn("not kept", octet("run", digits_engine(), image, "--device", "cuda", env=env, cwd=self.folder).err)
        env["OCTET_KERNEL_CACHE"] = str(self.folder / "fresh")
        for _ in range(2):
            self.assertNotIn("not kept", octet("run", digits_engine(), image, "--device", "cuda", env=env, cwd=self.folder).err)


if __name__ == "__main__":
    main()
