# SPDX-License-Identifier: Apache-2.0
"""A small network in which one layer loses most in codes."""

import harness


def network(folder):
    """x -> depthwise "wise" -> "point" -> two wide convolutions -> y. The second channel of x is a tenth as loud as the first, and "wise" makes them alike:
    the codes of x, which nothing can scale by channel, cost it more than others lose, and it is a small part of the work."""
    numpy, onnx = harness.need("numpy"), harness.need("onnx")
    helper, random = onnx.helper, numpy.random.default_rng(3)
    shapes = {"w0": (2, 1, 3, 3), "w1": (48, 2, 1, 1), "w2": (48, 48, 3, 3), "w3": (48, 48, 3, 3)}
    weights = {name: (random.standard_normal(shape) / numpy.sqrt(numpy.prod(shape[1:]))).astype("f") for name, shape in shapes.items()}
    weights["w0"][1] *= 10
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "wise", group=2, pads=[1] * 4), helper.make_node("Conv", ["a", "w1"], ["b"], "point"),
             helper.make_node("Relu", ["b"], ["c"], "relu"), helper.make_node("Conv", ["c", "w2"], ["d"], "wide", pads=[1] * 4),
             helper.make_node("Conv", ["d", "w3"], ["y"], "last", pads=[1] * 4)]
    infos = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["N", c, 16, 16])] for n, c in (("x", 2), ("y", 48))]
    graph = helper.make_graph(nodes, "net", *infos, initializer=[onnx.numpy_helper.from_array(v, k) for k, v in weights.items()])
    folder.mkdir()
    model = folder / "net.onnx"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    x = random.standard_normal((12, 2, 16, 16)).astype("f")
    x[:, 1] /= 10
    numpy.savez(folder / "x.npz", x=x)
    return model
