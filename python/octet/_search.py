# SPDX-License-Identifier: Apache-2.0
"""The fastest precisions and ranges that keep a metric of the caller's."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _octet
from ._compile import compile, finished, plain_ranges, requested
from ._data import Data, batches, wrong
from ._journal import Journal

# Of what a trial gives for some samples and what the float model gives, each a dict of arrays by the names of outputs, and of the samples' numbers.
SearchMetric = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], Sequence[int]], float]
Progress = Callable[[str, int, int], "bool | None"]

_NAMES = ("keep_float", "precision")  # of a build, which any iterable may give


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The engine that was found, and `found`, what was tried: a dict as `octet build --json` has it under "search", metric and flags apart."""

    engine: _octet.Engine
    found: dict[str, Any]


def _is_iterable(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str)


@dataclasses.dataclass(frozen=True)
class SearchCall:
    """What a search is asked; it travels between machines."""

    model: str | os.PathLike | bytes
    samples: Data
    metric: SearchMetric
    metric_key: str
    goal: tuple[float | None, float | None, float | None, int | None]
    effort: int
    build: dict[str, Any]

    def __post_init__(self) -> None:
        # Read once, here: each machine that works for the search reads them, too.
        plain: dict[str, Any] = {name: tuple(self.build[name]) for name in _NAMES if _is_iterable(self.build.get(name))}
        if self.build.get("ranges"):
            plain["ranges"] = plain_ranges(self.build["ranges"])
        object.__setattr__(self, "build", {**self.build, **plain})

    def arguments(self) -> dict[str, Any]:
        """Those of compile(). Raises TypeError for others."""
        bound = inspect.signature(compile).bind(self.model, **self.build)
        bound.apply_defaults()
        return bound.arguments

    def native(self, journal: Journal, progress: Progress | None = None) -> _octet.NativeSearch:
        """Calibrates. Raises Error."""
        asked = self.arguments()
        if asked["calibration"] is None and asked["cache"] is None:
            raise wrong("a search needs calibration")
        options, calibration = requested(asked)
        wanted = _octet.SearchOptions()
        wanted.set_data(calibration, batches(self.samples, _octet.model_inputs(self.model, options)))
        wanted.set_metric(self.metric, getattr(self.metric, "__name__", type(self.metric).__name__), self.metric_key)
        most_drop, least_value, most_ms, most_bytes = self.goal
        wanted.set_goal(most_drop, least_value, None if most_ms is None else 1000 * most_ms, most_bytes)
        method = asked["method"]
        told = [dict(method) if isinstance(method, Mapping) else method, asked["ranges"], bool(asked["equalize"])]
        wanted.set_work(self.effort, not method and not asked["ranges"], json.dumps(told))
        wanted.set_journal(journal.recall, journal.record)
        wanted.set_progress(progress)
        return _octet.NativeSearch(self.model, options, wanted)


def search(  # noqa: PLR0913: what a search may be told
    model: str | os.PathLike | bytes,
    samples: Data,
    metric: SearchMetric,
    *,
    max_drop: float | None = None,
    min_value: float | None = None,
    max_ms: float | None = None,
    max_bytes: int | None = None,
    effort: int = 2,
    metric_key: str = "",
    journal: str | os.PathLike | None = None,
    progress: Progress | None = None,
    **build: Any,
) -> SearchResult:
    """The fastest assignment of INT8, ranges and floats that keeps a metric, or the most accurate within a time or a size, verified on samples
    that it was not chosen by; what `octet build --max-drop` does (docs/cli.md).

    Args:
        model: A file, or its bytes.
        samples: Arrays, or an iterable of batches, that calibration has not seen: every second is searched on, the others verify.
        metric: A function of what a trial gave for some samples, what the float model gave, and the samples' numbers; the greater the better.
            Outputs are a dict of arrays by name for each sample, whose first axis is 1.
        max_drop: How much less than the float model's the value may be.
        min_value: The least value.
        max_ms: Of a run on this machine.
        max_bytes: Of the engine file.
        effort: 1, 2 or 3: at most 5, 15 or 60 runs over all samples.
        metric_key: Whatever the metric depends on beside its name, for the journal.
        journal: A file that keeps every measurement; what it holds is not measured again, so that the same journal gives the same engine anywhere.
        progress: As of `compile()`; returning False ends the search with the best so far.
        build: As `compile()` takes it, calibration first of all. Ranges and methods that are given are not searched for.

    Raises:
        Error: The model, an option or the data are wrong, or the search was stopped before anything met the goal.
        BaseException: Whatever the metric raises, unchanged.

    Warns:
        UserWarning: As `compile()`, of the engine that was found.
    """
    call = SearchCall(model, samples, metric, metric_key, (max_drop, min_value, max_ms, max_bytes), effort, build)
    engine, found = call.native(Journal(journal), progress).run()
    return SearchResult(finished(engine, build.get("cache")), found)
