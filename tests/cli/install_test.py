# SPDX-License-Identifier: Apache-2.0
"""cmake --install, then a program elsewhere that finds, links and runs Octet: the example of the documentation."""

import re
import shutil
import subprocess
import unittest

import harness
from harness import BUILD, DIGITS, ROOT, command, digits, octet, scratch


SHARED_LIBRARY = BUILD / "sdk/liboctet.so"


def symbols(*arguments):
    """The names that nm shows, as C++ has them."""
    return {name for line in command("nm", "-C", *arguments).splitlines()
            if (name := re.sub(r"^[0-9a-f]*\s+\w |@@.*$", "", line)) and not line.endswith(":") and " A " not in line}


IDENTITY = """
#include <cstdio>
#include "NvInfer.h"
class Logger : public nvinfer1::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::puts(text);
  }
} logger;
int main() {
  nvinfer1::IBuilder* builder = nvinfer1::createInferBuilder(logger);
  nvinfer1::INetworkDefinition* network = builder->createNetworkV2(1U);
  nvinfer1::ITensor* x = network->addInput("x", nvinfer1::DataType::kFLOAT, nvinfer1::Dims2{1, 2});
  network->markOutput(*network->addIdentity(*x)->getOutput(0));
  nvinfer1::ICudaEngine* engine = builder->buildEngineWithConfig(*network, *builder->createBuilderConfig());
  float in[2] = {1, 2}, out[2] = {0, 0};
  void* memory[2];
  for (void*& one : memory) cudaMalloc(&one, sizeof in);
  cudaMemcpy(memory[0], in, sizeof in, cudaMemcpyHostToDevice);
  engine->createExecutionContext()->executeV2(memory);
  cudaMemcpy(out, memory[1], sizeof out, cudaMemcpyDeviceToHost);
  std::printf("%d: %g %g\\n", NV_TENSORRT_MAJOR, out[0], out[1]);
}
"""


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

    def test_programs_over_the_one_shared_library(self):
        """As the archive of a release has it: no static library, and nothing that one would need."""
        if shutil.which("cmake") is None or not SHARED_LIBRARY.exists():
            self.skipTest(f"cmake is absent, or {SHARED_LIBRARY} was not built")
        prefix, build, engine = scratch() / "archive", scratch() / "embed-shared", scratch() / "embed-shared.octet"
        command("cmake", "--install", BUILD, "--prefix", prefix)
        command("cmake", "--install", BUILD / "cmake/sdk", "--prefix", prefix)
        for file in [*prefix.rglob("*.a"), *prefix.rglob("OctetTargets*.cmake")]:
            file.unlink()
        moved = prefix.rename(scratch() / "moved")
        command("cmake", "-G", "Ninja", "-S", ROOT / "examples/embed", "-B", build, f"-DCMAKE_PREFIX_PATH={moved}",
                "-DCMAKE_BUILD_TYPE=Release")
        command("cmake", "--build", build, "--target", "embed")
        self.assertEqual(command(build / "embed", DIGITS / "digits.onnx", engine), f"cancelled\n{engine.stat().st_size} bytes\n")
        self.assertRegex(command("ldd", build / "embed"), f"liboctet\\.so\\.\\S+ => {moved}/lib")

    def test_the_shared_library_shows_what_programs_over_the_headers_call(self):
        if not SHARED_LIBRARY.exists():
            self.skipTest(f"{SHARED_LIBRARY} was not built")
        shown = symbols("-D", "--defined-only", SHARED_LIBRARY)
        self.assertEqual([name for name in shown if not re.match(r"((typeinfo|typeinfo name|vtable) for )?octet::", name)], [])
        for inside in ("octet::Node::", "octet::Graph::", "octet::Plan::", "octet::ThreadPool::"):
            self.assertFalse([name for name in shown if name.startswith(inside)])
        for folder in ("cli/CMakeFiles/octet_cli.dir", "src/CMakeFiles/octet_capi.dir"):
            objects = sorted((BUILD / folder).rglob("*.o"))
            called = {name for name in symbols("--undefined-only", *objects) if name.startswith("octet::")}
            self.assertGreater(len(called), 20)
            self.assertEqual(called - symbols("--defined-only", *objects) - shown, set())

    def test_the_interface_in_c_is_installed_where_it_was_built(self):
        script = (BUILD / "cmake_install.cmake").read_text()
        library = next(BUILD.glob("liboctet_c.so.1.*"), None)
        if shutil.which("cmake") is None or library is None:
            self.skipTest("cmake is absent, or liboctet_c was not built")
        self.assertIn(str(library), script)
        without = scratch() / "without.cmake"
        without.write_text(script.replace(str(library), "/no/such/library"))
        prefix = scratch() / "prefix4"
        command("cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", without)
        names = {path.name for path in prefix.rglob("*")}
        self.assertIn("OctetConfig.cmake", names)
        self.assertEqual({name for name in names if name.startswith(("liboctet_c", "OctetCTargets", "octet.pc"))}, set())
        found = subprocess.run(["cmake", "-S", ROOT / "examples/c", "-B", scratch() / "no-c", f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True,
                               text=True, check=False)
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("this installation of Octet was made without Octet::c", " ".join(found.stderr.split()))

    def test_programs_of_tensorrt_find_it_installed(self):
        prefix = scratch() / "prefix3"
        command("cmake", "--install", BUILD, "--component", "tensorrt", "--prefix", prefix)
        source = scratch() / "identity.cc"
        source.write_text(IDENTITY)
        headers, libraries = prefix / "include/octet-tensorrt", prefix / "lib/octet/tensorrt"
        if not libraries.exists():
            libraries = next(prefix.glob("lib*/**/tensorrt"))
        for level in ("8", "10"):
            program, folders = scratch() / f"identity{level}", (libraries / level, libraries / "cudart")
            command("c++", "-std=c++11", f"-I{headers}/include-{level}", f"-I{headers}/cudart", source, "-o", program,
                    *(f"-L{folder}" for folder in folders), "-lnvinfer", "-lcudart",
                    *(f"-Wl,-rpath,{folder}" for folder in folders))
            self.assertEqual(command(program), f"{level}: 1 2\n")

    def test_example_is_short(self):
        self.assertLess(len((ROOT / "examples/minimal/minimal.cc").read_text().splitlines()), 30)

    def test_installed_headers_stand_alone(self):
        for header in sorted((ROOT / "include/octet").glob("*.h")):
            source = scratch() / "one.cc"
            source.write_text(f'#include "octet/{header.name}"\nint main() {{}}\n')
            command("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", source)


if __name__ == "__main__":
    harness.main()
