# SPDX-License-Identifier: Apache-2.0
"""Calibration of which every machine of a cluster sees a part."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow
import ray
import ray.data

from .. import _octet
from .._compile import compile
from .._data import wrong
from .._error import Error
from .._observe import Observer
from ._rows import Columns, columns_of, runs_of
from ._workers import Model, at_level, check_levels, own_model, pool, raise_told, told

_FOLDED = 16  # observations that are added before they travel on: with w workers the caller adds 1 / 16 of theirs


def _table(observation: _octet.Observation, levels: set[str], error: str = "") -> pyarrow.Table:
    seen = pyarrow.array([observation.to_bytes()], pyarrow.large_binary())
    return pyarrow.table({"observation": seen, "levels": pyarrow.array([sorted(levels)], pyarrow.list_(pyarrow.string())), "error": [error]})


def _sum(parts: pyarrow.Table) -> tuple[_octet.Observation, set[str], str]:
    """The parts' sum and the levels of who saw them; and the first error of one of them."""
    total = _octet.Observation()
    for part in parts["observation"]:
        total.merge(_octet.Observation.from_bytes(part.as_py()))
    errors = [error for error in parts["error"].to_pylist() if error]
    return total, {level for levels in parts["levels"].to_pylist() for level in levels}, errors[0] if errors else ""


def _fold(parts: pyarrow.Table) -> pyarrow.Table:
    return _table(*_sum(parts))


class _Watcher:
    """An actor: observes batches, each by itself, so that a batch that is done again counts once."""

    def __init__(self, model: ray.ObjectRef, options: dict[str, Any], columns: Columns | None) -> None:
        self._columns = columns
        self._wrong: Error | None = None  # as of evaluation's actors
        try:
            self._observer = Observer(ray.get(model), **options)
        except Error as error:
            self._wrong = error

    def __call__(self, batch: dict[str, Any]) -> pyarrow.Table:
        try:
            if self._wrong:
                raise self._wrong
            return _table(self._observer.observe(self._runs(batch)), {_octet.cpu_isa()})
        except Error as error:
            return _table(_octet.Observation(), set(), told(error))

    def _runs(self, batch: dict[str, Any]) -> Iterator[Sequence[Any]]:
        return runs_of(batch, columns_of(self._observer.inputs, list(batch), self._columns))


def observe(  # noqa: PLR0913: what the cluster, the model and the data may be told
    dataset: ray.data.Dataset,
    model: Model,
    *,
    columns: Columns | None = None,
    equalize: bool = True,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    weights_folder: str | os.PathLike | None = None,
    workers: int | None = None,
    threads: int = 1,
    batch_size: int | None = None,
    cpu_isa: str | None = None,
    ray_options: Mapping[str, Any] | None = None,
) -> _octet.Observation:
    """What a dataset's rows were seen to hold by a pool of actors, as `octet.Observer` sees it on one machine.

    The engine that is made of it is the same for any number of workers, order of rows, batches and failures of workers; a row counts once,
    however often it was run again.

    Args:
        dataset: A row is a sample. Columns of tensors whose shapes differ from row to row are run row by row.
        model: A file, which only the caller needs to see, or its bytes.
        columns: The column of each input. Without it columns are named as inputs are; a single column is the single input's.
        equalize: As `octet.compile()` will be told.
        input_shapes: Likewise.
        weights_folder: Where the weights files of the model are, seen by all machines; None: beside the model.
        workers: How many actors; None: as many as the cluster has room for.
        threads: Of each actor, which asks the cluster for so many CPUs.
        batch_size: Rows that an actor sees at a time; None: a block.
        cpu_isa: The level of all actors, "avx2" for example. Sums of f32 differ in their last bits from level to level, so a cluster of
            several kinds of processors needs one that all have. It is that of the machine which does the same alone.
        ray_options: More for the actors' `ray.remote()`: resources, a runtime_env, a label selector.

    Raises:
        Error: The model, an option or the data are wrong, or the actors' processors are of several kinds.
        ray.exceptions.RayError: The cluster failed.
    """
    options: dict[str, Any] = {"equalize": equalize, "input_shapes": dict(input_shapes or {}), "weights_folder": weights_folder, "threads": threads}
    Observer(model, **options)  # what is wrong with it is said here, before anything starts
    actors = at_level(pool(workers, threads, ray_options), cpu_isa)
    travelling, options["weights_folder"] = own_model(model, weights_folder)
    content = ray.put(travelling)
    parts = dataset.map_batches(
        _Watcher, fn_constructor_args=(content, options, columns), batch_size=batch_size, batch_format="numpy", zero_copy_batch=True, **actors)
    # It asks for no CPU: actors may hold all that there are, and wait for their results to be taken.
    sums = parts.map_batches(_fold, batch_size=_FOLDED, batch_format="pyarrow", num_cpus=0)
    total, levels = _octet.Observation(), set[str]()
    for folded in sums.iter_batches(batch_size=1, batch_format="pyarrow"):
        part, its_levels, error = _sum(folded)
        if error:
            raise_told(error)
        total.merge(part)
        levels |= its_levels
    if total.samples == 0:
        raise wrong("the dataset has no rows")
    check_levels(levels, cpu_isa)
    return total


_OBSERVES = {name for name, one in inspect.signature(observe).parameters.items() if one.kind is one.KEYWORD_ONLY}
_BOTH = {"equalize", "input_shapes", "weights_folder"}  # of the model, whoever reads it


def calibrate(dataset: ray.data.Dataset, model: Model, **options: Any) -> _octet.Engine:
    """An INT8 engine, calibrated by all machines of a cluster: the bytes that `octet.compile()` makes of the same rows on one of them.

    Args:
        dataset: As of `observe()`.
        model: Likewise.
        options: Those of `observe()`, and more for `octet.compile()`: method, precision, cache, progress, ...

    Raises:
        Error: The model, an option or the data are wrong, or the actors' processors are of several kinds.
        TypeError: An option is neither's.
        ray.exceptions.RayError: The cluster failed.
    """
    observes = {name: value for name, value in options.items() if name in _OBSERVES}
    compiles = {name: value for name, value in options.items() if name not in _OBSERVES or name in _BOTH}
    inspect.signature(compile).bind(model, calibration=None, **compiles)  # before there is much to lose
    if compiles.get("favor") is not None:
        raise wrong("favor tries layers on samples, and what a cluster observes keeps none: calibrate on one machine")
    return compile(model, calibration=observe(dataset, model, **observes), **compiles)
