# SPDX-License-Identifier: Apache-2.0
"""Offline inference: an engine as an actor of `Dataset.map_batches`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._data import wrong
from ._rows import Columns, EngineSource, Runner, columns_of, engine_of


class Predictor:
    """Adds an engine's outputs to the batches of a dataset, as columns of their names.

        answers = dataset.map_batches(octet.ray.Predictor, fn_constructor_args=(engine,), compute=ray.data.ActorPoolStrategy(size=4))

    Actors load the engine once. With `num_gpus=1` and `fn_constructor_kwargs={"device": "cuda:0"}` each has a GPU of its own.

    Args:
        engine: An engine, its bytes, a file that every machine sees, or any of these from Ray's object store (`ray.put`).
        columns: The column of each input. Without it columns are named as inputs are; a single column is the single input's.
        keep: Columns to keep beside the outputs; None: all but those of the inputs.
        device: "cpu", or "cuda:0", which is the first of those that Ray gave to the actor.
        threads: That compute one run.
        rows: Of one run, the last of a batch being filled up; None: what the engine fixes, else 32. So a row's answer does not depend on
            the batch that it came in.

    Raises:
        Error: The engine or an option is wrong; of a call: columns are missing, their types or shapes do not fit.
    """

    def __init__(
        self,
        engine: EngineSource,
        *,
        columns: Columns | None = None,
        keep: Iterable[str] | None = None,
        device: str = "cpu",
        threads: int = 1,
        rows: int | None = None,
    ) -> None:
        self._runner = Runner(engine_of(engine), device=device, threads=threads, sizes=None if rows is None else [rows])
        self._columns = columns
        self._keep = None if keep is None else list(keep)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of Ray's "numpy" format."""
        columns = columns_of(self._runner.inputs, list(batch), self._columns)
        kept = [name for name in batch if name not in columns] if self._keep is None else self._keep
        missing = [name for name in kept if name not in batch]
        taken = [name for name in kept if name in self._runner.outputs]
        if missing or taken:
            raise wrong(f"columns to keep: {missing or 'none'} are not there, {taken or 'none'} are called as outputs are")
        return {**{name: batch[name] for name in kept}, **self._runner.run_batch(batch, columns)}
