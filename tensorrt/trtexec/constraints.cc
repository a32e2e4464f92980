// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/constraints.h"

#include <algorithm>
#include <optional>

#include "cli/fail.h"
#include "octet/inspect.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

// Nothing for a type that no layer can be asked for: layers of integers and indices have theirs.
std::optional<Precision> precision_of_name(const std::string& type) {
  static const std::vector<std::pair<std::string_view, std::optional<Precision>>> kTypes = {
      {"fp32", Precision::f32},  {"fp16", Precision::f16}, {"bf16", Precision::bf16},
      {"int8", Precision::int8}, {"int32", std::nullopt},  {"int64", std::nullopt},
      {"bool", std::nullopt},    {"uint8", std::nullopt}};
  const auto found = std::ranges::find(kTypes, type, [](const auto& entry) { return entry.first; });
  if (found == kTypes.end()) fail(Error::Code::invalid_argument, "Invalid DataType {}", type);
  return found->second;
}

std::string name_of(Precision precision) {
  if (precision == Precision::f32) return "fp32";
  if (precision == Precision::f16) return "fp16";
  return std::string(to_string(precision));
}

void add_entry(const std::string& entry, bool output, std::vector<PrecisionConstraint>& list) {
  const auto [name, types] = name_and_value(entry);
  if (std::ranges::count(name, '*') > 1)
    fail(Error::Code::invalid_argument, "'{}': a name has at most one '*'", entry);
  const std::vector<std::string> all = split(types, '+');
  if (all.empty() || (!output && all.size() > 1))
    fail(Error::Code::invalid_argument, "'{}': expected layerName:type", entry);
  const std::optional<Precision> type = precision_of_name(all[0]);
  const bool differ = std::ranges::any_of(
      all, [&](const std::string& other) { return precision_of_name(other) != type; });
  if (differ) fail(Error::Code::unsupported, "'{}': the outputs of a layer have one type", entry);
  if (!type) {
    warning("{} has no effect here: layers of type {} have it anyway", entry, all[0]);
    return;
  }
  // The last of one name counts.
  const PrecisionConstraint own{name, *type, output};
  std::erase_if(list, [&](const PrecisionConstraint& other) {
    return other.pattern == own.pattern && other.output == own.output;
  });
  list.push_back(own);
}

std::vector<PrecisionConstraint> constraints_of(const Options& options) {
  std::vector<PrecisionConstraint> list;
  for (const std::string& entry : options.given.list("--layerPrecisions"))
    add_entry(entry, false, list);
  for (const std::string& entry : options.given.list("--layerOutputTypes"))
    add_entry(entry, true, list);
  return list;
}

}  // namespace

PrecisionPlan precision_plan(const Options& options) {
  PrecisionPlan plan;
  plan.int8 = options.int8;
  plan.fastest = options.has("--best");
  if (plan.fastest && options.device != "cpu") plan.target = "cuda";
  plan.f16 = options.has("--fp16") && !options.strongly_typed;
  plan.bf16 = options.has("--bf16") && !options.strongly_typed;
  plan.constraints = constraints_of(options);
  const std::string mode = options.given.text("--precisionConstraints");
  plan.constraint_mode = constraint_mode_from(mode).value_or(ConstraintMode::none);
  const bool binding = plan.constraint_mode != ConstraintMode::none;
  if (plan.constraints.empty() && binding)
    log_warning(
        "When --precisionConstraints flag is set to \"obey\" or \"prefer\", please add "
        "--layerPrecision/--layerOutputTypes flags to set layer-wise precisions and output types.");
  if (!plan.constraints.empty() && !binding)
    log_warning(
        "--layerPrecision/--layerOutputTypes flags have no effect when --precisionConstraints flag "
        "is set to \"none\".");
  return plan;
}

void log_precisions(const Options& options, const Engine& engine,
                    const std::vector<Shape>& shapes) {
  if (!options.has("--layerPrecisions") && !options.has("--layerOutputTypes")) return;
  InspectOptions asked;
  asked.input_shapes = shapes;
  asked.device = options.device;
  for (const NodePrecision& node : inspect(engine, asked).nodes) {
    if (node.requested != Precision::none)
      info("Set layer {} to precision {}", node.node, name_of(node.requested));
    if (node.requested_output != Precision::none)
      info("Set output 0 of layer {} to type {}", node.node, name_of(node.requested_output));
    if (node.violated())
      warning("Layer {} got precision {}: {}", node.node, name_of(node.resolved), node.reason);
  }
}

}  // namespace octet::cli::trtexec
