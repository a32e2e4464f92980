# SPDX-License-Identifier: Apache-2.0
"""What functions of tensorrt.plugin are given and give: sizes as expressions, descriptions of tensors, tensors of a run, combinations."""

import copy
import ctypes
import itertools
import os
from functools import reduce

import tensorrt as trt

_TYPES = {"FP32": "FLOAT", "FP16": "HALF", "BF16": "BF16", "INT8": "INT8", "INT32": "INT32", "INT64": "INT64", "UINT8": "UINT8",
          "BOOL": "BOOL", "FP8": "FP8", "INT4": "INT4"}
_COMPUTED = {"SUM": lambda a, b: a + b, "SUB": lambda a, b: a - b, "PROD": lambda a, b: a * b, "FLOOR_DIV": lambda a, b: a // b,
             "CEIL_DIV": lambda a, b: -(-a // b), "MAX": max, "MIN": min, "EQUAL": lambda a, b: int(a == b), "LESS": lambda a, b: int(a < b)}


class ShapeExpr:
    """A size: a number, a dimension that the builder knows, or two sizes and an operation."""

    def __init__(self, value=None):
        self._value, self._parts = value, None

    @staticmethod
    def _of(value):
        if isinstance(value, ShapeExpr):
            return value
        return ShapeExpr(value.__index__())

    @staticmethod
    def _operation(name, first, second):
        result = ShapeExpr()
        result._parts = (name, ShapeExpr._of(first), ShapeExpr._of(second))
        return result

    def __add__(self, other):
        return self._operation("SUM", self, other)

    def __radd__(self, other):
        return self._operation("SUM", other, self)

    def __sub__(self, other):
        return self._operation("SUB", self, other)

    def __rsub__(self, other):
        return self._operation("SUB", other, self)

    def __mul__(self, other):
        return self._operation("PROD", self, other)

    def __rmul__(self, other):
        return self._operation("PROD", other, self)

    def __floordiv__(self, other):
        return self._operation("FLOOR_DIV", self, other)

    def __rfloordiv__(self, other):
        return self._operation("FLOOR_DIV", other, self)

    def __eq__(self, other):
        return self._operation("EQUAL", self, other)

    def __lt__(self, other):
        return self._operation("LESS", self, other)

    def __gt__(self, other):
        return self._operation("LESS", other, self)

    __hash__ = None

    def __bool__(self):
        if not self.is_constant:
            raise ValueError("a size that is open has no truth: is_constant tells")
        return self.constant_value() != 0

    @property
    def is_fake(self):
        """Whether it is of a call that asks for types alone: nothing is known of it."""
        if self._parts:
            return self._parts[1].is_fake or self._parts[2].is_fake
        return self._value is None

    @property
    def is_constant(self):
        if self._parts:
            return self._parts[1].is_constant and self._parts[2].is_constant
        return self._value.is_constant() if isinstance(self._value, trt.IDimensionExpr) else self._value is not None

    @property
    def is_size_tensor(self):
        return False

    def constant_value(self):
        if not self.is_constant:
            raise ValueError("this size is open: is_constant tells")
        if self._parts:
            name, first, second = self._parts
            return _COMPUTED[name](first.constant_value(), second.constant_value())
        return self._value.get_constant_value() if isinstance(self._value, trt.IDimensionExpr) else self._value

    def _built(self, builder):
        if self._parts:
            name, first, second = self._parts
            return builder.operation(trt.DimensionOperation.__members__[name], first._built(builder), second._built(builder))
        return self._value if isinstance(self._value, trt.IDimensionExpr) else builder.constant(self._value)


def cdiv(first, second):
    """The quotient of two sizes, rounded up."""
    if isinstance(first, ShapeExpr) or isinstance(second, ShapeExpr):
        return ShapeExpr._operation("CEIL_DIV", first, second)
    return _COMPUTED["CEIL_DIV"](first, second)


def larger(first, second):
    """The larger of two sizes."""
    return _either("MAX", first, second)


def smaller(first, second):
    """The smaller of two sizes."""
    return _either("MIN", first, second)


def _either(name, first, second):
    if isinstance(first, ShapeExpr) or isinstance(second, ShapeExpr):
        return ShapeExpr._operation(name, first, second)
    raise ValueError("two numbers are no sizes: one is a ShapeExpr")


class SizeTensorShapeExpr(ShapeExpr):
    """What a size tensor tells."""

    def __init__(self, desc):
        super().__init__()
        self._desc = desc

    @property
    def is_size_tensor(self):
        return True

    @property
    def is_fake(self):
        return self._desc.opt.is_fake

    def _built(self, builder):
        if self._desc._index is None:
            raise ValueError("the size tensor is no output: return it beside the tensors whose size it tells")
        return builder.declare_size_tensor(self._desc._index, self._desc.opt._built(builder), self._desc.upper_bound._built(builder))


class ShapeExprs:
    """The sizes of a tensor."""

    def __init__(self, sizes=0):
        self._sizes = [ShapeExpr() for _ in range(sizes)] if isinstance(sizes, int) else [ShapeExpr._of(size) for size in sizes]

    @classmethod
    def from_tuple(cls, shape_exprs):
        return cls(shape_exprs)

    def __len__(self):
        return len(self._sizes)

    def __iter__(self):
        return iter(self._sizes)

    def __getitem__(self, index):
        return self._sizes[index]

    def __setitem__(self, index, size):
        self._sizes[index] = ShapeExpr._of(size)

    def numel(self):
        return reduce(lambda a, b: a * b, self._sizes, ShapeExpr(1))


class Shape(tuple):
    """The sizes of a tensor as numbers, -1 where one is open: then `min`, `opt` and `max` tell what is known of it."""

    def __new__(cls, sizes):
        dims = sizes.desc.dims if isinstance(sizes, trt.DynamicPluginTensorDesc) else getattr(sizes, "dims", sizes)
        shape = super().__new__(cls, tuple(dims))
        shape._desc = sizes if isinstance(sizes, trt.DynamicPluginTensorDesc) else None
        return shape

    @property
    def is_dynamic(self):
        return -1 in self

    def numel(self):
        if self.is_dynamic:
            raise ValueError(f"a size of {tuple(self)} is open: is_dynamic tells")
        return int(trt.volume(self))

    def _end(self, name):
        if not self.is_dynamic:
            raise ValueError(f"no size of {tuple(self)} is open, so that there is no '{name}': is_dynamic tells")
        end = () if self._desc is None else tuple(getattr(self._desc, name))
        if self._desc is None or -1 in end:
            raise AttributeError(f"nothing is known of '{name}' of these sizes")
        return end

    @property
    def min(self):
        return self._end("min")

    @property
    def opt(self):
        return self._end("opt")

    @property
    def max(self):
        return self._end("max")


class TensorDesc:
    """A tensor without its values. `shape` is of numbers (-1: open), where these are known."""

    def __init__(self, shape_expr=None, dtype=None, format=None, scale=None):  # noqa: A002: TensorRT's name
        self.shape_expr = () if shape_expr is None else shape_expr
        self.dtype, self.shape = dtype, None
        self.format = trt.TensorFormat.LINEAR if format is None else format
        self.scale = 1.0 if scale is None else scale
        self._aliased = None

    @property
    def shape_expr(self):
        return self._shape_expr

    @shape_expr.setter
    def shape_expr(self, sizes):
        self._shape_expr = ShapeExprs(sizes)

    @property
    def ndim(self):
        return len(self.shape_expr)

    @property
    def has_shape(self):
        return self.shape is not None

    @property
    def has_shape_expr(self):
        return True

    @property
    def is_dynamic(self):
        if not self.has_shape:
            raise ValueError("the sizes of this tensor are not known yet: has_shape tells")
        return self.shape.is_dynamic

    @property
    def is_size_tensor(self):
        return False

    @property
    def is_aliased(self):
        return self._aliased is not None

    def numel(self):
        return int(trt.volume(self.shape)) if self.has_shape else self.shape_expr.numel()

    def like(self):
        """Another tensor of the same sizes and type."""
        return TensorDesc(self.shape_expr, self.dtype)

    def aliased(self):
        """An output that is this input, changed where it lies."""
        desc = self.like()
        desc._aliased = self
        return desc

    def get_aliased(self):
        return self._aliased


class SizeTensorDesc(TensorDesc):
    """An output that tells a size which data decide."""

    def __init__(self, opt, upper_bound):
        super().__init__((), trt.int32)
        self.opt, self.upper_bound, self._index = ShapeExpr._of(opt), ShapeExpr._of(upper_bound), None

    @property
    def is_size_tensor(self):
        return True

    @property
    def index(self):
        return self._index

    def expr(self):
        return SizeTensorShapeExpr(self)


def size_tensor(opt, upper_bound):
    """The description of an output that tells a size: `opt` is expected, `upper_bound` the most."""
    return SizeTensorDesc(opt, upper_bound)


def from_shape_expr(shape_expr, dtype):
    """The description of a tensor of these sizes."""
    return TensorDesc(shape_expr, dtype)


def _lies_on_gpu(address):
    """Whether CUDA's driver, where this process has it, knows the address as a device's."""
    try:
        driver = ctypes.CDLL(os.environ.get("OCTET_CUDA_DRIVER") or "libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    kind = ctypes.c_uint()
    memory_type = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, whose answer 2 is a device's
    return driver.cuPointerGetAttribute(ctypes.byref(kind), memory_type, ctypes.c_uint64(address)) == 0 and kind.value == 2


class Tensor:
    """A tensor of a run. On a GPU it has __cuda_array_interface__, for PyTorch, CuPy and Numba; on the CPU __array_interface__: numpy.asarray()
    is the tensor's own memory."""

    def __init__(self, desc, address, aliased=None):
        self.shape, self.dtype, self.format, self.scale = Shape(desc), desc.type, desc.format, desc.scale
        self.data_ptr, self._aliased = address, aliased

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def strides(self):
        """In elements, of a tensor in rows."""
        return tuple(int(trt.volume(self.shape[axis + 1 :])) for axis in range(self.ndim))

    @property
    def is_aliased(self):
        return self._aliased is not None

    @property
    def is_data_dependent(self):
        return self.shape.is_dynamic

    def numel(self):
        return self.shape.numel()

    def get_aliased(self):
        return self._aliased

    def aliased(self, shape=None):
        """The same memory as a tensor of another shape, which is no larger."""
        tensor = copy.copy(self)
        tensor.shape, tensor._aliased = Shape(self.shape if shape is None else shape), self
        if not self.is_data_dependent and not tensor.is_data_dependent and tensor.numel() > self.numel():
            raise ValueError(f"{tuple(tensor.shape)} has {tensor.numel()} elements, and this tensor {self.numel()}")
        return tensor

    @property
    def __array_interface__(self):
        return self._interface(on_gpu=False)

    @property
    def __cuda_array_interface__(self):
        return self._interface(on_gpu=True)

    def _interface(self, on_gpu):
        import numpy

        if _lies_on_gpu(self.data_ptr) != on_gpu:
            raise AttributeError(f"this tensor lies on the {'host' if on_gpu else 'GPU'}")
        typestr = "<V2" if self.dtype == trt.DataType.BF16 else numpy.dtype(trt.nptype(self.dtype)).str
        return {"shape": self.shape, "typestr": typestr, "data": (self.data_ptr, False), "version": 3}


class AutoTuneCombination:
    """Types and formats that a plugin's inputs and outputs can have together, and tactics for them. In a text `|` stands between alternatives:
    those of one place go with those of the others, one by one; `,` stands between places, and one text for all may stand alone."""

    def __init__(self, io_types="", layouts="LINEAR", tactics=None):
        self._types, self._layouts = ([self._parsed(text) for text in given.split(",") if text.strip()] for given in (io_types, layouts))
        self._of_places, self._tactics = {}, []
        self.tactics(tactics or [])

    @staticmethod
    def _parsed(text):
        return [word.strip() for word in text.split("|")]

    def pos(self, pos, io_types, layouts="LINEAR"):
        for place in pos if isinstance(pos, (list, tuple)) else [pos]:
            self._of_places[place] = (self._parsed(io_types), self._parsed(layouts))

    def tactics(self, tactics):
        self._tactics = [int(tactic) for tactic in tactics]
        if len(set(self._tactics)) < len(self._tactics) or any(tactic < 1 for tactic in self._tactics):
            raise ValueError(f"tactics {self._tactics}: numbers from 1 on are expected, each once")

    def _expanded(self, count):
        """[(type of each place, format of each place, tactics)]"""
        kinds = self._joined(self._places(0, count), {name: getattr(trt.DataType, value) for name, value in _TYPES.items()}, "type")
        formats = self._joined(self._places(1, count), dict(trt.TensorFormat.__members__), "format")
        return [(kind, form, self._tactics) for kind, form in itertools.product(kinds, formats)]

    def _places(self, which, count):
        """The alternatives of each place."""
        texts = [self._of_places[place][which] for place in sorted(self._of_places)] or (self._types, self._layouts)[which]
        if len(texts) == 1 and not self._of_places:
            texts = texts * count
        if len(texts) != count or (self._of_places and sorted(self._of_places) != list(range(count))):
            raise ValueError(f"{('types', 'layouts')[which]} of {len(texts)} places, and the plugin has {count} inputs and outputs")
        return texts

    @staticmethod
    def _joined(texts, names, what):
        unknown = sorted({word for words in texts for word in words} - set(names))
        if unknown:
            raise ValueError(f"unknown {what} {unknown[0]!r}; known are {', '.join(names)}")
        lengths = {len(words) for words in texts} - {1}
        if len(lengths) > 1:
            raise ValueError(f"places with {sorted(lengths)} {what}s: alternatives go together, so that all places have one or equally many")
        length = max(lengths, default=1)
        return [[names[words[i if len(words) > 1 else 0]] for words in texts] for i in range(length)]
