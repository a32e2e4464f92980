# SPDX-License-Identifier: Apache-2.0
"""Networks of TensorRTX, unmodified: built layer by layer by the interface of TensorRT 8.6, compiled with our headers of that level, on the CPU.
OCTET_TENSORRTX=FOLDER is a checkout of github.com/wang-xinyu/tensorrtx. Weights are random; what they compute ONNX Runtime says, of the same network in
ONNX."""

import os
import pathlib
import re
import struct
import subprocess
import unittest

import harness
from harness import BUILD, ROOT, command, need, scratch


def source():
    folder = os.environ.get("OCTET_TENSORRTX", "")
    if not folder:
        raise unittest.SkipTest("OCTET_TENSORRTX names no sources of TensorRTX")
    return pathlib.Path(folder)


def compiled(out, *sources, flags=()):
    libraries = BUILD / "tensorrt"
    includes = [f"-I{ROOT / 'tensorrt/include-8'}", f"-I{ROOT / 'tensorrt/cudart/include'}"]
    linked = [f"-L{libraries / 'lib-8'}", "-lnvinfer", f"-L{libraries / 'cudart'}", "-lcudart",
              f"-Wl,-rpath,{libraries / 'lib-8'}:{libraries / 'cudart'}"]
    command("g++", "-std=c++17", "-O2", "-w", *includes, *flags, *sources, *linked, "-o", out)


def ran(program, *arguments, cwd, code=0):
    done = subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != code:
        raise AssertionError(f"{program} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def write_weights(file, tensors):
    """As its gen_wts.py: a count, then lines of a name, a count, and numbers in hexadecimal."""
    with open(file, "w") as out:
        out.write(f"{len(tensors)}\n")
        for name, values in tensors.items():
            numbers = values.ravel().astype(">f4").tobytes().hex(" ", 4)
            out.write(f"{name} {values.size} {numbers}\n")


class ResNet50:
    """Weights by PyTorch's names, and the nodes that read them."""

    def __init__(self):
        self.chance, self.tensors, self.nodes = np.random.default_rng(1), {}, []

    def real(self, name, shape, low, high):
        self.tensors[name] = self.chance.uniform(low, high, shape).astype(np.float32)
        return name

    def node(self, kind, *inputs, **attributes):
        self.nodes.append(need("onnx").helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def convolution(self, x, name, norm, ends, kernel, stride=1):
        bound = (6 / (ends[0] * kernel * kernel))**0.5
        weights = self.real(f"{name}.weight", (ends[1], ends[0], kernel, kernel), -bound, bound)
        x = self.node("Conv", x, weights, strides=[stride] * 2, pads=[kernel // 2] * 4)
        parts = [self.real(f"{norm}.{part}", ends[1], *bounds)
                 for part, bounds in (("weight", (0.5, 1)), ("bias", (-0.1, 0.1)), ("running_mean", (-0.1, 0.1)), ("running_var", (0.5, 1.5)))]
        return self.node("BatchNormalization", x, *parts, epsilon=1e-5)

    def bottleneck(self, x, name, ends, stride):
        width = ends[1] // 4
        y = self.node("Relu", self.convolution(x, f"{name}.conv1", f"{name}.bn1", (ends[0], width), 1))
        y = self.node("Relu", self.convolution(y, f"{name}.conv2", f"{name}.bn2", (width, width), 3, stride))
        y = self.convolution(y, f"{name}.conv3", f"{name}.bn3", (width, ends[1]), 1)
        if ends[0] != ends[1]:
            x = self.convolution(x, f"{name}.downsample.0", f"{name}.downsample.1", ends, 1, stride)
        return self.node("Relu", self.node("Add", x, y))

    def network(self):
        x = self.node("Relu", self.convolution("data", "conv1", "bn1", (3, 64), 7, 2))
        x, channels = self.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
        for stage, (count, wide) in enumerate(((3, 256), (4, 512), (6, 1024), (3, 2048)), 1):
            for block in range(count):
                x = self.bottleneck(x, f"layer{stage}.{block}", (channels, wide), 2 if stage > 1 and block == 0 else 1)
                channels = wide
        x = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.node("Gemm", x, self.real("fc.weight", (1000, 2048), -0.05, 0.05), self.real("fc.bias", 1000, -0.1, 0.1), transB=1)

    def model(self):
        onnx = need("onnx")
        make, output = onnx.helper, self.network()
        info = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("data", [1, 3, 224, 224]), (output, [1, 1000]))]
        weights = [onnx.numpy_helper.from_array(values, name) for name, values in self.tensors.items()]
        graph = make.make_graph(self.nodes, "resnet50", info[:1], info[1:], weights)
        return make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8).SerializeToString()


class TensorRtX(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = source()

    def test_resnet50(self):
        """It runs an image of ones, and prints the first and the last ten of its thousand results."""
        folder = scratch() / "resnet/build"
        folder.mkdir(parents=True)
        compiled(folder / "resnet50", self.root / "resnet/resnet50.cpp")
        made = ResNet50()
        session = need("onnxruntime").InferenceSession(made.model(), providers=["CPUExecutionProvider"])
        want = session.run(None, {"data": np.ones((1, 3, 224, 224), np.float32)})[0][0]
        write_weights(folder.parent / "resnet50.wts", made.tensors)
        self.assertIn("build out", ran(folder / "resnet50", "-s", cwd=folder, code=1))  # its success
        said = ran(folder / "resnet50", "-d", cwd=folder).partition("Output:")[2]
        got = np.array([float(number) for number in re.findall(r"[-+.\de]+(?=, )", said)])
        self.assertEqual(len(got), 20)
        want = np.concatenate([want[:10], want[-10:]])
        print(got, want)
        # Six digits are printed.
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def setUpModule():
    global np
    np = need("numpy")


if __name__ == "__main__":
    harness.main()
