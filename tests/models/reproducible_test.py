# SPDX-License-Identifier: Apache-2.0
"""One engine, one answer: instruction sets, threads, devices, and the order and batch size of calibration change no bit."""

import os
import shutil
import subprocess
import unittest

import harness
from harness import PROGRAM, need, octet, scratch
from models import MODELS, prepared_images

IMAGES = 3
ISA_LEVELS = ("none", "avx2", "avx_vnni", "vnni")
# Memory that the host cannot touch and a queue that runs late: every layer there, and some of them on the host.
DEVICES = ("test:0", "test:1")
NAMES = ("cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "cifar10_vit", "mobilenet_v1_025_imagenet",
         "mobilenet_v2_imagenet", "ultraface_rfb_320", "yolox_nano")


def build(model, engine, calib, *flags, env=None):
    octet("build", model.path, "--int8", "--calib", calib, *model.flags, "-o", engine, "--quiet", *flags, env=env)
    return engine.read_bytes()


class OneAnswer(unittest.TestCase):
    def outputs(self, model, index, threads=1, device="cpu", env=None):
        numpy = need("numpy")
        target = scratch() / "out.npz"
        octet("run", model.engine, scratch() / f"{model.name}_{index}.npz", "-o", target, "--threads", threads,
              "--device", device, env=env)
        with numpy.load(target) as arrays:
            return {name: arrays[name].tobytes() for name in arrays}

    def check(self, name):
        numpy = need("numpy")
        model = MODELS[name]
        build(model, model.engine, model.calib, "--max-samples", "16")
        input_name = octet("inspect", model.engine).out.split()[1].rstrip(":")
        for index, image in enumerate(prepared_images(model, IMAGES)):
            numpy.savez(scratch() / f"{name}_{index}.npz", **{input_name: image})
            expected = self.outputs(model, index)
            for isa in ISA_LEVELS:
                self.assertEqual(self.outputs(model, index, env={"OCTET_CPU_ISA": isa}), expected, f"{name} {isa}")
            for threads in (2, 3):
                self.assertEqual(self.outputs(model, index, threads), expected, f"{name} {threads} threads")
            for device in DEVICES if index == 0 else ():
                self.assertEqual(self.outputs(model, index, device=device), expected, f"{name} {device}")


def add_test(name):
    setattr(OneAnswer, f"test_{name}", lambda self: self.check(name))


for model_name in NAMES:
    add_test(model_name)


class Calibration(unittest.TestCase):
    def test_order_and_threads_do_not_change_a_byte(self):
        model = MODELS["cifar10_resnet20"]
        files = sorted(model.calib.glob("*.jpg"))
        self.assertEqual(len(files), 500)
        shuffled = scratch() / "shuffled"
        shuffled.mkdir()
        for i, file in enumerate(files):
            shutil.copy(file, shuffled / f"{i * 7919 % 500:04}.jpg")
        engine = scratch() / "order.octet"
        expected = build(model, engine, model.calib)
        self.assertEqual(build(model, engine, shuffled), expected)
        self.assertEqual(build(model, engine, shuffled, "--threads", "2"), expected)

    def test_memory_of_500_images_stays_below_300_mb(self):
        model = MODELS["cifar10_resnet20"]
        process = subprocess.Popen(
            [PROGRAM, "build", model.path, "--int8", "--calib", model.calib, *model.flags, "-o", scratch() / "memory.octet"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stages = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.stderr.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, stages)
        print(f"\n{usage.ru_maxrss / 1024:.0f} MB, {usage.ru_utime + usage.ru_stime:.1f} s of processor time\n{stages}")
        self.assertLess(usage.ru_maxrss * 1024, 300e6)


if __name__ == "__main__":
    harness.main()
