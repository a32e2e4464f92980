# SPDX-License-Identifier: Apache-2.0
"""Images of cameras are turned as their EXIF data say, as Pillow turns them; --orientation stored leaves them, and engines remember it."""

import json
import unittest
import zlib

import harness
from harness import DIGITS, digits, need, octet, scratch

MODEL = DIGITS / "digits.onnx"
FLAGS = ("--color", "gray", "--scale", "240")
WIDTH, HEIGHT = 11, 7


def pixels():
    numpy = need("numpy")
    return numpy.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH, 3), dtype="uint8")


def tagged(orientation, extension):
    """The same pixels, said to be turned."""
    image_module = need("PIL.Image")
    exif = image_module.Exif()
    exif[0x0112] = orientation
    path = scratch() / f"turned{orientation}.{extension}"
    options = {"jpg": {"quality": 95}, "webp": {"lossless": True}, "png": {}}[extension]
    image_module.fromarray(pixels()).save(path, exif=exif, **options)
    return path


def echo_model():
    """Gives the image that it gets."""
    onnx = need("onnx")
    helper = onnx.helper
    info = [helper.make_tensor_value_info(name, 1, ["n", 3, "h", "w"]) for name in ("image", "same")]
    graph = helper.make_graph([helper.make_node("Identity", ["image"], ["same"])], "echo", info[:1], info[1:])
    path = scratch() / "echo.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def seen(engine, path, *flags):
    out = scratch() / "seen.npz"
    octet("run", engine, path, *flags, "-o", out)
    return need("numpy").load(out)["same"][0].transpose(1, 2, 0)


class Orientation(unittest.TestCase):
    def test_as_pillow_turns(self):
        numpy, image_module, operations = need("numpy"), need("PIL.Image"), need("PIL.ImageOps")
        engine = echo_model()
        for extension in ("png", "jpg", "webp"):
            for orientation in range(1, 9):
                with self.subTest(extension=extension, orientation=orientation):
                    path = tagged(orientation, extension)
                    with image_module.open(path) as image:
                        stored = numpy.asarray(image.convert("RGB"), dtype="float32")
                        upright = numpy.asarray(operations.exif_transpose(image).convert("RGB"), dtype="float32")
                    numpy.testing.assert_array_equal(seen(engine, path, "--scale", "1"), upright)
                    numpy.testing.assert_array_equal(seen(engine, path, "--scale", "1", "--orientation", "stored"), stored)

    def test_what_cannot_be_read_changes_nothing(self):
        numpy = need("numpy")
        engine = echo_model()
        plain = pixels().astype("float32")
        whole = tagged(6, "png").read_bytes()
        at = whole.index(b"eXIf")
        length = int.from_bytes(whole[at - 4:at], "big")
        for place, value in ((4, b"XX"), (8, b"\xff\xff\xff\xff"), (8, b"\x00\x00\x00\x07"), (length, b"\0\0")):
            data = bytearray(whole)
            data[at + place:at + place + len(value)] = value
            body = bytes(data[at:at + 4 + length])
            data[at + 4 + length:at + 8 + length] = zlib.crc32(body).to_bytes(4, "big")
            path = scratch() / "odd.png"
            path.write_bytes(bytes(data))
            got = seen(engine, path, "--scale", "1")
            self.assertIn(got.shape, (plain.shape, (WIDTH, HEIGHT, 3)))
            if got.shape == plain.shape:
                numpy.testing.assert_array_equal(got, plain)

    def test_engines_remember_it(self):
        for flags, expected in (((), "exif"), (("--orientation", "stored"), "stored")):
            engine = scratch() / f"remembers_{expected}.octet"
            built = octet("build", MODEL, "--int8", "--calib", digits() / "calib", *FLAGS, *flags, "-o", engine, "--json").json
            self.assertEqual(built["preprocess"]["orientation"], expected)
            self.assertEqual(octet("inspect", engine, "--json").json["preprocess"]["orientation"], expected)
        file = scratch() / "orientation.json"
        file.write_text(json.dumps({"orientation": "upright"}))
        self.assertIn("exif or stored", octet("build", MODEL, "--preprocess", file, "-o", scratch() / "x.octet", code=2).err)


if __name__ == "__main__":
    harness.main()
