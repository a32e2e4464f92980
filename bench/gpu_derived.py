#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ResNet-50 in INT8 should reach on chips that nobody has run it on, from what estimates of kernels know of them: rates (costs.csv), size, clock and
memory (boards.cc), and how far the same arithmetic was from the figure that was measured on an H200. Derived, not measured.

usage: gpu_derived.py [--check | --update]    prints the table of docs/gpu.md, compares it, or writes it

Each layer takes the longer of its products at the rate of their unit (wgmma where the chip has it, else mma.sync, both as fitted on an H200) and its bytes
at the share of the memory's rate that kernels reach, and the start of a kernel. What the second-level cache keeps between layers, and what power limits
take off the clock, is not in it."""

import argparse
import csv
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCH = ROOT / "src/backends/cuda/arch"
PAGE = ROOT / "docs/gpu.md"
BEGIN, END = "<!-- generated: derived -->\n", "<!-- end: derived -->"
BATCH = 256
MEASURED = ("h200", 108704)  # all INT8, batch 256, images/s (docs/performance.md)
# Images/s of one GPU: MLPerf Inference, offline, closed division where nothing else is said, by the vendors' submissions with TensorRT.
PUBLISHED = {"t4": (6112, "v0.7"), "a10": (13775, "v1.1"), "a100": (41893, "v2.1"), "orin": (6424, "v3.1, with its DLA"), "l4": (12882, "v3.1"),
             "l40s": (45153, "v4.1"), "rtx4090": (44391, "v5.0, unofficial"), "h100_pcie": (56217, "v4.1"), "h100": (88731, "v4.1"), "h200": (94620, "v4.1")}


def boards():
    """name: (architecture, multiprocessors, Hz, bytes/s)."""
    row = re.compile(r'\{"(\w+)", "[^"]+", ArchitectureId::(\w+),\s*(\d+),\s*(\d+), (\d+), ([\d.]+),')
    found = {name: (arch, int(sm), 1e6 * int(mhz), 1e9 * float(rate)) for name, arch, sm, mhz, _, rate in row.findall((ARCH / "boards.cc").read_text())}
    if len(found) < 15:
        raise SystemExit(f"{ARCH / 'boards.cc'}: {len(found)} boards were read, which is not all of them")
    return found


class Costs:
    """A term of an architecture, or of the one that it takes it from, as costs_of() finds it."""

    def __init__(self):
        self.terms = {}
        lines = [line for line in (ARCH / "costs.csv").read_text().splitlines() if not line.startswith("#")]
        for row in csv.DictReader(lines):
            self.terms[row["architecture"], row["family"], row["term"]] = float(row["value"])
        self.parents, self.instructions = {}, {}
        for header in ARCH.glob("sm*.h"):
            for body in re.findall(r"Architecture k\w+\{(.*?)\};", header.read_text(), re.S):
                name = re.search(r"\.id = ArchitectureId::(\w+)", body).group(1)
                parent = re.search(r"\.costs_from = ArchitectureId::(\w+)", body)
                self.parents[name] = parent.group(1) if parent else None

    def of(self, architecture, family, term):
        while (architecture, family, term) not in self.terms:
            architecture = self.parents[architecture]
        return self.terms[architecture, family, term]


def layers():
    """(multiplications, bytes read and written) of an image, and bytes of weights: each convolution with what follows it in its kernel."""
    found = [(112 * 112 * 64 * 147, 224 * 224 * 3 * 4 + 56 * 56 * 64, 64 * 147)]  # the f32 image to the pooled map
    inputs, size = 64, 56
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            before, size = size, size // stride
            convs = [(inputs, width, 1, before, before), (width, width, 3, before, size), (width, 4 * width, 1, size, size)]
            if block == 0:
                convs.append((inputs, 4 * width, 1, before, size))
            for i, (c, k, window, read, written) in enumerate(convs):
                residual = written * written * k if i == 2 else 0
                found.append((written * written * k * c * window * window, read * read * c + written * written * k + residual, c * k * window * window))
            inputs = 4 * width
    found.append((2048 * 1000, 7 * 7 * 2048 + 4 * 1000, 2048 * 1000))  # the mean is part of its bytes
    return found


def images_per_second(board, costs):
    architecture, multiprocessors, hertz, bandwidth = board
    by_wgmma = architecture == "sm_90"
    products = costs.of(architecture, "rate", "wgmma_s8" if by_wgmma else "mma_s8") * multiprocessors * hertz
    reached = costs.of(architecture, "kernel", "memory_share") * bandwidth
    start = costs.of(architecture, "kernel", "start") / hertz
    seconds = sum(start + max(BATCH * macs / products, (BATCH * moved + weights) / reached) for macs, moved, weights in layers())
    return BATCH / seconds


def table():
    costs, known = Costs(), boards()
    total = sum(macs for macs, _, _ in layers())
    if not 4.0e9 < total < 4.2e9:
        raise SystemExit(f"{total} multiplications are not ResNet-50's")
    name, measured = MEASURED
    factor = measured / images_per_second(known[name], costs)
    lines = ["| chip | images/s, derived | MLPerf's | derived / MLPerf's |", "|---|---|---|---|"]
    for name, board in known.items():
        derived = factor * images_per_second(board, costs)
        rounded = f"{float(f'{derived:.2g}'):,.0f}"
        figure, round_ = PUBLISHED.get(name, (None, ""))
        own = f" (measured: {measured:,})" if name == MEASURED[0] else ""
        lines.append(f"| {name} | {rounded}{own} | {f'{figure:,} ({round_})' if figure else '–'} | {f'{derived / figure:.2f}' if figure else ''} |")
    lines.append("")
    lines.append(f"The H200's own figure is {factor:.2f} times what the arithmetic alone gives; all others are multiplied by that.")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    text = table()
    if not options.check and not options.update:
        print(text, end="")
        return 0
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    now, mark, after = rest.partition(END)
    if not mark:
        print(f"{PAGE}: {BEGIN.strip()} and {END} are missing", file=sys.stderr)
        return 1
    if options.update:
        PAGE.write_text(before + BEGIN + text + END + after)
    elif now != text:
        print(f"{PAGE}: the derived table is stale; bench/gpu_derived.py --update writes it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
