// SPDX-License-Identifier: Apache-2.0
#include "arch/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "arch/probe.h"
#include "core/check.h"
#include "octet/machine.h"

namespace octet {
namespace {

struct Level {
  std::string_view name;
  Isa needs;
  Isa allows;  // as a cap: also what slower processors have, and what its kernels use where it is there
};

constexpr Isa kX86Vectors = {Feature::avx2, Feature::avx_vnni, Feature::avx512_vnni,
                             Feature::avx512_bf16};

// Beside every level of aarch64: no kernel's integers depend on them.
constexpr Isa kArmExtras = {Feature::arm_fp16, Feature::arm_bf16, Feature::sve, Feature::sve2};
constexpr struct {
  Feature feature;
  std::string_view name;
} kExtras[] = {{Feature::arm_fp16, "fp16"},
               {Feature::arm_bf16, "bf16"},
               {Feature::sve, "sve"},
               {Feature::sve2, "sve2"}};

constexpr Level kLevels[] = {
    {"none", Isa::none, Isa::none},
    {"avx2", Isa::avx2, Isa::avx2},
    {"avx_vnni", Isa::avx_vnni, Isa::avx_vnni},
    {"vnni", Isa::vnni, kX86Vectors},
    {"amx",
     Isa::amx,
     {Feature::avx2, Feature::avx_vnni, Feature::avx512_vnni, Feature::avx512_bf16,
      Feature::amx_int8}},
    {"neon", Isa::neon, Isa::neon.with(kArmExtras)},
    {"dotprod", Isa::dotprod, Isa::dotprod.with(kArmExtras)},
    {"i8mm", Isa::i8mm, Isa::i8mm.with(kArmExtras)},
};
static_assert(std::size(kLevels) == std::size(kIsaLevels));

const Level& level_of(Isa isa) {
  const Level* best = kLevels;
  for (const Level& level : kLevels) {
    if (isa.has(level.needs)) best = &level;
  }
  return *best;
}

std::string level_names() {
  std::vector<std::string_view> names;
  for (const Level& level : kLevels) names.push_back(level.name);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

std::string_view isa_name(Isa isa) { return level_of(isa).name; }

std::string isa_extras(Isa isa) {
  std::vector<std::string_view> names;
  for (const auto& extra : kExtras) {
    if (isa.has(extra.feature)) names.push_back(extra.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Isa isa_level(Isa isa) { return level_of(isa).needs; }

Isa capped(Isa isa, Isa level) { return isa.common(level_of(level).allows); }

Isa hardware_isa() {
  static const Isa isa = probe_isa();
  return isa;
}

bool hardware_has(Isa isa) { return hardware_isa().has(isa); }

Isa detect_isa() {
  const char* cap = std::getenv("OCTET_CPU_ISA");
  if (cap == nullptr || *cap == '\0') return hardware_isa();
  const auto* found = std::ranges::find(kLevels, cap, &Level::name);
  if (found == std::end(kLevels)) {
    fail(Error::Code::invalid_argument, "OCTET_CPU_ISA is '{}', expected {}", cap, level_names());
  }
  return hardware_isa().common(found->allows);
}

bool cpu_multiplies_bf16() { return detect_isa().has(Feature::avx512_bf16); }

std::string cpu_isa() { return std::string(isa_name(detect_isa())); }

}  // namespace octet
