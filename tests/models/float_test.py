# SPDX-License-Identifier: Apache-2.0
"""FP32 engines of real models equal ONNX Runtime within the tolerance of ONNX's own tests, on real images."""

import unittest

import harness
from harness import DIGITS, need, octet, scratch
from models import MODELS, prepared_images, session_of

# onnx.backend.test: rtol 1e-3, atol 1e-7. Sums in another order move elements near zero by more than that; so an element may
# also be as far away as ONNX Runtime is from itself, its own rewrites on against off, on these images.
RTOL, ATOL = 1e-3, 1e-7
IMAGES = 5


def own_spread(path, feeds, expected):
    numpy, runtime = need("numpy", "onnxruntime")
    rewritten = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    return [float(numpy.abs(a - b).max()) for a, b in zip(rewritten, expected)]


class Float(unittest.TestCase):
    def check(self, name, path, images):
        numpy = need("numpy")
        session = session_of(path)
        engine = scratch() / f"{name}_fp32.octet"
        octet("build", path, "-o", engine, "--quiet")
        source, target = scratch() / f"{name}_in.npz", scratch() / f"{name}_out.npz"
        input_name = session.get_inputs()[0].name
        runs = []
        for image in images:
            expected = session.run(None, {input_name: image})
            numpy.savez(source, **{input_name: image})
            octet("run", engine, source, "-o", target)
            with numpy.load(target) as got:
                runs.append((expected, [got[o.name] for o in session.get_outputs()], own_spread(path, {input_name: image}, expected)))
        spread = numpy.max([far for _, _, far in runs], axis=0)
        for expected, got, _ in runs:
            for value, found, far in zip(expected, got, spread):
                numpy.testing.assert_allclose(found, value, rtol=RTOL, atol=max(ATOL, far), err_msg=name)

    def test_digits(self):
        numpy = need("numpy")
        images = numpy.load(DIGITS / "digits.npz")["test_images"][:IMAGES].astype(numpy.float32) / 16
        self.check("digits", DIGITS / "digits.onnx", images[:, None, None])


def add_test(name):
    model = MODELS[name]
    setattr(Float, f"test_{name}", lambda self: self.check(name, model.path, prepared_images(model, IMAGES)))


for model_name in MODELS:
    add_test(model_name)

if __name__ == "__main__":
    harness.main()
