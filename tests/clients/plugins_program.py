# SPDX-License-Identifier: Apache-2.0
"""Plugins in Python as TensorRT's own bindings have them, which know nothing of Octet: a class of IPluginV2DynamicExt, one of IPluginV3 and functions of
tensorrt.plugin, each in a network that is built, serialized, loaded and run. plugins_program.py prints what each gave."""

import ctypes
import sys
import typing

import numpy as np
import numpy.typing as npt
import tensorrt as trt


def array_at(address, shape):
    """Memory of the host; without a GPU plugins get no other."""
    count = int(np.prod(shape))
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (count,)).reshape(tuple(shape))


def field(name, value):
    return trt.PluginField(name, np.array([value], np.float32), trt.PluginFieldType.FLOAT32)


class ScaleV2(trt.IPluginV2DynamicExt):
    def __init__(self, factor):
        trt.IPluginV2DynamicExt.__init__(self)
        self.num_outputs, self.plugin_namespace, self.plugin_type, self.plugin_version = 1, "", "ScaleV2", "1"
        self.factor = factor

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, index, inputs, builder):
        sizes = trt.DimsExprs(inputs[0])
        sizes[0] = builder.operation(trt.DimensionOperation.SUM, inputs[0][0], builder.constant(1))
        return sizes

    def supports_format_combination(self, at, tensors, inputs):
        return tensors[at].type == trt.float32 and tensors[at].format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        self.rows = outputs[0].desc.dims[0]

    def serialize(self):
        return np.float32(self.factor).tobytes()

    def get_serialization_size(self):
        return 4

    def enqueue(self, input_descs, output_descs, inputs, outputs, workspace, stream):
        x, y = array_at(inputs[0], input_descs[0].dims), array_at(outputs[0], output_descs[0].dims)
        y[:-1], y[-1] = x * self.factor, -1

    def clone(self):
        clone = ScaleV2(self.factor)
        clone.__dict__.update(self.__dict__)
        return clone


class ScaleV2Creator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "ScaleV2", "1", ""
        self.field_names = trt.PluginFieldCollection([field("factor", 0)])

    def create_plugin(self, name, fields):
        return ScaleV2(float(fields[0].data[0]))

    def deserialize_plugin(self, name, data):
        return ScaleV2(float(np.frombuffer(data, np.float32)[0]))


class ScaleV3(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, factor):
        for base in ScaleV3.__bases__:
            base.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace, self.num_outputs = "ScaleV3", "1", "", 1
        self.factor = factor

    def get_capability_interface(self, kind):
        return self

    def get_output_data_types(self, types):
        return types

    def get_output_shapes(self, inputs, shape_inputs, builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, at, tensors, inputs):
        return tensors[at].desc.type == trt.float32 and tensors[at].desc.format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def get_valid_tactics(self):
        return [5, 6]

    def set_tactic(self, tactic):
        self.tactic = tactic

    def attach_to_context(self, context):
        return self.clone()

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([field("factor", self.factor)])

    def enqueue(self, input_descs, output_descs, inputs, outputs, workspace, stream):
        array_at(outputs[0], output_descs[0].dims)[:] = array_at(inputs[0], input_descs[0].dims) * self.factor + self.tactic

    def clone(self):
        clone = ScaleV3(self.factor)
        clone.__dict__.update(self.__dict__)
        return clone


class ScaleV3Creator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "ScaleV3", "1", ""
        self.field_names = trt.PluginFieldCollection([field("factor", 0)])

    def create_plugin(self, name, fields, phase):
        return ScaleV3(float(fields[0].data[0]))


def ran(add, shape):
    """What the one layer that add(network, x) makes gives for 0, 1, 2, ..., from a plan."""
    builder = trt.Builder(LOG)
    network = builder.create_network(0)
    layer = add(network, network.add_input("x", trt.float32, (-1,) + shape[1:]))
    assert layer is not None
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1,) + shape[1:], shape, shape)
    config.add_optimization_profile(profile)
    plan = bytes(builder.build_serialized_network(network, config))
    del network, layer
    engine = trt.Runtime(LOG).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    name = engine.get_tensor_name(1)
    for rows in (shape[0], 1, shape[0]):
        x = np.arange(rows * int(np.prod(shape[1:])), dtype=np.float32).reshape((rows,) + shape[1:])
        assert context.set_input_shape("x", x.shape)
        y = np.full(tuple(context.get_tensor_shape(name)), np.nan, np.float32)
        context.set_tensor_address("x", x.ctypes.data)
        context.set_tensor_address(name, y.ctypes.data)
        assert context.execute_async_v3(0)
    return y


def functions():
    """Attributes are arrays and texts: scalars of one element, which the bindings make arrays of, are refused by newer NumPy."""
    import tensorrt.plugin as trtp

    @trtp.register("octet::pad")
    def describe(x: trtp.TensorDesc, pads: npt.NDArray[np.int32], factor: npt.NDArray[np.float32]) -> trtp.TensorDesc:
        desc = x.like()
        desc.shape_expr[x.ndim - 1] += int(pads[0] + pads[1])
        return desc

    @trtp.autotune("octet::pad")
    def tune(x: trtp.TensorDesc, outputs: typing.Tuple[trtp.TensorDesc]) -> typing.List[trtp.AutoTuneCombination]:
        combination = trtp.AutoTuneCombination("FP32, FP32")
        combination.tactics([8])
        return [combination]

    @trtp.impl("octet::pad")
    def pad(x: trtp.Tensor, pads: npt.NDArray[np.int32], factor: npt.NDArray[np.float32], outputs: typing.Tuple[trtp.Tensor], stream: int, tactic: int):
        assert tactic == 8 and tuple(x.strides)[-1] == 1
        array_at(outputs[0].data_ptr, outputs[0].shape)[:] = np.pad(array_at(x.data_ptr, x.shape) * factor, [(0, 0), tuple(pads)], "wrap")

    @trtp.register("octet::plain")
    def describe_plain(x: trtp.TensorDesc, unit: str) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("octet::plain")
    def plain(x: trtp.Tensor, unit: str, outputs: typing.Tuple[trtp.Tensor], stream: int):
        array_at(outputs[0].data_ptr, outputs[0].shape)[:] = array_at(x.data_ptr, x.shape) + {"dozens": 12}[unit]

    def op(name, **attributes):
        def add(network, x):
            make = getattr(trtp.op.octet, name)
            return network.add_plugin(make(x, **attributes))

        return add

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(ran(op("pad", pads=np.array([1, 2], np.int32), factor=np.array([2], np.float32)), (2, 3)), np.pad(2 * x, [(0, 0), (1, 2)], "wrap"))
    assert np.array_equal(ran(op("plain", unit="dozens"), (2, 3)), x + 12)
    print("functions")


LOG = trt.Logger(trt.Logger.WARNING)


def main():
    registry = trt.get_plugin_registry()
    creators = [ScaleV2Creator(), ScaleV3Creator()]
    for creator in creators:
        assert registry.register_creator(creator, "")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(ran(lambda network, tensor: network.add_plugin_v2([tensor], ScaleV2(3)), (2, 3)), np.vstack([3 * x, [[-1] * 3]]))
    print("IPluginV2DynamicExt")
    assert np.array_equal(ran(lambda network, tensor: network.add_plugin_v3([tensor], [], ScaleV3(3)), (2, 3)), 3 * x + 5)
    print("IPluginV3")
    if "functions" in sys.argv:
        functions()


main()
