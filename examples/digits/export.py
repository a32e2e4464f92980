#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks digits.npz to PNG folders with nothing but the standard library.

usage: export.py DIGITS.npz OUTPUT_DIR
writes OUTPUT_DIR/calib/*.png (200 training images) and OUTPUT_DIR/test/LABEL/*.png (500 test images)
"""

import ast
import pathlib
import struct
import sys
import zipfile
import zlib


def read_npy(data):
    """Returns (shape, raw bytes) of a version 1 .npy array of bytes or integers."""
    (header_length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + header_length].decode("latin1"))
    return header["descr"], header["shape"], data[10 + header_length :]


def png_chunk(kind, payload):
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def gray_png(width, height, pixels):
    rows = b"".join(b"\0" + pixels[y * width : (y + 1) * width] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", header)
        + png_chunk(b"IDAT", zlib.compress(rows, 9))
        + png_chunk(b"IEND", b"")
    )


def labels_of(archive, name):
    descr, shape, raw = read_npy(archive.read(name + ".npy"))
    size = int(descr[2:])
    return [int.from_bytes(raw[i * size : (i + 1) * size], "little") for i in range(shape[0])]


def images_of(archive, name):
    _, (count, height, width), raw = read_npy(archive.read(name + ".npy"))
    area = height * width
    for i in range(count):
        pixels = bytes(value * 15 for value in raw[i * area : (i + 1) * area])
        yield gray_png(width, height, pixels)


def main():
    source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with zipfile.ZipFile(source) as archive:
        calib = target / "calib"
        calib.mkdir(parents=True, exist_ok=True)
        for i, png in enumerate(images_of(archive, "train_images")):
            if i == 200:
                break
            (calib / f"{i:04}.png").write_bytes(png)
        labels = labels_of(archive, "test_labels")
        for i, (label, png) in enumerate(zip(labels, images_of(archive, "test_images"))):
            folder = target / "test" / str(label)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{i:04}.png").write_bytes(png)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
