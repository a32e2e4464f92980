// SPDX-License-Identifier: Apache-2.0
// Products that kernels are compiled for without them (octet warm).
#pragma once

#include <span>
#include <string_view>

#include "backends/cuda/arch/architecture.h"

namespace octet::cuda {

// What distinguishes products of one architecture, as their driver says it.
struct Board {
  const char* name;
  const char* product;
  ArchitectureId architecture;
  int multiprocessors;
  int clock_megahertz;
  s64 memory_gigabytes;
  f64 memory_gigabytes_per_second;
  s64 l2_megabytes;
};

std::span<const Board> boards();
// Of the board, or of its architecture: "sm90", "sm_90", "sm_90a" and "9.0" are the same wish.
bool is_meant(const Board& board, std::string_view wish);

}  // namespace octet::cuda
