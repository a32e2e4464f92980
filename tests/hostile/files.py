# SPDX-License-Identifier: Apache-2.0
"""Images, arrays, archives, engines and settings that claim much, lie or are damaged."""

import ctypes
import ctypes.util
import functools
import io
import struct
import zipfile
import zlib

from case import ANY, REFUSED, Case

ENGINE = "image.octet"  # takes images; the runner puts it beside the files


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows, palette=b"", interlaced=0):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    colors = chunk(b"PLTE", palette) if palette else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + colors + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@functools.cache
def zeros(count):
    """A deflate stream of so many zeros, written in pieces."""
    packer = zlib.compressobj(9)
    out = [packer.compress(bytes(1 << 20)) for _ in range(count >> 20)]
    return b"".join([*out, packer.compress(bytes(count & ((1 << 20) - 1))), packer.flush()])


def of_image(name, data, verdict=ANY, words=()):
    return Case(name, {"a.png": data}, [["run", ENGINE, "a.png"]], verdict, words)


def images(rng):
    sizes = [(1, 30_000_000), (30_000_000, 1), (6000, 6000), (3, 10_000_000), (178_000_000, 1), (20_000, 20_000),
             (2**31 - 1, 2**31 - 1), (0, 5), (65_535, 2_000)]
    for i, (width, height) in enumerate(sizes):
        for color, channels in ((0, 1), (2, 3)):
            whole = width * height < 200_000_000
            rows = zeros(min((width * channels + 1) * height, 100 << 20)) if whole else zlib.compress(bytes(1000))
            yield of_image(f"png_{i}_{color}", png(width, height, 8, color, rows, interlaced=rng.choice([0, 0, 1])))
    for i in range(12):
        colors, depth = rng.randint(1, 15), rng.choice([4, 8])
        index = rng.randint(colors, 15)
        row = bytes([0, index * 16 + index]) if depth == 4 else bytes([0, index, 0])
        palette = bytes(rng.randrange(256) for _ in range(3 * colors))
        yield of_image(f"palette_{i}", png(2, 1, depth, 3, zlib.compress(row), palette), REFUSED, ("a.png", "palette"))
    small = png(8, 8, 8, 2, zlib.compress(bytes(25 * 8)))
    for i in range(20):
        damaged = bytearray(small)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(8, len(damaged))] = rng.randrange(256)
        yield of_image(f"png_damaged_{i}", bytes(damaged))
        yield of_image(f"png_cut_{i}", small[: rng.randrange(len(small))], REFUSED, ("a.png",))


def array(shape, descr="<f4", data=b"", header=None):
    text = header or f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + data


def arrays(rng):
    huge = [2**20, 2**31, 2**40, 2**62, -1]
    for i in range(15):
        shape = [rng.choice(huge) for _ in range(rng.randint(1, 4))]
        data = array(shape, rng.choice(["<f4", "<f8", "|u1", "<i8"]))
        yield Case(f"npy_claims_{i}", {"a.npy": data}, [["run", ENGINE, "a.npy"]], REFUSED, ("a.npy",))
    headers = ["{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "{" * 1000, "[" * 60_000, "{'descr': '<f4'}",
               "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 20_000 + "), }", "\0" * 100]
    for i, header in enumerate(headers):
        yield Case(f"npy_header_{i}", {"a.npy": array([], header=header)}, [["run", ENGINE, "a.npy"]], REFUSED, ("a.npy",))
    for i in range(14):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            count = rng.choice([10**5, 10**6, 2 * 10**7])
            for k in range(rng.choice([1, 1, 3])):
                archive.writestr(f"a{k}.npy", array([count], "|u1", bytes(count)))
            if rng.random() < 0.3:
                for k in range(20_000):
                    archive.writestr(f"n{k}.npy", b"")
        data = bytearray(out.getvalue())
        if rng.random() < 0.5:
            data[rng.randrange(len(data) - 300, len(data))] ^= 1 << rng.randrange(8)
        yield Case(f"npz_{i}", {"a.npz": bytes(data)}, [["run", ENGINE, "a.npz"]], REFUSED, ("a.npz",))


def settings(rng):
    """Preprocessing and tuning files."""
    texts = ["[" * 10_000, "{" * 10_000, '{"a":' * 5_000, "[" + "[]," * 20_000 + "[]]", '{"scale": 1e999}', '{"scale": 0}', "nul", "",
             '{"resize": [-1, 99999999999]}', '{"resize": [100000, 100000]}', '{"mean": [' + "0," * 20_000 + "0]}", "\xff\xfe{}"]
    for i, text in enumerate(texts):
        data = text.encode("latin-1")
        picture = png(8, 8, 8, 2, zlib.compress(bytes(25 * 8)))
        yield Case(f"preprocess_{i}", {"p.json": data, "a.png": picture}, [["run", ENGINE, "a.png", "--preprocess", "p.json"]],
                   REFUSED if i != 9 else ANY)
        yield Case(f"tuning_{i}", {"t.json": data, "a.png": picture}, [["run", ENGINE, "a.png", "--tuning", "t.json"]], REFUSED)
    for i in range(4):
        text = '{"choices": [' + ",".join(["[]"] * rng.choice([10_000, 500_000])) + "]}"
        yield Case(f"tuning_many_{i}", {"t.json": text.encode()}, [["bench", ENGINE, "--tuning", "t.json", "--seconds", "0"]], REFUSED)


def checksum():
    """XXH3 of a text and a seed, by the library that the program links; None where it is absent."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return lambda data, seed=0: library.XXH3_64bits_withSeed(data, len(data), seed)


def sections_of(engine):
    count = struct.unpack_from("<I", engine, 12)[0]
    found = []
    for i in range(count):
        name, offset, size, _ = struct.unpack_from("<8sQQQ", engine, 32 + 32 * i)
        found.append((name, engine[offset : offset + size]))
    return found


def forged(engine, sections, hashed):
    """An engine of these sections, with right checksums."""
    out, table = bytearray(32 + 32 * len(sections)), b""
    for name, data in sections:
        out += bytes(-len(out) % 64)
        table += struct.pack("<8sQQQ", name, len(out), len(data), hashed(data))
        out += data
    head = engine[:12] + struct.pack("<IQQ", len(sections), len(out), 0)
    out[: 32 + len(table)] = head[:24] + struct.pack("<Q", hashed(table, hashed(head))) + table
    return bytes(out)


def engines(rng, engine):
    """Of a good engine's bytes."""
    for i in range(25):
        damaged = bytearray(engine)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        cut = engine[: rng.randrange(len(engine))]
        for name, data in ((f"engine_flip_{i}", bytes(damaged)), (f"engine_cut_{i}", cut)):
            yield Case(name, {"e.octet": data}, [["inspect", "e.octet"]], REFUSED, ("e.octet",))
    hashed = checksum()
    if hashed is None:
        return
    (manifest_name, manifest), graph, *others = sections_of(engine)
    values = ["[" + ",".join(["[]"] * 3_000_000) + "]", "[" * 100 + "]" * 100, '"' + "a" * 30_000_000 + '"',
              "{" + ",".join(f'"{i}":0' for i in range(500_000)) + "}"]
    for i, value in enumerate(values):
        for key in ("x", "source"):
            bomb = manifest.rstrip()[:-1] + f',"{key}":{value}}}'.encode()
            data = forged(engine, [(manifest_name, bomb), graph, *others], hashed)
            yield Case(f"manifest_{i}_{key}", {"e.octet": data}, [["inspect", "e.octet"]])
    for i in range(15):
        text = bytearray(graph[1])
        for _ in range(rng.randint(1, 3)):
            text[rng.randrange(len(text))] = rng.choice(b"0129%\"{}[],=xf \n-")
        data = forged(engine, [(manifest_name, manifest), (graph[0], bytes(text)), *others], hashed)
        yield Case(f"graph_{i}", {"e.octet": data}, [["bench", "e.octet", "--seconds", "0", "--warmup", "0"]])


FAMILIES = (images, arrays, settings)
