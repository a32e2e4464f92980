# SPDX-License-Identifier: Apache-2.0
"""Runs of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _octet
from ._clipping import ClipWatch
from ._data import by_name, is_array, wrong


class Context:
    """Threads, memory and plans for running an engine.

    Threads of a program that call one context run one after the other; contexts of their own run at the same time, since a run does
    not hold the interpreter's lock.

    Args:
        engine: What to run.
        threads: That compute one run, 1 to 256.
        device: "cpu", or "cuda:0" and so on.
        watch: Counts what the engine's codes clip of some of the runs' inputs; any number of contexts may share one.

    Raises:
        Error: There is no such device, or the threads or the memory cannot be had.
    """

    def __init__(self, engine: _octet.Engine, *, threads: int = 1, device: str = "cpu", watch: ClipWatch | None = None) -> None:
        if not 1 <= threads <= 256:
            raise wrong(f"threads {threads}: expected 1 to 256")
        self.engine = engine
        self._inputs = engine.inputs
        self._outputs = engine.outputs
        self._native = _octet.NativeContext(engine, threads, device, None if watch is None else watch._native)

    def run(self, *inputs: Any, out: Any = None, stream: int | None = None, cache_rows: int = 0) -> list[Any]:
        """Runs the engine once.

        Args:
            inputs: The inputs' arrays in the order of `engine.inputs`, or one sequence of them, or one mapping by name. Types and
                shapes must be the inputs' (float64 is not float32). Arrays of elements that lie one after another are read where they
                are, others are copied; those of a GPU (DLPack or `__cuda_array_interface__`) must be dense and of the context's device.
            out: Arrays to write the outputs into, given as `inputs` are: writable, of the outputs' types and shapes.
            stream: A CUDA stream (`torch.cuda.current_stream().cuda_stream`): the run begins behind what it was given, and what it is
                given later begins behind the run. The call may return before the run is done where inputs and `out` are on the GPU.
                Without one the run begins behind the default stream, and is done when the call returns.
            cache_rows: Of a decoder whose caches grow, with `out`: promises that each cache's array among the inputs and in `out` begins at
                the first row of a dense buffer of so many rows that holds nothing else (`buffer[:, :, :n]` and `buffer[:, :, :n + 1]`). The
                run then continues caches there, and may write zeros to all rows behind the new ones. 0: arrays mean what they show.

        Returns:
            An array of NumPy for each output, in the order of `engine.outputs`; the arrays of `out` where they are given. Elements of
            types that NumPy lacks have the types of ml_dtypes, or are unsigned codes where that is not installed.

        Raises:
            Error: An array is missing, or its type, shape or memory does not fit; the message names it.
        """
        arrays = self._arrays(inputs, self._inputs)
        if out is None:
            return self._native.run(arrays, stream, cache_rows)
        outputs = self._arrays((out,), self._outputs)
        self._native.run_into(arrays, outputs, stream, cache_rows)
        return outputs

    def prepare(self, *shapes: Sequence[int], memory: str = "cpu") -> None:
        """Plans for inputs of these shapes in the memory of "cpu" or of the context's device, as the first such run would (milliseconds)."""
        self._native.prepare(shapes, memory)

    def synchronize(self) -> None:
        """Returns when all runs are done that were given with a stream.

        Raises:
            Error: One of them failed.
        """
        self._native.synchronize()

    @staticmethod
    def _arrays(given: tuple[Any, ...], infos: Sequence[_octet.TensorInfo]) -> list[Any]:
        if len(given) == 1 and isinstance(given[0], Mapping):
            return by_name(given[0], infos)
        if len(given) == 1 and isinstance(given[0], (list, tuple)) and all(map(is_array, given[0])):
            return list(given[0])
        return list(given)
