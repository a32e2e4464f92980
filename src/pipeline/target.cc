// SPDX-License-Identifier: Apache-2.0
#include "pipeline/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arch/isa.h"
#include "core/check.h"
#include "octet/warm.h"

namespace octet {
namespace {

constexpr std::string_view kCpu = "cpu", kCpuPrefix = "cpu:", kGpu = "cuda", kGpuPrefix = "cuda:";
// AVX512_BF16 without tiles, which is no level of its own for INT8.
constexpr std::string_view kBf16Level = "avx512_bf16";

bool multiplies_bf16(std::string_view level) {
  return level == kBf16Level || level == isa_name(Isa::amx);
}

std::string this_processor() {
  const Isa isa = detect_isa();
  const bool unnamed = cpu_multiplies_bf16() && !multiplies_bf16(isa_name(isa));
  return fmt::format("{}{}", kCpuPrefix, unnamed ? kBf16Level : isa_name(isa));
}

std::string architecture_name(const KnownGpu& gpu) {
  std::string name = gpu.arch;  // "sm_90a"
  std::erase_if(name, [](char c) { return c == '_' || c == 'a'; });
  return name;
}

}  // namespace

std::vector<std::string> build_targets() {
  std::vector<std::string> names{std::string(kCpu)};
  for (const Isa level : kIsaLevels)
    names.push_back(fmt::format("{}{}", kCpuPrefix, isa_name(level)));
  names.push_back(fmt::format("{}{}", kCpuPrefix, kBf16Level));
  names.emplace_back(kGpu);
  for (const KnownGpu& gpu : known_gpus()) {
    for (const std::string& name : {architecture_name(gpu), gpu.name}) {
      std::string target = fmt::format("{}{}", kGpuPrefix, name);
      if (std::ranges::find(names, target) == names.end()) names.push_back(std::move(target));
    }
  }
  return names;
}

PrecisionPlan with_target(PrecisionPlan plan) {
  if (!plan.fastest) {
    if (plan.target.empty()) return plan;
    fail_about(
        "PrecisionPlan.target", Error::Code::invalid_argument,
        "the target '{}' has no use where no fastest types are asked for: nothing else in an "
        "engine depends on where it will run",
        plan.target);
  }
  if (plan.target.empty() || plan.target == kCpu) plan.target = this_processor();
  const std::vector<std::string> known = build_targets();
  if (std::ranges::find(known, plan.target) == known.end()) {
    fail_about("PrecisionPlan.target", Error::Code::invalid_argument,
               "no target is called '{}'; expected one of: {}", plan.target,
               fmt::join(known, ", "));
  }
  return plan;
}

FloatTypes float_types(const PrecisionPlan& plan) {
  if (plan.f16 || plan.bf16 || !plan.fastest) return {plan.f16, plan.bf16, false};
  // Every GPU that runs engines multiplies 16 bits on tensor cores, and moves half of the bytes.
  const std::string_view target = plan.target;
  if (target.starts_with(kGpu)) return {true, true, false};
  const bool faster =
      target.starts_with(kCpuPrefix) && multiplies_bf16(target.substr(kCpuPrefix.size()));
  return {false, faster, faster};
}

}  // namespace octet
