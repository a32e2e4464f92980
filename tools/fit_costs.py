#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows for src/backends/cuda/arch/costs.csv from measurements of a chip.

    octet bench ENGINE --device cuda --tune FILE --json > report.json     # or: octet bench --device cuda --layer SIGNATURE --json
    tools/fit_costs.py report.json ... --architecture sm_80 --chip "NVIDIA A100-SXM4-40GB" --date 2026-11-26 --clock-mhz 1410 --multiprocessors 108

A least-squares fit of relative errors to what enters estimates as a sum: kernel_start and kernel_memory_share of kernels that only move values
(MOVING), and with them rate_mma_s8 of matmul_mma, whose estimate adds its products. What the bytes of a layer are is read from the estimate that the
report has beside each time, which was made with the present rows. Other terms are maxima and products of each other, and need their own tiles measured:
this finds none of them, and says so."""

import argparse
import csv
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COSTS = ROOT / "src/backends/cuda/arch/costs.csv"
# Kernels whose whole estimate is bytes_cost() of lower/conv_cost.h.
MOVING = re.compile(r"(quantize|softmax|softmax_f32|max_pool|average_pool|average_codes)$")
MATMUL = re.compile(r"matmul_mma_(\d+)x(\d+)$")
RESULT = re.compile(r"-> \w+\[([\d,]+)\]")


class Unfit(Exception):
    pass


def sources_of_costs(architecture):
    """The architecture, and those that its costs come from where it has none of its own, the nearest first."""
    origin = {}
    for header in sorted(COSTS.parent.glob("sm*.h")):
        origin.update(re.findall(r"\.id = ArchitectureId::(\w+).*?\.costs_from = ArchitectureId::(\w+)", header.read_text(), re.S))
    chain = [architecture]
    while origin.get(chain[-1], chain[-1]) not in chain:
        chain.append(origin[chain[-1]])
    return chain


def present_costs(architecture):
    """Terms as the report's estimates had them: the architecture's own, else those of the nearest that it takes costs from."""
    values = {}
    lines = [line for line in COSTS.read_text().splitlines() if line and not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    for source in sources_of_costs(architecture):
        for row in rows:
            if row["architecture"] == source:
                values.setdefault(f"{row['family']}_{row['term']}", float(row["value"]))
    return values


def layers_of(path):
    report = json.loads(pathlib.Path(path).read_text())
    layers = report.get("layers", [report]) if isinstance(report, dict) else None
    if not isinstance(layers, list) or not all(isinstance(layer, dict) and "kernels" in layer for layer in layers):
        raise Unfit(f"'{path}' is no report of octet bench --tune or --layer with --json")
    return layers


def products_of(layer, tile):
    """What a product by tiles multiplies, its padding included."""
    shape = [int(size) for size in RESULT.search(layer["signature"]).group(1).split(",")]
    elements = math.prod(shape)
    padded = elements // (shape[-1] * shape[-2]) * math.prod(-(-size // step) * step for size, step in zip(shape[-2:], tile))
    return padded * layer["macs"] / elements


def equations(layers, present, clock_mhz, multiprocessors):
    """(cycles measured, [1, bytes by the memory's whole rate in cycles, products of a multiprocessor])."""
    for layer in layers:
        for kernel in layer["kernels"]:
            cycles, estimate = kernel["microseconds"] * clock_mhz, kernel["cost"]
            matmul = MATMUL.match(kernel["kernel"])
            if cycles <= 0 or estimate <= 0 or not (matmul or MOVING.match(kernel["kernel"])):
                continue
            products = products_of(layer, map(int, matmul.groups())) / multiprocessors if matmul else 0.0
            moved = (estimate - present["kernel_start"] - products / present["rate_mma_s8"]) * present["kernel_memory_share"]
            yield cycles, [1.0, moved, products]


def solved(matrix, vector):
    """Gauss, with the largest pivot of each column."""
    rows = [row[:] + [value] for row, value in zip(matrix, vector)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda j: abs(rows[j][i]))
        if abs(rows[pivot][i]) < 1e-12 * max(map(abs, rows[pivot]), default=0) or rows[pivot][i] == 0:
            raise Unfit("the layers are too much alike: measure some of other sizes")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(len(rows)):
            if j != i:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def fit(measured):
    """Coefficients of the terms that some layer has, and the median of relative errors."""
    count = 3 if any(terms[2] > 0 for _, terms in measured) else 2
    if len(measured) < 2 * count:
        raise Unfit(f"{len(measured)} kernels are measured that estimates of {count} terms could be fitted to, and {2 * count} are needed")
    scale = [max(terms[i] for _, terms in measured) or 1.0 for i in range(count)]
    scaled = [[terms[i] / scale[i] / cycles for i in range(count)] for cycles, terms in measured]
    matrix = [[sum(row[i] * row[j] for row in scaled) for j in range(count)] for i in range(count)]
    found = [value / of for value, of in zip(solved(matrix, [sum(row[i] for row in scaled) for i in range(count)]), scale)]
    errors = sorted(abs(sum(a * b for a, b in zip(found, terms)) / cycles - 1) for cycles, terms in measured)
    return found, errors[len(errors) // 2]


def rows_of(found):
    start, per_byte, per_product = [*found, None][:3]
    if start <= 0 or per_byte < 1 or (per_product is not None and per_product <= 0):
        raise Unfit("the fit means nothing (a start, a share of the memory's rate or a rate that cannot be): is the clock right?")
    yield "kernel", "start", start, "cycles"
    yield "kernel", "memory_share", 1 / per_byte, "factor"
    if per_product is not None:
        yield "rate", "mma_s8", 1 / per_product, "products_per_cycle"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    for name in ("architecture", "chip", "date"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--clock-mhz", type=float, required=True)
    parser.add_argument("--multiprocessors", type=int, required=True)
    asked = parser.parse_args()
    try:
        layers = [layer for path in asked.reports for layer in layers_of(path)]
        measured = list(equations(layers, present_costs(asked.architecture), asked.clock_mhz, asked.multiprocessors))
        found, residual = fit(measured)
        for family, term, value, unit in rows_of(found):
            print(f"{asked.architecture},{family},{term},{value:.4g},{unit},{asked.chip},{asked.date},{residual:.3f}")
    except (Unfit, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"error: {error if isinstance(error, (Unfit, OSError)) else f'a report lacks what a fit needs: {error!r}'}")
    print(f"{len(measured)} measurements; all other terms stay as they are", file=sys.stderr)


if __name__ == "__main__":
    main()
