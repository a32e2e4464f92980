# SPDX-License-Identifier: Apache-2.0
"""Calibration in parts, on any number of machines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _octet
from ._data import Data, batches, is_path, wrong


class Observer:
    """Runs samples through a model in FP32 and keeps what INT8 calibration needs to know of them, and no sample.

    Args:
        model: A file, or its bytes. It must be FP32: a model with Q/DQ nodes of its own needs no calibration.
        equalize: As `octet.compile()` will be told.
        input_shapes: Likewise.
        threads: None: one for each CPU that the process may use.
        weights_folder: As in `octet.compile()`.

    Raises:
        Error: The model is wrong, or brings its own codes.
    """

    def __init__(
        self,
        model: str | os.PathLike | bytes,
        *,
        equalize: bool = True,
        input_shapes: Mapping[str, Sequence[int]] | None = None,
        threads: int | None = None,
        weights_folder: str | os.PathLike | None = None,
    ) -> None:
        options = _octet.CompileOptions()
        for name, sizes in (input_shapes or {}).items():
            options.set_shape(name, sizes)
        options.threads = threads or _octet.usable_processors()
        options.weights_folder = weights_folder or ""
        if not equalize:
            options.leave_channels()
        self._native = _octet.NativeObserver(model, options)

    @property
    def inputs(self) -> list[_octet.TensorInfo]:
        """What the model takes."""
        return self._native.inputs

    def observe(self, data: Data) -> _octet.Observation:
        """What the samples hold, as an observation that others can be merged into.

        Args:
            data: Arrays, or an iterable of batches, as `calibration` of `octet.compile()`.

        Raises:
            Error: The samples do not fit the model.
        """
        if is_path(data):
            raise wrong("data are arrays here, or batches of them; files are read by octet.compile()")
        return self._native.observe(batches(data, self.inputs))
