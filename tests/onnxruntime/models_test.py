# SPDX-License-Identifier: Apache-2.0
"""Real models in the execution provider: equal to octet run to the byte. A sample by default; all of ../shared/models with OCTET_ALL_MODELS
(./dev onnxruntime), and a line of each that says how far it is from ONNX Runtime's own provider."""

import os
import unittest

import harness
import provider
from harness import SHARED, shared_model
from provider import reference, run, run_octet, same, session

SAMPLE = ("mobilenet_v2_imagenet_qdq", "shufflenet_v2_imagenet_qoperator", "cifar10_resnet20", "yunet_n_dynamic", "ultraface_rfb_320")
INTEGER = ("mobilenet_v2_imagenet_qdq", "shufflenet_v2_imagenet_qoperator")
# Where a first dimension is open it is 1, and any other is this.
OPEN = 64


def setUpModule():
    global np
    np = harness.need("numpy")
    provider.runtime()


def feeds_of(made):
    kinds = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8, "tensor(int64)": np.int64}
    random = np.random.default_rng(7)
    shape = lambda dims: [d if isinstance(d, int) else 1 if i == 0 else OPEN for i, d in enumerate(dims)]
    return {i.name: random.random(shape(i.shape)).astype(kinds[i.type]) for i in made.get_inputs()}


class Models(unittest.TestCase):
    def check(self, name):
        model = shared_model(name)
        made, theirs = session(model, take="all"), reference(model)
        feeds = feeds_of(made)
        ours, expected = run(made, feeds), run(theirs, feeds)
        same(self, run_octet(model, feeds), ours)
        differences = {n: float(np.abs(ours[n].astype(np.float64) - expected[n]).max()) for n in expected}
        print(name, *(f"{n}: {d:.3g} of {np.abs(expected[n]).max():.3g}" for n, d in differences.items()))
        # A model of integers says itself what is right, up to a code of its outputs: ONNX Runtime rounds sums of floats.
        if name in INTEGER and harness.has_vnni():
            for output, values in expected.items():
                self.assertLessEqual(differences[output], np.diff(np.unique(values)).min(), output)
        model.unlink()


def names():
    if os.environ.get("OCTET_ALL_MODELS"):
        return sorted(path.name.removesuffix(".onnx.xz") for path in (SHARED / "models").glob("*.onnx.xz"))
    return SAMPLE


for _name in names():
    setattr(Models, f"test_{_name}", lambda self, name=_name: self.check(name))

if __name__ == "__main__":
    harness.main()
