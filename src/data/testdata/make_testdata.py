# SPDX-License-Identifier: Apache-2.0
# Makes the files of this folder from synthetic pixels, with Pillow and NumPy as the independent truth.
# Needs Pillow 8 to 12: from 13 on it runs the vertical pass of a resize first for some shapes, which moves pixels by 1.
import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent


def pattern(width, height, channels):
    """The same bytes as make_pattern() in test_support.h: a gradient plus noise of a small generator."""
    state, values = 12345, np.empty(width * height * channels, np.uint8)
    for i in range(values.size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values[i] = (i * 7 // channels + (state >> 24) // 3) & 0xFF
    return values.reshape(height, width, channels)


def to_pil(pixels):
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, color_type, depth, interlaced=False, extra=b""):
    """samples: [h,w,c] integers. Pillow writes neither interlaced nor 16-bit RGB files."""
    def rows(part):
        out = b""
        for row in part:
            flat = row.reshape(-1)
            if depth == 16:
                data = flat.astype(">u2").tobytes()
            elif depth == 8:
                data = flat.astype(np.uint8).tobytes()
            else:
                bits = "".join(format(int(v), f"0{depth}b") for v in flat)
                bits += "0" * (-len(bits) % 8)
                data = int(bits, 2).to_bytes(len(bits) // 8, "big")
            out += b"\0" + data
        return out

    parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7] if interlaced else [samples]
    body = b"".join(rows(p) for p in parts if p.size)
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(body, 9))
            + chunk(b"IEND", b""))


def bmp(rows, bits, width, height, palette=b"", masks=b"", entry=4):
    """rows: in the file's order, unpadded. Pillow writes neither 16 bits, nor masks, nor top-down files, nor OS/2 headers."""
    body = b"".join(row + b"\0" * (-len(row) % 4) for row in rows)
    if entry == 3:
        header = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 3 if masks else 0, len(body), 0, 0, len(palette) // 4, 0)
    at = 14 + len(header) + len(masks) + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(body), 0, 0, at) + header + masks + palette + body


def more_images(add):
    """BMP and WebP, decoded by Pillow too."""
    rgb, gray = pattern(17, 11, 3), pattern(17, 11, 1)

    def checked(name, data):
        add(name, data, np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))

    def saved(name, image, kind, **options):
        stream = io.BytesIO()
        image.save(stream, kind, **options)
        checked(name, stream.getvalue())

    saved("rgb.bmp", to_pil(rgb), "BMP")
    saved("gray.bmp", to_pil(gray), "BMP")
    saved("one_bit.bmp", to_pil(gray).convert("1"), "BMP")
    saved("rgba.bmp", to_pil(np.concatenate([rgb, gray], 2)), "BMP")
    words = (rgb[:, :, 0].astype(np.uint16) >> 3 << 11) | (rgb[:, :, 1].astype(np.uint16) >> 2 << 5) | (rgb[:, :, 2] >> 3)
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    checked("rgb565.bmp", bmp([row.astype("<u2").tobytes() for row in words], 16, 17, -11, masks=masks))
    colours = pattern(16, 1, 3)[0]
    nibbles = [np.append(row[:, 0] % 16, 0).reshape(-1, 2) @ np.array([16, 1]) for row in gray]
    checked("os2_palette4.bmp", bmp([row.astype(np.uint8).tobytes() for row in nibbles], 4, 17, 11,
                                    palette=colours.astype(np.uint8).tobytes(), entry=3))
    saved("lossy.webp", to_pil(rgb), "WEBP", quality=80)
    saved("lossless.webp", to_pil(np.concatenate([rgb, gray], 2)), "WEBP", lossless=True, exact=True)


def make_images():
    rgb, gray = pattern(17, 11, 3), pattern(17, 11, 1)
    wide = rgb.astype(np.uint16) * 256 + gray
    palette = pattern(16, 1, 3)[0]
    indices = gray % 16
    plte = chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    files = {}

    def add(name, data, expected):
        (HERE / name).write_bytes(data)
        files[name] = expected

    def add_jpeg(name, image, **options):
        stream = io.BytesIO()
        image.save(stream, "JPEG", **options)
        decoded = Image.open(io.BytesIO(stream.getvalue()))
        pixels = np.asarray(decoded if decoded.mode == "L" else decoded.convert("RGB"))
        add(name, stream.getvalue(), pixels.reshape(*pixels.shape[:2], -1))

    add("rgb.png", png(rgb, 2, 8), rgb)
    add("rgb_interlaced.png", png(rgb, 2, 8, True), rgb)
    add("rgb16.png", png(wide, 2, 16), rgb)
    add("rgba.png", png(np.concatenate([rgb, gray], 2), 6, 8), rgb)
    add("gray.png", png(gray, 0, 8), gray)
    add("gray_alpha.png", png(np.concatenate([gray, 255 - gray], 2), 4, 8), gray)
    add("gray16_interlaced.png", png(gray.astype(np.uint16) * 256 + 77, 0, 16, True), gray)
    add("gray1.png", png(gray % 2, 0, 1), gray % 2 * 255)
    add("gray4.png", png(gray % 16, 0, 4), gray % 16 * 17)
    add("palette4.png", png(indices, 3, 4, extra=plte), palette[indices[:, :, 0]])
    add("palette_transparent.png",
        png(indices, 3, 8, extra=plte + chunk(b"tRNS", bytes(range(16)))), palette[indices[:, :, 0]])
    add("one_pixel.png", png(rgb[:1, :1], 2, 8), rgb[:1, :1])
    add_jpeg("rgb.jpg", to_pil(rgb), quality=90)
    add_jpeg("rgb_444.jpg", to_pil(rgb), quality=75, subsampling=0)
    add_jpeg("gray.jpg", to_pil(gray), quality=90)
    add_jpeg("progressive.jpg", to_pil(rgb), quality=80, progressive=True)
    add_jpeg("cmyk.jpg", Image.fromarray(np.concatenate([rgb, gray], 2), "CMYK"), quality=90)
    more_images(add)
    exif = Image.Exif()
    exif[274] = 6  # rotate by 90 degrees: must not be applied
    add_jpeg("exif_orientation.jpg", to_pil(rgb), quality=90, exif=exif)
    lines = [f"{n} {p.shape[1]} {p.shape[0]} {p.shape[2]} {p.astype(np.uint8).tobytes().hex()}\n"
             for n, p in files.items()]
    (HERE / "images.txt").write_text("".join(lines))


RESIZE_CASES = [  # width, height, channels, to width, to height
    (17, 11, 3, 5, 4), (17, 11, 3, 23, 19), (17, 11, 1, 8, 30), (5, 5, 1, 5, 2), (5, 5, 3, 2, 5),
    (1, 1, 3, 4, 4), (9, 1, 1, 3, 1), (2, 9, 3, 3, 1), (32, 32, 3, 32, 32), (31, 37, 3, 32, 32),
    (640, 427, 3, 416, 277), (500, 375, 3, 341, 256), (256, 341, 1, 224, 224), (100, 3, 1, 7, 200),
]


def make_resize():
    lines = []
    for width, height, channels, to_width, to_height in RESIZE_CASES:
        image = to_pil(pattern(width, height, channels))
        out = np.asarray(image.resize((to_width, to_height), Image.Resampling.BILINEAR)).tobytes()
        values = out.hex() if len(out) <= 400 else "-"
        lines.append(f"{width} {height} {channels} {to_width} {to_height} {zlib.crc32(out)} {values}\n")
    luma = np.asarray(to_pil(pattern(64, 48, 3)).convert("L")).tobytes()
    lines.append(f"64 48 3 gray 0 {zlib.crc32(luma)} -\n")
    (HERE / "resize.txt").write_text("".join(lines))


def make_arrays():
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8 - 1
    np.save(HERE / "f4.npy", array)
    np.save(HERE / "f4_big_fortran.npy", np.asfortranarray(array.astype(">f4")))
    np.save(HERE / "i8_scalar.npy", np.int64(-5))
    np.save(HERE / "bool_empty.npy", np.zeros((0, 3), bool))
    np.save(HERE / "object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.save(HERE / "structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(HERE / "complex.npy", np.zeros(2, np.complex64))
    np.savez(HERE / "stored.npz", f4=array, u1=np.arange(6, dtype=np.uint8).reshape(2, 3))
    np.savez_compressed(HERE / "deflated.npz", f4=array, f2=array.astype(np.float16),
                        zeros=np.zeros(5000, np.int32), labels=np.array([3, 1]))


make_images()
make_resize()
make_arrays()
