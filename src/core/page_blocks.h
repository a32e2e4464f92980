// SPDX-License-Identifier: Apache-2.0
// Blocks of memory side by side in large pages, where the system gives them on request: packed weights are dozens of blocks, each too small
// for a large page of its own, and 25 MB of them took 6,000 page faults.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace octet {

constexpr s64 kLargePage = s64{2} << 20;

// Memory of so many bytes has at least one whole large page, wherever it begins.
constexpr bool has_large_page(s64 bytes) { return bytes >= 2 * kLargePage; }

// Whether blocks of so many bytes are worth it: smaller ones share pages in malloc, larger ones have large pages of their own.
constexpr bool fits_page_block(s64 bytes) {
  constexpr s64 kLeast = s64{64} << 10;
  return bytes >= kLeast && !has_large_page(bytes);
}

// A block for which fits_page_block() holds, at a multiple of 64 bytes; null when the system has no more memory. What is given back goes back
// to the system at once, but for the pages that it shares with its neighbours.
std::byte* take_page_block(s64 bytes) noexcept;
void give_back_page_block(std::byte* block, s64 bytes) noexcept;

}  // namespace octet
