# SPDX-License-Identifier: Apache-2.0
"""Batches of a dataset as arrays for a model, and engines that run them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
import ray

from .. import _octet
from .._context import Context
from .._data import wrong
from .._error import Error

# An engine, its bytes, a file that every machine sees, or any of these from Ray's object store (`ray.put`).
EngineSource = Union[_octet.Engine, bytes, str, os.PathLike, ray.ObjectRef]
Columns = Mapping[str, str]  # the name of an input: the column that holds it

_ROWS = 32  # of one run, where the engine leaves the batch open


def engine_of(source: EngineSource) -> _octet.Engine:
    """Raises Error for what is no engine."""
    if isinstance(source, ray.ObjectRef):
        source = ray.get(source)
    if isinstance(source, _octet.Engine):
        return source
    return _octet.Engine.from_bytes(source) if isinstance(source, bytes) else _octet.Engine.load(os.fspath(source))


def columns_of(inputs: Sequence[_octet.TensorInfo], names: Sequence[str], given: Columns | None) -> list[str]:
    """The columns of the inputs, in their order: the given ones, those of the inputs' names, or the only one. Raises Error."""
    wanted = dict(given or {})
    unknown = [name for name in wanted if name not in [info.name for info in inputs]]
    if unknown:
        raise wrong(f"columns of {unknown}: the inputs are {', '.join(repr(info.name) for info in inputs)}")
    if not given and len(inputs) == 1 and len(names) == 1:
        return list(names)
    columns = [wanted.get(info.name, info.name) for info in inputs]
    missing = [column for column in columns if column not in names]
    if missing:
        raise wrong(f"the dataset has no column {missing[0]!r}; it has {', '.join(map(repr, names))}. `columns` says which column is which input")
    return columns


def stacked(column: Any, name: str) -> list[np.ndarray]:
    """The rows of a column as arrays of several rows: one, or one for each row where their shapes differ. Raises Error."""
    if column.dtype != object:
        return [column]
    rows = [np.asarray(row) for row in column]
    if any(row.dtype == object for row in rows):
        raise wrong(f"column {name!r} holds no numbers, or rows that are no arrays")
    return [row[None] for row in rows]


def runs_of(batch: Mapping[str, Any], columns: Sequence[str]) -> Iterator[list[np.ndarray]]:
    """The inputs' arrays, as few times as their shapes allow."""
    parts = [stacked(batch[column], column) for column in columns]
    if all(len(part) == 1 for part in parts):
        yield [part[0] for part in parts]
        return
    count = max(map(len, parts))
    yield from ([part[row] if len(part) == count else part[0][row : row + 1] for part in parts] for row in range(count))


def fixed_rows(engine: _octet.Engine) -> int | None:
    """How many rows the engine takes at a time; None: any number."""
    shape = engine.inputs[0].shape if engine.inputs else None
    return shape[0] if shape else None


class Runner:
    """Runs any number of rows, so many of them at a time as one of `sizes`, the last ones filled up. With one size a row's result does not depend
    on what it came with."""

    def __init__(self, engine: _octet.Engine, *, device: str = "cpu", threads: int = 1, sizes: Sequence[int] | None = None) -> None:
        fixed = fixed_rows(engine)
        self.sizes = sorted(sizes or [fixed or _ROWS])
        if self.sizes[0] < 1 or fixed not in (None, self.sizes[0], self.sizes[-1]):
            raise wrong(f"rows {self.sizes}: expected at least 1" + (f"; the engine takes {fixed} at a time" if fixed is not None else ""))
        self.inputs, self.outputs = engine.inputs, [info.name for info in engine.outputs]
        self.context = Context(engine, threads=threads, device=device)

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Raises Error where arrays do not fit, and where an output has no row for each sample."""
        counts = {len(array) if array.ndim else 0 for array in arrays}
        if len(counts) != 1 or counts == {0}:
            raise wrong(f"the inputs have {sorted(counts)} rows; expected the same number of each, and at least one")
        most = self.sizes[-1]
        parts = [self._run_some([array[at : at + most] for array in arrays]) for at in range(0, counts.pop(), most)]
        return parts[0] if len(parts) == 1 else [np.concatenate(pieces) for pieces in zip(*parts)]

    def _run_some(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        count = len(arrays[0])
        size = next(size for size in self.sizes if size >= count)
        if count < size:
            arrays = [np.concatenate([array, np.repeat(array[-1:], size - count, axis=0)]) for array in arrays]
        results = self.context.run([np.ascontiguousarray(array) for array in arrays])
        for name, result in zip(self.outputs, results):
            if result.ndim == 0 or len(result) != size:
                error = Error(f"output {name!r} has shape {list(result.shape)} for {size} samples: it has no row for each of them")
                error.code, error.message, error.context = "unsupported", str(error), []
                raise error
        return [result[:count] for result in results]

    def run_batch(self, batch: Mapping[str, Any], columns: Sequence[str]) -> dict[str, np.ndarray]:
        """The outputs by name, a row for each of the batch's."""
        parts = [self.run(arrays) for arrays in runs_of(batch, columns)]
        if len(parts) == 1:
            return dict(zip(self.outputs, parts[0]))
        whole = {}
        for place, name in enumerate(self.outputs):
            rows = [row for part in parts for row in part[place]]
            if len({row.shape for row in rows}) == 1:
                whole[name] = np.stack(rows)
            else:
                whole[name] = np.empty(len(rows), object)
                for row, result in enumerate(rows):  # NumPy would look into them
                    whole[name][row] = result
        return whole
