// SPDX-License-Identifier: Apache-2.0
// What an InputWatch has seen, in parts: sums of them, and bytes that travel.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "octet/input_profile.h"

namespace octet {

struct InputWatchParts {
  // Of as many inputs.
  static void merge(InputWatch& into, const InputWatch& other);
  static std::vector<std::byte> to_bytes(const InputWatch& watch);
  // Into one of as many inputs that has seen nothing. Throws Error(invalid_argument) where bytes are missing.
  static void read(InputWatch& watch, std::span<const std::byte> bytes);
};

}  // namespace octet
