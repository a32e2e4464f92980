# SPDX-License-Identifier: Apache-2.0
"""Models whose weights alone are codes (DequantizeLinear of 8 and 4 bits, MatMulNBits), and models that ONNX Runtime quantized dynamically:
what they compute is ONNX Runtime's on real images, and what INT8 makes of the former is what it makes of the real weights."""

import functools
import unittest

import harness
from harness import need, octet, onnxruntime_session, scratch
from models import MODELS, prepared_images

IMAGES = 8
REAL = 1e-5  # of logits below 10: sums of reals in another order
BLOCK = 32


def array_of(initializer):
    return need("onnx").numpy_helper.to_array(initializer)


class Weights:
    """A model with the weights of its products as codes, and the same with the real values of those codes."""

    def __init__(self, name, kind, opset=None):
        self.numpy, self.onnx = need("numpy", "onnx")
        self.kind, self.path, self.real = kind, scratch() / f"{name}.{kind}.onnx", scratch() / f"{name}.{kind}.real.onnx"
        self.model = self.onnx.load(MODELS[name].path)
        graph = self.model.graph
        if opset:
            self.model = self.onnx.version_converter.convert_version(self.model, opset)
            graph = self.model.graph
        self.inits = {tensor.name: tensor for tensor in graph.initializer}
        self.reals, self.nodes, self.count = {}, [], 0
        for node in graph.node:
            self.nodes.append(self.coded(node))
        del graph.node[:]
        graph.node.extend(self.nodes)
        self.model.opset_import.append(self.onnx.helper.make_opsetid("com.microsoft", 1))
        self.save(self.path, graph)
        self.with_reals()

    def save(self, path, graph):
        read = {name for node in graph.node for name in node.input}
        kept = [tensor for tensor in graph.initializer if tensor.name in read]
        del graph.initializer[:]
        graph.initializer.extend(kept)
        path.write_bytes(self.model.SerializeToString())

    def constant(self, name, array, dtype=None):
        helper = self.onnx.helper
        tensor = (self.onnx.numpy_helper.from_array(array, name) if dtype is None
                  else helper.make_tensor(name, dtype, array.shape, array.flatten().tolist()))
        self.model.graph.initializer.append(tensor)
        return name

    def coded(self, node):
        """The node, reading codes; the DequantizeLinear comes before it."""
        if node.op_type not in ("Conv", "MatMul", "Gemm") or node.input[1] not in self.inits:
            return node
        weights = array_of(self.inits[node.input[1]])
        if self.kind == "nbits":
            return self.multiplied(node, weights) if node.op_type == "MatMul" else node
        if self.kind == "s4" and node.op_type != "MatMul":
            return node
        name = f"{node.input[1]}.{self.count}"
        self.count += 1
        rows = node.op_type == "Conv" or any(a.name == "transB" and a.i for a in node.attribute)
        axis = 0 if rows else weights.ndim - 1
        inputs, attributes, real = getattr(self, self.kind)(name, weights, axis)
        self.reals[f"{name}.real"] = real
        self.nodes.append(self.onnx.helper.make_node("DequantizeLinear", inputs, [f"{name}.real"], f"{name}.dq", **attributes))
        node.input[1] = f"{name}.real"
        return node

    def s8(self, name, weights, axis):
        numpy = self.numpy
        shape = [-1 if i == axis else 1 for i in range(weights.ndim)]
        others = tuple(i for i in range(weights.ndim) if i != axis)
        scale = (numpy.abs(weights).max(axis=others) / numpy.float32(127)).astype(numpy.float32)
        codes = numpy.rint(weights / scale.reshape(shape)).astype(numpy.int8)
        inputs = [self.constant(f"{name}.q", codes), self.constant(f"{name}.s", scale)]
        return inputs, {"axis": axis}, codes.astype(numpy.float32) * scale.reshape(shape)

    def u8(self, name, weights, axis):
        """One scale and one zero point."""
        numpy = self.numpy
        scale = numpy.float32((weights.max() - weights.min()) / 255)
        zero = numpy.rint(-weights.min() / scale)
        codes = numpy.clip(numpy.rint(weights / scale) + zero, 0, 255).astype(numpy.uint8)
        inputs = [self.constant(f"{name}.{what}", numpy.asarray(array)) for what, array in
                  (("q", codes), ("s", scale), ("z", zero.astype(numpy.uint8)))]
        return inputs, {}, (codes.astype(numpy.float32) - numpy.float32(zero)) * scale

    def s4(self, name, weights, axis):
        """[K,N] with a scale for each block of a column."""
        numpy, onnx = self.numpy, self.onnx
        depth, columns = weights.shape
        blocks = weights.reshape(depth // BLOCK, BLOCK, columns)
        scale = (numpy.abs(blocks).max(axis=1) / numpy.float32(7)).astype(numpy.float32)
        codes = numpy.rint(blocks / scale[:, None]).astype(numpy.int8)
        inputs = [self.constant(f"{name}.q", codes.reshape(weights.shape), onnx.TensorProto.INT4), self.constant(f"{name}.s", scale)]
        return inputs, {"axis": 0, "block_size": BLOCK}, (codes.astype(numpy.float32) * scale[:, None]).reshape(weights.shape)

    def multiplied(self, node, weights):
        """MatMulNBits of 4 bits: codes of [N,K], two in a byte, the first one in its low half."""
        numpy = self.numpy
        depth, columns = weights.shape
        name = f"{node.input[1]}.{self.count}"
        self.count += 1
        blocks = weights.T.reshape(columns, depth // BLOCK, BLOCK)
        scale = (numpy.abs(blocks).max(axis=2) / numpy.float32(7)).astype(numpy.float32)
        codes = (numpy.rint(blocks / scale[:, :, None]) + 8).astype(numpy.uint8)
        packed = codes[:, :, ::2] | codes[:, :, 1::2] << 4
        real = ((codes.astype(numpy.float32) - 8) * scale[:, :, None]).reshape(columns, depth).T
        inputs = [node.input[0], self.constant(f"{name}.q", packed), self.constant(f"{name}.s", scale.flatten())]
        made = self.onnx.helper.make_node("MatMulNBits", inputs, node.output, node.name, domain="com.microsoft", K=depth, N=columns,
                                          bits=4, block_size=BLOCK)
        self.reals[f"{name}.real"] = numpy.ascontiguousarray(real)
        return made

    def with_reals(self):
        graph = self.model.graph
        nodes = []
        for node in graph.node:
            if node.op_type == "DequantizeLinear":
                continue
            if node.op_type == "MatMulNBits":
                name = node.input[1].removesuffix(".q") + ".real"
                node = self.onnx.helper.make_node("MatMul", [node.input[0], name], node.output, node.name)
            nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)
        for name, array in self.reals.items():
            self.constant(name, array)
        self.save(self.real, graph)


@functools.cache
def images():
    numpy = need("numpy")
    return numpy.concatenate(list(prepared_images(MODELS["cifar10_resnet20"], IMAGES)))


def logits_of(engine, one_by_one=False):
    numpy = need("numpy")
    source, target, results = scratch() / "coded.npz", scratch() / "logits.npz", []
    for part in numpy.split(images(), IMAGES) if one_by_one else [images()]:
        numpy.savez(source, input=part)
        octet("run", engine, source, "-o", target)
        with numpy.load(target) as arrays:
            results.append(arrays[arrays.files[0]])
    return numpy.concatenate(results)


def runtime_logits(path):
    """One image at a time, as dynamic ranges are those of what is given together."""
    numpy, session = need("numpy"), onnxruntime_session(path)
    name = session.get_inputs()[0].name
    return numpy.concatenate([session.run(None, {name: part})[0] for part in numpy.split(images(), IMAGES)])


def layers_of(engine):
    return octet("inspect", engine, "--json").json["layers"]


class WeightsAlone(unittest.TestCase):
    def hold(self, name, kind, said, opset=None):
        numpy, model = need("numpy"), Weights(name, kind, opset)
        engine, flags = scratch() / "coded.octet", MODELS[name].flags
        built = octet("build", model.path, "-o", engine)
        self.assertIn(said, built.err)
        numpy.testing.assert_allclose(logits_of(engine), runtime_logits(model.path), rtol=0, atol=REAL)
        # What calibration sees, and the codes that weights get, follow from the same reals.
        results = []
        for path in (model.path, model.real):
            octet("build", path, "--int8", "--calib", MODELS[name].calib, "--max-samples", "16", *flags, "-o", engine, "--quiet")
            results.append(logits_of(engine))
            layers = layers_of(engine)
            products = [layer for layer in layers if layer["macs"] and layer["reason_code"] == "constant_weights"]
            self.assertGreater(len(products), 20)
            self.assertEqual({layer["precision"] for layer in products}, {"int8"})
        numpy.testing.assert_array_equal(*results)

    def test_a_scale_for_each_channel(self):
        self.hold("cifar10_resnet20", "s8", "hold weights alone")

    def test_one_zero_point(self):
        self.hold("cifar10_resnet20", "u8", "hold weights alone")

    def test_blocks_of_4_bits(self):
        self.hold("cifar10_vit", "s4", "hold weights alone", opset=21)

    def test_products_by_4_bits(self):
        self.hold("cifar10_vit", "nbits", "MatMul")

    def test_int8_without_data_is_refused(self):
        model = Weights("cifar10_resnet20", "s8")
        refused = octet("build", model.path, "--int8", "-o", scratch() / "no.octet", code=2)
        self.assertIn("INT8 needs calibration data, or a model with Q/DQ nodes around its activations", refused.err)
        check = octet("check", model.path, "--json").json
        self.assertFalse(check["carries_qdq"])
        self.assertTrue(any("hold weights alone" in warning for warning in check["warnings"]))


class Dynamic(unittest.TestCase):
    """What quantize_dynamic writes, and what ONNX Runtime's optimizer makes of it."""

    def quantized(self, name):
        quantization, runtime = need("onnxruntime.quantization", "onnxruntime")
        path, optimized = scratch() / f"{name}.dynamic.onnx", scratch() / f"{name}.optimized.onnx"
        # Its u8 by s8 products saturate where a processor has no VNNI.
        quantization.quantize_dynamic(MODELS[name].path, path, weight_type=quantization.QuantType.QUInt8)
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(optimized)
        runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return path, optimized

    def hold(self, name):
        numpy = need("numpy")
        for path in self.quantized(name):
            engine = scratch() / "dynamic.octet"
            self.assertNotIn("slower", octet("build", path, "-o", engine).err)
            mine, theirs = logits_of(engine, one_by_one=True), runtime_logits(path)
            numpy.testing.assert_array_equal(mine.argmax(1), theirs.argmax(1))
            layers = layers_of(engine)
            self.assertGreater([layer["op"] for layer in layers if layer["precision"] == "int8"].count("QConv"), 0)
            self.assertEqual([layer["name"] for layer in layers if layer["macs"] and layer["kernel"] == "reference"], [])
            yield path, numpy.abs(mine - theirs).max(axis=1)

    def test_convolutions(self):
        for path, apart in self.hold("cifar10_resnet20"):
            # A tie of rounding may fall otherwise, and changes the codes behind it.
            self.assertLess(sorted(apart)[IMAGES // 2], REAL)
            built = octet("build", path, "--int8", "--calib", MODELS["cifar10_resnet20"].calib, "-o", scratch() / "own.octet")
            self.assertIn("its own scales are used", built.err)

    def test_a_transformer(self):
        for path, _ in self.hold("cifar10_vit"):
            operators = {entry["name"] for entry in octet("check", path, "--json").json["operators"]}
            self.assertTrue(operators & {"MatMulInteger", "DynamicQuantizeMatMul"}, operators)


if __name__ == "__main__":
    harness.main()
