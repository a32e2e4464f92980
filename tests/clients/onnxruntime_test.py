# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's TensorRT provider, unmodified (onnxruntime-gpu), over our libraries, on the CPU: by libraries of CUDA's names that octet exec
brings. The wheels have 300 MB and are fetched only where OCTET_ONNXRUNTIME_GPU=fetch asks for it; OCTET_ONNXRUNTIME_GPU=FOLDER has them in
FOLDER/VERSION/onnxruntime."""

import os
import pathlib
import subprocess
import sys
import unittest

import harness
from harness import need, octet, scratch, shared_data, shared_model

# For CUDA 12, and for 13.
VERSIONS = ("1.23.2", "1.31.1")
ASKED = "OCTET_ONNXRUNTIME_GPU"


def runtime(version):
    asked = os.environ.get(ASKED, "")
    if not asked:
        raise unittest.SkipTest(f"onnxruntime-gpu is not had: {ASKED}=fetch fetches it from PyPI")
    folder = pathlib.Path(asked) / version if asked != "fetch" else scratch() / f"onnxruntime-{version}"
    if asked == "fetch" and not folder.is_dir():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder,
                               f"onnxruntime-gpu=={version}", "sympy", "mpmath"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"the wheel of {version} was asked for and cannot be had: {done.stderr.strip()[-200:]}")
    if not (folder / "onnxruntime").is_dir():
        raise unittest.SkipTest(f"{folder} has no onnxruntime")
    return folder


def image(path, size):
    picture = need("PIL.Image").open(path).convert("RGB")
    return picture if size is None else picture.resize((size, size))


def cifar(path):
    values = np.asarray(image(path, None), np.float32) / 255
    return (values - np.float32([0.4914, 0.4822, 0.4465])) / np.float32([0.2470, 0.2435, 0.2616])


def mobilenet(path):
    return np.asarray(image(path, 224), np.float32) / np.float32(127.5) - 1


def yolox(path):
    return np.ascontiguousarray(np.asarray(image(path, 416), np.float32)[:, :, ::-1])


def pictures(folder, count):
    return sorted(path for kind in ("*.jpg", "*.jpeg", "*.png", "*.JPEG") for path in folder.rglob(kind))[:count]


class Provider(unittest.TestCase):
    def samples(self, prepare, calibration, test):
        loaded = {name: np.stack([prepare(path).transpose(2, 0, 1) for path in paths])
                  for name, paths in (("calibration", calibration), ("test", test))}
        file = scratch() / f"{self.id()}.npz"
        np.savez(file, **{name: np.ascontiguousarray(values, np.float32) for name, values in loaded.items()})
        return file

    def results(self, version, name, samples):
        """What each way gave. Those of an engine are what octet run makes of it, in every bit."""
        wheel, model = runtime(version), shared_model(name)
        folder = scratch() / f"{name}-{version}"
        folder.mkdir()
        native = folder / "native.cache"
        calibration = np.load(samples)["calibration"]
        (folder / "calibration").mkdir()
        for index, sample in enumerate(calibration):
            np.save(folder / f"calibration/{index}.npy", sample[None])
        octet("build", model, "--int8", "--calib", folder / "calibration", "--calib-cache", native, "-o", folder / "own.octet", "--quiet")
        paths = os.pathsep.join([str(wheel), *filter(None, [os.environ.get("PYTHONPATH")])])
        program = pathlib.Path(__file__).with_name("onnxruntime_program.py")
        done = octet("exec", sys.executable, program, model, samples, folder, native, code=None, env={"PYTHONPATH": paths})
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertTrue(done.out.splitlines()[-1].startswith(version), done.out)
        results = dict(np.load(folder / "results.npz"))
        self.same_as_octet(folder, results)
        for way in ("cached", "context"):
            self.assertTrue((results[way] == results["fp32"]).all(), way)
        print(name, version, *(f"{way}: {np.abs(got - results['cpu']).max():.3g}" for way, got in results.items()))
        return results

    def same_as_octet(self, folder, results):
        for way in ("fp32", "fp16", "int8", "native"):
            engine, = (folder / way).glob("*.engine")
            octet("run", engine, folder / "input.npz", "-o", folder / "output.npz")
            (own,) = np.load(folder / "output.npz").values()
            self.assertTrue((own == results[way][:1]).all(), way)

    def classified(self, version, name, samples):
        """As many pictures as FP32 has, but for one in a hundred; in FP32 each as ONNX Runtime classifies it."""
        results = {way: values.argmax(1) for way, values in self.results(version, name, samples).items()}
        self.assertTrue((results["fp32"] == results["cpu"]).all())
        return results

    def resnet(self, version):
        test = [path for label in sorted(shared_data("cifar10/test").iterdir()) for path in pictures(label, 20)]
        labels = np.repeat(np.arange(10), 20)
        results = self.classified(version, "cifar10_resnet20", self.samples(cifar, pictures(shared_data("cifar10/calib"), 100), test))
        right = {way: int((values == labels).sum()) for way, values in results.items()}
        print(right)
        for way in ("fp16", "int8", "native"):
            self.assertGreaterEqual(right[way], right["cpu"] - len(labels) // 100, right)

    def mobilenet(self, version):
        test = pictures(shared_data("imagenet/val"), 40)
        results = self.classified(version, "mobilenet_v2_imagenet", self.samples(mobilenet, pictures(shared_data("imagenet/calib"), 40), test))
        labels = [int(path.name.split("_")[0]) + 1 for path in test]
        right = {way: int((values == labels).sum()) for way, values in results.items()}
        print(right)

    def yolox(self, version):
        samples = self.samples(yolox, pictures(shared_data("coco/calib"), 16), pictures(shared_data("coco/val"), 8))
        results = self.results(version, "yolox_nano", samples)
        strongest = {way: (values[..., 4:5] * values[..., 5:]).reshape(len(values), -1).argmax(1) for way, values in results.items()}
        self.assertTrue((strongest["fp32"] == strongest["cpu"]).all(), strongest)
        same = {way: int((where % 80 == strongest["cpu"] % 80).sum()) for way, where in strongest.items()}
        print(same)
        # Ranges say nothing of channels: layers that rest on quiet ones stay in FP32 (docs/tensorrt-api.md).
        for way in ("fp16", "int8", "native"):
            self.assertGreaterEqual(same[way], 6, same)


def setUpModule():
    global np
    np = need("numpy")
    need("PIL.Image", "onnx", "google.protobuf", "flatbuffers")


for _version in VERSIONS:
    for _model in ("resnet", "mobilenet", "yolox"):
        _name = f"test_{_model}_{_version.replace('.', '_')}"
        setattr(Provider, _name, lambda self, model=_model, version=_version: getattr(self, model)(version))

if __name__ == "__main__":
    harness.main()
