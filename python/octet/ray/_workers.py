# SPDX-License-Identifier: Apache-2.0
"""What all calls over a dataset share: a pool of actors, and errors as they were raised there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import ray.data

from .._data import wrong
from .._error import Error


def pool(workers: int | None, threads: int, ray_options: Mapping[str, Any] | None) -> dict[str, Any]:
    """For `Dataset.map_batches`: so many actors, or as many as the cluster has room for; an actor whose machine is lost starts again elsewhere,
    and what it had not given is done again."""
    if workers is not None and workers < 1:
        raise wrong(f"workers {workers}: expected at least 1")
    if threads < 1:
        raise wrong(f"threads {threads}: expected at least 1")
    strategy = ray.data.ActorPoolStrategy(min_size=1, max_size=workers, initial_size=workers)
    return {"compute": strategy, "num_cpus": threads, **(ray_options or {})}


# Ray passes on what an error said, and not the error: actors give those of Octet as results, and the caller raises them.
def told(error: Error) -> str:
    return json.dumps([str(error), error.code, error.message, error.context, error.field])


def raise_told(text: str) -> None:
    said, code, message, context, field = json.loads(text)
    error = Error(said)
    error.code, error.message, error.context, error.field = code, message, context, field
    raise error
