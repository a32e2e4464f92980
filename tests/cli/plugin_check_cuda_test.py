# SPDX-License-Identifier: Apache-2.0
"""octet plugin check --device cuda finds each planted fault of combinations for CUDA pointers, and says what it did not run without a GPU.
On the emulated GPU; on a real one where OCTET_TEST_DEVICE names it."""

import functools
import os
import unittest

import harness
from harness import BUILD, ROOT, octet
from plugins import plugin

FAULTY = ROOT / "tests/plugin_faults/faulty_cuda.cc"
EMULATOR = BUILD / "tests/gpu/emulator"
EMULATED = {"OCTET_CUDA_DRIVER": str(EMULATOR / "libcuda_emulated.so"), "OCTET_NVRTC": str(EMULATOR / "libnvrtc_emulated.so")}
DEVICE = os.environ.get("OCTET_TEST_DEVICE", "")
CHECKS = ("memory", "results", "against reals", "layouts", "stream", "threads", "leaks")

# The fault, the combination and the check that find it, and what that says.
FAULTS = (
    ("WRITES_BEFORE", "gpu", "memory", "it writes before the start of output 'z'"),
    ("WRITES_ONE_PAST", "gpu", "memory", "it writes past the end of output 'z'"),
    ("WRITES_FAR_PAST", "gpu", "memory", "device cuda:0 .* failed while work was running: CUDA_ERROR_ILLEGAL_ADDRESS"),
    ("WRITES_TO_INPUT", "gpu", "memory", "it writes to input 'x'"),
    ("READS_PAST", "gpu", "memory", "element 0 of output 'z' depends on what lies beside its tensors"),
    ("WORKSPACE_TOO_SMALL", "gpu", "memory", "it writes past the end of the workspace that it asked for"),
    ("FORGETS_THE_LAST", "gpu", "results", "element 119 of output 'z' is not written"),
    ("READS_ITS_WORKSPACE_FIRST", "gpu", "results", "depends on what lay in the outputs or the workspace"),
    ("CHANGES_FROM_RUN_TO_RUN", "gpu", "results", "of output 'z' changes from run to run"),
    ("OTHER_VALUES", "gpu", "against reals", "the float evaluation gives .*: more than one 255th of the range"),
    ("OTHER_VALUES", "gpu", "layouts", "combination 'reals' on the host gives"),
    ("ONE_SCALE_FOR_ALL", "gpu_int8", "against reals", "the float evaluation gives .*: more than one code"),
    ("ONE_SCALE_FOR_ALL", "gpu_int8", "layouts", "combination 'int8' on the host gives .*: more than one code"),
    ("DEFAULT_STREAM", "gpu", "stream", "work is not in the stream of the call"),
    ("OWN_STREAM", "gpu", "stream", "work is not in the stream of the call"),
    ("WAITS", "gpu", "stream", "it waits: its function returns when its stream is done"),
    ("SHARES_A_BUFFER", "gpu", "threads", "is another one while other streams run the same instance"),
    ("LEAKS", "gpu", "leaks", "memory of cuda:0 .* grows by"),
    ("FAILS", "gpu", "memory", "run of org.faults/GainedSum failed: launch: error 1"),
)


def faulty():
    return plugin(FAULTY, "-std=c++20", f"-I{ROOT / 'src'}")


def check(library, *, code=0, **variables):
    return octet("plugin", "check", library, "--device", DEVICE or "cuda", "--threads", 2, "--json", code=code,
                 env={**({} if DEVICE else EMULATED), **variables}).json


@functools.cache
def check_fault(fault):
    return check(faulty(), code=1, OCTET_TEST_FAULT=fault)


def on_gpu(result):
    return [f for f in result["findings"] if f["combination"].startswith("gpu")]


class CheckOnDevice(unittest.TestCase):
    def setUp(self):
        if not DEVICE and not (EMULATOR / "libnvrtc_emulated.so").exists():
            self.skipTest(f"{EMULATOR} was not built")

    def test_the_operator_without_a_fault_passes(self):
        result = check(faulty())
        self.assertTrue(result["passed"])
        self.assertEqual({(f["combination"], f["check"]) for f in on_gpu(result)},
                         {(combination, name) for combination in ("gpu", "gpu_int8") for name in CHECKS})
        self.assertFalse(any(f["skipped"] for f in result["findings"]))
        device = next(f for f in result["findings"] if f["check"] == "device")
        self.assertRegex(device["message"], r"^cuda:\d+ \(.+\)$")

    def test_without_a_device_they_are_skipped(self):
        result = octet("plugin", "check", faulty(), "--json").json
        self.assertTrue(result["passed"])
        self.assertEqual([(f["combination"], f["skipped"], f["message"]) for f in on_gpu(result)],
                         [(name, True, "for CUDA pointers, and no device was named") for name in ("gpu", "gpu_int8")])

    def test_a_device_that_cannot_be_used_is_a_finding(self):
        result = check(faulty(), code=1, OCTET_CUDA_DRIVER="/no/such")
        wrong = [f for f in result["findings"] if not f["passed"]]
        self.assertEqual([f["check"] for f in wrong], ["device"])
        self.assertIn("/no/such cannot be opened", wrong[0]["message"])
        self.assertEqual([(f["skipped"], f["message"]) for f in on_gpu(result)],
                         [(True, "for CUDA pointers, and the device cannot be used")] * 2)
        self.assertTrue(any(f["combination"] == "int8" and f["check"] == "results" for f in result["findings"]))
        octet("plugin", "check", faulty(), "--device", "cpu", code=2)

    def test_nothing_is_opened_for_a_plugin_of_the_host(self):
        result = check(plugin(ROOT / "tests/plugin_faults/several.cc"), OCTET_CUDA_DRIVER="/no/such")
        device = next(f for f in result["findings"] if f["check"] == "device")
        self.assertEqual((device["skipped"], device["message"]), (True, "no combination is for CUDA pointers"))


def finds(fault, combination, name, words):
    def test(self):
        result = check_fault(fault)
        wrong = [f for f in on_gpu(result) if not f["passed"] and (f["combination"], f["check"]) == (combination, name)]
        self.assertTrue(wrong, result["findings"])
        self.assertRegex(wrong[0]["message"], words)
    return test


for fault_, combination_, check_, words_ in FAULTS:
    setattr(CheckOnDevice, f"test_{check_.replace(' ', '_')}_finds_{fault_.lower()}", finds(fault_, combination_, check_, words_))

if __name__ == "__main__":
    harness.main()
