# SPDX-License-Identifier: Apache-2.0
"""Networks of TensorRTX, unmodified: built layer by layer by the interface of TensorRT 8.6, compiled with our headers of that level, on the CPU.
OCTET_TENSORRTX=FOLDER is a checkout of github.com/wang-xinyu/tensorrtx. Weights are random; what they compute ONNX Runtime says, of the same network in
ONNX."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness
from harness import BUILD, ROOT, command, need, octet, scratch

# What sums in another order change of how sure a cell is.
EDGE = 1e-4


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


class Network:
    """Weights by PyTorch's names, and the nodes that read them."""

    def __init__(self):
        self.chance, self.tensors, self.nodes = np.random.default_rng(1), {}, []

    def real(self, name, shape, low, high):
        self.tensors[name] = self.chance.uniform(low, high, shape).astype(np.float32)
        return name

    def node(self, kind, *inputs, **attributes):
        self.nodes.append(need("onnx").helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def weights(self, name, ends, kernel):
        bound = (6 / (ends[0] * kernel * kernel))**0.5
        return self.real(name, (ends[1], ends[0], kernel, kernel), -bound, bound)

    def convolution(self, x, names, ends, kernel, stride=1, epsilon=1e-5):
        """`names`: of the convolution and of its normalization."""
        weights = self.weights(f"{names[0]}.weight", ends, kernel)
        x = self.node("Conv", x, weights, strides=[stride] * 2, pads=[kernel // 2] * 4)
        parts = [self.real(f"{names[1]}.{part}", ends[1], *bounds)
                 for part, bounds in (("weight", (0.5, 1)), ("bias", (-0.1, 0.1)), ("running_mean", (-0.1, 0.1)), ("running_var", (0.5, 1.5)))]
        return self.node("BatchNormalization", x, *parts, epsilon=epsilon)

    def model(self, feed, outputs):
        """`feed`: the input's name and sizes; `outputs`: names and ranks."""
        onnx = need("onnx")
        make, real = onnx.helper, onnx.TensorProto.FLOAT
        infos = [make.make_tensor_value_info(name, real, [None] * rank) for name, rank in outputs]
        weights = [onnx.numpy_helper.from_array(values, name) for name, values in self.tensors.items()]
        graph = make.make_graph(self.nodes, "network", [make.make_tensor_value_info(feed[0], real, feed[1])], infos, weights)
        return make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8).SerializeToString()


class ResNet50(Network):

    def bottleneck(self, x, name, ends, stride):
        width = ends[1] // 4
        y = self.node("Relu", self.convolution(x, (f"{name}.conv1", f"{name}.bn1"), (ends[0], width), 1))
        y = self.node("Relu", self.convolution(y, (f"{name}.conv2", f"{name}.bn2"), (width, width), 3, stride))
        y = self.convolution(y, (f"{name}.conv3", f"{name}.bn3"), (width, ends[1]), 1)
        if ends[0] != ends[1]:
            x = self.convolution(x, (f"{name}.downsample.0", f"{name}.downsample.1"), ends, 1, stride)
        return self.node("Relu", self.node("Add", x, y))

    def network(self):
        x = self.node("Relu", self.convolution("data", ("conv1", "bn1"), (3, 64), 7, 2))
        x, channels = self.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
        for stage, (count, wide) in enumerate(((3, 256), (4, 512), (6, 1024), (3, 2048)), 1):
            for block in range(count):
                x = self.bottleneck(x, f"layer{stage}.{block}", (channels, wide), 2 if stage > 1 and block == 0 else 1)
                channels = wide
        x = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.node("Gemm", x, self.real("fc.weight", (1000, 2048), -0.05, 0.05), self.real("fc.bias", 1000, -0.1, 0.1), transB=1)


class Yolov8(Network):
    """The detector of its yolov8 in size n, for 80 classes and 640 by 640 pixels: maps of the three scales, boxes as distances in cells, then classes."""

    CLASSES, SIZE, BINS = 80, 640, 16
    STRIDES = (8, 16, 32)

    def block(self, x, name, ends, kernel, stride=1):
        y = self.convolution(x, (f"{name}.conv", f"{name}.bn"), ends, kernel, stride, 1e-3)
        return self.node("Mul", y, self.node("Sigmoid", y))

    def c2f(self, x, name, ends, count, adds=True):
        half = ends[1] // 2
        self.nodes.append(need("onnx").helper.make_node("Split", [self.block(x, f"{name}.cv1", (ends[0], 2 * half), 1)], parts := [f"{name}.a", f"{name}.b"], axis=1))
        for i in range(count):
            y = self.block(parts[-1], f"{name}.m.{i}.cv1", (half, half), 3)
            y = self.block(y, f"{name}.m.{i}.cv2", (half, half), 3)
            parts.append(self.node("Add", parts[-1], y) if adds else y)
        return self.block(self.node("Concat", *parts, axis=1), f"{name}.cv2", ((2 + count) * half, ends[1]), 1)

    def pooled(self, x, name, channels):
        parts = [self.block(x, f"{name}.cv1", (channels, channels // 2), 1)]
        for _ in range(3):
            parts.append(self.node("MaxPool", parts[-1], kernel_shape=[5, 5], pads=[2] * 4))
        return self.block(self.node("Concat", *parts, axis=1), f"{name}.cv2", (2 * channels, channels), 1)

    def doubled(self, x):
        return self.node("Resize", x, "", self.constant("scales", [1, 1, 2, 2], np.float32), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def constant(self, name, values, kind):
        """Of the network in ONNX alone."""
        self.shared.setdefault(name, np.array(values, kind))
        return name

    def branch(self, x, name, ends, bias, gain=1):
        x = self.block(x, f"{name}.0", (ends[0], ends[1]), 3)
        x = self.block(x, f"{name}.1", (ends[1], ends[1]), 3)
        weights = self.weights(f"{name}.2.weight", (ends[1], ends[2]), 1)
        self.tensors[weights] *= np.float32(gain)
        return self.node("Conv", x, weights, self.real(f"{name}.2.bias", ends[2], *bias))

    def head(self, x, scale, channels, classes):
        """Sixteen bins of each distance, whose mean by their softmax counts; then what classes weigh."""
        cells = (self.SIZE // self.STRIDES[scale])**2
        bins = self.branch(x, f"model.22.cv2.{scale}", (channels, 64, 4 * self.BINS), (-0.1, 0.1))
        gain, middle = classes
        classes = self.branch(x, f"model.22.cv3.{scale}", (channels, self.CLASSES, self.CLASSES), (middle - 0.1 * gain, middle + 0.1 * gain), gain)
        bins = self.node("Reshape", bins, self.constant(f"bins{scale}", [1, 4, self.BINS, cells], np.int64))
        bins = self.node("Softmax", self.node("Transpose", bins, perm=[0, 2, 1, 3]), axis=1)
        box = self.node("Conv", bins, "model.22.dfl.conv.weight")
        box = self.node("Reshape", box, self.constant(f"box{scale}", [1, 4, cells], np.int64))
        classes = self.node("Reshape", classes, self.constant(f"classes{scale}", [1, self.CLASSES, cells], np.int64))
        return self.node("Concat", box, classes, axis=1)

    def network(self, classes):
        """`classes`: what their weights are multiplied by, and where their biases lie."""
        self.shared = {}
        self.tensors["model.22.dfl.conv.weight"] = np.arange(self.BINS, dtype=np.float32).reshape(1, self.BINS, 1, 1)
        x = self.block("images", "model.0", (3, 16), 3, 2)
        x = self.block(x, "model.1", (16, 32), 3, 2)
        x = self.c2f(x, "model.2", (32, 32), 1)
        fourth = self.c2f(self.block(x, "model.3", (32, 64), 3, 2), "model.4", (64, 64), 2)
        sixth = self.c2f(self.block(fourth, "model.5", (64, 128), 3, 2), "model.6", (128, 128), 2)
        x = self.c2f(self.block(sixth, "model.7", (128, 256), 3, 2), "model.8", (256, 256), 1)
        ninth = self.pooled(x, "model.9", 256)
        twelfth = self.c2f(self.node("Concat", self.doubled(ninth), sixth, axis=1), "model.12", (384, 128), 1, False)
        small = self.c2f(self.node("Concat", self.doubled(twelfth), fourth, axis=1), "model.15", (192, 64), 1, False)
        x = self.node("Concat", self.block(small, "model.16", (64, 64), 3, 2), twelfth, axis=1)
        middle = self.c2f(x, "model.18", (192, 128), 1, False)
        x = self.node("Concat", self.block(middle, "model.19", (128, 128), 3, 2), ninth, axis=1)
        large = self.c2f(x, "model.21", (384, 256), 1, False)
        return [self.head(x, scale, channels, classes) for scale, (x, channels) in enumerate(((small, 64), (middle, 128), (large, 256)))]

    def results(self, image, classes=(1, 0)):
        """The three maps, as ONNX Runtime computes them."""
        outputs = self.network(classes)
        own, self.tensors = self.tensors, {**self.tensors, **self.shared}
        model = self.model(("images", list(image.shape)), [(name, 3) for name in outputs])
        self.tensors = own
        return harness.onnxruntime_session(model, optimized=True).run(None, {"images": image})

    def found(self, maps):
        """What its kernel finds: corners of the box, how sure, and the class."""
        rows = []
        for stride, values in zip(self.STRIDES, maps, strict=True):
            values, side = values[0], self.SIZE // stride
            at = np.stack([np.arange(side * side) % side, np.arange(side * side) // side]) + 0.5
            corners = np.concatenate([at - values[:2], at + values[2:4]]) * stride
            rows.append(np.concatenate([corners, [1 / (1 + np.exp(-values[4:].max(0)))], [values[4:].argmax(0)]]).T)
        return np.concatenate(rows)


def patches():
    """A picture of squares."""
    return np.random.default_rng(2).random((1, 3, 16, 16), np.float32).repeat(40, 2).repeat(40, 3)


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
        model = made.model(("data", [1, 3, 224, 224]), [(made.network(), 2)])
        session = harness.onnxruntime_session(model, optimized=True)
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

    def yolov8(self, folder):
        """Compiled in FP32, as config.h says; kernels are the host's."""
        (folder / "kernels").mkdir(parents=True)
        (folder / "include").mkdir()
        sources = self.root / "yolov8"
        chosen = (sources / "include/config.h").read_text().replace("#define USE_FP16", "#define USE_FP32")
        (folder / "include/config.h").write_text(chosen)
        for kernel in ("plugin/yololayer", "src/preprocess", "src/postprocess"):
            text = re.sub(r"(\w+)<<<(.*?)>>>\(", r"on_host(\1, \2)(", (sources / f"{kernel}.cu").read_text(), flags=re.S)
            (folder / f"kernels/{pathlib.Path(kernel).name}.cc").write_text('#include "cuda_on_host.h"\n' + text)
        flags = ["-O1", "-DAPI_EXPORTS", f"-I{pathlib.Path(__file__).parent}", f"-I{folder / 'include'}", f"-I{sources / 'include'}", f"-I{sources / 'plugin'}"]
        plugin = folder / "libmyplugins.so"
        compiled(plugin, folder / "kernels/yololayer.cc", flags=["-shared", "-fPIC", *flags])
        opencv = [command("pkg-config", part, "opencv4").split() for part in ("--cflags", "--libs")]
        compiled(folder / "yolov8_det", sources / "yolov8_det.cpp", *(sources / f"src/{name}.cpp" for name in ("block", "calibrator", "model", "postprocess")),
                 folder / "kernels/preprocess.cc", folder / "kernels/postprocess.cc", plugin, *opencv[1], flags=[*flags, *opencv[0], f"-Wl,-rpath,{folder}"])
        return folder / "yolov8_det", plugin

    def drawn(self, program, kernels, folder):
        """`kernels`: c, of boxes that overlap its code for the host keeps one; g, its kernels do."""
        self.assertIn("time:", ran(program, "-d", "yolov8n.engine", "photos", kernels, cwd=folder))
        drawn = np.asarray(need("PIL.Image").open(folder / "_photo.png"))
        (folder / "_photo.png").unlink()
        return drawn

    def test_yolov8(self):
        """Its plan finds what its kernels find in ONNX Runtime's maps; it draws boxes on a picture by both of its ways."""
        if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", "opencv4"], check=False).returncode != 0:
            self.skipTest("OpenCV is absent: apt-get install libopencv-dev")
        folder = scratch() / "yolov8"
        program, plugin = self.yolov8(folder)
        image = patches()
        # Some hundred cells shall be sure enough to be found, a few of them to be drawn.
        sure = np.sort(np.concatenate([maps[0, 4:].max(0) for maps in Yolov8().results(image)]))
        gain = 5 / (sure[-1] - sure[-300])
        made = Yolov8()
        want = made.found(made.results(image, (gain, np.log(0.1 / 0.9) - gain * sure[-300])))
        write_weights(folder / "yolov8n.wts", made.tensors)
        self.assertIn("Build engine successfully", ran(program, "-s", "yolov8n.wts", "yolov8n.engine", "n", cwd=folder))

        image.tofile(folder / "image.raw")
        octet("trtexec", "--tensorrtVersion=8.6.1", f"--loadEngine={folder / 'yolov8n.engine'}", f"--plugins={plugin}", f"--loadInputs=images:{folder / 'image.raw'}",
              "--iterations=1", "--warmUp=0", "--duration=0", f"--exportOutput={folder / 'output.json'}")
        output, = json.loads((folder / "output.json").read_text())
        values = np.array(output["values"], np.float32)
        got = values[1:1 + int(values[0]) * (len(values) // 1000)].reshape(int(values[0]), -1)[:, :6]
        print(len(got), "found,", (want[:, 4] >= 0.1).sum(), "wanted")
        self.assertGreater(len(got), 200)
        # What lies at the edge may be on either side.
        surely, perhaps = want[want[:, 4] > 0.1 + EDGE], want[want[:, 4] > 0.1 - EDGE]
        for rows, among in ((surely, got), (got, perhaps)):
            for row in rows:
                off = np.abs(among[among[:, 5] == row[5]][:, :5] - row[:5])
                # A hundredth of a pixel.
                self.assertTrue(((off[:, :4].max(1) < 1e-2) & (off[:, 4] < EDGE)).any(), row)
        self.assertGreater(want[:, 4].max(), 0.5)

        (folder / "photos").mkdir()
        pixels = (image[0].transpose(1, 2, 0) * 255).astype(np.uint8)
        need("PIL.Image").fromarray(pixels).save(folder / "photos/photo.png")
        for kernels in ("c", "g"):
            self.assertGreater((self.drawn(program, kernels, folder) != pixels).any(2).sum(), 1000, kernels)


def setUpModule():
    global np
    np = need("numpy")


if __name__ == "__main__":
    harness.main()
