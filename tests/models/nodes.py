# SPDX-License-Identifier: Apache-2.0
"""Small models made of onnx.helper parts, run by Octet and by ONNX Runtime."""

import itertools
import re

from harness import need, octet, onnxruntime_session, scratch

_count = itertools.count()


class Small:
    """A graph under construction; arrays become initializers, names of inputs carry their example arrays."""

    def __init__(self, opset=17):
        self.opset, self.nodes, self.inits, self.feeds, self.outputs = opset, [], [], {}, []
        self.shapes = {}  # declared ones of inputs, where they are not their arrays': sizes, names, None

    def const(self, array, name=None):
        onnx = need("onnx")
        name = name or f"c{len(self.inits)}"
        self.inits.append(onnx.numpy_helper.from_array(array, name))
        return name

    def feed(self, name, array):
        self.feeds[name] = array
        return name

    def node(self, op, inputs, outputs=None, domain="", **attrs):
        onnx = need("onnx")
        outputs = outputs or [f"v{len(self.nodes)}"]
        self.nodes.append(onnx.helper.make_node(op, inputs, outputs, name=f"n{len(self.nodes)}_{op}", domain=domain, **attrs))
        return outputs[0]

    def save(self, *outputs):
        onnx = need("onnx")
        helper = onnx.helper
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), self.shapes.get(n, a.shape))
                  for n, a in self.feeds.items()]
        infos = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "small", inputs, infos, initializer=self.inits)
        domains = sorted({node.domain for node in self.nodes} - {""})
        imports = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in domains]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        # ONNX Runtime wants the outputs' types, which it infers by itself only for named ones.
        path = scratch() / f"small{next(_count)}.onnx"
        path.write_bytes(model.SerializeToString())
        return path


def expected(path, feeds):
    integer = any(re.match("QLinear|QGemm|QAttention|DynamicQuantize(?!Linear)|.*Integer", node.op_type) for node in need("onnx").load(path).graph.node)
    session = onnxruntime_session(path, exact_sums=integer)
    return {info.name: value for info, value in zip(session.get_outputs(), session.run(None, feeds))}


def got(path, feeds, *flags, env=None):
    """Octet's outputs and layers."""
    numpy = need("numpy")
    engine, source, target = (path.with_suffix(end) for end in (".octet", ".in.npz", ".out.npz"))
    octet("build", path, "-o", engine, "--quiet", *flags)
    numpy.savez(source, **feeds)
    octet("run", engine, source, "-o", target, env=env)
    sizes = [flag for name, array in feeds.items() if array.ndim for flag in ("--shape", f"{name}:{'x'.join(map(str, array.shape))}")]
    return dict(numpy.load(target)), octet("inspect", engine, "--json", *sizes).json["layers"]
