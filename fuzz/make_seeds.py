#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the generated part of corpus/: tiny models, engines, graph texts, arrays, images, preprocessing and tuning files.
Needs onnx and numpy, and OCTET=path of the octet program. Findings (other names) are left alone."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CORPUS = HERE / "corpus"
RNG = np.random.default_rng(3)


def weight(name, *dims, dtype=np.float32):
    values = RNG.integers(-9, 9, dims) if dtype != np.float32 else RNG.normal(size=dims)
    return numpy_helper.from_array(values.astype(dtype), name)


def model(nodes, inputs, outputs, weights=(), opset=17, functions=()):
    def info(name, dims, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, dims)

    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs], list(weights))
    imports = [helper.make_opsetid("", opset)]
    if functions:
        imports.append(helper.make_opsetid("local", 1))
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions), producer_name="seed")
    made.ir_version = 8
    return made.SerializeToString(deterministic=True)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def conv_models():
    image = [("x", [1, 3, 6, 6])]
    yield "conv_bn_relu", model(
        [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
         node("BatchNormalization", ["c", "s", "b", "b", "v"], ["n"]),
         node("Relu", ["n"], ["r"]), node("GlobalAveragePool", ["r"], ["y"])],
        image, [("y", [1, 4, 1, 1])],
        [weight("w", 4, 3, 3, 3), weight("b", 4), weight("s", 4), numpy_helper.from_array(np.ones(4, np.float32), "v")])
    yield "depthwise_strided", model(
        [node("Conv", ["x", "w"], ["y"], group=3, strides=[2, 2], dilations=[1, 2], pads=[0, 1, 1, 0])],
        image, [("y", None)], [weight("w", 3, 1, 2, 2)])
    yield "conv_transpose", model(
        [node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], output_padding=[1, 0])],
        image, [("y", None)], [weight("w", 3, 2, 3, 3)])
    yield "pools", model(
        [node("MaxPool", ["x"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
         node("AveragePool", ["m"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
         node("LRN", ["a"], ["l"], size=3), node("Flatten", ["l"], ["f"]),
         node("Gemm", ["f", "w"], ["y"], transB=1, alpha=0.5)],
        image, [("y", None)], [weight("w", 5, 27)])
    yield "resize_pad", model(
        [node("Pad", ["x", "p"], ["a"], mode="reflect"), node("Resize", ["a", "", "s"], ["y"], mode="linear")],
        image, [("y", None)],
        [numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "p"),
         numpy_helper.from_array(np.array([1, 1, 2, 1.5], np.float32), "s")])


def quantized_models():
    scale = numpy_helper.from_array(np.float32(0.05), "s")
    zero = numpy_helper.from_array(np.uint8(3), "z")
    weights = [scale, zero, numpy_helper.from_array(np.array([0.1, 0.2, 0.3, 0.4], np.float32), "ws"),
               numpy_helper.from_array(np.zeros(4, np.int8), "wz"), weight("w", 4, 3, 3, 3, dtype=np.int8)]
    yield "qdq_conv", model(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
         node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
         node("Conv", ["d", "wd"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
         node("QuantizeLinear", ["r", "s", "z"], ["rq"]), node("DequantizeLinear", ["rq", "s", "z"], ["y"])],
        [("x", [1, 3, 5, 5])], [("y", None)], weights)
    yield "qdq_focus", model(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
         *(node("Slice", ["d", f"from{i}", "to", "axes", "two"], [f"p{i}"]) for i in range(4)),
         node("Concat", [f"p{i}" for i in range(4)], ["f"], axis=1),
         node("QuantizeLinear", ["f", "s", "z"], ["fq"]), node("DequantizeLinear", ["fq", "s", "z"], ["fd"]),
         node("DequantizeLinear", ["focus", "s", "wz"], ["wd"]), node("Conv", ["fd", "wd"], ["c"], pads=[1, 1, 1, 1]),
         node("QuantizeLinear", ["c", "s", "z"], ["cq"]), node("DequantizeLinear", ["cq", "s", "z"], ["y"])],
        [("x", ["n", 1, 6, 4])], [("y", None)],
        [scale, zero, numpy_helper.from_array(np.int8(0), "wz"),
         numpy_helper.from_array(np.arange(-36, 36, dtype=np.int8).reshape(2, 4, 3, 3), "focus"),
         *(numpy_helper.from_array(np.array(v, np.int64), k) for k, v in
           {"from0": [0, 0], "from1": [1, 0], "from2": [0, 1], "from3": [1, 1], "to": [9, 9], "axes": [2, 3], "two": [2, 2]}.items())])
    yield "qlinear_matmul", model(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"]),
         node("QLinearMatMul", ["q", "s", "z", "m", "s", "mz", "s", "z"], ["p"]),
         node("DequantizeLinear", ["p", "s", "z"], ["y"])],
        [("x", ["n", 8])], [("y", None)],
        [scale, zero, weight("m", 8, 5, dtype=np.int8), numpy_helper.from_array(np.int8(0), "mz")])
    yield "dynamic_quantize", model(
        [node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
         node("MatMulInteger", ["q", "m", "qz"], ["i"]), node("Cast", ["i"], ["y"], to=1)],
        [("x", ["n", 8])], [("y", None)], [weight("m", 8, 5, dtype=np.int8)])


def sequence_models():
    yield "attention", model(
        [node("LayerNormalization", ["x", "g", "b"], ["n"]), node("MatMul", ["n", "w"], ["q"]),
         node("Transpose", ["q"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["a"]),
         node("Softmax", ["a"], ["p"], axis=-1), node("MatMul", ["p", "q"], ["y"])],
        [("x", ["batch", "length", 8])], [("y", None)], [weight("g", 8), weight("b", 8), weight("w", 8, 8)])
    yield "shapes", model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["d"]), node("Concat", ["d", "m"], ["r"], axis=0),
         node("Reshape", ["x", "r"], ["f"]), node("Slice", ["f", "b", "e", "a"], ["c"]),
         node("Unsqueeze", ["c", "a"], ["u"]), node("Tile", ["u", "t"], ["y"])],
        [("x", ["n", 4, 3])], [("y", None)],
        [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in
         {"i": [0], "m": [-1], "b": [1], "e": [7], "a": [1], "t": [1, 2, 1]}.items()])
    yield "recurrent", model(
        [node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=3),
         node("GRU", ["x", "gw", "gr"], ["gy"], hidden_size=3, direction="reverse")],
        [("x", [4, 1, 2])], [("y", None), ("gy", None)],
        [weight("w", 1, 12, 2), weight("r", 1, 12, 3), weight("gw", 1, 9, 2), weight("gr", 1, 9, 3)])
    yield "indices", model(
        [node("TopK", ["x", "k"], ["v", "i"]), node("GatherElements", ["x", "i"], ["g"], axis=1),
         node("ScatterElements", ["x", "i", "v"], ["s"], axis=1), node("CumSum", ["s", "a"], ["c"]),
         node("ArgMax", ["c"], ["m"], axis=1), node("OneHot", ["m", "k", "o"], ["h"]),
         node("Einsum", ["x", "s"], ["e"], equation="ij,kj->ik")],
        [("x", [3, 5])], [("h", None), ("g", None), ("e", None)],
        [numpy_helper.from_array(np.array([2], np.int64), "k"), numpy_helper.from_array(np.int64(1), "a"),
         numpy_helper.from_array(np.array([0, 1], np.float32), "o")])


def structured_models():
    function = helper.make_function(
        "local", "twice", ["a"], ["b"], [node("Add", ["a", "a"], ["t"]), node("LeakyRelu", ["t"], ["b"], alpha=0.1)],
        [helper.make_opsetid("", 17)])
    yield "function", model([node("twice", ["x"], ["u"], domain="local"), node("twice", ["u"], ["y"], domain="local")],
                            [("x", [2, 3])], [("y", None)], functions=[function])

    def branch(name, op):
        return helper.make_graph([node(op, ["x"], [name])], name,
                                 [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    yield "if", model([node("If", ["c"], ["y"], then_branch=branch("t", "Neg"), else_branch=branch("e", "Abs"))],
                      [("c", [], TensorProto.BOOL), ("x", [2, 3])], [("y", None)])
    body = helper.make_graph(
        [node("Add", ["v", "x"], ["w"]), node("Identity", ["c"], ["d"]), node("Identity", ["w"], ["o"])], "body",
        [helper.make_tensor_value_info(n, k, []) for n, k in
         (("i", TensorProto.INT64), ("c", TensorProto.BOOL))] + [helper.make_tensor_value_info("v", 1, [2])],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("w", 1, [2]),
         helper.make_tensor_value_info("o", 1, [2])])
    trips = numpy_helper.from_array(np.int64(3), "m")
    yield "loop", model([node("Loop", ["m", "", "x"], ["y", "s"], body=body)], [("x", [2])],
                        [("y", None), ("s", None)], [trips])
    yield "constants", model(
        [node("Constant", [], ["k"], value_floats=[1.0, 2.0]), node("ConstantOfShape", ["n"], ["z"]),
         node("Add", ["k", "z"], ["s"]), node("Mul", ["x", "s"], ["y"])],
        [("x", [3, 2])], [("y", None)], [numpy_helper.from_array(np.array([2], np.int64), "n")])
    yield "old_opset", model([node("Upsample", ["x"], ["u"], scales=[1.0, 1.0, 2.0, 2.0]),
                              node("Dropout", ["u"], ["d"], ratio=0.5), node("Softmax", ["d"], ["y"], axis=1)],
                             [("x", [1, 2, 3, 3])], [("y", None)], opset=7)


def data_models():
    """Sizes that depend on data, and a Scan."""
    def ints(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    yield "nonzero", model(
        [node("Relu", ["x"], ["r"]), node("NonZero", ["r"], ["n"]), node("Transpose", ["n"], ["t"]),
         node("GatherND", ["x", "t"], ["g"]), node("Compress", ["g", "k"], ["c"]), node("Unique", ["c"], ["u", "", "i"]),
         node("Shape", ["u"], ["s"]), node("Expand", ["one", "s"], ["y"])],
        [("x", [2, 3])], [("y", None), ("i", None, TensorProto.INT64)],
        [numpy_helper.from_array(np.array([True, False, True]), "k"), weight("one", 1)])
    yield "nms", model(
        [node("Sigmoid", ["b"], ["p"]), node("NonMaxSuppression", ["p", "s", "most", "iou"], ["c"]),
         node("Gather", ["c", "two"], ["i"], axis=1), node("Squeeze", ["p", "zero"], ["q"]), node("Gather", ["q", "i"], ["y"])],
        [("b", [1, 5, 4]), ("s", [1, 2, 5])], [("y", None)],
        [ints("most", 3), numpy_helper.from_array(np.array([0.5], np.float32), "iou"), numpy_helper.from_array(np.int64(2), "two"),
         ints("zero", 0)])
    yield "shape_input", model(
        [node("Reshape", ["x", "shape"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
        [("x", [2, 2]), ("shape", [2], TensorProto.INT64)], [("y", None)], [weight("w", 2, 3)])
    step = helper.make_graph(
        [node("Add", ["v", "e"], ["w"]), node("Mul", ["w", "k"], ["o"])], "step",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("v", "e")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("w", "o")])
    yield "scan", model([node("Scan", ["x", "e"], ["l", "y"], body=step, num_scan_inputs=1, scan_input_directions=[1])],
                        [("x", [2]), ("e", [3, 2]), ("k", [2])], [("l", None), ("y", None)])


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def write_models():
    for group in (conv_models, quantized_models, sequence_models, structured_models, data_models):
        for name, data in group():
            onnx.load_from_string(data)
            write("onnx", name + ".onnx", data)


def write_engines(octet):
    """One engine for each seed model that octet builds, and as graph text with its blobs."""
    with tempfile.TemporaryDirectory() as folder:
        engine = pathlib.Path(folder) / "e.octet"
        for seed in sorted((CORPUS / "onnx").glob("*.onnx")):
            if subprocess.run([octet, "build", seed, "-o", engine, "--quiet"], capture_output=True).returncode:
                print("no engine of", seed.name)
                continue
            data = engine.read_bytes()
            write("engine_load", seed.stem + ".octet", data)
            sections = np.frombuffer(data[32:128], np.uint64).reshape(3, 4)
            parts = [data[int(o):int(o + n)] for _, o, n, _ in sections]
            write("engine_run", seed.stem + ".txt", parts[1] + b"\0" + parts[2])


def write_texts():
    for case in sorted((ROOT / "tests/passes").glob("*/*.txt")):
        for i, text in enumerate(case.read_text().split("----\n")):
            if "= ..." in text:  # a table that the golden file only hints at
                continue
            write("engine_run", f"{case.parent.name}_{case.stem}_{i}.txt", text.encode() + b"\0")


def write_data():
    testdata = ROOT / "src/data/testdata"
    for path in sorted(testdata.glob("*.np[yz]")):
        write("npy", path.name, path.read_bytes())
    for path in [path for kind in ("jpg", "png", "bmp", "webp") for path in sorted(testdata.glob("*." + kind))]:
        write("image", path.name, path.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        array = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
        for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
            path = pathlib.Path(folder) / f"{name}.npz"
            save(path, a=array, labels=np.arange(3))
            for kind in (0, 1, 4):
                write("calibration", f"{name}_{kind}.npz", bytes([kind]) + path.read_bytes())
        path = pathlib.Path(folder) / "a.npy"
        np.save(path, array)
        write("calibration", "array.npy", bytes([2]) + path.read_bytes())
    for name in ("rgb.png", "gray.jpg"):
        write("calibration", name, bytes([3]) + (testdata / name).read_bytes())
    texts = {
        "all": '{"color":"rgb","resize":"8x6","crop":"4x4","scale":255,"mean":[0.4,0.5,0.6],"std":[0.2,0.2,0.2],'
               '"layout":"nchw"}',
        "letterbox": '{"letterbox":"16x16:114","color":"bgr","scale":255,"layout":"nhwc"}',
        "short": '{"resize":"7","color":"gray","mean":"0.5","std":0.25}',
        "empty": "{}",
        "preset": '{"preset":"torchvision","mean":0.5,"crop_share":0.9}',
        "center": '{"letterbox":"16x12:7:center","fit":"letterbox","scale":255}',
        "hugging_face": '{"do_resize":true,"size":{"shortest_edge":8},"crop_pct":0.875,"do_center_crop":true,"crop_size":{"height":4,"width":5},'
                        '"do_rescale":true,"rescale_factor":0.00392156862745098,"rescale_offset":true,"do_normalize":true,'
                        '"image_mean":[0.5,0.5,0.5],"image_std":[0.5,0.5,0.5],"resample":3}',
        "timm": '{"pretrained_cfg":{"input_size":[3,5,4],"mean":[0.4,0.5,0.6],"std":[0.2,0.2,0.2],"crop_pct":0.9,"interpolation":"bicubic"}}',
        "profiles": '[{"input":"x","samples":3,"interleaving":0.25,"min":[-1,0],"max":[2.5,0],"mean":[0.1,0],"deviation":[0.2,0]}]',
    }
    for name, text in texts.items():
        write("preprocess", name + ".json", text.encode())
    choice = '{"chip":"c","level":"%s","threads":%d,"layer":"Relu(f32[4]) -> f32[4]","kernel":"k","microseconds":1.5}'
    for name, choices in (("none", []), ("two", [choice % ("amx", 1), choice % ("avx2", 2)])):
        text = '{"format":"octet-tuning","version":2,"choices":[' + ",".join(choices) + "]}"
        write("tuning", name + ".json", text.encode())


def plugin_key(record, state):
    """As tensorrt/plugins/live.cc makes it: FNV-1a over all that a plan says of a plugin."""
    hash_ = 14695981039346656037
    types, formats = {"Float": 0, "Int8": 2}, {"kLINEAR": 0, "kCHW4": 3}
    texts = [record[name] for name in ("type", "version", "namespace", "layer")] + [state, record["type"]]
    numbers = [int(record["implicit"]), record["inputs"], *record["ranks"]]
    for combination in record["formats"]:
        numbers += [types[a] * 256 + formats[b] for a, b in zip(combination[::2], combination[1::2])]
    for text in texts + [str(number) for number in numbers]:
        for value in [*text.encode(), 0x100]:
            hash_ = (hash_ ^ value) * 1099511628211 % 2**64
    return f"{hash_:016x}"


def write_plans():
    """What is attached to a plan with a plugin, fields of a plugin, and how a plan was built."""
    state = "state"
    record = {"type": "Decode", "version": "1", "namespace": "", "layer": "decode", "implicit": False, "ranks": [4, 4, 2],
              "inputs": 2, "formats": [["Float", "kLINEAR"] * 3, ["Int8", "kCHW4", "Int8", "kLINEAR", "Float", "kLINEAR"]],
              "state_bytes": len(state)}
    bindings = [{"name": name, "value": name, "input": name == "x", "type": "Float", "dims": [-1, 2], "scale": 0.5, "format": 0, "host": False}
                for name in ("x", "y")]
    head = {"name": "net", "implicit": False, "max_batch": 1, "verbosity": 2, "refittable": True, "bindings": bindings,
            "profiles": [{"shapes": {"x": [[1, 2], [4, 2], [8, 2]]}, "values": {"y": [[-1], [0], [9]]}}], "debug": ["t"], "tuning": "", "refit": "{}"}
    for name, plugins in (("none", []), ("one", [dict(record, key=plugin_key(record, state))])):
        text = json.dumps(head | {"plugins": plugins}).encode()
        write("plan", name + ".bin", b"OCTTRT01" + struct.pack("<Q", len(text)) + text + state.encode() * len(plugins))
    field = struct.pack("<I", 6) + b"factor" + struct.pack("<III", 1, 1, 4) + struct.pack("<f", 2)
    write("plan", "fields.bin", field * 2)
    refit = {"int8": True, "f16": False, "bf16": True, "fastest": False, "subnormals": False, "cache": "TRT-8601-EntropyCalibration2\nx: 3c010a14\n",
             "details": "", "ranges": [["y", -1, 2.5]], "constraints": [["conv", "f32", True]], "mode": "obey"}
    write("plan", "refit.json", json.dumps(refit).encode())


def write_cases(octet):
    """A case with a run, and its two texts."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        seed = CORPUS / "onnx/conv_bn_relu.onnx"
        np.savez(here / "x.npz", x=np.ones((1, 3, 6, 6), np.float32))
        (here / "ranges.txt").write_text("*: -4 4\n")
        subprocess.run([octet, "build", seed, "-o", here / "e.octet", "--int8", "--ranges", here / "ranges.txt", "--keep-float",
                        "GlobalAveragePool_3", "--precision", "Conv:int8", "--scale", "2", "--quiet"], check=True, capture_output=True)
        subprocess.run([octet, "bundle", here / "e.octet", "-o", here / "case.zip", "--model", seed, "--inputs", here / "x.npz"],
                       check=True, capture_output=True)
        with zipfile.ZipFile(here / "case.zip") as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        said = json.loads(files["case.json"])
        said["chip"] = "a chip"
        files["case.json"] = text = json.dumps(said).encode()
        with zipfile.ZipFile(here / "seed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        write("bundle", "case.zip", b"\0" + (here / "seed.zip").read_bytes())
        write("bundle", "case.json", b"\1" + text)
        write("bundle", "provenance.json", b"\2" + json.dumps(json.loads(text)["provenance"]).encode())


def main():
    octet = os.environ.get("OCTET") or shutil.which("octet")
    if octet is None:
        return "set OCTET to the octet program"
    write_models()
    write_engines(octet)
    write_texts()
    write_data()
    write_plans()
    write_cases(octet)
    return 0


if __name__ == "__main__":
    sys.exit(main())
