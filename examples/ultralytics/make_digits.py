#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a detection set for Ultralytics: the bundled digits, three to five on a noisy picture, with their boxes.

usage: make_digits.py DIGITS.npz FOLDER
writes FOLDER/images/{train,val}/N.png, FOLDER/labels/{train,val}/N.txt and FOLDER/digits.yaml
"""

import pathlib
import sys

import numpy as np
from PIL import Image

SIZE, COUNTS = 96, {"train": 500, "val": 100}


def background(random):
    """A slope of gray with noise."""
    low, high = sorted(random.integers(0, 110, 2))
    slope = np.linspace(low, high, SIZE)
    picture = np.tile(slope, (SIZE, 1)) + random.normal(0, 10, (SIZE, SIZE))
    return picture if random.random() < 0.5 else picture.T


def free_place(random, taken, side):
    for _ in range(50):
        x, y = random.integers(0, SIZE - side, 2)
        if all(x + side <= a or a + s <= x or y + side <= b or b + s <= y for a, b, s in taken):
            return x, y
    return None


def picture(random, images, labels):
    """An image and its lines of labels: class, and the box's center and sizes as parts of the picture's."""
    canvas, taken, lines = background(random), [], []
    for _ in range(random.integers(3, 6)):
        side = int(random.integers(20, 34))
        place = free_place(random, taken, side)
        if place is None:
            continue
        x, y = place
        taken.append((x, y, side))
        index = random.integers(len(images))
        strength = np.asarray(Image.fromarray(images[index]).resize((side, side), Image.BILINEAR), np.float32) / 16
        part = canvas[y : y + side, x : x + side]
        part += (random.integers(200, 256) - part) * np.clip(strength, 0, 1)
        rows, columns = np.nonzero(strength > 0.2)
        left, top, right, bottom = columns.min() + x, rows.min() + y, columns.max() + x + 1, rows.max() + y + 1
        box = np.array([left + right, top + bottom, 2 * (right - left), 2 * (bottom - top)]) / (2 * SIZE)
        lines.append(" ".join([str(labels[index]), *(f"{value:.6f}" for value in box)]))
    return np.clip(canvas, 0, 255).astype(np.uint8), lines


def main(digits, folder):
    digits, folder, random = np.load(digits), pathlib.Path(folder), np.random.default_rng(30)
    for part, count in COUNTS.items():
        name = "train" if part == "train" else "test"
        images, labels = digits[f"{name}_images"].reshape(-1, 8, 8).astype(np.uint8), digits[f"{name}_labels"]
        for kind in ("images", "labels"):
            (folder / kind / part).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels, lines = picture(random, images, labels)
            Image.fromarray(pixels).convert("RGB").save(folder / f"images/{part}/{number}.png")
            (folder / f"labels/{part}/{number}.txt").write_text("\n".join(lines) + "\n")
    names = "".join(f"  {digit}: '{digit}'\n" for digit in range(10))
    (folder / "digits.yaml").write_text(f"path: {folder.resolve()}\ntrain: images/train\nval: images/val\nnames:\n{names}")


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
