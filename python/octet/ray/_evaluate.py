# SPDX-License-Identifier: Apache-2.0
"""Evaluation over a dataset: sums that are exact, so that nobody's share and order shows in them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Union

import numpy as np
import pyarrow
import ray
import ray.data

from .. import _octet
from .._data import wrong
from .._error import Error
from ._rows import Columns, EngineSource, Runner, columns_of, engine_of
from ._workers import pool, raise_told, told

# Of the outputs by name and the batch's columns: by the names of what is summed, a number for each row.
Metric = Callable[[Mapping[str, np.ndarray], Mapping[str, np.ndarray]], Mapping[str, Any]]
Sum = Union[int, float]


class _TopK:
    def __init__(self, labels: str, k: Sequence[int], output: str | None) -> None:
        self._labels, self._k, self._output = labels, sorted(set(k)), output

    def __call__(self, outputs: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        name = self._output or next(iter(outputs))
        if name not in outputs or self._labels not in batch:
            raise wrong(f"top_k of output {name!r} and column {self._labels!r}: there are {list(outputs)} and {list(batch)}")
        scores, labels = outputs[name].reshape(len(outputs[name]), -1), np.asarray(batch[self._labels])
        if labels.shape != (len(scores),) or labels.dtype.kind not in "iu":
            raise wrong(f"column {self._labels!r}: expected a class number in each row, got {labels.dtype} of shape {list(labels.shape)}")
        inside = (labels >= 0) & (labels < scores.shape[1])
        own = np.take_along_axis(scores, np.where(inside, labels, 0)[:, None].astype(np.int64), 1)
        # As argmax: of equal scores the first one wins.
        place = (scores > own).sum(1) + ((scores == own) & (np.arange(scores.shape[1]) < labels[:, None])).sum(1)
        known = inside & ~np.isnan(scores).any(1)
        return {f"top{k}": (known & (place < k)).astype(np.int64) for k in self._k}


def top_k(labels: str = "label", *, k: Sequence[int] = (1,), output: str | None = None) -> Metric:
    """How many rows have their class among the k with the highest scores, as "top1" and so on. Of equal scores the first counts as the higher.

    Args:
        labels: The column of class numbers.
        k: One sum for each.
        output: With the scores; None: the first.
    """
    return _TopK(labels, k, output)


def _exact(name: str, values: Any, count: int) -> Fraction | int:
    numbers = np.asarray(values)
    if numbers.shape != (count,):
        raise wrong(f"the metric's {name!r} has shape {list(numbers.shape)}; expected a number for each of {count} rows")
    if numbers.dtype.kind in "biu":
        return sum(int(number) for number in numbers)
    if numbers.dtype.kind != "f" or not np.isfinite(numbers).all():
        raise wrong(f"the metric's {name!r} has values that are no finite numbers")
    return sum((Fraction(float(number)) for number in numbers), Fraction())


class _Judge:
    """An actor: the exact sums of one batch as a row of text."""

    def __init__(self, engine: EngineSource, metric: Metric, columns: Columns | None, options: dict[str, Any]) -> None:
        self._metric, self._columns = metric, columns
        self._wrong: Error | None = None  # of the machine here: raised where Ray starts actors, it would be an actor that died
        try:
            self._runner = Runner(engine_of(engine), **options)
        except Error as error:
            self._wrong = error

    def __call__(self, batch: dict[str, Any]) -> pyarrow.Table:
        try:
            if self._wrong:
                raise self._wrong
            return pyarrow.table({"sums": [self._sums(batch)], "error": [""]})
        except Error as error:
            return pyarrow.table({"sums": [""], "error": [told(error)]})

    def _sums(self, batch: dict[str, Any]) -> str:
        columns = columns_of(self._runner.inputs, list(batch), self._columns)
        count = len(batch[columns[0]])
        found = self._metric(self._runner.run_batch(batch, columns), batch) if count > 0 else {}
        sums = {name: _exact(name, values, count) for name, values in found.items()}
        if "samples" in sums:
            raise wrong("the metric's 'samples' is the number of rows; give it another name")
        return json.dumps({name: [value.numerator, value.denominator, isinstance(value, Fraction)] for name, value in {"samples": count, **sums}.items()})


def _rounded(total: Fraction, real: bool) -> Sum:
    return float(total) if real else math.floor(total)


def evaluate(  # noqa: PLR0913: what the cluster, the engine and the data may be told
    dataset: ray.data.Dataset,
    engine: EngineSource,
    metric: Metric,
    *,
    columns: Columns | None = None,
    device: str = "cpu",
    rows: int | None = None,
    workers: int | None = None,
    threads: int = 1,
    batch_size: int | None = None,
    ray_options: Mapping[str, Any] | None = None,
) -> dict[str, Sum]:
    """Sums of a metric over the rows of a dataset, by a pool of actors that run the engine.

    They are the same for any number of workers, order of rows, batches and failures of workers: counts are integers, and real numbers are
    added without rounding until the end.

    Args:
        dataset: A row is a sample.
        engine: An engine, its bytes, or a file.
        metric: Gets the outputs by name and the batch's columns, and gives numbers for each row by name; `top_k()` is one.
        columns: As of `Predictor`, with device, rows and threads.
        workers: How many actors; None: as many as the cluster has room for.
        batch_size: Rows that an actor gets at a time; None: a block.
        ray_options: More for the actors' `ray.remote()`: num_gpus, resources, a runtime_env.

    Returns:
        "samples" and the sums: integers where all values were, else floats, rounded once.

    Raises:
        Error: The engine, an option, the data or what the metric gave are wrong.
        ray.exceptions.RayError: The cluster failed, or the metric raised.
    """
    loaded = engine_of(engine)
    sizes = None if rows is None else [rows]
    Runner(loaded, sizes=sizes)  # what is wrong with these is said here
    options: dict[str, Any] = {"device": device, "threads": threads, "sizes": sizes}
    totals: dict[str, Fraction] = {"samples": Fraction()}
    reals: dict[str, bool] = {"samples": False}
    parts = dataset.map_batches(
        _Judge, fn_constructor_args=(ray.put(loaded.to_bytes()), metric, columns, options), batch_size=batch_size, batch_format="numpy",
        zero_copy_batch=True, **pool(workers, threads, ray_options))
    for part in parts.iter_rows():
        if part["error"]:
            raise_told(part["error"])
        for name, (numerator, denominator, real) in json.loads(part["sums"]).items():
            totals[name] = totals.get(name, Fraction()) + Fraction(numerator, denominator)
            reals[name] = reals.get(name, False) or real
    return {name: _rounded(total, reals[name]) for name, total in totals.items()}
