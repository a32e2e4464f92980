// SPDX-License-Identifier: Apache-2.0
// CUDA's run-time compiler.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/driver_types.h"

namespace octet::cuda {

// The oldest that is taken, of any minor version.
inline constexpr int kOldestCompiler = 12;

struct Nvrtc {
#define NVRTC(name, parameters) nvrtcResult(*name) parameters = nullptr;
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC
  int major = 0, minor = 0;
  std::string path;
};

// OCTET_NVRTC names a library; else it is looked for where CUDA toolkits and Python packages put it. Throws Error(unsupported) that
// names the places.
const Nvrtc& nvrtc();

// Which targets it makes code for: 90 for "sm_90" and "compute_90".
std::vector<int> compiler_targets();

// What kernels for a target such as "sm_90a" are compiled with.
std::vector<std::string> compile_options(const std::string& arch);

// Machine code for a target, or, for one such as "compute_90", PTX, which the driver makes machine code of. Throws Error(internal) with the compiler's words: the sources are ours.
std::vector<char> compile_here(const std::string& text, const std::string& name,
                               const std::string& arch);

// The same by another process where its program is found (octet-kernel-compiler, beside this program or where OCTET_KERNEL_COMPILER
// says), so that several compile at once: threads of one process wait for each other.
std::vector<char> compile_text(const std::string& text, const std::string& name,
                               const std::string& arch);
bool compiles_apart();

}  // namespace octet::cuda
