# SPDX-License-Identifier: Apache-2.0
"""trtexec and samples of TensorRT's open part, compiled with NVIDIA's own headers and linked to our libraries, on the CPU or a GPU. They are fetched by
who asks for them: OCTET_TENSORRT_SOURCE=FOLDER is a checkout of github.com/NVIDIA/TensorRT (v10.16 was tried), OCTET_CUDA_INCLUDE=FOLDER[:FOLDER]
has the headers of CUDA's runtime (of nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12 and nvidia-cuda-profiler-api-cu12 from PyPI). No other headers
of CUDA may lie on the compiler's path: they mix. OCTET_TENSORRT_SAMPLES=FOLDER has the programs, compiled before: on a GPU with headers of its CUDA."""

import concurrent.futures
import os
import pathlib
import re
import unittest

import harness
from harness import BUILD, DIGITS, command, has_gpu, need, octet, onnxruntime_session, scratch

SAMPLES = ("trtexec", "sampleOnnxMNIST", "sampleDynamicReshape", "sampleProgressMonitor", "sampleIOFormats", "sampleINT8API")


def programs():
    """The folder of the programs."""
    return pathlib.Path(os.environ["OCTET_TENSORRT_SAMPLES"]) if os.environ.get("OCTET_TENSORRT_SAMPLES") else compiled()


def source():
    folder, cuda = os.environ.get("OCTET_TENSORRT_SOURCE", ""), os.environ.get("OCTET_CUDA_INCLUDE", "")
    if not folder or not cuda:
        raise unittest.SkipTest("OCTET_TENSORRT_SOURCE and OCTET_CUDA_INCLUDE name no sources of TensorRT's samples and no headers of CUDA")
    return pathlib.Path(folder), cuda.split(os.pathsep)


def compiled():
    root, cuda = source()
    out = scratch() / "samples"
    out.mkdir()
    includes = [root / part for part in ("include", "samples/common", "samples", "shared", "shared/utils", ".")]
    flags = [f"-I{folder}" for folder in (*includes, *cuda)]
    common = [*(root / "samples/common").glob("*.cpp"), *(root / "shared/utils").glob("*.cpp")]
    common = [path for path in common if "getopt" not in path.name]

    def compile_one(path):
        made = out / f"{path.stem}.o"
        command("g++", "-std=c++17", "-O0", "-w", "-DENABLE_UNIFIED_BUILDER=0", *flags, "-c", path, "-o", made)
        return made

    own = [root / "samples" / name / f"{name}.cpp" for name in SAMPLES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, [*common, *own]))
    libraries = BUILD / "tensorrt"
    linked = [f"-L{libraries / 'lib-10'}", "-lnvinfer", "-lnvonnxparser", "-lnvinfer_plugin", f"-L{libraries / 'cudart'}", "-lcudart",
              f"-Wl,-rpath-link,{libraries / 'lib-10'}", "-ldl", "-lpthread"]
    for name, made in zip(SAMPLES, objects[len(common):]):
        command("g++", made, *objects[:len(common)], *linked, "-o", out / name)
    return out


def digits_that_match(folder):
    """mnist.onnx, which finds the nearest of ten drawn digits, and these as the samples read them."""
    onnx, drawing = need("onnx"), need("PIL.ImageDraw")
    images, fonts = need("PIL.Image"), need("PIL.ImageFont")
    pixels = []
    for digit in range(10):
        image = images.new("L", (28, 28), 255)
        drawing.Draw(image).text((7, 0), str(digit), fill=0, font=fonts.load_default(size=24))
        (folder / f"{digit}.pgm").write_bytes(b"P5\n28 28\n255\n" + image.tobytes())
        pixels.append(1 - np.asarray(image, np.float32) / 255)
    drawn = np.stack(pixels).reshape(10, 784)
    # The samples' own softmax bears no more.
    loud = 60 / (drawn * drawn).sum(1).max()
    make, array = onnx.helper, onnx.numpy_helper.from_array
    weights = [array(np.ones((1, 1, 1, 1), np.float32), "kernel"), array(np.array([1, 784], np.int64), "flat"),
               array(2 * loud * drawn.T, "drawn"), array(-loud * (drawn * drawn).sum(1)[None], "size")]
    nodes = [make.make_node("Conv", ["Input3", "kernel"], ["a"]), make.make_node("Relu", ["a"], ["b"]),
             make.make_node("Reshape", ["b", "flat"], ["c"]), make.make_node("MatMul", ["c", "drawn"], ["d"]),
             make.make_node("Add", ["d", "size"], ["Plus214_Output_0"])]
    real = onnx.TensorProto.FLOAT
    graph = make.make_graph(nodes, "digits", [make.make_tensor_value_info("Input3", real, [1, 1, 28, 28])],
                            [make.make_tensor_value_info("Plus214_Output_0", real, [1, 10])], weights)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, folder / "mnist.onnx")


def photo_and_ranges(folder):
    """For sampleINT8API: a network of random weights, a photo of noise for it, a range for each tensor, and labels; gives the label of the strongest class."""
    onnx = need("onnx")
    make, array, chance = onnx.helper, onnx.numpy_helper.from_array, np.random.default_rng(5)
    weights = [array(chance.standard_normal((32, 3, 7, 7), np.float32) / 12, "w0"), array(chance.standard_normal((64, 32, 3, 3), np.float32) / 17, "w1"),
               array(chance.standard_normal((64, 1000), np.float32), "w2"), array(np.zeros(1000, np.float32), "b2")]
    nodes = [make.make_node("Conv", ["data", "w0"], ["a"], strides=[4, 4], pads=[3, 3, 3, 3]), make.make_node("Relu", ["a"], ["b"]),
             make.make_node("Conv", ["b", "w1"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]), make.make_node("Relu", ["c"], ["d"]),
             make.make_node("GlobalAveragePool", ["d"], ["e"]), make.make_node("Flatten", ["e"], ["f"]), make.make_node("Gemm", ["f", "w2", "b2"], ["prob"])]
    real = onnx.TensorProto.FLOAT
    inner = [make.make_tensor_value_info(name, real, None) for name in "abcdef"]
    graph = make.make_graph(nodes, "photos", [make.make_tensor_value_info("data", real, [1, 3, 224, 224])],
                            [make.make_tensor_value_info("prob", real, [1, 1000]), *inner], weights)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
    model.ir_version = 8
    pixels = chance.integers(0, 256, (224, 224, 3), np.uint8)
    (folder / "photo.ppm").write_bytes(b"P6\n224 224\n255\n" + pixels.tobytes())
    (folder / "labels.txt").write_text("".join(f"label {index}\n" for index in range(1000)))
    data = (2 / 255 * pixels.transpose(2, 0, 1)[None] - 1).astype(np.float32)
    names = ["data", "prob", *"abcdef"]
    values = [data, *onnxruntime_session(model.SerializeToString()).run(names[1:], {"data": data})]
    (folder / "ranges.txt").write_text("".join(f"{name}: {np.abs(value).max():.9g}\n" for name, value in zip(names, values)))
    del model.graph.output[1:]
    onnx.save(model, folder / "photos.onnx")
    return f"label {values[1].argmax()}"


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = programs()
        cls.data = scratch() / "data"
        cls.data.mkdir()
        digits_that_match(cls.data)

    def passed(self, name, *arguments):
        done = octet("exec", "--", self.programs / name, *arguments, code=None, cwd=self.data)
        self.assertIn("&&&& PASSED", done.out, done.out[-3000:] + done.err[-3000:])
        return done.out

    def test_trtexec(self):
        model, plan = DIGITS / "digits.onnx", self.data / "digits.plan"
        few = ("--iterations=3", "--warmUp=1", "--duration=0")
        said = self.passed("trtexec", f"--onnx={model}", "--int8", f"--saveEngine={plan}", "--dumpProfile", "--separateProfileRun", *few)
        self.assertEqual("NVIDIA" in re.search(r"Selected Device: (.*)", said)[1], has_gpu())
        self.passed("trtexec", f"--loadEngine={plan}", "--dumpLayerInfo", "--profilingVerbosity=detailed", *few)

    def test_trtexec_of_shape_inputs(self):
        onnx = need("onnx")
        make, model = onnx.helper, self.data / "reshaped.onnx"
        info = make.make_tensor_value_info
        graph = make.make_graph([make.make_node("Reshape", ["x", "sizes"], ["r"]), make.make_node("Relu", ["r"], ["y"])], "reshaped",
                                [info("x", onnx.TensorProto.FLOAT, ["n", 6]), info("sizes", onnx.TensorProto.INT64, [2])],
                                [info("y", onnx.TensorProto.FLOAT, ["a", "b"])])
        made = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
        made.ir_version = 8
        onnx.save(made, model)
        said = self.passed("trtexec", f"--onnx={model}", "--minShapes=x:1x6,sizes:1x1", "--optShapes=x:2x6,sizes:3x4", "--maxShapes=x:4x6,sizes:24x24",
                           "--iterations=3", "--warmUp=1", "--duration=0")
        self.assertIn("Set input shape tensor sizes to: 3x4", said)

    def test_int8_api(self):
        label = photo_and_ranges(self.data)
        files = [f"--{name}={self.data / file}" for name, file in
                 (("model", "photos.onnx"), ("image", "photo.ppm"), ("reference", "labels.txt"), ("ranges", "ranges.txt"))]
        self.assertIn(f"[1]  {label}", self.passed("sampleINT8API", "--int8", *files))

    def test_samples(self):
        data = f"--datadir={self.data}/"
        for name in ("sampleOnnxMNIST", "sampleDynamicReshape", "sampleProgressMonitor", "sampleIOFormats"):
            self.passed(name, data)
        for name, flag in (("sampleOnnxMNIST", "--int8"), ("sampleOnnxMNIST", "--fp16"), ("sampleDynamicReshape", "--int8")):
            self.passed(name, data, flag)


def setUpModule():
    global np
    np = need("numpy")


if __name__ == "__main__":
    harness.main()
