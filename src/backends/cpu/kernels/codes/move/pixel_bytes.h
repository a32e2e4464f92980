// SPDX-License-Identifier: Apache-2.0
// Copies of a few bytes: a memcpy of unknown size is a call, and pixels of 3 channels are copied by the million.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace octet {

// Calls loop(copy) once, where copy(dst, src) copies `bytes` bytes; small sizes have a copy of their own.
template <class Loop>
void with_copy(size_t bytes, const Loop& loop) {
  const auto fixed = [&]<size_t kBytes>(std::integral_constant<size_t, kBytes>) {
    loop([](std::byte* dst, const std::byte* src) { std::memcpy(dst, src, kBytes); });
  };
  switch (bytes) {
    case 1:
      return fixed(std::integral_constant<size_t, 1>{});
    case 2:
      return fixed(std::integral_constant<size_t, 2>{});
    case 3:
      return fixed(std::integral_constant<size_t, 3>{});
    case 4:
      return fixed(std::integral_constant<size_t, 4>{});
    case 8:
      return fixed(std::integral_constant<size_t, 8>{});
    case 12:
      return fixed(std::integral_constant<size_t, 12>{});
    case 16:
      return fixed(std::integral_constant<size_t, 16>{});
    case 32:
      return fixed(std::integral_constant<size_t, 32>{});
    case 64:
      return fixed(std::integral_constant<size_t, 64>{});
    default:
      return loop([bytes](std::byte* dst, const std::byte* src) { std::memcpy(dst, src, bytes); });
  }
}

}  // namespace octet
