#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""octet selftest: every level of this processor, a device with memory of its own, the emulated GPU; a device that fails is told."""

import json
import pathlib
import tempfile
import unittest

from harness import emulated_gpu, main, octet


class SelfTest(unittest.TestCase):
    def report(self, *arguments, code=0, **variables):
        return octet("selftest", "--json", *arguments, code=code, env=variables).json

    def whole(self, report):
        self.assertEqual((report["failures"], report["left"]), ([], 0))
        self.assertGreater(report["runs"], report["networks"])
        self.assertTrue(report["kernels"])

    def test_each_level_of_the_processor(self):
        ran = {}
        for level in ("none", "avx2", ""):
            report = self.report("--seconds", "0", "--kernels", "1000", "--threads", "2", **({"OCTET_CPU_ISA": level} if level else {}))
            self.whole(report)
            ran[level] = {kernel["name"] for kernel in report["kernels"]}
        self.assertFalse([name for name in ran["none"] if "avx2" in name])
        self.assertIn("reference", ran["none"])

    def test_a_device_with_memory_of_its_own(self):
        report = self.report("--seconds", "0", "--device", "test:0")
        self.whole(report)
        self.assertEqual(report["device"], "test:0")

    def test_text(self):
        self.assertIn("7 networks, ", octet("selftest", "--seconds", "0").out)

    def test_a_device_that_is_not_there(self):
        self.assertIn("moon:0", octet("selftest", "--device", "moon:0", code=2).err)

    def test_no_time(self):
        report = self.report("--seconds", "0.000001")
        self.assertEqual((report["networks"], report["left"], report["runs"]), (0, 7, 0))

    def on_gpu(self, *arguments, code=0, **variables):
        gpu = emulated_gpu()
        if gpu is None:
            self.skipTest("no emulated GPU was built")
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        return self.report("--device", "cuda", *arguments, code=code, **gpu, OCTET_KERNEL_CACHE=str(pathlib.Path(work.name) / "kernels"), **variables)

    def test_the_emulated_gpu(self):
        report = self.on_gpu("--seconds", "10", "--kernels", "1")
        self.assertEqual(report["failures"], [], json.dumps(report, indent=1))
        self.assertEqual(report["networks"] + report["left"], 7)
        self.assertGreaterEqual(report["runs"], 1)

    def test_a_gpu_that_fails(self):
        report = self.on_gpu("--seconds", "0", code=1, OCTET_EMULATED_FAIL="cuLaunchKernelEx:1:719*,cuLaunchKernel:1:719*")
        self.assertIn("cuda:0", report["failures"][0]["what"])
        self.assertLessEqual(len(report["failures"]), 20)


if __name__ == "__main__":
    main()
