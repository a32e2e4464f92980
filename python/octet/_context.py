# SPDX-License-Identifier: Apache-2.0
"""Runs of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _octet
from ._data import by_name, is_array, wrong


class Context:
    """Threads, memory and plans for running an engine.

    Threads of a program that call one context run one after the other; contexts of their own run at the same time, since a run does
    not hold the interpreter's lock.

    Args:
        engine: What to run.
        threads: That compute one run, 1 to 256.
        device: "cpu", or "cuda:0" and so on.

    Raises:
        Error: There is no such device, or the threads or the memory cannot be had.
    """

    def __init__(self, engine: _octet.Engine, *, threads: int = 1, device: str = "cpu") -> None:
        if not 1 <= threads <= 256:
            raise wrong(f"threads {threads}: expected 1 to 256")
        self.engine = engine
        self._inputs = engine.inputs
        self._outputs = engine.outputs
        self._native = _octet.NativeContext(engine, threads, device)

    def run(self, *inputs: Any, out: Any = None) -> list[Any]:
        """Runs the engine once.

        Args:
            inputs: The inputs' arrays in the order of `engine.inputs`, or one sequence of them, or one mapping by name. Types and
                shapes must be the inputs' (float64 is not float32). Arrays of elements that lie one after another are read where they
                are, others are copied.
            out: Arrays to write the outputs into, given as `inputs` are: writable, of the outputs' types and shapes.

        Returns:
            An array of NumPy for each output, in the order of `engine.outputs`; the arrays of `out` where they are given. Elements of
            types that NumPy lacks have the types of ml_dtypes, or are unsigned codes where that is not installed.

        Raises:
            Error: An array is missing, or its type, shape or memory does not fit; the message names it.
        """
        arrays = self._arrays(inputs, self._inputs)
        if out is None:
            return self._native.run(arrays)
        outputs = self._arrays((out,), self._outputs)
        self._native.run_into(arrays, outputs)
        return outputs

    def prepare(self, *shapes: Sequence[int]) -> None:
        """Plans for inputs of these shapes, which the first run of such inputs would do (milliseconds)."""
        self._native.prepare(shapes)

    @staticmethod
    def _arrays(given: tuple[Any, ...], infos: Sequence[_octet.TensorInfo]) -> list[Any]:
        if len(given) == 1 and isinstance(given[0], Mapping):
            return by_name(given[0], infos)
        if len(given) == 1 and isinstance(given[0], (list, tuple)) and all(map(is_array, given[0])):
            return list(given[0])
        return list(given)
