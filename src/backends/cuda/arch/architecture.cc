// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arch/architecture.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/arch/sm100.h"
#include "backends/cuda/arch/sm120.h"
#include "backends/cuda/arch/sm80.h"
#include "backends/cuda/arch/sm86.h"
#include "backends/cuda/arch/sm90.h"
#include "backends/cuda/nvrtc.h"

namespace octet::cuda {
namespace {

constexpr const Architecture* kArchitectures[] = {
#define ARCHITECTURE(id, object) &object,
#include "backends/cuda/arch/architectures.def"
#undef ARCHITECTURE
};

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < std::size(kArchitectures); ++i) {
    if (kArchitectures[i]->id != static_cast<ArchitectureId>(i)) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "an architecture has the id of another");

bool every_compiler_knows(const Architecture& architecture) {
  return architecture.cuda_major < kOldestCompiler ||
         (architecture.cuda_major == kOldestCompiler && architecture.cuda_minor == 0);
}

// Null: it is of no generation that has a row.
const Architecture* of_generation(Capability chip) {
  for (const Architecture* each : kArchitectures) {
    if (!each->is_plain() && each->capability == chip) return each;
  }
  return nullptr;
}

// The newest that the chip can run and the compiler can make. Null: there is none.
const Architecture* plain_for(Capability chip, std::span<const int> compiler_knows) {
  const Architecture* newest = nullptr;
  for (const Architecture* each : kArchitectures) {
    if (!each->is_plain() || each->capability > chip) continue;
    const bool known =
        every_compiler_knows(*each) ||
        std::ranges::find(compiler_knows, each->capability.number()) != compiler_knows.end();
    if (known && (newest == nullptr || each->capability > newest->capability)) newest = each;
  }
  return newest;
}

}  // namespace

const char* text_of(Instruction instruction) {
  constexpr const char* kTexts[] = {
#define OCTET_INSTRUCTION(name, text) text,
      OCTET_INSTRUCTIONS(OCTET_INSTRUCTION)
#undef OCTET_INSTRUCTION
  };
  return kTexts[static_cast<size_t>(instruction)];
}

std::string Capability::text() const { return fmt::format("{}.{}", major, minor); }

const Architecture& architecture(ArchitectureId id) {
  return *kArchitectures[static_cast<size_t>(id)];
}

std::span<const Architecture* const> architectures() { return kArchitectures; }

std::optional<Compilation> compilation_for(
    Capability chip, const std::function<std::vector<int>()>& compiler_knows) {
  const Architecture* own = of_generation(chip);
  if (own != nullptr && every_compiler_knows(*own)) return Compilation{own, own->target};
  if (plain_for(chip, {}) == nullptr) return std::nullopt;
  const std::vector<int> known = compiler_knows();
  const Architecture* plain = plain_for(chip, known);
  if (std::ranges::find(known, chip.number()) == known.end())
    return Compilation{plain, plain->target};
  if (own != nullptr) return Compilation{own, own->target};
  return Compilation{plain, fmt::format("sm_{}", chip.number())};
}

std::string needs_of_all_kernels() {
  return fmt::format("{} and {}, which chips have from {} on", text_of(Instruction::mma_s8),
                     text_of(Instruction::cp_async), kSm80.capability.text());
}

}  // namespace octet::cuda
