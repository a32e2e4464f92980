# SPDX-License-Identifier: Apache-2.0
"""A plugin that is written in Python, with NumPy on the tensors' memory: circular padding of the last two axes. Level 10 has such plugins. The
engine keeps what the plugin serializes, and its creator, found by name in the registry, makes it again.

usage: python_plugin.py ENGINE.plan"""

import ctypes
import sys

import numpy as np
import tensorrt as trt


def array_at(address, desc):
    """Memory of the device, which is the host's here, as an array."""
    dtype = np.dtype(trt.nptype(desc.type))
    size = int(np.prod(tuple(desc.dims))) * dtype.itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(tuple(desc.dims))


class CircularPad(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, pads):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "CircularPad", "1", ""
        self.num_outputs = 1
        self.pads = np.asarray(pads, np.int32)  # top, bottom, left, right

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, builder):
        shape = trt.DimsExprs(inputs[0])
        for axis, pad in ((-2, self.pads[:2]), (-1, self.pads[2:])):
            shape[axis] = builder.operation(trt.DimensionOperation.SUM, shape[axis], builder.constant(pad.sum()))
        return [shape]

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return desc.format == trt.TensorFormat.LINEAR and desc.type == trt.float32

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("pads", self.pads, trt.PluginFieldType.INT32)])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        given, result = array_at(inputs[0], input_desc[0]), array_at(outputs[0], output_desc[0])
        top, bottom, left, right = self.pads
        result[:] = np.pad(given, [(0, 0)] * (given.ndim - 2) + [(top, bottom), (left, right)], "wrap")

    def attach_to_context(self, context):
        return self.clone()

    def clone(self):
        return CircularPad(self.pads)


class CircularPadCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "CircularPad", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("pads", np.array([]), trt.PluginFieldType.INT32)])

    def create_plugin(self, name, fields, phase):
        return CircularPad(next(field.data for field in fields if field.name == "pads"))


def main():
    logger = trt.Logger(trt.Logger.WARNING)
    registry = trt.get_plugin_registry()
    registry.register_creator(CircularPadCreator(), "")
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 1, 2, 3))
    pads = trt.PluginField("pads", np.array([1, 1, 1, 1], np.int32), trt.PluginFieldType.INT32)
    plugin = registry.get_creator("CircularPad", "1", "").create_plugin("pad", trt.PluginFieldCollection([pads]), trt.TensorRTPhase.BUILD)
    layer = network.add_plugin_v3([x], [], plugin)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    with open(sys.argv[1], "wb") as file:
        file.write(plan)
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    given, result = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3), np.empty(tuple(engine.get_tensor_shape("y")), np.float32)
    if not context.execute_v2([given.ctypes.data, result.ctypes.data]):
        sys.exit("the run failed; the log says why")
    print(result[0, 0].astype(int).tolist())


if __name__ == "__main__":
    main()
