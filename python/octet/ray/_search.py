# SPDX-License-Identifier: Apache-2.0
"""The accuracy search with its trials as tasks of a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
import ray
import ray.data

from .. import _octet
from .._compile import finished
from .._data import Data, batches, wrong
from .._error import Error
from .._journal import Journal
from .._observe import Observer
from .._search import SearchCall, SearchMetric, SearchResult
from ._calibrate import observe
from ._workers import Model, at_level, check_levels, own_model, raise_told, told

_MODEL = ("equalize", "input_shapes", "weights_folder")  # what an observation depends on
_RETRIES = 20  # of a task that is lost: a metric that ends its process would do so for ever
_INSTEAD = {"cache": "keep an octet.Observation of the calibration", "progress": "Ray's dashboard shows the tasks"}
_Step = tuple[Any, ...]
_Entries = dict[str, float]


class _Trials:
    """A search in a process that measures for it: the calibrated model and what the float model gave stay for the next step."""

    def __init__(self, call: SearchCall) -> None:
        self._journal = Journal(None)
        self._native = call.native(self._journal)

    def measure(self, step: _Step, known: _Entries) -> _Entries:
        self._journal.values = dict(known)
        self._native.measure(step)
        return {key: value for key, value in self._journal.values.items() if key not in known}


_kept: dict[str, _Trials] = {}  # of the last search that this process has worked for, by the name of what it is asked


def _measured(call: list[ray.ObjectRef], step: _Step, known: _Entries) -> tuple[str, _Entries, str]:
    """A task: the level that it ran on, what the journal gets, or an error."""
    name = call[0].hex()
    try:
        if name not in _kept:
            _kept.clear()
            _kept[name] = _Trials(ray.get(call[0]))
        return _octet.cpu_isa(), _kept[name].measure(step, known), ""
    except Error as error:
        return "", {}, told(error)


class _Tasks:
    """Those that run, each for one step, and what they gave."""

    def __init__(self, call: SearchCall, options: dict[str, Any], most: int | None) -> None:
        self._task = ray.remote(**options)(_measured)
        self._call = ray.put(call)
        self._each, self._most = options["num_cpus"] or 1, most
        self._running: dict[ray.ObjectRef, _Step] = {}
        self._done: list[_Step] = []

    def room(self) -> int:
        """How many steps the cluster has processors for, as it is now."""
        return self._most or max(1, int(ray.cluster_resources().get("CPU", 0) / self._each))

    def start(self, steps: list[_Step], known: _Entries) -> None:
        if steps[0] in self._done:
            raise wrong(f"a machine has measured {steps[0]!r} and called it otherwise: do all of them have the same version of Octet?")
        for step in steps:
            if len(self._running) < self.room() and step not in self._running.values() and step not in self._done:
                # Only what the whole rank is made of was measured by others.
                task = self._task.remote([self._call], step, known if step[0] == "rank" else {})
                self._running[task] = step

    def next(self) -> tuple[str, _Entries]:
        """Of a task that is done: its level, and what it measured."""
        task = ray.wait(list(self._running), num_returns=1)[0][0]
        self._done.append(self._running.pop(task))
        level, entries, error = ray.get(task)
        if error:
            raise_told(error)
        return level, entries

    def end(self) -> None:
        for task in self._running:
            ray.cancel(task, force=True)


def _seen(
    calibration: Union[ray.data.Dataset, _octet.Observation, Data], model: Model, options: dict[str, Any], pool: dict[str, Any]
) -> _octet.Observation:
    if isinstance(calibration, _octet.Observation):
        return calibration
    if isinstance(calibration, ray.data.Dataset):
        return observe(calibration, model, **options, **pool)
    return Observer(model, **options).observe(calibration)


def search(  # noqa: PLR0913: what a search and the cluster may be told
    model: Model,
    samples: Data,
    metric: SearchMetric,
    *,
    calibration: Union[ray.data.Dataset, _octet.Observation, Data],
    max_drop: float | None = None,
    min_value: float | None = None,
    max_ms: float | None = None,
    max_bytes: int | None = None,
    effort: int = 2,
    metric_key: str = "",
    journal: str | os.PathLike | None = None,
    workers: int | None = None,
    threads: int = 1,
    cpu_isa: str | None = None,
    ray_options: Mapping[str, Any] | None = None,
    **build: Any,
) -> SearchResult:
    """What `octet.search()` finds, its trials measured by tasks of a cluster, several at a time.

    The result is the one that `octet.search()` has of the same journal on one machine. Trials that others may follow are measured before it is
    known whether they do, so a journal holds more of them than one machine's. A task that is lost runs again, at most 20 times. Times of layers
    and runs are those of the machine that measured them: for a goal of time, and where the fastest is looked for, tasks belong on machines
    like the target.

    Args:
        model: A file, which only the caller needs to see, or its bytes.
        samples: As of `octet.search()`, with metric, the goal, effort, metric_key and journal. The metric travels to the tasks.
        calibration: A dataset, whose rows `octet.ray.observe()` reads; an observation; or data, which the caller's machine runs.
        workers: How many tasks at a time; None: as many as the cluster has CPUs for.
        threads: Of each task, which asks for so many CPUs.
        cpu_isa: The level of all tasks, as of `observe()`.
        ray_options: More for the tasks' `ray.remote()`.
        build: As of `octet.search()`, without cache and progress.

    Raises:
        Error: The model, an option or the data are wrong, or the tasks' processors are of several kinds.
        ray.exceptions.RayError: The cluster failed, or the metric raised or ended its process.

    Warns:
        UserWarning: As `octet.compile()`, of the engine that was found.
    """
    if threads < 1 or (workers is not None and workers < 1):
        raise wrong(f"workers {workers}, threads {threads}: expected at least 1 of each")
    for name, instead in _INSTEAD.items():
        if build.get(name) is not None:
            raise wrong(f"{name}: no option of a search on Ray; {instead}")
    content, build["weights_folder"] = own_model(model, build.get("weights_folder"))
    of_model = {name: build[name] for name in _MODEL if name in build}
    build["calibration"] = _seen(calibration, content, of_model, {"workers": workers, "threads": threads, "cpu_isa": cpu_isa})
    travelling = _octet.CompileOptions()
    travelling.weights_folder = build["weights_folder"] or ""
    held_out = [[np.asarray(array) for array in batch] for batch in batches(samples, _octet.model_inputs(content, travelling))]
    call = SearchCall(content, held_out, metric, metric_key, (max_drop, min_value, max_ms, max_bytes), effort, {**build, "threads": threads})
    kept = Journal(journal)
    native = call.native(kept)
    tasks = _Tasks(call, at_level({"num_cpus": threads, "max_retries": _RETRIES, **(ray_options or {})}, cpu_isa), workers)
    levels: set[str] = set()
    try:
        while steps := native.lacking(tasks.room()):
            tasks.start(steps, kept.values)
            level, entries = tasks.next()
            levels.add(level)
            check_levels(levels, cpu_isa)
            for key, value in entries.items():
                kept.record(key, value)
    finally:
        tasks.end()
    engine, found = native.run()
    return SearchResult(finished(engine, None), found)
