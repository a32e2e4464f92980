// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/half_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/fail.h"
#include "cli/output/terminal.h"

namespace octet::cli {
namespace {

constexpr const char* kHalfGroup = "Types of layers";
constexpr size_t kShown = 12;

std::string error_text(const HalfWeights& weights) {
  return weights.error ? fmt::format("{:.2g}", *weights.error) : "not measured";
}

}  // namespace

void add_half_flags(CLI::App& app, PrecisionPlan& plan, HalfFlags& flags) {
  app.add_flag("--fp16", plan.f16, "layers that are not INT8 compute on f16")->group(kHalfGroup);
  app.add_flag("--bf16", plan.bf16,
               "layers that are not INT8 compute on bf16; with --fp16 only those whose weights f16 "
               "does not hold")
      ->group(kHalfGroup);
  app.add_flag("--best", flags.best,
               "INT8 where ranges are known; for the rest the types that are fastest on the target "
               "(--for)")
      ->group(kHalfGroup);
  app.add_option("--for", plan.target,
                 "the target: cpu (this machine's), cpu:LEVEL, cuda, cuda:CHIP [cpu]")
      ->type_name("TARGET")
      ->group(kHalfGroup);
  app.add_flag("--fix-subnormals", plan.fix_subnormals,
               "weights that f16 does not hold: rescale them by powers of two between layers, "
               "else make the layer bf16 or f32")
      ->group(kHalfGroup);
}

void apply(const HalfFlags& flags, bool has_ranges, PrecisionPlan& plan) {
  if (plan.fix_subnormals && !plan.f16 && !flags.best) {
    fail(Error::Code::invalid_argument,
         "--fix-subnormals has no use without --fp16: no weights become f16");
  }
  if (!flags.best) return;
  plan.int8 = plan.int8 || has_ranges;
  plan.fastest = true;
}

std::string slow_halves(std::span<const LayerInfo> layers) {
  const auto count = std::ranges::count_if(layers, [](const LayerInfo& layer) {
    return layer.precision == Precision::f16 && layer.device == "cpu" && !layer.conversion;
  });
  if (count == 0) return {};
  return fmt::format(
      "{} layer{} on f16, for which the CPU has no kernels: f32 computes and each result is "
      "rounded, which is slower than FP32; f16 saves storage alone",
      count, count == 1 ? " computes" : "s compute");
}

void print_half_weights(const CompileReport& report) {
  if (report.half_weights.empty()) return;
  std::vector<HalfWeights> list = report.half_weights;
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const HalfWeights& one) { return one.error.value_or(0); });
  Table table({{"  WEIGHTS THAT F16 DOES NOT HOLD", false, 44},
               {"LAYER", false, 32},
               {"OF", true},
               {"SUBNORMAL", true},
               {"FLUSHED", true},
               {"TOO LARGE", true},
               {"ERROR OF RESULT", true},
               {"REMEDY", false, 60}});
  for (size_t i = 0; i < std::min(kShown, list.size()); ++i) {
    const HalfWeights& one = list[i];
    table.add({"  " + one.tensor, one.layer, std::to_string(one.elements),
               std::to_string(one.subnormal), std::to_string(one.flushed),
               std::to_string(one.infinite), error_text(one), one.remedy});
  }
  table.print();
  if (list.size() > kShown) fmt::print("  and {} more; --json lists all\n", list.size() - kShown);
}

nlohmann::ordered_json half_weights_json(const CompileReport& report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const HalfWeights& one : report.half_weights) {
    list.push_back({{"tensor", one.tensor},
                    {"layer", one.layer},
                    {"nodes", one.nodes},
                    {"elements", one.elements},
                    {"subnormal", one.subnormal},
                    {"flushed", one.flushed},
                    {"infinite", one.infinite},
                    {"error", one.error ? nlohmann::ordered_json(*one.error) : nullptr},
                    {"remedy", one.remedy},
                    {"type", to_string(one.type)}});
  }
  return list;
}

}  // namespace octet::cli
