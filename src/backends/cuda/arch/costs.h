// SPDX-License-Identifier: Apache-2.0
// What estimates of kernels are made of, for each architecture: data of costs.csv, which the build makes constants of. A word there that is not in costs.def or
// architectures.def does not compile, and neither does a name that an estimate misspells.
#pragma once

#include <limits>
#include <string_view>

#include "backends/cuda/arch/architecture.h"

namespace octet::cuda {

struct Costs {
  // None is known, nor needed.
  static constexpr f64 kNone = std::numeric_limits<f64>::quiet_NaN();

#define COST(family, term, unit, needs) f64 family##_##term = kNone;
#include "backends/cuda/arch/costs.def"
#undef COST
};

const Costs& costs_of(const Architecture& architecture);
// The same of a product that makes products of f16 at half its generation's rate (halves_f16()).
const Costs& costs_of(const Architecture& architecture, bool halved_f16);
// Whether each of them was set for this architecture, and for no other.
bool is_tuned(const Architecture& architecture);

// A row of costs.csv.
struct CostRow {
  ArchitectureId architecture;
  std::string_view name;  // "attention_start"
  f64 value;
  std::string_view chip, date;
  f64 residual;  // negative: none was noted
};
std::span<const CostRow> cost_rows();

}  // namespace octet::cuda
