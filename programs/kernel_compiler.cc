// SPDX-License-Identifier: Apache-2.0
// octet-kernel-compiler NAME ARCH: a CUDA source from standard input to machine code on standard output. Octet starts one for each kernel
// that an engine needs, since CUDA's compiler uses one thread of a process.
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>

#include "backends/cuda/nvrtc.h"

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fputs("usage: octet-kernel-compiler NAME ARCH <SOURCE >CODE\n", stderr);
    return 2;
  }
  std::string source;
  char part[4096];
  for (size_t n = 0; (n = std::fread(part, 1, sizeof part, stdin)) > 0;) source.append(part, n);
  const std::vector<char> code = octet::cuda::compile_here(source, argv[1], argv[2]);
  return std::fwrite(code.data(), 1, code.size(), stdout) == code.size() && std::fflush(stdout) == 0
             ? 0
             : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
