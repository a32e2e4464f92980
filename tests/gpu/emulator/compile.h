// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA sources for the host with g++, each once: what was made is kept in a folder for later processes.
#pragma once

#include <string>
#include <vector>

namespace octet::emulator {

struct Compiled {
  bool ok = false;
  std::string image, log;
};

// Another one for another compiler or other words of this folder: who keeps images by version does not keep old ones.
int compiler_version();

// `defines` are -D and -U options. OCTET_EMULATED_CXX names another compiler, OCTET_EMULATED_CACHE another folder.
Compiled compile(const std::string& source, const std::vector<std::string>& defines);

}  // namespace octet::emulator
