# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: what lies in them, that lintian finds nothing, and that what is in them works where it is unpacked."""

import functools
import gzip
import os
import shutil
import unittest

import harness
from harness import BUILD, DIGITS, command, digits, scratch

COMMANDS = ("check", "build", "inspect", "run", "eval", "compare", "bench", "report", "export", "plugin", "devices", "warm", "trtexec")


@functools.cache
def packages():
    """The folder with both."""
    for tool in ("cmake", "cpack", "dpkg-deb", "dpkg-shlibdeps"):
        if shutil.which(tool) is None:
            raise unittest.SkipTest(f"{tool} is absent; ./dev package installs it")
    command("cmake", "--build", BUILD, "--target", "octet_package_files", "tensorrt_libraries")
    command("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", scratch() / "package")
    return scratch() / "package"


class Unpacked:
    """What holds for each package."""

    @classmethod
    def setUpClass(cls):
        cls.file = next(packages().glob(f"{cls.name}_*.deb"))
        cls.root = scratch() / cls.name
        command("dpkg-deb", "-x", cls.file, cls.root)

    def files(self):
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}

    def test_lintian(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is absent; ./dev package installs it")
        options = ["--allow-root"] if os.getuid() == 0 else []
        self.assertEqual(command("lintian", *options, "--fail-on", "error,warning", self.file).strip(), "")


class Package(Unpacked, unittest.TestCase):
    name = "octet"

    def test_what_lies_in_it(self):
        files = self.files()
        pages = {f"usr/share/man/man1/octet-{name}.1.gz" for name in COMMANDS}
        expected = pages | {"usr/bin/octet", "usr/share/man/man1/octet.1.gz", "usr/share/doc/octet/copyright",
                            "usr/share/bash-completion/completions/octet", "usr/share/zsh/vendor-completions/_octet"}
        self.assertEqual(expected - files, set())
        self.assertIn("usr/libexec/octet/octet-kernel-compiler", files)
        self.assertFalse([file for file in files if file.endswith((".h", ".a", ".cmake"))])
        with gzip.open(self.root / "usr/share/man/man1/octet-build.1.gz", "rt") as page:
            self.assertTrue(page.read().startswith(".TH OCTET-BUILD 1"))

    def test_it_needs_the_libraries_that_it_links(self):
        needs = command("dpkg-deb", "-f", self.file, "Depends")
        for library in ("libc6", "libdnnl2", "libprotobuf32", "libjpeg62-turbo", "libpng16-16", "libwebp7"):
            self.assertIn(library, needs)

    def test_its_builder_answers_for_it(self):
        maintainer = command("dpkg-deb", "-f", self.file, "Maintainer").strip()
        cache = (BUILD / "CMakeCache.txt").read_text()
        self.assertIn(f"OCTET_PACKAGE_CONTACT:STRING={maintainer}\n", cache)
        self.assertNotIn("localhost", maintainer)
        with gzip.open(self.root / "usr/share/doc/octet/changelog.Debian.gz" if (
                self.root / "usr/share/doc/octet/changelog.Debian.gz").exists() else self.root / "usr/share/doc/octet/changelog.gz", "rt") as text:
            self.assertIn(maintainer, text.read())

    def test_the_program_does_the_job(self):
        program = self.root / "usr/bin/octet"
        engine = scratch() / "packaged.octet"
        command(program, "build", DIGITS / "digits.onnx", "--int8", "--calib", digits() / "calib", "--preprocess",
                DIGITS / "preprocess.json", "-o", engine, "--quiet")
        self.assertIn("top-1", command(program, "eval", engine, "--data", digits() / "test"))


CLIENT = """
#include <NvInfer.h>
#include <cstdio>
struct Log : nvinfer1::ILogger {
  void log(Severity, const char* text) noexcept override { std::fprintf(stderr, "%s\\n", text); }
} log;
int main() {
  void* memory = nullptr;
  nvinfer1::IBuilder* builder = nvinfer1::createInferBuilder(log);
  std::printf("%d %d\\n", NV_TENSORRT_MAJOR, builder != nullptr && cudaMalloc(&memory, 64) == cudaSuccess);
  return cudaFree(memory);
}
"""


class TensorRT(Unpacked, unittest.TestCase):
    name = "octet-tensorrt"

    def test_what_lies_in_it(self):
        files = self.files()
        library = next(file.rsplit("/", 2)[0] for file in files if file.endswith("/10/libnvinfer.so.10"))
        for level in (8, 10):
            self.assertLessEqual({f"{library}/{level}/lib{name}.so.{level}" for name in ("nvinfer", "nvonnxparser", "nvinfer_plugin")}, files)
            self.assertIn(f"usr/include/octet-tensorrt/include-{level}/NvInfer.h", files)
        self.assertTrue(any(file.startswith(f"{library}/cudart/libcudart.so.") for file in files))
        self.assertIn("usr/share/doc/octet-tensorrt/copyright", files)
        self.assertEqual([file for file in files if file.startswith(("usr/bin", "usr/libexec"))], [])

    def test_a_program_is_built_and_runs(self):
        compiler = shutil.which("c++")
        if compiler is None:
            self.skipTest("c++ is absent")
        (scratch() / "client.cc").write_text(CLIENT)
        headers = self.root / "usr/include/octet-tensorrt"
        for level in (8, 10):
            library = next(self.root.rglob(f"tensorrt/{level}"))
            folders = (library, library.parent / "cudart")
            client = scratch() / f"client-{level}"
            command(compiler, scratch() / "client.cc", "-o", client, f"-I{headers / f'include-{level}'}", f"-I{headers / 'cudart'}",
                    *(f"-L{folder}" for folder in folders), *(f"-Wl,-rpath,{folder}" for folder in folders), "-lnvinfer", "-lcudart")
            self.assertEqual(command(client), f"{level} 1\n")


if __name__ == "__main__":
    harness.main()
