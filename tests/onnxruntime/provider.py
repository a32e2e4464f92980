# SPDX-License-Identifier: Apache-2.0
"""What the suites of the execution provider share: ONNX Runtime with the library loaded, small models, and sessions."""

import functools
import os
import pathlib
import sys
import unittest

import harness
from harness import BUILD

PACKAGE = BUILD / "integrations/onnxruntime/python"
NAME = "OctetExecutionProvider"


@functools.cache
def runtime():
    """ONNX Runtime, which knows the library by the name octet: that of the environment, or of the folder that OCTET_TEST_ONNXRUNTIME names."""
    if wanted := os.environ.get("OCTET_TEST_ONNXRUNTIME"):
        if not pathlib.Path(wanted, "onnxruntime").exists():
            raise unittest.SkipTest(f"{wanted} is absent; ./dev setup makes it")
        sys.path.insert(0, wanted)
    ort = harness.need("onnxruntime")
    if not (PACKAGE / "onnxruntime_ep_octet/liboctet_onnxruntime.so").exists():
        raise unittest.SkipTest("the execution provider was not built")
    sys.path.insert(0, str(PACKAGE))
    import onnxruntime_ep_octet as package

    ort.register_execution_provider_library("octet", package.get_library_path())
    ort.set_default_logger_severity(4)
    assert package.get_ep_name() == NAME and package.get_ep_names() == [NAME]
    return ort


def devices(kind="CPU"):
    return [d for d in runtime().get_ep_devices() if d.ep_name == NAME and d.device.type.name == kind]


def options(config=None, **of_provider):
    """Session options with the provider; an option's name begins with octet., which is put before it."""
    made = runtime().SessionOptions()
    for key, value in (config or {}).items():
        made.add_session_config_entry(key, value)
    made.add_provider_for_devices(devices(), {f"octet.{key}": str(value) for key, value in of_provider.items()})
    return made


def session(model, config=None, **of_provider):
    model = str(model) if isinstance(model, pathlib.Path) else model
    # Python's InferenceSession would try again without the provider, and print why.
    return runtime().InferenceSession(model, options(config, **of_provider), enable_fallback=0)


def reference(model):
    """ONNX Runtime's own CPU provider."""
    model = str(model) if isinstance(model, pathlib.Path) else model
    return runtime().InferenceSession(model, providers=["CPUExecutionProvider"])


def run_octet(model, feeds):
    """What the program makes of the same inputs: outputs by name. `model` is an ONNX model or an engine."""
    import numpy as np

    folder = harness.scratch()
    np.savez(folder / "inputs.npz", **feeds)
    (folder / "outputs.npz").unlink(missing_ok=True)
    harness.octet("run", model, folder / "inputs.npz", "-o", folder / "outputs.npz")
    with np.load(folder / "outputs.npz") as outputs:
        return dict(outputs)


def foreign_node(given, made):
    """What Octet does not take: com.microsoft's Pad, by "no_pads", two zeros for each axis. ONNX Runtime infers no shape behind it."""
    return harness.need("onnx").helper.make_node("Pad", [given, "no_pads"], [made], name="foreign", domain="com.microsoft")


def save_foreign(path, nodes, inputs, outputs, constants, **of_graph):
    """A model of nodes with foreign ones among them."""
    onnx = harness.need("onnx")
    initializers = [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = onnx.helper.make_graph(nodes, path.stem, inputs, outputs, initializers, **of_graph)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def with_foreign_node(model, told=True):
    """The model with a foreign node in its middle, behind the first convolution; it may tell the shapes that follow."""
    onnx = harness.need("onnx")
    made = onnx.load(model)
    made = onnx.shape_inference.infer_shapes(made) if told else made
    conv = next(i for i, node in enumerate(made.graph.node) if node.op_type == "Conv")
    output = made.graph.node[conv].output[0]
    made.graph.node[conv].output[0] = "before_foreign"
    made.graph.initializer.append(onnx.helper.make_tensor("no_pads", onnx.TensorProto.INT64, [8], [0] * 8))
    made.graph.node.insert(conv + 1, foreign_node("before_foreign", output))
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    path = harness.scratch() / "foreign.onnx"
    onnx.save(made, path)
    return path


def run(made, feeds):
    """Outputs by name."""
    return dict(zip([o.name for o in made.get_outputs()], made.run(None, feeds)))


def same(test, expected, got):
    """To the byte."""
    test.assertEqual(set(expected), set(got))
    for name, value in expected.items():
        test.assertEqual((value.dtype, value.shape), (got[name].dtype, got[name].shape), name)
        test.assertEqual(value.tobytes(), got[name].tobytes(), name)
