# SPDX-License-Identifier: Apache-2.0
"""The Open Inference Protocol in JSON: requests as arrays, answers as text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _octet
from .._data import wrong

TYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "int8": "INT8", "int16": "INT16", "int32": "INT32",
    "int64": "INT64", "float16": "FP16", "bfloat16": "BF16", "float32": "FP32", "float64": "FP64",
}
_KINDS = {"b": "b", "u": "iu", "i": "iu", "f": "iuf"}  # of NumPy: what numbers of JSON may become it


def metadata(name: str, engine: _octet.Engine) -> dict[str, Any]:
    def told(infos: list[_octet.TensorInfo]) -> list[dict[str, Any]]:
        return [{"name": info.name, "datatype": TYPES.get(info.dtype, info.dtype), "shape": [-1 if size is None else size for size in info.shape or ()]} for info in infos]

    return {"name": name, "versions": ["1"], "platform": "octet", "inputs": told(engine.inputs), "outputs": told(engine.outputs)}


def _shape_of(given: Mapping[str, Any], name: str) -> list[int]:
    shape = given.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise wrong(f"input {name!r}: shape {shape!r}; expected a list of sizes")
    return shape


def _flat(data: Any) -> list[Any]:
    """Lists of lists are taken row after row, as the protocol has it."""
    while isinstance(data, list) and data and all(isinstance(row, list) for row in data):
        data = [value for row in data for value in row]
    return data if isinstance(data, list) else [data]


def _array(given: Mapping[str, Any], info: _octet.TensorInfo) -> np.ndarray:
    if given.get("datatype") != TYPES.get(info.dtype):
        raise wrong(f"input {info.name!r}: datatype {given.get('datatype')!r}; expected {TYPES.get(info.dtype, info.dtype)!r}")
    shape, values = _shape_of(given, info.name), _flat(given.get("data"))
    if len(values) != math.prod(shape):
        raise wrong(f"input {info.name!r}: {len(values)} values for shape {shape}, which has {math.prod(shape)}")
    try:
        target = np.dtype(info.dtype)
        plain = np.array(values) if values else np.empty(0, target)
        if plain.ndim != 1 or plain.dtype.kind not in _KINDS.get(target.kind, ""):
            raise ValueError(f"values of {plain.dtype}")
        made = np.array(values, target)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong(f"input {info.name!r}: data do not become {info.dtype}: {error}") from None
    return made.reshape(shape)


def arrays_of(body: bytes, engine: _octet.Engine) -> tuple[dict[str, np.ndarray], str | None]:
    """The inputs by name, and the request's id. Raises Error."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise wrong(f"the request is no JSON: {error}") from None
    given = request.get("inputs") if isinstance(request, dict) else None
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise wrong('the request has no list of "inputs"')
    infos = {info.name: info for info in engine.inputs}
    names = [str(one.get("name")) for one in given]
    if sorted(names) != sorted(infos):
        raise wrong(f"the request's inputs are {names}; expected {sorted(infos)}")
    return {name: _array(one, infos[name]) for name, one in zip(names, given)}, request.get("id")


def answer_of(name: str, request_id: str | None, outputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    told = [{"name": output, "datatype": TYPES.get(str(array.dtype), str(array.dtype)), "shape": list(array.shape), "data": array.ravel().tolist()}
            for output, array in outputs.items()]
    return {"model_name": name, "model_version": "1", **({"id": request_id} if isinstance(request_id, str) else {}), "outputs": told}
