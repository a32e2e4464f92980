#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py FOLDER: writes the generated hostile files, each case into a folder of its own, with its commands beside it.

The same seed gives the same cases; those that a seed does not choose are as good, and ./dev hostile --seed N runs them."""

import json
import pathlib
import random
import sys

import files
import hogs
import malformed
from case import model_case

SEED = 20261122
COUNT = 500


def damaged(rng, models):
    """Good and bad models with bytes changed or cut off."""
    for i in range(60):
        data = bytearray(rng.choice(models))
        for _ in range(rng.randint(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if i % 3 == 0:
            del data[rng.randrange(len(data)) :]
        yield model_case(f"damaged_{i}", bytes(data), run=True)


def cases(seed=SEED, engine=b""):
    """COUNT cases or a few more: malformed ones all, and of the others as many as there is room for."""
    rng = random.Random(seed)
    refused = [case for family in malformed.FAMILIES for case in family(rng)]
    others = [case for module in (hogs, files) for family in module.FAMILIES for case in family(rng)]
    small = [case.files["m.onnx"] for case in refused if len(case.files.get("m.onnx", b"")) > 20]
    others += damaged(rng, small)
    if engine:
        others += files.engines(rng, engine)
    return refused + others


def main(folder):
    for case in cases():
        place = pathlib.Path(folder) / case.name
        place.mkdir(parents=True)
        for name, data in case.files.items():
            (place / name).write_bytes(data)
        (place / "commands.json").write_text(json.dumps(case.commands) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
