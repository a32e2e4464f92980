# SPDX-License-Identifier: Apache-2.0
"""What the suites about plugins share: compiling one, and small ONNX models around its operators."""

import functools
import unittest

from harness import ROOT, command, scratch

EXAMPLES = ROOT / "examples/plugins"


@functools.cache
def plugin(source, *flags):
    """The shared library of a C++ (or C) file."""
    library = scratch() / (source.stem + ".so")
    compiler = ["cc", "-std=c11"] if source.suffix == ".c" else ["c++", "-std=c++17"]
    command(*compiler, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", *flags,
            f"-I{ROOT / 'include'}", source, "-o", library)
    return library


def model(name, nodes, inputs, outputs, constants=(), domains=("octet.examples",), opset=17):
    """An ONNX file. Inputs and outputs are (name, shape) of f32, or (name, shape, type)."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise unittest.SkipTest("the package onnx is absent") from error
    values = [[helper.make_tensor_value_info(v[0], v[2] if len(v) > 2 else TensorProto.FLOAT, v[1]) for v in list_]
              for list_ in (inputs, outputs)]
    graph = helper.make_graph(list(nodes), name, values[0], values[1],
                              [numpy_helper.from_array(array, key) for key, array in constants])
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    path = scratch() / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path
