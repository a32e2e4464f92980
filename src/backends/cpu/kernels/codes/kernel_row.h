// SPDX-License-Identifier: Apache-2.0
// Rows of a family's kernel table, and the choice among them: the first that the instruction set allows. Tables are best first and end with a
// row for Isa::none, unless what asks has its own condition.
#pragma once

#include <cstddef>

#include "arch/isa.h"

namespace octet {

// A row of a table whose kernels differ in nothing that a lowering asks for.
template <class Args>
struct KernelRow {
  const char* name;
  Isa isa;
  void (*run)(const Args&);
};

template <class Row, size_t kRows>
constexpr const Row& best_kernel(const Row (&rows)[kRows], Isa isa) {
  for (const Row& row : rows) {
    if (isa.has(row.isa)) return row;
  }
  return rows[kRows - 1];
}

}  // namespace octet
