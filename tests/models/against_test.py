# SPDX-License-Identifier: Apache-2.0
"""Real models held against ONNX Runtime give what they give against Octet's own FP32."""

import functools
import sys
import unittest

import harness
from harness import need, octet
from models import MODELS

FLAGS = ("--top-k", "1", "--validate", "--json")


class Against(unittest.TestCase):
    def check(self, name, count):
        need("onnxruntime")
        model = MODELS[name]
        octet("build", model.path, "--int8", "--calib", model.calib, *model.flags, *model.shapes, "--max-samples", "8", "-o", model.engine, "--quiet")
        flags = ("compare", model.engine, "--calib", model.test, "--max-samples", count, *FLAGS)
        mine = octet(*flags, "--against", model.path).json
        theirs = octet(*flags, "--against", f"onnxruntime:{model.path}", env={"OCTET_PYTHON": sys.executable}).json
        self.assertEqual(mine["samples"], theirs["samples"])
        for own, other in zip(mine["outputs"], theirs["outputs"], strict=True):
            self.assertAlmostEqual(own["sqnr_db"], other["sqnr_db"], places=1, msg=own["name"])
            self.assertEqual(own["elements"], other["elements"])
        print(f"\n{name}: {mine['sqnr_db']:.3f} dB, {theirs['sqnr_db']:.3f} dB against ONNX Runtime")


for name, count in (("cifar10_resnet20", 32), ("yolox_nano", 2), ("retinaface_mobilenet025", 2)):
    setattr(Against, f"test_{name}", functools.partialmethod(Against.check, name, count))

if __name__ == "__main__":
    harness.main()
