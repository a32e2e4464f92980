# SPDX-License-Identifier: Apache-2.0
"""What an engine computes, against another."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from . import _octet
from ._data import Data, batches, is_path


def compare(
    reference: _octet.Engine,
    tested: _octet.Engine,
    data: Data,
    *,
    threads: int | None = None,
    progress: Callable[[str, int, int], bool | None] | None = None,
) -> list[dict[str, Any]]:
    """Runs both engines on the same data and compares every value that both compute, worst first.

    Args:
        reference: Usually the model in FP32.
        tested: The same model in INT8.
        data: As `calibration` of `compile()`; images of a folder are prepared as `tested` remembers it.
        threads: None: one for each CPU that the process may use.
        progress: As in `compile()`.

    Returns:
        A dict for each value: "value" (its name), "layer", "precision", "sqnr_db" (dB; None where the values are equal), "exact", "max_abs",
        "cosine", "elements".

    Raises:
        Error: The data do not fit the engines, or the engines have no value in common.
    """
    source = os.fspath(data) if is_path(data) else batches(data, tested.inputs)
    return cast("list[dict[str, Any]]", _octet.compare(reference, tested, source, threads or _octet.usable_processors(), progress))
