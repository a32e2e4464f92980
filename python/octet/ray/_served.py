# SPDX-License-Identifier: Apache-2.0
"""One engine of a replica: requests that lie in one batch, each answered as if it were alone."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from .. import _octet
from .._data import by_name, wrong
from .._error import Error
from ._rows import Runner, fixed_rows

Arrays = dict[str, np.ndarray]
Answer = Union[Arrays, Error]


def bucket_sizes(most: int) -> list[int]:
    return sorted({most, *(1 << power for power in range(most.bit_length() - 1))})


def is_open(info: _octet.TensorInfo) -> bool:
    return bool(info.shape) and info.shape[0] is None


def fits(info: _octet.TensorInfo, shape: Sequence[int]) -> bool:
    return info.shape is None or (len(info.shape) == len(shape) and all(size in (None, got) for size, got in zip(info.shape, shape)))


class Served:
    """Raises Error where the engine cannot be run with these options."""

    def __init__(self, engine: _octet.Engine, *, device: str, threads: int, most_rows: int) -> None:
        self.engine = engine
        self._batches = most_rows > 1 and fixed_rows(engine) is None and all(is_open(info) for info in [*engine.inputs, *engine.outputs])
        self._runner = Runner(engine, device=device, threads=threads, sizes=bucket_sizes(most_rows) if self._batches else None)
        self._known = self._known_run()

    def check(self) -> None:
        """Raises where a run gives other bytes than it gave when the engine was loaded."""
        if self._known and self._bytes(self._known[0]) != self._known[1]:
            raise RuntimeError("the engine gives other answers than when it was loaded")

    def accept(self, inputs: Mapping[str, Any]) -> list[np.ndarray]:
        """A request's arrays, in the order of the inputs. Raises Error for those that no run would take."""
        if not isinstance(inputs, Mapping):
            raise wrong(f"a request is arrays by the names of inputs; got {type(inputs).__name__}")
        arrays = [np.asarray(array) for array in by_name(inputs, self.engine.inputs)]
        for array, info in zip(arrays, self.engine.inputs):
            if str(array.dtype) != info.dtype or not fits(info, array.shape):
                raise wrong(f"input {info.name!r}: expected {info.dtype} of shape {info.shape}, got {array.dtype} of shape {array.shape}")
        if self._batches and (len({len(array) for array in arrays}) != 1 or len(arrays[0]) == 0):
            raise wrong(f"the inputs have {[len(array) for array in arrays]} rows; expected the same number of each, and at least one")
        return arrays

    def answer(self, requests: Sequence[list[np.ndarray]]) -> list[Answer]:
        """Of each request, in their order. One that makes a run fail fails alone."""
        answers: list[Answer] = [{} for _ in requests]
        for group in self._groups(requests):
            for place, answer in zip(group, self._answer_group([requests[place] for place in group])):
                answers[place] = answer
        return answers

    def _groups(self, requests: Sequence[list[np.ndarray]]) -> list[list[int]]:
        if not self._batches:
            return [[place] for place in range(len(requests))]
        groups: dict[Any, list[int]] = {}
        for place, arrays in enumerate(requests):
            groups.setdefault(tuple(array.shape[1:] for array in arrays), []).append(place)
        return list(groups.values())

    def _answer_group(self, requests: list[list[np.ndarray]]) -> list[Answer]:
        try:
            return self._run_together(requests)
        except Error as error:
            if len(requests) == 1:
                return [error]
        return [answer for request in requests for answer in self._answer_group([request])]

    def _run_together(self, requests: list[list[np.ndarray]]) -> list[Answer]:
        names = self._runner.outputs
        if not self._batches:
            return [dict(zip(names, self._runner.context.run(requests[0])))]
        whole = self._runner.run([parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*requests)])
        ends = np.cumsum([len(arrays[0]) for arrays in requests])
        return [{name: array[end - len(arrays[0]) : end] for name, array in zip(names, whole)} for end, arrays in zip(ends, requests)]

    def _made_up(self, rows: int) -> list[np.ndarray] | None:
        """Inputs of all kinds of numbers; None where sizes are open that nobody knows."""
        random, arrays = np.random.default_rng(1), []
        for info in self.engine.inputs:
            shape = [None] if info.shape is None else [rows, *info.shape[1:]] if self._batches else list(info.shape)
            if None in shape or info.dtype not in ("float32", "float16", "float64", "uint8", "int8"):
                return None
            arrays.append((random.random(shape) * (1 if info.dtype.startswith("float") else 100)).astype(info.dtype))
        return arrays

    def _known_run(self) -> tuple[list[np.ndarray], list[bytes]] | None:
        """What the health check runs, and what came of it. Plans all sizes; where rows depend on their neighbors, nothing is batched."""
        arrays = self._made_up(3)
        if arrays is None:
            return None
        try:
            if self._batches and self._depends(arrays):
                self._batches = False
                return None
            for size in self._runner.sizes if self._batches else ():
                self._runner.context.prepare(*[[size, *info.shape[1:]] for info in self.engine.inputs])
            known = [array[:1] for array in arrays] if self._batches else arrays
            first = self._bytes(known)
            return (known, first) if first == self._bytes(known) else None
        except Error as error:
            if error.code == "out_of_memory":
                raise
            return None  # numbers that mean something, indices for example: requests tell

    def _depends(self, arrays: list[np.ndarray]) -> bool:
        together = self._runner.run(arrays)
        alone = [self._runner.run([array[row : row + 1] for array in arrays]) for row in range(len(arrays[0]))]
        return any(array.tobytes() != np.concatenate([row[place] for row in alone]).tobytes() for place, array in enumerate(together))

    def _bytes(self, arrays: list[np.ndarray]) -> list[bytes]:
        return [array.tobytes() for array in self._runner.context.run(arrays)]


class Queue:
    """Requests of one engine, gathered into batches that run on a thread of the replica's. While nobody asks nothing refers to it, so that an engine
    that made room for another is freed (which Serve's own batching, a task that waits for ever, would not allow)."""

    def __init__(self, served: Served, thread: concurrent.futures.Executor, most_requests: int, wait_s: float) -> None:
        self.served = served
        self._thread, self._most, self._wait = thread, most_requests, wait_s
        self._waiting: list[tuple[list[np.ndarray], asyncio.Future[Answer]]] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, inputs: Mapping[str, Any]) -> Arrays:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((self.served.accept(inputs), answered))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        answer = await answered
        if isinstance(answer, Error):
            raise answer
        return answer

    async def _run(self) -> None:
        while self._waiting:
            if self._wait > 0 and len(self._waiting) < self._most:
                await asyncio.sleep(self._wait)
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            await self._answer([(arrays, answered) for arrays, answered in batch if not answered.done()])  # others were given up
        self._task = None

    async def _answer(self, batch: list[tuple[list[np.ndarray], asyncio.Future[Answer]]]) -> None:
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self._thread, self.served.answer, [arrays for arrays, _ in batch])
        except Exception as error:  # whatever it is, those that wait must know
            for _, answered in batch:
                if not answered.done():
                    answered.set_exception(error)
            return
        for (_, answered), answer in zip(batch, answers):
            if not answered.done():
                answered.set_result(answer)
