# SPDX-License-Identifier: Apache-2.0
"""What a user gives as data, as batches: sequences of arrays, one for each input of the model, in its order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, Union, cast

from ._error import Error
from ._octet import TensorInfo

# A folder or file; an array; arrays by the names of inputs; or an iterable of batches: an array, a tuple of arrays in the order of
# the inputs (a tuple with one more ends with labels, as of a DataLoader), or arrays by name. The first axis is the sample.
Data = Union[str, os.PathLike, Any, Mapping[str, Any], Iterable[Any]]

_ROWS = 32  # of an array that are handed over at once


def wrong(message: str) -> Error:
    error = Error(message)
    error.code, error.message, error.context = "invalid_argument", message, []
    return error


def is_path(data: Data) -> TypeGuard[str | os.PathLike]:
    return isinstance(data, (str, os.PathLike))


def is_array(value: Any) -> bool:
    names = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    return any(hasattr(value, name) for name in names) or isinstance(value, memoryview)


def by_name(arrays: Mapping[str, Any], inputs: Sequence[TensorInfo]) -> list[Any]:
    """The arrays in the order of the inputs. Raises Error for names that are missing or unknown."""
    names = [info.name for info in inputs]
    missing = [name for name in names if name not in arrays]
    unknown = [str(name) for name in arrays if name not in names]
    if missing or unknown:
        raise wrong(f"the inputs are {', '.join(map(repr, names))}; missing: {missing or 'none'}, unknown: {unknown or 'none'}")
    return [arrays[name] for name in names]


def _batch(item: Any, inputs: Sequence[TensorInfo]) -> Sequence[Any]:
    if isinstance(item, Mapping):
        return by_name(item, inputs)
    if is_array(item):
        item = (item,)
    if not isinstance(item, Sequence) or isinstance(item, (str, bytes)):
        raise wrong(f"a batch of data is an array, a sequence of arrays or arrays by name; got {type(item).__name__}")
    if len(item) not in (len(inputs), len(inputs) + 1):
        raise wrong(f"a batch of data has {len(item)} arrays; the model has {len(inputs)} inputs")
    return item[: len(inputs)]


def _sliced(array: Any) -> Any:
    """What has a first axis that can be cut: the array, or NumPy's view of one that speaks DLPack alone."""
    if hasattr(array, "shape") and hasattr(array, "__getitem__"):
        return array
    import numpy

    return numpy.from_dlpack(array)


def _rows(arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
    arrays = [_sliced(array) for array in arrays]
    sizes = {int(array.shape[0]) if len(array.shape) > 0 else 0 for array in arrays}
    if len(sizes) != 1 or sizes == {0}:
        raise wrong(f"the first axis of every array is the sample: got {sorted(sizes)} samples")
    for begin in range(0, sizes.pop(), _ROWS):
        yield [array[begin : begin + _ROWS] for array in arrays]


def batches(data: Data, inputs: Sequence[TensorInfo]) -> Iterator[Sequence[Any]]:
    """Raises Error for what is no data; what the iterable raises passes through."""
    if isinstance(data, Mapping):
        return _rows(by_name(data, inputs))
    if is_array(data):
        return _rows(_batch(data, inputs))
    try:
        items = iter(cast("Iterable[Any]", data))
    except TypeError:
        raise wrong(f"data are a path, an array, arrays by name or an iterable of batches; got {type(data).__name__}") from None
    return (_batch(item, inputs) for item in items)
