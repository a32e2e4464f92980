// SPDX-License-Identifier: Apache-2.0
// What machine code says of itself: the ELF file that NVIDIA's compiler makes of one kernel.
#pragma once

#include <span>
#include <string_view>

#include "core/types.h"

namespace octet::test {

struct CubinFacts {
  s64 registers = 0;     // of a thread
  s64 shared_bytes = 0;  // of a block, those that a launch adds apart
  s64 instructions = 0;
  s64 spills = 0;          // loads and stores of local memory
  s64 warp_products = 0;   // IMMA: mma.sync of codes
  s64 group_products = 0;  // IGMMA, HGMMA: wgmma of codes, of 16-bit floats
  s64 dot_products = 0;    // IDP: dp4a
};

// Of `octet_kernel`. Operations are those of compute capability 7.5 to 12.1. Throws Error(internal) for what is no such file.
CubinFacts read_cubin(std::span<const char> file);

}  // namespace octet::test
