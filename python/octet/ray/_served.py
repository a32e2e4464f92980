# SPDX-License-Identifier: Apache-2.0
"""One engine of a replica: requests that lie in one batch, each answered as if it were alone."""

from __future__ import annotations

import asyncio
import concurrent.futures
import enum
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, Union

import numpy as np

from .. import _octet
from .._data import by_name, wrong
from .._error import Error
from ._rows import Runner, fixed_rows

Arrays = dict[str, np.ndarray]
Answer = Union[Arrays, Error]
T = TypeVar("T")

_OPEN_SIZE = 16  # of axes that are open beside the first, in what is made up
_MADE_UP = ("float32", "float16", "float64", "uint8", "int8", "int32", "int64", "bool")
_MOST_TRIALS, _MOST_SHAPES = 3, 16  # with requests, before an engine whose rows cannot be tried runs them one by one for good


def bucket_sizes(most: int) -> list[int]:
    return sorted({most, *(1 << power for power in range(most.bit_length() - 1))})


def is_open(info: _octet.TensorInfo) -> bool:
    return bool(info.shape) and info.shape[0] is None


def fits(info: _octet.TensorInfo, shape: Sequence[int]) -> bool:
    return info.shape is None or (len(info.shape) == len(shape) and all(size in (None, got) for size, got in zip(info.shape, shape)))


def _alike(arrays: Sequence[np.ndarray]) -> bool:
    """They have the same number of rows, and one at least."""
    return len({len(array) for array in arrays}) == 1 and len(arrays[0]) > 0


def _shapes(arrays: Sequence[np.ndarray]) -> Any:
    """Of a row."""
    return tuple(array.shape[1:] for array in arrays)


def _rows_of(arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    return [[array[row : row + 1] for array in arrays] for row in range(len(arrays[0]))]


def _differ(arrays: Sequence[np.ndarray]) -> bool:
    """Rows that are all the same tell nothing of each other."""
    first, *others = _rows_of(arrays)
    return any(a.tobytes() != b.tobytes() for other in others for a, b in zip(first, other))


def _unless_wrong(call: Callable[[], T]) -> T | None:
    """What a call gives; None where it raises Error: of numbers that mean something, and of sizes that do not fit. Memory that lacks is raised."""
    try:
        return call()
    except Error as error:
        if error.code == "out_of_memory":
            raise
        return None


class _Rows(enum.Enum):
    """Whether the rows of a run know nothing of each other, so that several clients' may share one."""

    APART = "tried"
    UNKNOWN = "not tried yet"
    TOGETHER = "they depend on each other, or there are none"


def properties(engine: _octet.Engine) -> dict[str, str]:
    """Where an engine comes from, as the protocol has it: texts by name, those of Triton's metric octet_engine_info."""
    made = engine.provenance or {}
    keys = {"octet": "octet", "model_hash": "model_hash", "data_hash": "data_hash", "calibration": "methods", "samples": "samples"}
    return {"engine": engine.hash, **{name: str(made[key]) for name, key in keys.items() if key in made}}


class Served:
    """Raises Error where the engine cannot be run with these options."""

    def __init__(self, engine: _octet.Engine, *, device: str, threads: int, most_rows: int, max_rows: int) -> None:
        self.engine = engine
        self.properties = properties(engine)  # its hash goes through all of its bytes
        open_rows = fixed_rows(engine) is None and all(is_open(info) for info in [*engine.inputs, *engine.outputs])
        self._rows = _Rows.UNKNOWN if most_rows > 1 and open_rows else _Rows.TOGETHER
        self._most, self._max_rows = most_rows, max_rows
        self._first: dict[Any, list[np.ndarray]] = {}  # a row that a client asked about, to try with another one
        self._trials = 0
        self._runner = Runner(engine, device=device, threads=threads, sizes=bucket_sizes(most_rows) if self._rows is _Rows.UNKNOWN else None)
        self._known = self._known_run()
        if self.batches and all(None not in info.shape[1:] for info in engine.inputs if info.shape):
            _unless_wrong(self._plan_all)

    @property
    def batches(self) -> bool:
        return self._rows is _Rows.APART

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
            if is_open(info) and len(array) > self._max_rows:
                raise wrong(f"input {info.name!r}: {len(array)} rows; at most {self._max_rows} are taken (max_rows)")
        if self.batches and not _alike(arrays):
            raise wrong(f"the inputs have {[len(array) for array in arrays]} rows; expected the same number of each, and at least one")
        return arrays

    def pieces(self, arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
        """Of a request with more rows than run together, so that others get their turn between them."""
        if not self.batches:
            return [arrays]
        return [[array[at : at + self._most] for array in arrays] for at in range(0, len(arrays[0]), self._most)]

    def answer(self, requests: Sequence[list[np.ndarray]]) -> list[Answer]:
        """Of each request, in their order. One that makes a run fail fails alone."""
        answers: list[Answer] = [{} for _ in requests]
        for group in self._groups(requests):
            for place, answer in zip(group, self._answer_group([requests[place] for place in group])):
                answers[place] = answer
        return answers

    def _groups(self, requests: Sequence[list[np.ndarray]]) -> list[list[int]]:
        if not self.batches:
            return [[place] for place in range(len(requests))]
        groups: dict[Any, list[int]] = {}
        for place, arrays in enumerate(requests):
            groups.setdefault(_shapes(arrays), []).append(place)
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
        if not self.batches:
            answer = dict(zip(names, self._runner.context.run(requests[0])))
            if self._rows is _Rows.UNKNOWN:
                self._try_safely(requests[0])
            return [answer]
        if len(requests) > 1 and not all(map(_alike, requests)):
            raise wrong("requests with unlike numbers of rows do not run together")  # they were accepted before rows were tried
        whole = self._runner.run([parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*requests)])
        ends = np.cumsum([len(arrays[0]) for arrays in requests])
        return [{name: array[end - len(arrays[0]) : end] for name, array in zip(names, whole)} for end, arrays in zip(ends, requests)]

    def _try_safely(self, arrays: list[np.ndarray]) -> None:
        """The request is answered already: a trial that needs more memory than there is must not take that back."""
        try:
            self._try(arrays)
        except Error:
            self._rows = _Rows.TOGETHER

    def _try(self, arrays: list[np.ndarray]) -> None:
        """With rows of requests that were answered alone, where made-up ones told nothing: two that differ, alone and in one run."""
        counts = {len(array) for array in arrays}
        if len(counts) > 1:
            self._rows = _Rows.TOGETHER  # a run took them: the first axes are no rows
        if len(counts) > 1 or counts == {0}:
            return
        first = self._first.setdefault(_shapes(arrays), [array[:1].copy() for array in arrays])
        other = next((row for row in _rows_of(arrays) if _differ([np.concatenate(both) for both in zip(first, row)])), None)
        if other is not None:
            self._trials += 1
            self._rows = self._tried([np.concatenate(both) for both in zip(first, other)])
        if self._rows is _Rows.UNKNOWN and (self._trials >= _MOST_TRIALS or len(self._first) >= _MOST_SHAPES):
            self._rows = _Rows.TOGETHER
        if self._rows is not _Rows.UNKNOWN:
            self._first.clear()

    def _tried(self, arrays: list[np.ndarray]) -> _Rows:
        depends = _unless_wrong(lambda: self._depends(arrays))
        return _Rows.UNKNOWN if depends is None else _Rows.TOGETHER if depends else _Rows.APART

    def _made_up(self, rows: int, whole_numbers: int) -> list[np.ndarray] | None:
        """Inputs of all kinds of numbers, the whole ones below a limit; None where a type or the number of sizes is not known."""
        random, arrays = np.random.default_rng(1), []
        for info in self.engine.inputs:
            if info.shape is None or info.dtype not in _MADE_UP:
                return None
            shape = [_OPEN_SIZE if size is None else size for size in info.shape]
            if self._rows is not _Rows.TOGETHER:
                shape[0] = rows
            array = random.random(shape) * (1 if info.dtype.startswith("float") else whole_numbers)
            arrays.append(array.astype(info.dtype) if info.dtype != "bool" else array >= whole_numbers / 2)
        return arrays

    def _known_run(self) -> tuple[list[np.ndarray], list[bytes]] | None:
        """What the health check runs, and what came of it; whether rows are independent is tried before. Whole numbers may be indices: after
        large ones come small ones, and zeros, which tell nothing of rows but that the engine runs."""
        for whole_numbers in (100, 2, 1):
            arrays = self._made_up(3, whole_numbers)
            if arrays is None:
                return None
            if self._rows is _Rows.UNKNOWN and _differ(arrays):
                self._rows = self._tried(arrays)
            known = [array[:1] for array in arrays] if self.batches else arrays
            first, again = (_unless_wrong(lambda: self._bytes(known)) for _ in range(2))
            if first is not None:
                return (known, first) if first == again else None
        return None

    def _plan_all(self) -> None:
        for size in self._runner.sizes:
            self._runner.context.prepare(*[[size, *(info.shape or [])[1:]] for info in self.engine.inputs])

    def _depends(self, arrays: list[np.ndarray]) -> bool:
        together = self._runner.run(arrays)
        alone = [self._runner.run(row) for row in _rows_of(arrays)]
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
        self.succeeded = float("-inf")  # when a run did, by time.monotonic()
        self.check: asyncio.Future[None] | None = None  # of the engine's health, that waits for its turn

    async def ask(self, inputs: Mapping[str, Any]) -> Arrays:
        """A request of many rows stands in line again for each batch of them."""
        answers = [await self._ask(piece) for piece in self.served.pieces(self.served.accept(inputs))]
        return answers[0] if len(answers) == 1 else {name: np.concatenate([answer[name] for answer in answers]) for name in answers[0]}

    async def _ask(self, arrays: list[np.ndarray]) -> Arrays:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrays, answered))
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
        if any(not isinstance(answer, Error) for answer in answers):
            self.succeeded = time.monotonic()
        for (_, answered), answer in zip(batch, answers):
            if not answered.done():
                answered.set_result(answer)
