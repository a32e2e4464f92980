# SPDX-License-Identifier: Apache-2.0
"""The files that the tutorials of docs/ begin with: what exporters and TensorRT would have left. tests/cli/tutorials_test.py runs the pages on
them; as a program this fills a folder for one page: python3 tests/tutorial_files.py detector FOLDER."""

import pathlib
import shutil
import struct
import sys

from harness import DIGITS, need, shared_data, shared_model

CIFAR = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
SIDE, STRIDES = 416, (8, 16, 32)
LAYERS, HEADS, WIDTH, STEPS, WORDS = 2, 2, 16, 32, 64


def classifier(folder):
    shutil.copytree(DIGITS, folder / "examples/digits", ignore=shutil.ignore_patterns("__pycache__"))


def some(path, folder, count):
    """Every so many of the images below `path`, `count` of each folder, with the folders that they lie in."""
    path = shared_data(path)
    for inner in (path, *sorted(part for part in path.iterdir() if part.is_dir())):
        found = sorted(inner.glob("*.jpg"))
        for image in found[:: max(1, len(found) // count)][:count]:
            to = folder / image.relative_to(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(image, to)


def tensorrt(folder):
    """A trained model, photos, and the cache that a calibrator of TensorRT would have left of them."""
    some("cifar10/calib", folder / "photos", 100)
    some("cifar10/test", folder / "test", 20)
    model = folder / "resnet20.onnx"
    shutil.copy(shared_model("cifar10_resnet20"), model)
    lines = [f"{name}: {struct.pack('>f', top / 127).hex()}\n" for name, top in largest(model, folder / "photos").items()]
    (folder / "calibration.cache").write_text("TRT-8601-MinMaxCalibration\n" + "".join(lines))
    (folder / "old.engine").write_bytes(b"ptrt" + bytes(64))


def largest(model, photos):
    """The largest magnitude of every tensor, in ONNX Runtime, over photos that a program of the user's prepares."""
    numpy, onnx, image, runtime = need("numpy", "onnx", "PIL.Image", "onnxruntime")
    mean, std = (numpy.array(numbers, numpy.float32) for numbers in CIFAR)
    pixels = [numpy.asarray(image.open(path).convert("RGB"), numpy.float32) for path in sorted(photos.iterdir())]
    batch = ((numpy.stack(pixels) / 255 - mean) / std).transpose(0, 3, 1, 2)
    graph = onnx.load(model)
    entry, known = graph.graph.input[0].name, {output.name for output in graph.graph.output}
    graph.graph.output.extend(onnx.ValueInfoProto(name=name) for node in graph.graph.node for name in node.output if name not in known)
    session = runtime.InferenceSession(graph.SerializeToString())
    values = zip([output.name for output in session.get_outputs()], session.run(None, {entry: batch}), strict=True)
    return {entry: float(abs(batch).max())} | {name: float(abs(value).max()) for name, value in values}


def detector(folder):
    """YOLOX-Nano's weights with the input, the head, the names and the metadata that Ultralytics' exporter writes."""
    some("coco/calib", folder / "photos", 28)
    some("coco/val", folder / "test", 28)
    shutil.copy(min((folder / "test").iterdir()), folder / "photo.jpg")
    onnx = need("onnx")
    model = onnx.load(shared_model("yolox_nano"))
    take_rgb(onnx, model.graph)
    add_head(onnx, model.graph)
    facts = {"description": "Ultralytics YOLO model", "author": "Ultralytics", "version": "8.3.0", "stride": "32", "task": "detect",
             "batch": "1", "imgsz": f"[{SIDE}, {SIDE}]", "names": str(dict(enumerate(class_names(folder))))}
    model.metadata_props.extend(onnx.StringStringEntryProto(key=key, value=value) for key, value in facts.items())
    onnx.save(model, folder / "yolo11n.onnx")


def class_names(folder):
    lines = (shared_data("coco") / "classes.yaml").read_text().splitlines()
    return [line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip().isdigit()]


def take_rgb(onnx, graph):
    """RGB of 0 to 1 in place of BGR of 0 to 255: the first convolution sees four pixels of three channels each."""
    first = next(node for node in graph.node if node.op_type == "Conv")
    weights = next(tensor for tensor in graph.initializer if tensor.name == first.input[1])
    values = onnx.numpy_helper.to_array(weights)
    order = [4 * 0 + 3 * pixel + channel for pixel in range(4) for channel in (2, 1, 0)]
    weights.CopyFrom(onnx.numpy_helper.from_array(values[:, order] * values.dtype.type(255), weights.name))


def add_head(onnx, graph):
    """[1,84,cells]: centers and sizes in pixels, and a score for each class, as Ultralytics has them."""
    numpy, helper = need("numpy"), onnx.helper
    cells = [(x, y, stride) for stride in STRIDES for y in range(SIDE // stride) for x in range(SIDE // stride)]
    x, y, stride = numpy.array(cells, numpy.float32).T
    for name, value in {"grid": numpy.stack([x, y]), "stride": stride}.items():
        graph.initializer.append(onnx.numpy_helper.from_array(value[None], f"/model.23/{name}"))

    def node(kind, inputs, outputs, **attributes):
        prefixed = [f"/model.23/{name}" if name != "output0" else name for name in outputs]
        graph.node.append(helper.make_node(kind, inputs, prefixed, name=f"/model.23/{kind}_{len(graph.node)}", **attributes))
        return prefixed

    del graph.node[-1].output[:]
    graph.node[-1].output.append("/model.23/raw")
    (turned,) = node("Transpose", ["/model.23/raw"], ["turned"], perm=[0, 2, 1])
    xy, wh, objects, classes = node("Split", [turned], ["xy", "wh", "objects", "classes"], axis=1, split=[2, 2, 1, 80])
    (places,) = node("Add", [xy, "/model.23/grid"], ["places"])
    (centers,) = node("Mul", [places, "/model.23/stride"], ["centers"])
    (grown,) = node("Exp", [wh], ["grown"])
    (sizes,) = node("Mul", [grown, "/model.23/stride"], ["sizes"])
    (scores,) = node("Mul", [objects, classes], ["scores"])
    node("Concat", [centers, sizes, scores], ["output0"], axis=1)
    graph.output[0].CopyFrom(helper.make_tensor_value_info("output0", onnx.TensorProto.FLOAT, [1, 84, len(cells)]))


class Decoder:
    """A small GPT: random weights, one token a run; keys and values in buffers of a fixed size, or of one that grows by each token."""

    def __init__(self, grows):
        self.grows = grows
        self.numpy, self.onnx = need("numpy", "onnx")
        self.random = self.numpy.random.default_rng(26)
        self.nodes, self.weights = [], []

    def node(self, kind, *inputs, out=None, **attributes):
        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], name=f"/{kind}_{len(self.nodes)}", **attributes))
        return name

    def constant(self, value):
        array = self.numpy.asarray(value)
        name = f"w{len(self.weights)}"
        self.weights.append(self.onnx.numpy_helper.from_array(array.astype(self.numpy.float32) if array.dtype == float else array, name))
        return name

    def product(self, value, rows, columns, spread=1.0):
        return self.node("MatMul", value, self.constant(self.random.normal(0, spread / rows**0.5, (rows, columns))))

    def norm(self, value):
        size = HEADS * WIDTH
        return self.node("LayerNormalization", value, self.constant(1 + self.random.normal(0, 0.1, size)), self.constant(self.numpy.zeros(size)))

    def heads(self, value):
        return self.node("Reshape", value, self.constant([1, HEADS, 1, WIDTH]))

    def kept(self, name, now, here):
        past, present = f"past_key_values.{name}", f"present.{name}"
        return self.node("Concat", past, now, out=present, axis=2) if self.grows else self.node("Where", here, now, past, out=present)

    def masks(self):
        """Where this token is in the buffers, and what hides those that are to come."""
        steps = self.constant(self.numpy.arange(STEPS))
        here = self.node("Reshape", self.node("Equal", steps, "position_ids"), self.constant([1, 1, STEPS, 1]))
        seen = self.node("Reshape", self.node("LessOrEqual", steps, "position_ids"), self.constant([1, 1, 1, STEPS]))
        return here, self.node("Where", seen, self.constant(0.0), self.constant(-1e4))

    def attention(self, value, layer, here, later):
        size = HEADS * WIDTH
        query, key, content = (self.heads(self.product(value, size, size, 2.0)) for _ in range(3))
        kept = [self.kept(f"{layer}.{part}", now, here) for part, now in (("key", key), ("value", content))]
        scores = self.node("MatMul", query, self.node("Transpose", kept[0], perm=[0, 1, 3, 2]))
        scores = self.node("Mul", scores, self.constant(WIDTH**-0.5))
        scores = scores if self.grows else self.node("Add", scores, later)
        joined = self.node("MatMul", self.node("Softmax", scores, axis=-1), kept[1])
        return self.product(self.node("Reshape", joined, self.constant([1, 1, size])), size, size)

    def model(self):
        size = HEADS * WIDTH
        here, later = (None, None) if self.grows else self.masks()
        table = self.random.normal(0, 1, (WORDS, size))
        value = self.node("Add", self.node("Gather", self.constant(table), "input_ids"),
                          self.node("Gather", self.constant(self.random.normal(0, 0.5, (STEPS, size))), "position_ids"))
        for layer in range(LAYERS):
            value = self.node("Add", value, self.attention(self.norm(value), layer, here, later))
            inner = self.node("Gelu", self.product(self.norm(value), size, 4 * size))
            value = self.node("Add", value, self.product(inner, 4 * size, size))
        self.node("MatMul", self.norm(value), self.constant(self.random.normal(0, 1, (size, WORDS))), out="logits")
        return self.made()

    def made(self):
        helper, types = self.onnx.helper, self.onnx.TensorProto
        before, after = ("past", "all") if self.grows else (STEPS, STEPS)
        buffers = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]

        def reals(name, sizes):
            return helper.make_tensor_value_info(name, types.FLOAT, sizes)

        graph = helper.make_graph(
            self.nodes, "decoder",
            [helper.make_tensor_value_info(name, types.INT64, [1, 1]) for name in ("input_ids", "position_ids")]
            + [reals(f"past_key_values.{name}", [1, HEADS, before, WIDTH]) for name in buffers],
            [reals("logits", [1, 1, WORDS])] + [reals(f"present.{name}", [1, HEADS, after, WIDTH]) for name in buffers], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def decoder(folder):
    """The model, and token sequences: one file is one sequence, its rows are the steps."""
    numpy, onnx = need("numpy", "onnx")
    onnx.save(Decoder(grows=False).model(), folder / "decoder.onnx")
    onnx.save(Decoder(grows=True).model(), folder / "growing.onnx")
    random = numpy.random.default_rng(0)
    for part, count in (("prompts", 16), ("test", 8)):
        (folder / part).mkdir()
        for i in range(count):
            numpy.savez(folder / part / f"{i:02}.npz", input_ids=random.integers(0, WORDS, (STEPS, 1)),
                        position_ids=numpy.arange(STEPS)[:, None])


PAGES = {"classifier": classifier, "tensorrt": tensorrt, "detector": detector, "decoder": decoder}


def make(page, folder):
    folder.mkdir(parents=True)
    PAGES[page](folder)
    return folder


if __name__ == "__main__":
    make(sys.argv[1], pathlib.Path(sys.argv[2]))
