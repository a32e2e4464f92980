# SPDX-License-Identifier: Apache-2.0
"""cmake --install, then a program elsewhere that finds, links and runs Octet: the example of the documentation."""

import shutil
import unittest

import harness
from harness import BUILD, DIGITS, ROOT, command, digits, octet, scratch


class Install(unittest.TestCase):
    def test_example_builds_against_the_installed_package(self):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is absent")
        prefix, build = scratch() / "prefix", scratch() / "minimal"
        command("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertIn("octet", command(prefix / "bin/octet", "--version"))
        command("cmake", "-G", "Ninja", "-S", ROOT / "examples/minimal", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                "-DCMAKE_BUILD_TYPE=Release")
        command("cmake", "--build", build)
        engine = scratch() / "minimal.octet"
        out = command(build / "minimal", DIGITS / "digits.onnx", digits() / "calib", engine)
        self.assertEqual(out, "f32[1,10]\n")
        self.assertEqual(octet("inspect", engine, "--json").json["coverage"]["macs"], 1)

    def test_programs_over_the_installed_headers(self):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is absent")
        prefix, build, engine = scratch() / "prefix2", scratch() / "embed", scratch() / "embed.octet"
        command("cmake", "--install", BUILD, "--prefix", prefix)
        command("cmake", "-G", "Ninja", "-S", ROOT / "examples/embed", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                "-DCMAKE_BUILD_TYPE=Release")
        command("cmake", "--build", build)
        out = command(build / "embed", DIGITS / "digits.onnx", engine)
        self.assertEqual(out, f"cancelled\n{engine.stat().st_size} bytes\n")
        self.assertEqual(command(build / "serve", engine), "equal answers of 40 bytes\n")
        libraries = command("ldd", build / "serve")
        for name in ("libjpeg", "libpng", "libprotobuf", "libz."):
            self.assertNotIn(name, libraries)

    def test_example_is_short(self):
        self.assertLess(len((ROOT / "examples/minimal/minimal.cc").read_text().splitlines()), 30)

    def test_installed_headers_stand_alone(self):
        for header in sorted((ROOT / "include/octet").glob("*.h")):
            source = scratch() / "one.cc"
            source.write_text(f'#include "octet/{header.name}"\nint main() {{}}\n')
            command("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", source)


if __name__ == "__main__":
    harness.main()
