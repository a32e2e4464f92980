# SPDX-License-Identifier: Apache-2.0
"""Functions as a plugin: what their signatures say, the plugin that calls them, and its creator."""

import dataclasses
import inspect
import typing

import numpy as np
import tensorrt as trt

from ._plugin_values import Shape, ShapeExpr, ShapeExprs, SizeTensorDesc, Tensor, TensorDesc

_VERSION = "1"
_STATE = "__state"  # of the plugin itself among the fields of a plan: its tactic, then type and rank of each input
_BUILT_IN = {int: ("INT64", np.int64), float: ("FLOAT64", np.float64), bool: ("INT8", np.int8), str: ("CHAR", np.int8), bytes: ("CHAR", np.int8)}
_ARRAYS = {"float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
           "bool": "INT8"}


class Attribute:
    """A parameter of a function that is no tensor: int, float, bool, str, bytes or an array of one dimension."""

    def __init__(self, name, annotation, default):
        self.name, self.default = name, default
        self.built_in = annotation if annotation in _BUILT_IN else None
        if self.built_in:
            self.kind, self.dtype = _BUILT_IN[annotation]
        else:
            self.dtype = self._element(annotation)
            self.kind = _ARRAYS.get(self.dtype.name) if self.dtype else None
        if self.kind is None:
            raise ValueError(f"parameter '{name}' is annotated {annotation}; an input is a TensorDesc or a Tensor, and an attribute int, float, "
                             f"bool, str, bytes or numpy.typing.NDArray of one of {', '.join(_ARRAYS)}")

    @staticmethod
    def _element(annotation):
        arguments = typing.get_args(annotation)
        if typing.get_origin(annotation) is not np.ndarray or len(arguments) != 2:
            return None
        scalars = typing.get_args(arguments[1])
        return np.dtype(scalars[0]) if scalars and isinstance(scalars[0], type) else None

    def checked(self, value):
        """The value as functions get it. Raises TypeError."""
        if self.built_in:
            value = value.item() if isinstance(value, np.generic) else value
            if not isinstance(value, self.built_in) and not (self.built_in is float and isinstance(value, int)):
                raise TypeError(f"attribute '{self.name}' is {value!r}, and {self.built_in.__name__} is expected")
            return self.built_in(value)
        array = np.asarray(value)
        if array.ndim > 1 or not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise TypeError(f"attribute '{self.name}' is an array of {array.dtype} with {array.ndim} dimensions, and one of {self.dtype} is expected")
        checked = np.atleast_1d(array).astype(self.dtype)
        if array.dtype.kind != "f" and not np.array_equal(checked, np.atleast_1d(array)):
            raise TypeError(f"attribute '{self.name}' has values that {self.dtype} cannot hold")
        return checked

    def field(self, value):
        data = value.encode() if isinstance(value, str) else value
        array = np.frombuffer(data, np.int8) if isinstance(data, bytes) else np.atleast_1d(np.asarray(data, self.dtype))
        return trt.PluginField(self.name, array.view(np.int8) if array.dtype == np.bool_ else array, getattr(trt.PluginFieldType, self.kind))

    def read(self, field):
        """What a field says, as checked() takes it: numbers keep their type, so that none is cut."""
        is_text = self.built_in in (str, bytes)
        if (field.type == trt.PluginFieldType.CHAR) != is_text:
            expected = self.built_in.__name__ if self.built_in else f"an array of {self.dtype}"
            raise TypeError(f"attribute '{self.name}' is a field of type {field.type.name}, and {expected} is expected")
        if is_text:
            data = field.data.tobytes()
            return data.decode() if self.built_in is str else data
        data = field.data
        if (self.built_in is bool or self.dtype == np.bool_) and set(data.tolist()) <= {0, 1}:
            data = data.astype(bool)  # which fields have no type for
        if not self.built_in:
            return data
        if len(data) != 1:
            raise ValueError(f"attribute '{self.name}' has {len(data)} values, and one is expected")
        return data[0].item()


class Signature:
    """Inputs, attributes and other parameters of a function; `output` is what it returns."""

    def __init__(self, function, tensor, others):
        hints = typing.get_type_hints(function)
        self.inputs, self.attributes, self.others = 0, {}, []
        for name, parameter in inspect.signature(function).parameters.items():
            if name in others:
                self.others.append(name)
            elif name not in hints:
                raise ValueError(f"parameter '{name}' of {function.__name__}() has no annotation")
            elif hints[name] is tensor and not self.attributes and not self.others:
                self.inputs += 1
            else:
                self.attributes[name] = Attribute(name, hints[name], parameter.default)
        self.output = hints.get("return")

    def output_count(self, plugin_id):
        if self.output is TensorDesc:
            return 1
        each = typing.get_args(self.output)
        if typing.get_origin(self.output) is not tuple or not each or any(kind is not TensorDesc for kind in each):
            raise ValueError(f"register({plugin_id!r}): the function is to be annotated with what it returns: TensorDesc, or Tuple[TensorDesc, ...] "
                             "with one TensorDesc for each output")
        return len(each)


@dataclasses.dataclass
class Function:
    call: typing.Callable
    signature: Signature


class Definition:
    """A plugin by its functions. Calling it with tensors of a network gives what INetworkDefinition.add_plugin() takes."""

    def __init__(self, plugin_id, function):
        self.space, separator, self.name = plugin_id.partition("::")
        if not (separator and self.space.isidentifier() and self.name.isidentifier()):
            raise ValueError(f"{plugin_id!r} is no name of a plugin; NAMESPACE::NAME is expected")
        self.plugin_id, self.function = plugin_id, function
        self.signature = Signature(function, TensorDesc, ())
        if self.signature.inputs == 0:
            raise ValueError(f"register({plugin_id!r}): the function takes no TensorDesc, and a plugin has an input")
        self.outputs = self.signature.output_count(plugin_id)
        self.impl = self.autotune = self.aot_impl = self.creator = None

    def add(self, part, function, tensor, others):
        """One more function. Raises ValueError for one that does not fit."""
        if getattr(self, part) is not None:
            raise ValueError(f"{part}({self.plugin_id!r}) stands twice")
        signature = Signature(function, tensor, others)
        told = f"{part}({self.plugin_id!r}): {function.__name__}()"
        if signature.inputs != self.signature.inputs:
            raise ValueError(f"{told} takes {signature.inputs} inputs ({tensor.__name__}), and register() has {self.signature.inputs}")
        missing = [name for name in others if name not in signature.others and name != "tactic"]
        unknown = sorted(set(signature.attributes) - set(self.signature.attributes))
        if missing or unknown:
            raise ValueError(f"{told} lacks '{missing[0]}'" if missing else f"{told} has '{unknown[0]}', which register() has not")
        setattr(self, part, Function(function, signature))

    def register(self):
        if self.creator is None:
            creator = Creator(self)
            if not trt.get_plugin_registry().register_creator(creator, self.space):
                raise RuntimeError(f"another creator of {self.plugin_id} is registered")
            self.creator = creator

    def attributes(self, given):
        unknown = sorted(set(given) - set(self.signature.attributes))
        if unknown:
            raise TypeError(f"{self.plugin_id} has no attribute '{unknown[0]}'; it has {', '.join(self.signature.attributes) or 'none'}")
        values = {}
        for name, attribute in self.signature.attributes.items():
            value = given.get(name, attribute.default)
            if value is inspect.Parameter.empty:
                raise TypeError(f"{self.plugin_id} needs the attribute '{name}'")
            values[name] = attribute.checked(value)
        return values

    def __call__(self, *tensors, **attributes):
        self.register()
        names = list(self.signature.attributes)
        count = self.signature.inputs
        if len(tensors) < count or len(tensors) > count + len(names) or not all(isinstance(tensor, trt.ITensor) for tensor in tensors[:count]):
            raise TypeError(f"{self.plugin_id} takes {count} tensors of a network, then {', '.join(names) or 'no attribute'}")
        attributes = {**dict(zip(names, tensors[count:])), **attributes}
        return Call(self, tensors[:count], self.attributes(attributes))


class Call:
    """A plugin with its inputs: called with a network it becomes a layer."""

    def __init__(self, definition, tensors, attributes):
        self._definition, self._tensors, self._attributes = definition, list(tensors), attributes

    def __call__(self, network, aot):
        definition = self._definition
        if aot:
            raise NotImplementedError(f"{definition.plugin_id}: add_plugin(aot=True) asks for kernels that are compiled ahead of time, which are not "
                                      "launched here; leave aot out, and the function of tensorrt.plugin.impl is called")
        if definition.impl is None:
            raise NotImplementedError(f"{definition.plugin_id} has no function that computes: write one with @tensorrt.plugin.impl"
                                      f"({definition.plugin_id!r})" + ("; that of aot_impl is not called here" if definition.aot_impl else ""))
        return network.add_plugin_v3(self._tensors, [], QuickPlugin(definition, self._attributes))


class QuickPlugin(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuildV2, trt.IPluginV3OneRuntime):
    """What the library calls; it calls the functions."""

    def __init__(self, definition, attributes, state=((), (), 0)):
        trt.IPluginV3.__init__(self)
        self.plugin_name, self.plugin_namespace, self.plugin_version = definition.name, definition.space, _VERSION
        self.num_outputs = definition.outputs
        self.definition, self.attributes = definition, attributes
        self.types, self.ranks, self.tactic = state

    def clone(self):
        return QuickPlugin(self.definition, self.attributes, (self.types, self.ranks, self.tactic))

    def attach_to_context(self, context):
        return self.clone()

    def get_capability_interface(self, type):
        return self

    def described(self, sizes):
        """The outputs of inputs of these sizes, and of the types that were told last."""
        types = self.types or [None] * len(sizes)
        inputs = [TensorDesc(size, dtype) for size, dtype in zip(sizes, types)]
        outputs = self.definition.function(*inputs, **self.attributes)
        outputs = [outputs] if isinstance(outputs, TensorDesc) else list(outputs)
        if len(outputs) != self.num_outputs or not all(isinstance(output, TensorDesc) for output in outputs):
            raise ValueError(f"register({self.definition.plugin_id!r}): the function returned {len(outputs)} values, and its annotation says "
                             f"{self.num_outputs} of TensorDesc")
        for index, output in enumerate(outputs):
            if isinstance(output, SizeTensorDesc):
                output._index = index
        return inputs, outputs

    def of_known_ranks(self):
        return self.described([ShapeExprs(rank) for rank in self.ranks])

    def get_output_shapes(self, inputs, shape_inputs, builder):
        self.ranks = [len(sizes) for sizes in inputs]
        _, outputs = self.described([ShapeExprs([ShapeExpr(size) for size in sizes]) for sizes in inputs])
        return [trt.DimsExprs([size._built(builder) for size in output.shape_expr]) for output in outputs]

    def get_output_data_types(self, input_types):
        self.types = list(input_types)
        _, outputs = self.of_known_ranks()
        return [output.dtype for output in outputs]

    def get_aliased_input(self, output):
        inputs, outputs = self.of_known_ranks()
        return next((i for i, given in enumerate(inputs) if outputs[output].get_aliased() is given), -1)

    def combinations(self, in_out):
        """[(types, formats, tactics)] of all that it can take."""
        inputs, outputs = self.of_known_ranks()
        tune = self.definition.autotune
        if tune is None:
            return [([desc.dtype for desc in inputs + outputs], [trt.TensorFormat.LINEAR] * len(in_out), [])]
        for desc, known in zip(inputs + outputs, in_out):
            desc.shape = Shape(known)
        given = tune.call(*inputs, **self.chosen(tune), outputs=tuple(outputs))
        return [one for combination in given for one in combination._expanded(len(in_out))]

    def chosen(self, function):
        return {name: self.attributes[name] for name in function.signature.attributes}

    def supports_format_combination(self, pos, in_out, num_inputs):
        return any(all(in_out[i].desc.type == types[i] and in_out[i].desc.format == formats[i] for i in range(pos + 1))
                   for types, formats, _ in self.combinations(in_out))

    def configure_plugin(self, inputs, outputs):
        in_out = [*inputs, *outputs]
        if not self.types:
            self.types = [each.desc.type for each in inputs]
        asked = [each.desc.type for each in in_out], [each.desc.format for each in in_out]
        tactics = next((tactics for types, formats, tactics in self.combinations(in_out) if (types, formats) == asked), [])
        self.tactic = tactics[0] if tactics else 0

    def get_valid_tactics(self):
        return [self.tactic] if self.tactic else []

    def set_tactic(self, tactic):
        self.tactic = tactic

    def on_shape_change(self, inputs, outputs):
        self.aliases = [self.get_aliased_input(i) for i in range(self.num_outputs)]

    def get_fields_to_serialize(self):
        declared = self.definition.signature.attributes
        state = [self.tactic, *(number for dtype, rank in zip(self.types, self.ranks) for number in (dtype.value, rank))]
        fields = [declared[name].field(value) for name, value in self.attributes.items()]
        return trt.PluginFieldCollection([*fields, trt.PluginField(_STATE, np.array(state, np.int64), trt.PluginFieldType.INT64)])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        impl = self.definition.impl
        if impl is None:
            raise NotImplementedError(f"write a function with @tensorrt.plugin.impl({self.definition.plugin_id!r})")
        given = [Tensor(desc, address) for desc, address in zip(input_desc, inputs)]
        made = tuple(Tensor(desc, address, given[alias] if alias >= 0 else None) for desc, address, alias in zip(output_desc, outputs, self.aliases))
        others = {"outputs": made, "stream": stream, "tactic": self.tactic}
        impl.call(*given, **self.chosen(impl), **{name: others[name] for name in impl.signature.others})


class Creator(trt.IPluginCreatorV3One):
    def __init__(self, definition):
        trt.IPluginCreatorV3One.__init__(self)
        self.definition = definition
        self.name, self.plugin_namespace, self.plugin_version = definition.name, definition.space, _VERSION
        self.field_names = trt.PluginFieldCollection([trt.PluginField(attribute.name, np.array([]), getattr(trt.PluginFieldType, attribute.kind))
                                                      for attribute in definition.signature.attributes.values()])

    def create_plugin(self, name, fields, phase):
        declared, values, state = self.definition.signature.attributes, {}, ((), (), 0)
        for field in fields:
            if field.name == _STATE:
                tactic, *pairs = field.data.tolist()
                state = [trt.DataType(number) for number in pairs[::2]], pairs[1::2], tactic
            elif field.name in declared:
                values[field.name] = declared[field.name].read(field)
        return QuickPlugin(self.definition, self.definition.attributes(values), state)
