// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arch/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backends/cuda/arch/architectures.h"
#include "backends/cuda/library.h"
#include "backends/cuda/nvrtc.h"
#include "octet/error.h"

namespace octet::cuda {
namespace {

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

// What later chips run of a chip's own instructions: its own row where that is all of them.
const Architecture* in_later_chips(const Architecture& own) {
  const int known[] = {own.capability.number()};
  const Architecture* plain = plain_for(own.capability, known);
  return plain == nullptr || plain->instructions.has_all(own.instructions) ? &own : plain;
}

// 80 of "sm_80", "compute_80", 90 of "sm_90a"; 0 of anything else.
int number_of(std::string_view target) {
  const size_t from = target.find('_') + 1;
  int number = 0;
  std::from_chars(target.data() + from, target.data() + target.size(), number);
  return number;
}

// Of the row that is made for the target, or, where a later chip has none, of what all such chips run.
InstructionSet instructions_of(std::string_view target) {
  constexpr int kDigit = 10;
  for (const Architecture* each : kArchitectures) {
    if (target == each->target) return each->instructions;
  }
  const int number = number_of(target);
  const Architecture* newest = nullptr;
  for (const Architecture* each : kArchitectures) {
    const bool older = each->capability <= Capability{number / kDigit, number % kDigit};
    if (each->is_plain() && older && (newest == nullptr || each->capability > newest->capability))
      newest = each;
  }
  return newest != nullptr ? newest->instructions : InstructionSet{};
}

// "-DOCTET_WITHOUT_CP_ASYNC"
std::string without(std::string_view name) {
  std::string option = "-DOCTET_WITHOUT_";
  for (const char c : name)
    option += c == '_' || (c >= '0' && c <= '9') ? c : static_cast<char>(c - 'a' + 'A');
  return option;
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
  return fmt::format("{}, which chips have from {} on", text_of(Instruction::mma_s8),
                     kSm75.capability.text());
}

std::optional<Compilation> compilation_as_asked(Capability chip) {
  constexpr const char* kVariable = "OCTET_CUDA_ARCHITECTURE";
  const std::string asked = environment(kVariable);
  if (asked.empty()) return std::nullopt;
  Capability older;
  const char* end = asked.data() + asked.size();
  const auto major = std::from_chars(asked.data(), end, older.major);
  const bool dotted = major.ec == std::errc() && major.ptr != end && *major.ptr == '.';
  const auto minor = dotted ? std::from_chars(major.ptr + 1, end, older.minor) : major;
  const Architecture* own = dotted && minor.ptr == end ? of_generation(older) : nullptr;
  if (own == nullptr || older > chip)
    fail(Error::Code::invalid_argument,
         "{}={}: expected the compute capability of a chip that is no newer than this one ({}), "
         "such as {}",
         kVariable, asked, chip.text(), kSm75.capability.text());
  return Compilation{in_later_chips(*own), fmt::format("compute_{}", older.number())};
}

std::vector<std::string> options_for(std::string_view target) {
  std::vector<std::string> options;
  const InstructionSet instructions = instructions_of(target);
#define OCTET_INSTRUCTION(name, text) \
  if (!instructions.has(Instruction::name)) options.push_back(without(#name));
  OCTET_INSTRUCTIONS(OCTET_INSTRUCTION)
#undef OCTET_INSTRUCTION
  return options;
}

bool halves_f16(const Architecture& architecture, std::string_view product) {
  return architecture.geforce_halves_f16 && product.find("GeForce") != product.npos;
}

}  // namespace octet::cuda
