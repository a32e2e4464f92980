#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the generated hostile files, each case into a folder of its own, with what must come of it beside it. The same seed
gives the same cases; others are as good."""

import argparse
import dataclasses
import json
import pathlib
import random

import contrib
import files
import hogs
import malformed
from case import model_case

SEED = 20261122
COUNT = 500  # at least
FACTS = "case.json"


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
    """Those that must be refused, then the others."""
    rng = random.Random(seed)
    refused = [case for module in (malformed, contrib) for family in module.FAMILIES for case in family(rng)]
    others = [case for module in (hogs, files) for family in module.FAMILIES for case in family(rng)]
    small = [case.files["m.onnx"] for case in refused if len(case.files.get("m.onnx", b"")) > 20]
    others += damaged(rng, small)
    if engine:
        others += files.engines(rng, engine)
    return refused + others


def write(folder, seed, engine):
    for case in cases(seed, pathlib.Path(engine).read_bytes() if engine else b""):
        place = pathlib.Path(folder) / case.name
        place.mkdir(parents=True)
        for name, data in case.files.items():
            (place / name).write_bytes(data)
        facts = {**dataclasses.asdict(case), "files": sorted(case.files)}
        (place / FACTS).write_text(json.dumps(facts) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--engine", help="a good engine of which damaged ones are made")
    options = parser.parse_args()
    write(options.folder, options.seed, options.engine)
