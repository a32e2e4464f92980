# SPDX-License-Identifier: Apache-2.0
"""Samples in Python of TensorRT's open part, unmodified, over the module tensorrt of Octet on a CPU. OCTET_TENSORRT_SOURCE=FOLDER is a checkout of
github.com/NVIDIA/TensorRT. In place of their ResNet-50 they get MobileNetV2, and three photos by the names that they look for; what is in them ONNX Runtime
says."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import harness
from harness import BUILD, need, scratch, shared_data, shared_model

PHOTOS = ("binoculars.jpeg", "reflex_camera.jpeg", "tabby_tiger_cat.jpg")


def samples():
    source = os.environ.get("OCTET_TENSORRT_SOURCE", "")
    if not source:
        raise unittest.SkipTest("OCTET_TENSORRT_SOURCE names no sources of TensorRT's samples")
    if not list((BUILD / "python/tensorrt").glob("_level10*.so")):
        raise unittest.SkipTest(f"{BUILD}/python has no module: nanobind or Python's headers are absent; ./dev setup installs them")
    return pathlib.Path(source) / "samples/python"


def photographed(folder):
    """Model, photos and labels as the samples expect them. Each photo's class is called as its file."""
    np, image, ort = need("numpy", "PIL.Image", "onnxruntime")
    folder.mkdir(parents=True)
    shutil.copy(shared_model("mobilenet_v2_imagenet"), folder / "ResNet50.onnx")
    session = ort.InferenceSession(folder / "ResNet50.onnx", providers=["CPUExecutionProvider"])
    labels, names = [f"class {i}" for i in range(1000)], list(PHOTOS)
    for photo in sorted(shared_data("imagenet").glob("val/*.jpg")):
        with image.open(photo) as picture:
            if picture.mode != "RGB":
                continue
            pixels = np.asarray(picture.resize((224, 224), image.LANCZOS)).transpose(2, 0, 1).astype(np.float32)
        normal = ((pixels / 255.0 - 0.45) / 0.225)[None].astype(np.float32)
        found = int(session.run(None, {session.get_inputs()[0].name: normal})[0].argmax())
        if labels[found].startswith("class "):
            name = names.pop()
            shutil.copy(photo, folder / name)
            labels[found] = name.partition(".")[0].replace("_", " ")
        if not names:
            break
    (folder / "class_labels.txt").write_text("\n".join(labels))


class PythonSamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = samples()
        cls.data = scratch() / "data"
        photographed(cls.data / "resnet50")

    def ran(self, sample, *arguments):
        program = self.root / sample
        env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
        done = subprocess.run([sys.executable, "-m", "tensorrt", program, *arguments], cwd=scratch(), env=env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_onnx_resnet50(self):
        self.assertIn("Correctly recognized", self.ran("introductory_parser_samples/onnx_resnet50.py", "-d", self.data))

    def test_progress_monitor(self):
        said = self.ran("simple_progress_monitor/simple_progress_monitor.py", "-d", self.data)
        self.assertIn("Building an engine", said)
        self.assertIn("Correctly recognized", said)

    def test_stream_writer(self):
        need("polygraphy")
        self.assertIn("Engine deserialized successfully", self.ran("stream_writer/build.py"))

    def test_weight_stripping(self):
        """The plan keeps its weights, and is refitted as if it had none."""
        stripped, full = scratch() / "stripped.trt", scratch() / "full.trt"
        self.ran("sample_weight_stripping/build_engines.py", "-d", self.data, "--output_stripped_engine", stripped, "--output_normal_engine", full)
        said = self.ran("sample_weight_stripping/refit_engine_and_infer.py", "-d", self.data, "--stripped_engine", stripped, "--normal_engine", full)
        self.assertIn("Refitted stripped engine correctly recognized", said)
        self.assertIn("The MSE of the final layer output is 0.0", said)


if __name__ == "__main__":
    harness.main()
