// SPDX-License-Identifier: Apache-2.0
// octet bench --assert-selection: the chosen kernels held against every other that accepts their layer.
#pragma once

#include <span>

#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet::cli {

struct SelectionFlags {
  int threads = 1;
  double tolerance = 0.1;
  bool json = false;
};

// Prints the table or the object; the exit code.
int assert_selection(const Engine& engine, std::span<const Tensor> inputs,
                     const SelectionFlags& flags);

}  // namespace octet::cli
