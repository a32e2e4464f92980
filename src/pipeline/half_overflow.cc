// SPDX-License-Identifier: Apache-2.0
#include "pipeline/half_overflow.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/sample_feed.h"
#include "octet/data.h"
#include "pipeline/observe.h"

namespace octet {
namespace {

constexpr f32 kLargestHalf = 65504;
constexpr s64 kOverflowSamples = 8;

// Real results of the layers, and who gives them.
std::unordered_map<ValueId, size_t> results_of(const Graph& graph, std::span<const size_t> layers) {
  std::unordered_map<ValueId, size_t> makers;
  for (const size_t n : layers) {
    for (ValueId id : graph.nodes[n].outputs) {
      if (id != kNoValue && graph.value(id).type.dtype == Dtype::f32) makers.emplace(id, n);
    }
  }
  return makers;
}

}  // namespace

std::vector<HalfOverflow> find_overflows(const Graph& graph, std::span<const size_t> layers,
                                         const CalibrationOptions& data,
                                         const StageOptions& stage) {
  const std::unordered_map<ValueId, size_t> makers = results_of(graph, layers);
  std::vector<ValueId> values;
  for (const auto& [id, maker] : makers) values.push_back(id);
  std::ranges::sort(values);
  DataOptions some = data;
  some.max_samples =
      some.max_samples == 0 ? kOverflowSamples : std::min(some.max_samples, kOverflowSamples);
  const std::vector<TensorInfo> infos = input_infos(graph);
  const DataSource source = DataSource::open(some, infos);
  // Ends when it is asked to, and reports nothing: it is no calibration.
  const Monitor quiet{.report = {}, .stop = stage.monitor.stop};
  const Observations seen = observe({graph, values, {}, data.states}, *feed_of(source, infos),
                                    {stage.threads, quiet, nullptr});
  std::vector<HalfOverflow> found;
  for (size_t i = 0; i < values.size(); ++i) {
    const f32 largest = seen.values[i].histogram.amax();
    if (largest > kLargestHalf) found.push_back({values[i], makers.at(values[i]), largest});
  }
  return found;
}

std::string overflow_line(const Graph& graph, std::span<const HalfOverflow> found, bool instead) {
  const HalfOverflow& worst = *std::ranges::max_element(found, {}, &HalfOverflow::largest);
  const std::string which = fmt::format(
      "{} result{} of f16 layers go{} beyond 65504, where f16 ends, on the calibration data: '{}' "
      "of layer '{}' reaches {:.3g}",
      found.size(), found.size() == 1 ? "" : "s", found.size() == 1 ? "es" : "",
      graph.value(worst.value).name, graph.nodes[worst.layer].name, worst.largest);
  if (instead) return which + "; the layers that give or read one compute in bf16";
  return which + "; they become infinite, and bf16 or f32 for these layers would hold them";
}

std::unordered_map<std::string, Decision> types_around(const Graph& graph,
                                                       std::span<const size_t> layers,
                                                       std::span<const HalfOverflow> found) {
  std::unordered_map<std::string, Decision> types;
  for (const HalfOverflow& one : found) {
    const Decision decision{
        Precision::bf16, ReasonCode::kept_for_accuracy,
        fmt::format("f16 does not hold '{}', which reaches {:.3g} on the calibration data",
                    graph.value(one.value).name, one.largest)};
    for (const size_t n : layers) {
      const Node& node = graph.nodes[n];
      if (n != one.layer && std::ranges::find(node.inputs, one.value) == node.inputs.end())
        continue;
      for (const std::string& origin : node.origins) types.try_emplace(origin, decision);
    }
  }
  return types;
}

}  // namespace octet
