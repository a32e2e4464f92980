# SPDX-License-Identifier: Apache-2.0
"""trtexec and samples of TensorRT's open part, compiled with NVIDIA's own headers and linked to our libraries, on the CPU. They are fetched by who
asks for them: OCTET_TENSORRT_SOURCE=FOLDER is a checkout of github.com/NVIDIA/TensorRT (v10.16 was tried), OCTET_CUDA_INCLUDE=FOLDER[:FOLDER]
has the headers of CUDA's runtime (of nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12 and nvidia-cuda-profiler-api-cu12 from PyPI). No other headers
of CUDA may lie on the compiler's path: they mix."""

import concurrent.futures
import os
import pathlib
import unittest

import harness
from harness import BUILD, DIGITS, command, need, octet, scratch

SAMPLES = ("trtexec", "sampleOnnxMNIST", "sampleDynamicReshape", "sampleProgressMonitor", "sampleIOFormats")


def source():
    folder, cuda = os.environ.get("OCTET_TENSORRT_SOURCE", ""), os.environ.get("OCTET_CUDA_INCLUDE", "")
    if not folder or not cuda:
        raise unittest.SkipTest("OCTET_TENSORRT_SOURCE and OCTET_CUDA_INCLUDE name no sources of TensorRT's samples and no headers of CUDA")
    return pathlib.Path(folder), cuda.split(os.pathsep)


def compiled():
    """Each program by its name."""
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


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        source()
        cls.programs = compiled()
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
        self.passed("trtexec", f"--onnx={model}", "--int8", f"--saveEngine={plan}", "--dumpProfile", "--separateProfileRun", *few)
        self.passed("trtexec", f"--loadEngine={plan}", "--dumpLayerInfo", "--profilingVerbosity=detailed", *few)

    def test_samples(self):
        data = f"--datadir={self.data}/"
        for name in SAMPLES[1:]:
            self.passed(name, data)
        for name, flag in (("sampleOnnxMNIST", "--int8"), ("sampleOnnxMNIST", "--fp16"), ("sampleDynamicReshape", "--int8")):
            self.passed(name, data, flag)


def setUpModule():
    global np
    np = need("numpy")


if __name__ == "__main__":
    harness.main()
