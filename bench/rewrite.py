# SPDX-License-Identifier: Apache-2.0
"""Rewrites that turn a model file into one that every runtime reads: the same arithmetic in standard operators.

Half precision to f32, the operators of ONNX's experimental past, QOperator models as Q/DQ models, and another batch size.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Namer:
    """Adds constants under names of their own."""

    def __init__(self, model):
        self.initializers = model.graph.initializer
        self.count = 0

    def constant(self, array):
        self.count += 1
        name = f"rewrite_{self.count}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name


def to_f32(model):
    """FP16 tensors become f32, so that every runtime quantizes the same float network."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT16:
            tensor.CopyFrom(numpy_helper.from_array(
                numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT


def attributes_of(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def replace_nodes(model, rules):
    """Each node whose operator has a rule becomes the nodes which the rule makes of it, in place."""
    namer, nodes = Namer(model), []
    for node in model.graph.node:
        rule = rules.get(node.op_type)
        nodes += rule(node, attributes_of(node), namer) if rule else [node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _image_scaler(node, attributes, namer):
    scaled = node.output[0] + "_rewritten"
    bias = np.float32(attributes["bias"]).reshape(1, -1, 1, 1)
    return [helper.make_node("Mul", [node.input[0], namer.constant(np.float32(attributes["scale"]))], [scaled]),
            helper.make_node("Add", [scaled, namer.constant(bias)], [node.output[0]])]


def _affine(node, attributes, namer):
    scaled = node.output[0] + "_rewritten"
    return [helper.make_node("Mul", [node.input[0], namer.constant(np.float32(attributes["alpha"]))], [scaled]),
            helper.make_node("Add", [scaled, namer.constant(np.float32(attributes["beta"]))], list(node.output))]


def _crop(node, attributes, _namer):
    """Slice of opset 1, which the version converter then lifts."""
    left, top, right, bottom = attributes["border"]
    return [helper.make_node("Slice", [node.input[0]], list(node.output), axes=[2, 3],
                             starts=[top, left], ends=[-bottom, -right])]


def standard_operators(model):
    replace_nodes(model, {"ImageScaler": _image_scaler, "Affine": _affine, "Crop": _crop})


class _ToQdq:
    """QLinearX(x, scale, zero, w, scale, zero, scale and zero of the result, bias) as X between DequantizeLinear and QuantizeLinear."""

    def __init__(self, model):
        self.arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}

    def between(self, node, op, triples):
        """`triples` are code, scale and zero of each operand."""
        name = node.output[0]
        nodes, inputs = [], []
        for code, scale, zero in triples:
            per_channel = self.arrays[scale].ndim == 1
            inputs.append(f"{name}_operand{len(inputs)}")
            nodes.append(helper.make_node("DequantizeLinear", [code, scale, zero], [inputs[-1]],
                                          **({"axis": 0} if per_channel else {})))
        nodes.append(helper.make_node(op, inputs, [name + "_real"], name=name, **attributes_of(node)))
        nodes.append(helper.make_node("QuantizeLinear", [name + "_real", *node.input[6:8]], [name]))
        return nodes

    def conv(self, node, _attributes, namer):
        x, w = node.input[0:3], node.input[3:6]
        if len(node.input) < 9:
            return self.between(node, "Conv", [x, w])
        scales = np.float32(self.arrays[x[1]] * self.arrays[w[1]])
        scale, zero = namer.constant(scales), namer.constant(np.zeros(scales.shape, np.int32))
        self.arrays[scale] = scales
        return self.between(node, "Conv", [x, w, (node.input[8], scale, zero)])

    def binary(self, op):
        return lambda node, _attributes, _namer: self.between(node, op, [node.input[0:3], node.input[3:6]])


def qdq_from_qoperator(model):
    to = _ToQdq(model)
    replace_nodes(model, {"QLinearConv": to.conv, "QLinearMatMul": to.binary("MatMul"),
                          "QLinearAdd": to.binary("Add")})
    kept = [entry for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def fix_shape(model, shape):
    """The one real input gets its dimensions; what was inferred from the old ones is dropped."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise ValueError(f"{len(inputs)} inputs, expected one")
    del model.graph.input[:]
    model.graph.input.append(helper.make_tensor_value_info(inputs[0].name, TensorProto.FLOAT, shape))
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")


def _constants(model):
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            arrays[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return arrays


_SIZES_AT = {"Reshape": 1, "Expand": 1, "Resize": 3}  # the input that holds sizes


def _from_input(model):
    """Names of the values that depend on the model's input."""
    found = {model.graph.input[0].name}
    for node in model.graph.node:
        if not found.isdisjoint(node.input):
            found.update(node.output)
    return found


def _repeat_constant(model, name, batch):
    """A constant of one image, perhaps behind Q/DQ nodes, becomes one of each image."""
    producers = {output: node for node in model.graph.node for output in node.output}
    while name in producers and producers[name].op_type in ("QuantizeLinear", "DequantizeLinear"):
        name = producers[name].input[0]
    for tensor in model.graph.initializer:
        if tensor.name == name and tensor.dims and tensor.dims[0] == 1:
            tensor.CopyFrom(numpy_helper.from_array(np.repeat(numpy_helper.to_array(tensor), batch, 0), name))


def rebatch(model, batch):
    """A model of batch 1 at another batch size: sizes that were written down for one image are corrected."""
    constants, namer, varying = _constants(model), Namer(model), _from_input(model)
    namer.count = 1000  # after the names of other rewrites
    for node in model.graph.node:
        at = _SIZES_AT.get(node.op_type, len(node.input))
        if at < len(node.input) and node.input[at] in constants and node.input[0] in varying:
            sizes = constants[node.input[at]].copy()
            # The batch comes first, alone or times something else; with a -1 behind it the rest adapts.
            if sizes.size and (sizes[0] == 1 or sizes.min() > 0):
                sizes[0] *= batch
                node.input[at] = namer.constant(sizes)
        if node.op_type == "Concat" and attributes_of(node)["axis"] != 0 and node.output[0] in varying:
            for name in set(node.input) - varying:
                _repeat_constant(model, name, batch)
    entry = model.graph.input[0]
    fix_shape(model, [batch, *[d.dim_value for d in entry.type.tensor_type.shape.dim][1:]])
    return onnx.shape_inference.infer_shapes(model)
