# SPDX-License-Identifier: Apache-2.0
"""Whether the data of a service have drifted, as numbers that Prometheus reads."""

from __future__ import annotations

import threading
import weakref
from typing import Any, cast

from . import _octet

_lock = threading.Lock()
_watches: weakref.WeakSet[ClipWatch] = weakref.WeakSet()


class ClipWatch:
    """Counts, tensor by tensor, how many values lie beyond what an engine's codes hold.

    `Context(engine, watch=watch)` tells it of its runs. It takes as many of their inputs, in the host's memory, as its share of time has room
    for, and runs the engine's Q/DQ graph in f32 over them, on a thread of its own.

    Args:
        engine: One with INT8 layers.
        model: What its metrics call the model.
        version: Likewise.
        share: The part of one processor's time that counting takes, over 0 and up to 1.

    Raises:
        Error: The engine has no INT8 layers, or does not know what they were made of; `share` is out of range.
    """

    def __init__(self, engine: _octet.Engine, *, model: str = "", version: str = "", share: float = 0.01) -> None:
        self._native = _octet.NativeClipWatch(engine, model, version, share)
        with _lock:
            _watches.add(self)

    @property
    def runs(self) -> int:
        """Runs that are counted."""
        return self._native.runs

    @property
    def failures(self) -> int:
        """Inputs that did not run, and are not counted."""
        return self._native.failures

    def tensors(self) -> list[dict[str, Any]]:
        """A dict for each tensor that becomes codes: "tensor" (its name), "codes" (the least and the largest number that they hold), "values",
        "below", "above", and "calibrated", the part of calibration's values that lay beyond, or None where that is not known."""
        return cast("list[dict[str, Any]]", self._native.tensors())

    def finish(self) -> None:
        """Returns when what was taken is counted."""
        self._native.finish()


def metrics() -> str:
    """All watches of this process in Prometheus' text format: octet_values_total, octet_clipped_values_total with the label side, and
    octet_calibration_clipped_share."""
    with _lock:
        watches = [watch._native for watch in _watches]
    return cast("str", _octet.metrics(watches))
