# SPDX-License-Identifier: Apache-2.0
"""The real models of ../shared that the suites use: preparation of their inputs, data and labels."""

from harness import need, scratch, shared_data, shared_model

CIFAR = ["--scale", "255", "--mean", "0.4914,0.4822,0.4465", "--std", "0.2470,0.2435,0.2616"]
CIFAR_IMAGENET_MEAN = ["--scale", "255", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]
IMAGENET_SIGNED = ["--resize", "256", "--crop", "224x224", "--scale", "127.5", "--mean", "1", "--std", "1"]
CAFFE = ["--color", "bgr", "--scale", "1", "--mean", "104,117,123"]
BYTES = ["--color", "bgr", "--scale", "1"]
YOLOX = ["--letterbox", "416x416:114", "--color", "bgr", "--scale", "1"]


class Model:
    def __init__(self, name, flags, calib, test=None, labels=(), shapes=()):
        self.name, self.flags, self.labels = name, flags, list(labels)
        self.calib_folder, self.test_folder = calib, test
        self.shapes = [flag for shape in shapes for flag in ("--shape", shape)]  # of inputs with dynamic height and width

    @property
    def path(self):
        return shared_model(self.name)

    @property
    def calib(self):
        return shared_data(self.calib_folder)

    @property
    def test(self):
        return shared_data(self.test_folder)

    @property
    def engine(self):
        return scratch() / f"{self.name}.octet"


MODELS = {
    model.name: model
    for model in (
        Model("cifar10_resnet20", CIFAR, "cifar10/calib", "cifar10/test"),
        Model("cifar10_resnet20_batchnorm", CIFAR_IMAGENET_MEAN, "cifar10/calib", "cifar10/test"),
        Model("cifar10_silunet", CIFAR, "cifar10/calib", "cifar10/test"),
        Model("cifar10_vit", CIFAR, "cifar10/calib", "cifar10/test"),
        Model("mobilenet_v1_025_imagenet", IMAGENET_SIGNED, "imagenet/calib", "imagenet/val", ["--labels", "prefix"]),
        Model("mobilenet_v2_imagenet", IMAGENET_SIGNED, "imagenet/calib", "imagenet/val",
              ["--labels", "prefix", "--label-offset", "1"]),
        Model("yolox_nano", YOLOX, "coco/calib", "coco/val"),
        Model("retinaface_mobilenet025", ["--resize", "640x640", *CAFFE], "faces", "faces", shapes=["input:1x3x640x640"]),
        Model("ultraface_rfb_320", ["--resize", "320x240", "--scale", "128", "--mean", "0.9921875", "--std", "1"], "faces", "faces"),
        Model("yunet_n_dynamic", ["--resize", "640x640", *BYTES], "faces", "faces", shapes=["input:1x3x640x640"]),
        Model("squeezenet1.0_imagenet_fp16", ["--resize", "256", "--crop", "224x224", *CAFFE], "imagenet/calib", "imagenet/val",
              ["--labels", "prefix"]),
        Model("super_resolution", ["--resize", "224x224", "--color", "gray", "--scale", "255"], "imagenet/calib", "imagenet/val"),
        Model("style_candy_instancenorm", ["--resize", "720x720", *BYTES], "coco/calib", "coco/val"),
    )
}
# Those whose accuracy on labels is known.
CLASSIFIERS = [name for name in MODELS if name.startswith(("cifar10", "mobilenet"))]


def prepared_images(model, count):
    """The first test images as arrays [1,3,H,W], prepared by Pillow and NumPy alone."""
    numpy, image = need("numpy", "PIL.Image")
    flags = dict(zip(model.flags[::2], model.flags[1::2]))
    paths = sorted(p for p in model.test.rglob("*") if p.suffix in (".jpg", ".png"))
    for path in paths[:: max(1, len(paths) // count)][:count]:
        picture = image.open(path).convert("L" if flags.get("--color") == "gray" else "RGB")
        if "x" in flags.get("--resize", ""):
            picture = picture.resize([int(side) for side in flags["--resize"].split("x")], image.BILINEAR)
        elif "--resize" in flags:
            short, side = int(flags["--resize"]), int(flags["--crop"].split("x")[0])
            ratio = short / min(picture.size)
            picture = picture.resize([round(s * ratio) for s in picture.size], image.BILINEAR)
            left, top = (picture.width - side) // 2, (picture.height - side) // 2
            picture = picture.crop((left, top, left + side, top + side))
        if "--letterbox" in flags:
            side = int(flags["--letterbox"].split("x")[0])
            ratio = side / max(picture.size)
            scaled = picture.resize([int(s * ratio) for s in picture.size], image.BILINEAR)
            picture = image.new("RGB", (side, side), (114, 114, 114))
            picture.paste(scaled, (0, 0))
        array = numpy.asarray(picture).astype(numpy.float32) / numpy.float32(flags["--scale"])
        if flags.get("--color") == "bgr":
            array = array[:, :, ::-1]
        if "--mean" in flags:
            mean, std = ([float(v) for v in flags.get(key, "1").split(",")] for key in ("--mean", "--std"))
            array = (array - numpy.float32(mean)) / numpy.float32(std)
        array = array.reshape(*array.shape[:2], -1)
        yield numpy.ascontiguousarray(array.transpose(2, 0, 1)[None])
