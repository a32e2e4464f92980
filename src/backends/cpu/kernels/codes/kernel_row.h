// SPDX-License-Identifier: Apache-2.0
// Choice in a family's kernel table: the first row that the instruction set allows. Tables are best first and end with a
// row for Isa::none, unless what asks has its own condition.
#pragma once

#include <cstddef>

#include "arch/isa.h"

namespace octet {

template <class Row, size_t kRows>
constexpr const Row& best_kernel(const Row (&rows)[kRows], Isa isa) {
  for (const Row& row : rows) {
    if (isa.has(row.isa)) return row;
  }
  return rows[kRows - 1];
}

}  // namespace octet
