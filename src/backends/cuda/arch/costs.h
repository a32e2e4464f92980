// SPDX-License-Identifier: Apache-2.0
// What estimates of kernels are made of, for each architecture: data of costs.csv, which the build makes constants of. A word there that is not in costs.def or
// architectures.def does not compile, and neither does a name that an estimate misspells.
#pragma once

#include <limits>
#include <string_view>

#include "backends/cuda/arch/architecture.h"

namespace octet::cuda {

enum class CostUnit : u8 {
  cycles,
  instructions,
  factor,
  products_per_cycle,
  outputs_per_cycle,
  loads_per_cycle,
  instructions_per_cycle,
  bytes_per_cycle
};

template <CostUnit unit>
class Cost {
 public:
  constexpr Cost() = default;  // none is known
  explicit constexpr Cost(f64 value) : value_(value) {}
  constexpr operator f64() const { return value_; }
  constexpr bool is_known() const { return value_ == value_; }

 private:
  f64 value_ = std::numeric_limits<f64>::quiet_NaN();
};

struct Costs {
#define COST(family, term, unit, needs) Cost<CostUnit::unit> family##_##term;
#include "backends/cuda/arch/costs.def"
#undef COST
};

const Costs& costs_of(const Architecture& architecture);
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
