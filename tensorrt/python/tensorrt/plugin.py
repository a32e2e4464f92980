# SPDX-License-Identifier: Apache-2.0
"""Plugins of functions, of level 10: one decorated by register() tells an output's sizes and type, one by impl() computes it.

    @tensorrt.plugin.register("sample::scale")
    def describe(x: TensorDesc, factor: float) -> TensorDesc:
        return x.like()

    @tensorrt.plugin.impl("sample::scale")
    def compute(x: Tensor, factor: float, outputs: Tuple[Tensor], stream: int) -> None:
        numpy.multiply(x, factor, out=numpy.asarray(outputs[0]))

    layer = network.add_plugin(tensorrt.plugin.op.sample.scale(tensor, factor=2.0))

A node of an ONNX model is one where its operator is the name and its attribute `plugin_namespace` the namespace.
"""

import tensorrt as _trt

if not hasattr(_trt, "IPluginV3"):
    raise ImportError("tensorrt.plugin is of level 10: leave OCTET_TENSORRT_VERSION out of the environment, or set it to 10")

from ._plugin_quick import Definition as _Definition
from ._plugin_values import (AutoTuneCombination, Shape, ShapeExpr, ShapeExprs, SizeTensorDesc, SizeTensorShapeExpr, Tensor, TensorDesc, cdiv,
                             from_shape_expr, size_tensor)
from ._plugin_values import larger as max  # noqa: A004: TensorRT's names
from ._plugin_values import smaller as min  # noqa: A004

__all__ = ["AutoTuneCombination", "KernelLaunchParams", "Shape", "ShapeExpr", "ShapeExprs", "SizeTensorDesc", "SizeTensorShapeExpr", "SymExprs",
           "SymInt32", "SymIntExprs", "Tensor", "TensorDesc", "aot_impl", "autotune", "cdiv", "from_shape_expr", "impl", "max", "min", "op", "register",
           "size_tensor"]

_definitions = {}


def register(plugin_id, lazy_register=False):
    """Decorates the function that describes a plugin: TensorDesc of the inputs, then attributes, to TensorDesc of the outputs. `plugin_id` is
    NAMESPACE::NAME. Its creator is registered at once, or with its first use."""

    def decorate(function):
        if plugin_id in _definitions:
            raise ValueError(f"register({plugin_id!r}) stands twice")
        definition = _Definition(plugin_id, function)
        if not lazy_register:
            definition.register()
        _definitions[plugin_id] = definition
        return definition

    return decorate


def _decorator(part, plugin_id, tensor, others):
    def decorate(function):
        if plugin_id not in _definitions:
            raise ValueError(f"{part}({plugin_id!r}): no function is registered under that name; register() comes first")
        _definitions[plugin_id].add(part, function, tensor, others)
        return function

    return decorate


def impl(plugin_id):
    """Decorates the function that computes: Tensor of the inputs, attributes (those that it needs), `outputs`, `stream`, and `tactic` where there
    are tactics."""
    return _decorator("impl", plugin_id, Tensor, ("outputs", "stream", "tactic"))


def autotune(plugin_id):
    """Decorates the function that lists, as AutoTuneCombination, what the plugin can take: TensorDesc of the inputs, attributes, `outputs`.
    Without one that is the network's types, in rows."""
    return _decorator("autotune", plugin_id, TensorDesc, ("outputs",))


def aot_impl(plugin_id):
    """Takes the function that gives compiled kernels, which is not called: impl() computes."""
    return _decorator("aot_impl", plugin_id, TensorDesc, ("outputs", "tactic"))


class _OfCompiledKernels:
    def __init__(self, *arguments, **named):
        raise NotImplementedError(f"{type(self).__name__} describes kernels that are compiled ahead of time, which are not launched here; write a "
                                  "function with @tensorrt.plugin.impl")


class KernelLaunchParams(_OfCompiledKernels):
    """Named by functions of aot_impl()."""


class SymInt32(_OfCompiledKernels):
    """Named by functions of aot_impl()."""


class SymExprs(_OfCompiledKernels):
    """Named by functions of aot_impl()."""


SymIntExprs = SymExprs


class _Namespace:
    def __init__(self, space):
        self._space = space

    def __getattr__(self, name):
        found = _definitions.get(f"{self._space}::{name}")
        if found is None:
            raise AttributeError(f"no plugin {self._space}::{name} is registered")
        return found


class _Namespaces:
    def __getattr__(self, space):
        if not any(definition.space == space for definition in _definitions.values()):
            raise AttributeError(f"no plugin of the namespace '{space}' is registered")
        return _Namespace(space)


op = _Namespaces()
