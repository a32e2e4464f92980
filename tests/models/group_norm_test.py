# SPDX-License-Identifier: Apache-2.0
"""GroupNormalization has a kernel: the bits of its definition at every level, and ONNX Runtime's numbers."""

import unittest

import harness
from harness import need, octet, scratch
from nodes import Small, expected


class GroupNorm(unittest.TestCase):
    def test_bits_and_truth(self):
        numpy = need("numpy")
        rng = numpy.random.default_rng(31)
        for shape, groups in (((2, 6, 5, 7), 3), ((1, 32, 16, 16), 4), ((3, 8, 33), 8), ((1, 12, 3, 4, 5), 1)):
            with self.subTest(shape=shape, groups=groups):
                small = Small(opset=21)
                x = small.feed("x", rng.normal(2, 3, shape).astype("float32"))
                scale, bias = (small.const(rng.normal(0, 1, shape[1]).astype("float32")) for _ in range(2))
                small.node("GroupNormalization", [x, scale, bias], ["y"], num_groups=groups, epsilon=1e-4)
                path, results = small.save("y"), []
                numpy.savez(scratch() / "x.npz", **small.feeds)
                for isa in ("none", "avx2", "vnni"):
                    octet("run", path, scratch() / "x.npz", "-o", scratch() / "y.npz", env={"OCTET_CPU_ISA": isa})
                    results.append(numpy.load(scratch() / "y.npz")["y"])
                for other in results[1:]:
                    numpy.testing.assert_array_equal(results[0], other)
                numpy.testing.assert_allclose(results[0], expected(path, small.feeds)["y"], rtol=1e-4, atol=1e-4)
                (layer,) = octet("inspect", path, "--json", env={"OCTET_CPU_ISA": "avx2"}).json["layers"]
                self.assertEqual(layer["kernel"], "f32_group_norm_avx2")

    def test_written_out(self):
        """As PyTorch exports it: between Reshapes, with a scale and a bias for each channel behind them."""
        numpy = need("numpy")
        rng = numpy.random.default_rng(32)
        small = Small(opset=17)
        x = small.feed("x", rng.normal(2, 3, (2, 6, 5, 7)).astype("float32"))
        parts, back = small.const(numpy.array([0, 3, -1])), small.const(numpy.array([2, 6, 5, 7]))
        ones, zeros = (small.const(numpy.full(3, value, "float32")) for value in (1, 0))
        scale, bias = (small.const(rng.normal(0, 1, (6, 1, 1)).astype("float32")) for _ in range(2))
        small.node("Reshape", [x, parts], ["groups"])
        small.node("InstanceNormalization", ["groups", ones, zeros], ["normal"], epsilon=1e-4)
        small.node("Reshape", ["normal", back], ["image"])
        small.node("Mul", ["image", scale], ["scaled"])
        small.node("Add", ["scaled", bias], ["y"])
        path = small.save("y")
        numpy.savez(scratch() / "x.npz", **small.feeds)
        octet("run", path, scratch() / "x.npz", "-o", scratch() / "y.npz")
        numpy.testing.assert_allclose(numpy.load(scratch() / "y.npz")["y"], expected(path, small.feeds)["y"], rtol=1e-4, atol=1e-4)
        (layer,) = octet("inspect", path, "--json").json["layers"]
        self.assertEqual(layer["op"], "GroupNormalization")


if __name__ == "__main__":
    harness.main()
