# SPDX-License-Identifier: Apache-2.0
"""FP32 engines of real models equal ONNX Runtime within the tolerance of ONNX's own tests, on real images."""

import unittest

import harness
from harness import DIGITS, need, octet, onnxruntime_session, scratch, shared_model
from models import MODELS, prepared_images

# onnx.backend.test: rtol 1e-3, atol 1e-7. Sums in another order move elements near zero by more than that; so an element may
# also be as far away as ONNX Runtime is from itself, its own rewrites on against off, on these images.
RTOL, ATOL = 1e-3, 1e-7
IMAGES = 3


def own_spread(path, feeds, expected):
    numpy, runtime = need("numpy", "onnxruntime")
    runtime.set_default_logger_severity(4)
    rewritten = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    return [float(numpy.abs(a - b).max()) for a, b in zip(rewritten, expected)]


def run(engine, session, feeds):
    """Octet's outputs in the order of the session's."""
    numpy = need("numpy")
    source, target = scratch() / "float_in.npz", scratch() / "float_out.npz"
    numpy.savez(source, **feeds)
    octet("run", engine, source, "-o", target)
    with numpy.load(target) as got:
        return [got[output.name] for output in session.get_outputs()]


class Float(unittest.TestCase):
    def check(self, name, path, all_feeds):
        numpy = need("numpy")
        session = onnxruntime_session(path)
        engine = scratch() / f"{name}_fp32.octet"
        octet("build", path, "-o", engine, "--quiet")
        runs = []
        for feeds in all_feeds:
            expected = session.run(None, feeds)
            runs.append((expected, run(engine, session, feeds), own_spread(path, feeds, expected)))
        # ONNX Runtime's distance from itself in another order of sums is one draw of that noise, and ours another: in half of all cases
        # the larger one. Beyond twice it is no longer noise. test_depthwise_layers_err_as_little_as_onnx_runtime holds both against f64.
        spread = 2 * numpy.max([far for _, _, far in runs], axis=0)
        for expected, got, _ in runs:
            for value, found, far in zip(expected, got, spread):
                self.assertEqual(found.dtype, value.dtype)
                numpy.testing.assert_allclose(found, value, rtol=RTOL, atol=max(ATOL, far), err_msg=name)

    def check_images(self, name, path, images):
        entry = onnxruntime_session(path).get_inputs()[0]
        half = entry.type == "tensor(float16)"
        self.check(name, path, [{entry.name: image.astype("float16") if half else image} for image in images])

    def test_digits(self):
        numpy = need("numpy")
        images = numpy.load(DIGITS / "digits.npz")["test_images"][:IMAGES].astype(numpy.float32) / 16
        self.check_images("digits", DIGITS / "digits.onnx", images[:, None, None])

    def test_vit_tracker(self):
        faces = [image / 255 for image in prepared_images(MODELS["yunet_n_dynamic"], IMAGES)]
        feeds = [{"template": face[:, :, 64:192, 64:192], "search": face[:, :, :256, :256]} for face in faces]
        self.check("vit_tracker", shared_model("vit_tracker"), feeds)

    def test_residual_block(self):
        images = prepared_images(MODELS["mobilenet_v2_imagenet"], IMAGES)
        self.check_images("residual_block", shared_model("polygraphy_residual_block"), images)

    def test_one_engine_for_every_size(self):
        """Batch, height and width of one engine, in an order that makes it plan anew."""
        numpy = need("numpy")
        path = MODELS["yunet_n_dynamic"].path
        face = next(prepared_images(MODELS["yunet_n_dynamic"], 1))
        feeds = []
        for batch, height, width in ((1, 640, 640), (2, 320, 320), (1, 96, 160), (3, 64, 608), (1, 640, 640)):
            part = face[:, :, :height, :width]
            feeds.append({"input": numpy.concatenate([part * (1 - 0.2 * i) for i in range(batch)]).astype(numpy.float32)})
        self.check("yunet_sizes", path, feeds)

    def test_qdq_model_is_as_close_as_onnx_runtime_to_itself(self):
        """Rounding to codes makes a last-bit difference a whole code, and fifty layers make it a few: in ONNX Runtime's own rewrites too."""
        numpy, onnx = need("numpy", "onnx")
        path = shared_model("mobilenet_v2_imagenet_qdq")
        session = onnxruntime_session(path)
        model = onnx.load(str(path))
        last = [node for node in model.graph.node if node.op_type == "DequantizeLinear"][-1]
        constants = {tensor.name: tensor for tensor in model.graph.initializer}
        code = float(onnx.numpy_helper.to_array(constants[last.input[1]]).max())
        engine = scratch() / "qdq_fp32.octet"
        octet("build", path, "-o", engine, "--quiet")
        for image in prepared_images(MODELS["mobilenet_v2_imagenet"], IMAGES):
            expected = session.run(None, {"input": image})[0]
            found = run(engine, session, {"input": image})[0]
            far = own_spread(path, {"input": image}, [expected])[0]
            self.assertLessEqual(float(numpy.abs(found - expected).max()), far + 1.001 * code)
            self.assertEqual(found.argmax(), expected.argmax())

    def errs_as_little(self, name):
        """As ONNX Runtime: both are held against the sums in f64. Products are added in another order, so single elements differ; no bias may
        show in the mean."""
        numpy, onnx = need("numpy", "onnx")
        reference = need("onnx.reference")
        path = MODELS[name].path
        session = onnxruntime_session(path)
        engine = scratch() / f"{name}_fp32.octet"
        octet("build", path, "-o", engine, "--quiet", "--force")
        model = onnx.load(str(path))
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                wide = onnx.numpy_helper.to_array(tensor).astype(numpy.float64)
                tensor.CopyFrom(onnx.numpy_helper.from_array(wide, tensor.name))
        image, entry = next(prepared_images(MODELS[name], 1)), session.get_inputs()[0].name
        exact = reference.ReferenceEvaluator(model).run(None, {entry: image.astype(numpy.float64)})
        for output, truth, got, expected in zip(session.get_outputs(), exact, run(engine, session, {entry: image}), session.run(None, {entry: image})):
            self.assertEqual(truth.dtype, numpy.float64)
            ours, theirs = numpy.abs(got - truth), numpy.abs(expected - truth)
            print(f"\n{name} {output.name}, distance from f64: Octet {ours.max():.3g} (mean {ours.mean():.3g}), "
                  f"ONNX Runtime {theirs.max():.3g} (mean {theirs.mean():.3g})")
            self.assertLessEqual(ours.max(), 4 * theirs.max())
            self.assertLessEqual(ours.mean(), 4 * theirs.mean())

    def test_super_resolution_errs_as_little_as_onnx_runtime(self):
        """ONNX Runtime rewrites nothing here, so its spread says nothing. Up to 800 products are added."""
        self.errs_as_little("super_resolution")

    def test_depthwise_layers_err_as_little_as_onnx_runtime(self):
        for name in ("yunet_n_dynamic", "retinaface_mobilenet025"):
            with self.subTest(name):
                self.errs_as_little(name)

    def test_no_model_runs_on_the_reference(self):
        for name in [*MODELS, "vit_tracker", "polygraphy_residual_block", "mobilenet_v2_imagenet_qdq",
                     "shufflenet_v2_imagenet_qoperator"]:
            with self.subTest(name):
                engine = scratch() / f"{name}_kernels.octet"
                octet("build", shared_model(name), "-o", engine, "--quiet")
                shapes = MODELS[name].shapes if name in MODELS else []
                for layer in octet("inspect", engine, "--json", *shapes).json["layers"]:
                    self.assertNotIn("reference", layer["kernel"], layer)


def add_test(name):
    model = MODELS[name]
    setattr(Float, f"test_{name}", lambda self: self.check_images(name, model.path, prepared_images(model, IMAGES)))


for model_name in MODELS:
    if model_name != "super_resolution":
        add_test(model_name)

if __name__ == "__main__":
    harness.main()
