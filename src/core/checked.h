// SPDX-License-Identifier: Apache-2.0
// Overflow-checked arithmetic on sizes that come from files.
#pragma once

#include <optional>

#include "core/types.h"

namespace octet {

inline std::optional<s64> checked_mul(s64 a, s64 b) {
  s64 result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<s64> checked_add(s64 a, s64 b) {
  s64 result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

}  // namespace octet
