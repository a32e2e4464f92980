// SPDX-License-Identifier: Apache-2.0
// The order in which threads and blocks run: nothing on a GPU says one, so each choice is any, the same ones in every run.
#pragma once

#include <cstdint>

#include "device.h"

namespace octet::emulator {

// A number below `end`, by chance from OCTET_EMULATED_ORDER.
inline unsigned any_below(unsigned end) {
  static auto state = static_cast<std::uint64_t>(environment_number("OCTET_EMULATED_ORDER", 1));
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>((state >> 33) % end);
}

}  // namespace octet::emulator
