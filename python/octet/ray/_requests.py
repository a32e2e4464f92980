# SPDX-License-Identifier: Apache-2.0
"""The Open Inference Protocol in JSON: requests as arrays, answers as text."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _octet
from .._data import wrong
from .._error import Error
from ._served import Served, fits

TYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "int8": "INT8", "int16": "INT16", "int32": "INT32",
    "int64": "INT64", "float16": "FP16", "bfloat16": "BF16", "float32": "FP32", "float64": "FP64",
}
_KINDS: dict[str, set[type]] = {"b": {bool}, "u": {int}, "i": {int}, "f": {int, float}}  # of NumPy: what values of JSON may become it
_MOST_RANK = 64
_MOST_SIZE = 1 << 31



def no_memory(what: str) -> Error:
    error = Error(f"there is no memory for {what}")
    error.code, error.message = "out_of_memory", str(error)
    return error


def metadata(name: str, served: Served) -> dict[str, Any]:
    def told(infos: list[_octet.TensorInfo]) -> list[dict[str, Any]]:
        return [{"name": info.name, "datatype": TYPES.get(info.dtype, info.dtype), "shape": [-1 if size is None else size for size in info.shape or ()]} for info in infos]

    return {"name": name, "versions": ["1"], "platform": "octet", "inputs": told(served.engine.inputs), "outputs": told(served.engine.outputs),
            "properties": served.properties}


def _shape_of(given: Mapping[str, Any], info: _octet.TensorInfo) -> list[int]:
    """Its product is a small number: shapes of many or of large sizes are refused before anybody multiplies them."""
    shape = given.get("shape")
    if not isinstance(shape, list) or len(shape) > _MOST_RANK or not all(type(size) is int and 0 <= size < _MOST_SIZE for size in shape):
        raise wrong(f"input {info.name!r}: shape {reprlib.repr(shape)}; expected a list of at most {_MOST_RANK} sizes below {_MOST_SIZE}")
    if not fits(info, shape):
        raise wrong(f"input {info.name!r}: shape {shape}; expected {info.shape}")
    return shape


def _flat(data: Any) -> list[Any]:
    """Lists of lists are taken row after row, as the protocol has it."""
    while isinstance(data, list) and data and all(isinstance(row, list) for row in data):
        data = [value for row in data for value in row]
    return data if isinstance(data, list) else [data]


def _converted(values: list[Any], dtype: str) -> np.ndarray:
    """Raises TypeError or OverflowError. NumPy sees numbers alone: of text it would make rows as long as the longest."""
    target = np.dtype(dtype)
    kinds = set(map(type, values))
    if not kinds <= _KINDS.get(target.kind, set()):
        raise TypeError(f"values of JSON of the kinds {sorted(kind.__name__ for kind in kinds)}")
    if values and target.kind in "iu" and not np.iinfo(target).min <= min(values) <= max(values) <= np.iinfo(target).max:
        raise OverflowError("values beyond its range")
    return np.array(values, target)


def _array(given: Mapping[str, Any], info: _octet.TensorInfo) -> np.ndarray:
    if given.get("datatype") != TYPES.get(info.dtype):
        raise wrong(f"input {info.name!r}: datatype {reprlib.repr(given.get('datatype'))}; expected {TYPES.get(info.dtype, info.dtype)!r}")
    shape, values = _shape_of(given, info), _flat(given.get("data"))
    if len(values) != math.prod(shape):
        raise wrong(f"input {info.name!r}: {len(values)} values for shape {shape}, which has {math.prod(shape)}")
    try:
        return _converted(values, info.dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong(f"input {info.name!r}: data do not become {info.dtype}: {error}") from None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise wrong(f"the request is no JSON: {error}") from None


def _arrays_of(body: bytes, engine: _octet.Engine) -> tuple[dict[str, np.ndarray], str | None]:
    request = _parsed(body)
    given = request.get("inputs") if isinstance(request, dict) else None
    if not isinstance(given, list) or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in given):
        raise wrong('the request has no list of "inputs", each with a "name"')
    infos = {info.name: info for info in engine.inputs}
    names = [one["name"] for one in given]
    if sorted(names) != sorted(infos):
        raise wrong(f"the request's inputs are {reprlib.repr(names)}; expected {sorted(infos)}")
    return {name: _array(one, infos[name]) for name, one in zip(names, given)}, request.get("id")


def arrays_of(body: bytes, engine: _octet.Engine) -> tuple[dict[str, np.ndarray], str | None]:
    """The inputs by name, and the request's id. Raises Error."""
    try:
        return _arrays_of(body, engine)
    except MemoryError:
        raise no_memory(f"a request of {len(body)} bytes") from None


def answer_of(name: str, request_id: str | None, outputs: Mapping[str, np.ndarray]) -> str:
    """As JSON. Raises Error for what that cannot hold: in place of NaN and Infinity some servers write null, of which a client cannot tell them."""
    for output, array in outputs.items():
        if "float" in str(array.dtype) and not np.isfinite(array).all():
            error = Error(f"output {output!r} has values that are NaN or Infinity, which JSON does not have; a deployment's handle gives them")
            error.code, error.message = "unsupported", str(error)
            raise error
    told = [{"name": output, "datatype": TYPES.get(str(array.dtype), str(array.dtype)), "shape": list(array.shape), "data": array.ravel().tolist()}
            for output, array in outputs.items()]
    identified = {"id": request_id} if isinstance(request_id, str) else {}
    return json.dumps({"model_name": name, "model_version": "1", **identified, "outputs": told}, allow_nan=False)
