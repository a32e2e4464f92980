// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arch/costs.h"

#include <array>

#include "backends/cuda/arch/architectures.h"

namespace octet::cuda {
namespace {

constexpr size_t kCount = std::size(kArchitectures);

constexpr const Architecture& row_of(ArchitectureId id) {
  return *kArchitectures[static_cast<size_t>(id)];
}

enum class Unit : u8 {
  cycles,
  instructions,
  factor,
  products_per_cycle,
  outputs_per_cycle,
  loads_per_cycle,
  instructions_per_cycle,
  bytes_per_cycle
};

struct Units {
#define COST(family, term, unit, needs) static constexpr Unit family##_##term = Unit::unit;
#include "backends/cuda/arch/costs.def"
#undef COST
};

constexpr bool is_known(f64 value) { return value == value; }

// What the file says of this one alone. A second value of a term ends the compilation.
constexpr Costs own_costs(ArchitectureId id) {
  Costs costs;
#define ROW(arch, family, term, number, unit, chip, date, residual)                 \
  static_assert(Units::family##_##term == Unit::unit, "the term has another unit"); \
  if (id == ArchitectureId::arch) {                                                 \
    if (is_known(costs.family##_##term)) throw "a term has two values";             \
    costs.family##_##term = number;                                                 \
  }
#include "cuda_costs/costs.inc"
#undef ROW
  return costs;
}

// Whether there is a value of everything that the architecture has instructions for.
constexpr bool is_complete(const Costs& costs, InstructionSet instructions) {
  bool complete = true;
#define COST(family, term, unit, needs) \
  complete &= is_known(costs.family##_##term) || !instructions.has(Instruction::needs);
#include "backends/cuda/arch/costs.def"
#undef COST
  return complete;
}

constexpr Costs filled(Costs costs, const Costs& from) {
#define COST(family, term, unit, needs) \
  if (!is_known(costs.family##_##term)) costs.family##_##term = from.family##_##term;
#include "backends/cuda/arch/costs.def"
#undef COST
  return costs;
}

constexpr Costs all_costs(ArchitectureId id) {
  const ArchitectureId from = row_of(id).costs_from;
  return from == id ? own_costs(id) : filled(own_costs(id), all_costs(from));
}

// Of products that make half as many products of f16.
constexpr Costs with_halved_f16(Costs costs) {
  costs.rate_mma_f16 /= 2;
  return costs;
}

struct Table {
  std::array<Costs, kCount> costs, halved;
  std::array<bool, kCount> tuned{};
};

constexpr Table make_table() {
  Table table{};
  for (size_t i = 0; i < kCount; ++i) {
    const auto id = static_cast<ArchitectureId>(i);
    table.costs[i] = all_costs(id);
    table.halved[i] = with_halved_f16(table.costs[i]);
    table.tuned[i] = is_complete(own_costs(id), row_of(id).instructions);
    if (!is_complete(table.costs[i], row_of(id).instructions)) throw "a term has no value";
  }
  return table;
}

constexpr Table kTable = make_table();

constexpr CostRow kRows[] = {
#define ROW(arch, family, term, number, unit, chip, date, residual) \
  {ArchitectureId::arch, #family "_" #term, number, chip, date, residual},
#include "cuda_costs/costs.inc"
#undef ROW
};

}  // namespace

const Costs& costs_of(const Architecture& architecture) {
  return kTable.costs[static_cast<size_t>(architecture.id)];
}

const Costs& costs_of(const Architecture& architecture, bool halved_f16) {
  return halved_f16 ? kTable.halved[static_cast<size_t>(architecture.id)] : costs_of(architecture);
}

bool is_tuned(const Architecture& architecture) {
  return kTable.tuned[static_cast<size_t>(architecture.id)];
}

std::span<const CostRow> cost_rows() { return kRows; }

}  // namespace octet::cuda
