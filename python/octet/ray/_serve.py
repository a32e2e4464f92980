# SPDX-License-Identifier: Apache-2.0
"""What a replica of octet.ray.serve.Engine does."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import pathlib
import re
import time
import weakref
from collections.abc import Mapping
from typing import Any

from ray import serve
from starlette.requests import Request
from starlette.responses import Response

from .._data import wrong
from .._error import Error
from ._requests import answer_of, arrays_of, metadata
from ._rows import EngineSource, engine_of
from ._served import Arrays, Queue, Served

_SUFFIX = ".octet"
_STATUS = {"invalid_argument": 400, "invalid_model": 400, "unsupported": 501, "out_of_memory": 503}
_LATELY_S = 20.0  # a run that succeeded so long ago says that the thread of runs works
_PATIENCE_S = 5.0  # of the health check, behind runs that were asked for before it
_PATH = re.compile(r"v2/models/(?P<name>[^/]+)(/versions/[^/]+)?(?P<verb>/infer|/ready)?")


class _NoSuchModel(Exception):
    pass


class EngineReplica:
    """Answers requests by engines, gathered into batches; a wrong one is answered with an error and disturbs no other.

    Args:
        models: An engine, its bytes or a file; several of them by name; or a folder, whose files NAME.octet are the models. They are loaded
            when they are first asked for, one that stands alone at once.
        device: "cpu", or "cuda:0", which is the first GPU that Ray gave to the replica.
        threads: That compute one run.
        max_batch_size: Requests, and rows, that run together. Sizes 1, 2, 4 ... are planned when an engine is loaded.
        max_rows: Of one request. One with more than max_batch_size stands in line again for each batch of them.
        max_body_bytes: Of a request over HTTP.
        batch_wait_s: How long a request waits for others.
        max_models: That are loaded at the same time; the one that was asked for the longest ago makes room.

    Raises:
        Error: An engine that stands alone cannot be loaded, or an option is wrong.
    """

    def __init__(  # noqa: PLR0913: what a replica may be told
        self,
        models: EngineSource | Mapping[str, EngineSource],
        *,
        device: str = "cpu",
        threads: int = 1,
        max_batch_size: int = 8,
        batch_wait_s: float = 0.001,
        max_models: int = 3,
        max_rows: int = 1024,
        max_body_bytes: int = 64 << 20,
    ) -> None:
        if min(max_batch_size, max_models, max_rows, max_body_bytes) < 1 or batch_wait_s < 0:
            raise wrong(f"max_batch_size {max_batch_size}, max_models {max_models}, max_rows {max_rows}, max_body_bytes {max_body_bytes}, "
                        f"batch_wait_s {batch_wait_s}: expected 1 or more of each, and no time below 0")
        self._options: dict[str, Any] = {"device": device, "threads": threads, "most_rows": max_batch_size, "max_rows": max_rows}
        self._most, self._wait, self._most_body = max_batch_size, batch_wait_s, max_body_bytes
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "octet")
        self._texts = concurrent.futures.ThreadPoolExecutor(1, "octet-json")  # one: each may take many times its body's memory
        self._loaded: weakref.WeakSet[Queue] = weakref.WeakSet()
        self._folder: pathlib.Path | None = None
        self._models: dict[str, EngineSource] = {}
        self._only: Queue | None = None
        if isinstance(models, Mapping):
            self._models = dict(models)
        elif isinstance(models, (str, os.PathLike)) and os.path.isdir(models):
            self._folder = pathlib.Path(models)
        else:
            self._only = self._queue(Served(engine_of(models), **self._options))

        # Here, since their sizes are options; and functions, since Serve keeps what it knows of them as attributes.
        @serve.multiplexed(max_num_models_per_replica=max_models)
        async def load(name: str) -> Queue:
            served = await self._in_thread(lambda: Served(engine_of(self._source(name)), **self._options))
            return self._queue(served)

        self._load = load

    async def infer(self, inputs: Mapping[str, Any]) -> Arrays:
        """The outputs by name. Of several models, that of `handle.options(multiplexed_model_id=NAME)`.

        Raises:
            Error: The request does not fit the engine, or there is no such model.
        """
        try:
            queue = await self._model(serve.get_multiplexed_model_id())
        except _NoSuchModel as error:
            raise wrong(str(error)) from None
        return await queue.ask(inputs)

    async def check_health(self) -> None:
        """Each loaded engine runs, and gives the bytes that it gave when it was loaded. Where the check waits behind requests, it is enough for
        now that one of them succeeded lately; its own result counts the next time."""
        for queue in list(self._loaded):
            if queue.check is None:
                queue.check = asyncio.ensure_future(self._in_thread(queue.served.check))
            await asyncio.wait([queue.check], timeout=_PATIENCE_S)
            if queue.check.done() or not self._succeeded_lately():
                check = queue.check
                await asyncio.wait([check])
                queue.check = None
                check.result()

    def _succeeded_lately(self) -> bool:
        return any(time.monotonic() - queue.succeeded < _LATELY_S for queue in self._loaded)

    async def __call__(self, request: Request) -> Response:
        """The Open Inference Protocol over HTTP, with tensors in JSON."""
        try:
            status, answer = 200, await self._answer(request)
        except _NoSuchModel as error:
            status, answer = 404, json.dumps({"error": str(error)})
        except Error as error:
            status, answer = _STATUS.get(error.code, 500), json.dumps({"error": str(error)})
        return Response(answer, status, media_type="application/json")

    async def _answer(self, request: Request) -> str:
        path = request.url.path.removeprefix(request.scope.get("root_path", "")).strip("/")
        if path in ("v2", "v2/health/live", "v2/health/ready"):
            return json.dumps({"name": "octet", "extensions": []} if path == "v2" else {})
        asked = _PATH.fullmatch(path)
        if asked is None or (asked["verb"] == "/infer") != (request.method == "POST"):
            raise _NoSuchModel(f"{request.method} /{path}: expected GET v2/models/NAME, GET v2/models/NAME/ready or POST v2/models/NAME/infer")
        queue = await self._model(asked["name"])
        if asked["verb"] != "/infer":
            return json.dumps({} if asked["verb"] else metadata(asked["name"], queue.served))
        body = await self._body(request)
        inputs, request_id = await self._text(arrays_of, body, queue.served.engine)
        outputs = await queue.ask(inputs)
        return await self._text(answer_of, asked["name"], request_id, outputs)

    async def _text(self, call: Any, *arguments: Any) -> Any:
        """Beside the loop, which answers others meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._texts, call, *arguments)

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > self._most_body:
                raise wrong(f"the request has more than {self._most_body} bytes (max_body_bytes)")
        return bytes(body)

    async def _model(self, name: str) -> Queue:
        if self._only is not None:
            return self._only
        self._source(name)
        return await self._load(name)

    def _source(self, name: str) -> EngineSource:
        if self._folder is not None and re.fullmatch(r"[\w-][\w.-]*", name) and (self._folder / (name + _SUFFIX)).is_file():
            return self._folder / (name + _SUFFIX)
        if name in self._models:
            return self._models[name]
        raise _NoSuchModel(f"there is no model {name!r}")

    def _queue(self, served: Served) -> Queue:
        queue = Queue(served, self._thread, self._most, self._wait)
        self._loaded.add(queue)
        return queue

    async def _in_thread(self, call: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


# A replica holds more requests than one batch of them, so that the next one gathers while one runs.
Engine = serve.deployment(EngineReplica, name="octet", max_ongoing_requests=64)
