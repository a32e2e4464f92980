# SPDX-License-Identifier: Apache-2.0
"""RetinaFace from image to faces in one INT8 engine, by the plugin of examples/plugins, against the float model in ONNX Runtime with its
decode in Python. Each photo is tested on an engine that was calibrated without it."""

import functools
import shutil
import unittest

import harness
from harness import BUILD, ROOT, command, need, octet, scratch, shared_data, shared_model
from plugins import EXAMPLES, plugin

SIZE, SCORE, OVERLAP, MOST = 640, 0.5, 0.4, 200
LEVELS = ((8, (16, 32), ("479", "516", "553")), (16, (64, 128), ("491", "528", "565")),
          (32, (256, 512), ("503", "540", "577")))
MEAN = (104, 117, 123)


@functools.cache
def split(whole):
    """The network up to its three feature maps; `whole`: with the decode behind them."""
    onnx = need("onnx")
    from onnx import TensorProto, helper
    model = onnx.load(shared_model("retinaface_mobilenet025"))
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    wanted, kept = [head for level in LEVELS for head in level[2]], []
    while wanted:
        node = producers.get(wanted.pop())
        if node is not None and not any(node is other for other in kept):
            kept.append(node)
            wanted.extend(node.input)
    nodes = [node for node in graph.node if any(node is other for other in kept)]
    maps = [f"map{step}" for step, _, _ in LEVELS]
    nodes += [helper.make_node("Concat", list(heads), [name], name=name, axis=1) for name, (_, _, heads) in zip(maps, LEVELS)]
    outputs = maps
    if whole:
        outputs = ["boxes", "scores", "landmarks"]
        nodes.append(helper.make_node("RetinaFaceDecode", maps, outputs, name="decode", domain="octet.examples",
                                      score=SCORE, overlap=OVERLAP, faces=MOST))
        model.opset_import.append(helper.make_opsetid("octet.examples", 1))
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs)
    path = scratch() / ("whole.onnx" if whole else "bare.onnx")
    onnx.save(model, path)
    return path


@functools.cache
def photos():
    np, image = need("numpy"), need("PIL.Image")
    arrays = []
    for path in sorted(shared_data("faces").iterdir()):
        photo = image.open(path).convert("RGB")
        scale = min(SIZE / photo.width, SIZE / photo.height)
        canvas = image.new("RGB", (SIZE, SIZE))
        canvas.paste(photo.resize((round(photo.width * scale), round(photo.height * scale)), image.Resampling.BILINEAR), (0, 0))
        arrays.append((np.asarray(canvas).astype(np.float32)[:, :, ::-1] - np.array(MEAN, np.float32)).transpose(2, 0, 1))
    return np.stack(arrays)


def iou(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return w * h / (area(a) + area(b) - w * h) if w > 0 and h > 0 else 0.0


@functools.cache
def anchors():
    np = need("numpy")
    rows = [((x + .5) * step, (y + .5) * step, size) for step, sizes, _ in LEVELS for y in range(SIZE // step)
            for x in range(SIZE // step) for size in sizes]
    return np.array(rows, np.float32)


def decode(loc, conf, points):
    """Boxes, scores, landmarks: best first, without what overlaps."""
    np = need("numpy")
    scores = conf[:, 1]
    kept = np.where(scores > SCORE)[0]
    kept = kept[np.argsort(-scores[kept], kind="stable")]
    at = anchors()[kept]
    center, size = at[:, :2] + loc[kept, :2] * .1 * at[:, 2:], at[:, 2:] * np.exp(loc[kept, 2:] * .2)
    boxes = np.concatenate([center - size / 2, center + size / 2], 1)
    marks = np.tile(at[:, :2], 5) + points[kept] * .1 * at[:, 2:]
    chosen = []
    for i in range(len(kept)):
        if len(chosen) < MOST and all(iou(boxes[i], boxes[j]) <= OVERLAP for j in chosen):
            chosen.append(i)
    return boxes[chosen], scores[kept][chosen], marks[chosen]


@functools.cache
def truth():
    ort = need("onnxruntime")
    session = ort.InferenceSession(str(shared_model("retinaface_mobilenet025")))
    results = []
    for photo in photos():
        loc, conf, points = session.run(["loc", "conf", "iou"], {"input": photo[None]})
        results.append(decode(loc[0], conf[0], points[0]))
    return results


def engine(name, *flags, whole=True):
    path = scratch() / f"{name}.octet"
    octet("build", split(whole), "-o", path, "--plugin", plugin(EXAMPLES / "retinaface.cc"), "--quiet", *flags)
    return path


def faces(path, arrays):
    np = need("numpy")
    np.savez(scratch() / "photos.npz", input=arrays)
    octet("run", path, scratch() / "photos.npz", "-o", scratch() / "faces.npz", "--plugin",
          plugin(EXAMPLES / "retinaface.cc"))
    out = np.load(scratch() / "faces.npz")
    out = {key: out[key].reshape(len(arrays), MOST, -1) for key in ("boxes", "scores", "landmarks")}
    results = []
    for boxes, scores, marks in zip(out["boxes"], out["scores"][:, :, 0], out["landmarks"]):
        results.append((boxes[scores > 0], scores[scores > 0], marks[scores > 0]))
    return results


def matched(reference, tested):
    """How many boxes of the first have one of their own in the second."""
    free, count = list(tested), 0
    for box in reference:
        best = max(range(len(free)), key=lambda i: iou(box, free[i]), default=None)
        if best is not None and iou(box, free[best]) >= 0.5:
            free.pop(best)
            count += 1
    return count


class RetinaFace(unittest.TestCase):
    def test_reals_are_the_float_model(self):
        np = need("numpy")
        for (boxes, scores, marks), want in zip(faces(engine("reals"), photos()[:4]), truth()):
            self.assertEqual(len(boxes), len(want[0]))
            np.testing.assert_allclose(boxes, want[0], atol=2e-2)
            np.testing.assert_allclose(scores, want[1], atol=1e-4)
            np.testing.assert_allclose(marks, want[2], atol=2e-2)

    def test_int8_from_image_to_faces(self):
        np = need("numpy")
        float_faces = int8_faces = found = true = 0
        for fold in (0, 1):
            np.savez(scratch() / f"calib{fold}.npz", input=photos()[1 - fold::2])
            path = engine(f"int8_{fold}", "--int8", "--calib", scratch() / f"calib{fold}.npz")
            for got, want in zip(faces(path, photos()[fold::2]), truth()[fold::2]):
                float_faces, int8_faces = float_faces + len(want[0]), int8_faces + len(got[0])
                found, true = found + matched(want[0], got[0]), true + matched(got[0], want[0])
        print(f"{float_faces} faces of the float model, {found} found; {int8_faces} of the engine, {true} true")
        self.assertGreaterEqual(found, 0.97 * float_faces)
        self.assertGreaterEqual(true, 0.97 * int8_faces)

    def test_the_decode_reads_codes_where_they_lie(self):
        np = need("numpy")
        np.savez(scratch() / "calib.npz", input=photos()[::2])
        path = engine("int8", "--int8", "--calib", scratch() / "calib.npz")
        layers = octet("inspect", path, "--plugin", plugin(EXAMPLES / "retinaface.cc"), "--shape", "input:1x3x640x640", "--json")
        decode_layer = next(layer for layer in layers.json["layers"] if "RetinaFaceDecode" in layer["op"])
        self.assertEqual((decode_layer["kernel"], decode_layer["precision"]), ("retinaface:int8-nhwc", "int8"))
        scales = [text.split()[3] for text in decode_layer["kernel_reason"].split(" -> ")[0].split(", ")]
        self.assertEqual(len(set(scales)), 3, scales)
        self.assertNotIn("Reorder", [layer["op"] for layer in layers.json["layers"]])

    def test_the_caller_of_the_bare_network_finds_the_same(self):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is absent")
        prefix, build = scratch() / "prefix", scratch() / "build"
        command("cmake", "--install", BUILD, "--prefix", prefix)
        command("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        command("cmake", "--build", build)
        out = command(build / "retinaface_caller", engine("whole_reals"), engine("bare_reals", whole=False),
                      build / "libretinaface.so", 1)
        self.assertRegex(out, r"^whole [0-9.]+ ms, (\d+) faces; bare and decode [0-9.]+ ms, \1 faces\n$")
        self.assertTrue((ROOT / "docs/plugins.md").exists())


if __name__ == "__main__":
    harness.main()
