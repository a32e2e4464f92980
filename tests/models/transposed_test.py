# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions of images of any size are integer, and give what they give for a size that is known."""

import unittest

import harness
from harness import need, octet, scratch
from nodes import Small, expected


class Transposed(unittest.TestCase):
    def model(self, sizes, **attributes):
        """An encoder and a decoder, whose image has these sizes."""
        numpy = need("numpy")
        rng = numpy.random.default_rng(23)
        small = Small()
        small.shapes["x"] = (1, 3, *sizes)
        x = small.feed("x", rng.normal(0, 1, (1, 3, 16, 16)).astype("float32"))
        w = [small.const((rng.normal(0, 1, s) / 6).astype("float32")) for s in ((8, 3, 3, 3), (8, 6, 4, 4), (2, 6, 3, 3))]
        down = small.node("Relu", [small.node("Conv", [x, w[0]], strides=[2, 2], pads=[1, 1, 1, 1])])
        up = small.node("Relu", [small.node("ConvTranspose", [down, w[1]], strides=[2, 2], **attributes)])
        small.node("Conv", [up, w[2]], ["y"], pads=[1, 1, 1, 1])
        return small.save("y")

    def test_any_size_is_as_a_known_size(self):
        numpy = need("numpy")
        rng = numpy.random.default_rng(29)
        data = scratch() / "images.npz"
        numpy.savez(data, x=rng.normal(0, 1, (40, 3, 16, 16)).astype("float32"))
        for attributes in ({"pads": [1, 1, 1, 1]}, {"pads": [0, 0, 0, 0]}, {"pads": [1, 0, 0, 1], "output_padding": [1, 0]}):
            with self.subTest(attributes=attributes):
                engines = {}
                for name, sizes in (("open", ("h", "w")), ("known", (16, 16))):
                    path = self.model(sizes, **attributes)
                    engines[name] = path.with_suffix(".octet")
                    octet("build", path, "--int8", "--calib", data, "-o", engines[name])
                layers = octet("inspect", engines["open"], "--shape", "x:1x3x16x16", "--json").json["layers"]
                self.assertNotIn("ConvTranspose", [layer["op"] for layer in layers])
                results = {}
                for name, engine in engines.items():
                    octet("run", engine, data, "-o", scratch() / "y.npz")
                    results[name] = numpy.load(scratch() / "y.npz")["y"]
                numpy.testing.assert_array_equal(results["open"], results["known"])
                for height, width in ((8, 12), (30, 18)):
                    feeds = {"x": rng.normal(0, 1, (1, 3, height, width)).astype("float32")}
                    numpy.savez(scratch() / "other.npz", **feeds)
                    octet("run", engines["open"], scratch() / "other.npz", "-o", scratch() / "y.npz")
                    truth, got = expected(self.model(("h", "w"), **attributes), feeds)["y"], numpy.load(scratch() / "y.npz")["y"]
                    self.assertEqual(got.shape, truth.shape)
                    self.assertGreater(10 * numpy.log10((truth**2).sum() / ((truth - got) ** 2).sum()), 25)


if __name__ == "__main__":
    harness.main()
