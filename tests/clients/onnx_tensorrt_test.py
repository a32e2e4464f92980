# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's parser onnx-tensorrt, unmodified, linked to our libnvinfer: it makes networks of ours of the shared models, layer by layer, and what their plans
compute ONNX Runtime says. OCTET_ONNX_TENSORRT=PARSER:HEADERS is a checkout of github.com/onnx/onnx-tensorrt and the folder of NVIDIA's headers of the same
release (include/ of github.com/NVIDIA/TensorRT; 10.1 was tried)."""

import os
import pathlib
import re
import subprocess
import unittest

import harness
from harness import BUILD, ROOT, command, need, octet, onnx_tests, onnxruntime_session, scratch, shared_model

SOURCES = ("NvOnnxParser", "ModelImporter", "ModelRefitter", "onnxOpImporters", "ImporterContext", "importerUtils", "ShapedWeights", "ShapeTensor", "LoopHelpers",
           "RNNHelpers", "OnnxAttrs", "onnxErrorRecorder", "ConditionalHelpers", "bfloat16", "onnxOpCheckers", "onnxProtoUtils", "weightUtils", "WeightsContext",
           "TensorOrWeights")
# What each may be off, of the norm of ONNX Runtime's FP32 result: sums in another order.
NETWORKS = ("cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "cifar10_vit", "mobilenet_v1_025_imagenet", "mobilenet_v2_imagenet",
            "polygraphy_residual_block", "retinaface_mobilenet025", "super_resolution", "ultraface_rfb_320", "vit_tracker", "yolox_nano", "yunet_n_dynamic")
BOUND = 2e-5
# Nodes of which the parser makes loops and conditions, by the names of ONNX's tests.
CONTROL = ("lstm_defaults", "lstm_with_initial_bias", "lstm_with_peepholes", "gru_defaults", "gru_with_initial_bias", "gru_seq_length", "simple_rnn_defaults",
           "simple_rnn_with_initial_bias", "rnn_seq_length", "loop11", "if", "scan9_sum", "scan9_multi_state", "scan9_scalar")
# What the parser itself refuses, and how.
REFUSED = {"mobilenet_v2_imagenet_qdq": "only supports symmetric quantization", "shufflenet_v2_imagenet_qoperator": "QLinearConv"}


def places():
    named = os.environ.get("OCTET_ONNX_TENSORRT", "")
    if ":" not in named:
        raise unittest.SkipTest("OCTET_ONNX_TENSORRT names no sources of onnx-tensorrt and no headers")
    return [pathlib.Path(part) for part in named.split(":")]


def compiled():
    """The parser and the program that uses it."""
    parser, headers = places()
    out = scratch() / "parser"
    (out / "onnx").mkdir(parents=True)
    proto = pathlib.Path(need("onnx").__file__).parent / "onnx-ml.proto"
    text = re.sub(r"^package onnx;", "package onnx2trt_onnx;", proto.read_text(), flags=re.M)
    (out / "onnx/onnx-ml.proto").write_text("\n".join(line for line in text.splitlines() if "LITE_RUNTIME" not in line))
    (out / "onnx/onnx_pb.h").write_text('#include "onnx-ml.pb.h"\n')
    command("protoc", f"--proto_path={out}", f"--cpp_out={out}", "onnx/onnx-ml.proto")
    flags = ["-std=c++17", "-O0", "-w", "-fPIC", f"-I{parser}", f"-I{out}", f"-I{headers}", f"-I{ROOT / 'tensorrt/cudart/include'}",
             "-DONNX_NAMESPACE=onnx2trt_onnx", "-DONNX_ML=1", "-DSOURCE_LENGTH=0", "-DENABLE_ONNXRUNTIME=0"]
    libraries = BUILD / "tensorrt/lib-10"
    objects = []
    for source in (*(parser / f"{name}.cpp" for name in SOURCES), out / "onnx/onnx-ml.pb.cc", ROOT / "tests/clients/onnx_tensorrt_program.cc"):
        objects.append(out / f"{source.stem}.o")
        command("g++", *flags, "-c", source, "-o", objects[-1])
    program = out / "program"
    command("g++", *objects, f"-L{libraries}", "-lnvinfer", "-lprotobuf", f"-Wl,-rpath,{libraries}", "-o", program)
    return program


class OnnxTensorRT(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        places()
        cls.np = need("numpy")
        cls.program = compiled()

    def parse(self, model, plan):
        return subprocess.run([self.program, model, plan], capture_output=True, text=True, check=False)

    def expected(self, model):
        """Inputs, and ONNX Runtime's outputs without its own rewriting."""
        session = onnxruntime_session(model)
        chance, feeds = self.np.random.default_rng(1), {}
        for one in session.get_inputs():
            sizes = [size if isinstance(size, int) else 2 if i == 0 else 128 for i, size in enumerate(one.shape)]
            feeds[one.name] = chance.random(sizes, self.np.float32)
        return feeds, dict(zip([one.name for one in session.get_outputs()], session.run(None, feeds), strict=True))

    def test_networks(self):
        for name in NETWORKS:
            with self.subTest(name):
                model, plan = shared_model(name), scratch() / f"{name}.plan"
                done = self.parse(model, plan)
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
                feeds, wanted = self.expected(model)
                self.np.savez(scratch() / "feeds.npz", **feeds)
                octet("run", plan, scratch() / "feeds.npz", "-o", scratch() / "got.npz", "--force")
                got = self.np.load(scratch() / "got.npz")
                self.assertEqual(sorted(got.files), sorted(wanted))
                for output, values in wanted.items():
                    # A Sigmoid's numbers near 0 are as exact as its numbers near 1.
                    norm = max(self.np.linalg.norm(values.astype(self.np.float64)), 0.01 * values.size**0.5)
                    self.assertLess(self.np.linalg.norm(got[output].astype(self.np.float64) - values) / norm, BOUND, output)

    def test_loops_and_conditions(self):
        onnx, folder = need("onnx"), onnx_tests("node")
        for name in CONTROL:
            with self.subTest(name):
                case = folder / f"test_{name}"
                model, plan = onnx.load(case / "model.onnx"), scratch() / f"{name}.plan"
                done = self.parse(case / "model.onnx", plan)
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
                given = {kind: [onnx.numpy_helper.to_array(onnx.load_tensor(path)) for path in sorted(case.glob(f"test_data_set_0/{kind}_*.pb"))]
                         for kind in ("input", "output")}
                # The parser calls an input as the body of its loop does.
                names = ["cond_in" if name == "loop11" and one.name == "cond" else one.name for one in model.graph.input]
                feeds = dict(zip(names, given["input"], strict=True))
                self.np.savez(scratch() / "feeds.npz", **feeds)
                octet("run", plan, scratch() / "feeds.npz", "-o", scratch() / "got.npz", "--force")
                got = self.np.load(scratch() / "got.npz")
                for output, values in zip([one.name for one in model.graph.output], given["output"], strict=True):
                    self.np.testing.assert_allclose(got[output], values, rtol=1e-5, atol=1e-6, err_msg=output)

    def test_what_the_parser_refuses(self):
        for name, words in REFUSED.items():
            with self.subTest(name):
                done = self.parse(shared_model(name), scratch() / "none.plan")
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stdout)


if __name__ == "__main__":
    harness.main()
