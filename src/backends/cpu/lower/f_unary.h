// SPDX-License-Identifier: Apache-2.0
// The kernel that computes a function of single reals.
#pragma once

#include <string>
#include <string_view>

#include "backends/cpu/kernels/float/unary.h"
#include "plan/offer.h"

namespace octet {

struct UnaryChoice {
  UnaryFunction function = nullptr;
  UnaryFunction halves = nullptr;  // where it reads or writes bf16
  std::string name = {};           // of the table row
  f32 a = 0.0f;
  f32 b = 0.0f;
  std::string reject = {};  // why there is none
};

// The table's row of that name; null: there is none.
const UnaryKernel* find_unary(std::string_view name);

// For the node, bounds and exponents as constants of the request.
UnaryChoice choose_unary(const LowerRequest& request);

}  // namespace octet
