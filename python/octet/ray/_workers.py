# SPDX-License-Identifier: Apache-2.0
"""What all calls over a dataset share: a pool of actors, and errors as they were raised there."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any, Union

import ray.data

from .._data import wrong
from .._error import Error

Model = Union[str, os.PathLike, bytes]

_LEVEL = "OCTET_CPU_ISA"


def pool(workers: int | None, threads: int, ray_options: Mapping[str, Any] | None) -> dict[str, Any]:
    """For `Dataset.map_batches`: so many actors, or as many as the cluster has room for; an actor whose machine is lost starts again elsewhere,
    and what it had not given is done again."""
    if workers is not None and workers < 1:
        raise wrong(f"workers {workers}: expected at least 1")
    if threads < 1:
        raise wrong(f"threads {threads}: expected at least 1")
    strategy = ray.data.ActorPoolStrategy(min_size=1, max_size=workers, initial_size=workers)
    return {"compute": strategy, "num_cpus": threads, **(ray_options or {})}


def at_level(options: dict[str, Any], cpu_isa: str | None) -> dict[str, Any]:
    """Ray's options, with the level of kernels of all who get them; None: each its own."""
    if cpu_isa is None:
        return options
    environment = dict(options.get("runtime_env") or {})
    environment["env_vars"] = {**environment.get("env_vars", {}), _LEVEL: cpu_isa}
    return {**options, "runtime_env": environment}


def check_levels(levels: set[str], asked: str | None) -> None:
    if levels == {asked} or (asked is None and len(levels) == 1):
        return
    if asked is not None:
        raise wrong(f"cpu_isa {asked!r}: the workers computed on {', '.join(sorted(levels))}; choose a level that all of their processors have")
    raise wrong(
        f"the workers' processors are of several kinds ({', '.join(sorted(levels))}), whose f32 sums may differ in the last bits: what they have seen "
        "might depend on who saw what. Name the level that all of them have as cpu_isa"
    )


def own_model(model: Model, weights_folder: str | os.PathLike | None) -> tuple[bytes, str | os.PathLike | None]:
    """The model's bytes, which travel with the call, and where the weights files beside it are read by whoever runs it."""
    if isinstance(model, bytes):
        return model, weights_folder
    path = pathlib.Path(os.fspath(model)).resolve()
    return path.read_bytes(), weights_folder or str(path.parent)


# Ray passes on what an error said, and not the error: actors give those of Octet as results, and the caller raises them.
def told(error: Error) -> str:
    return json.dumps([str(error), error.code, error.message, error.context, error.field])


def raise_told(text: str) -> None:
    said, code, message, context, field = json.loads(text)
    error = Error(said)
    error.code, error.message, error.context, error.field = code, message, context, field
    raise error
