// SPDX-License-Identifier: Apache-2.0
#include "pipeline/half_overflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <vector>

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

std::vector<ValueId> in_order(const std::unordered_map<ValueId, size_t>& makers) {
  std::vector<ValueId> values;
  for (const auto& [id, maker] : makers) values.push_back(id);
  std::ranges::sort(values);
  return values;
}

bool asks_for_f16(const Requests& requests, size_t layer) {
  return layer < requests.layers.size() && requests.layers[layer].precision == Precision::f16;
}

}  // namespace

std::vector<HalfOverflow> overflows_by_ranges(const Graph& graph, std::span<const size_t> layers,
                                              const Ranges& ranges) {
  const std::unordered_map<ValueId, size_t> makers = results_of(graph, layers);
  std::vector<HalfOverflow> found;
  for (ValueId id : in_order(makers)) {
    const auto range = ranges.find(id);
    if (range == ranges.end()) continue;
    const f32 largest = std::max(std::fabs(range->second.min), std::fabs(range->second.max));
    if (largest > kLargestHalf) found.push_back({id, makers.at(id), largest});
  }
  return found;
}

std::vector<HalfOverflow> overflows_by_data(const OverflowSearch& search,
                                            const CalibrationOptions& data,
                                            const StageOptions& stage) {
  const Graph& graph = search.graph;
  const std::unordered_map<ValueId, size_t> makers = results_of(graph, search.layers);
  std::vector<ValueId> values = in_order(makers);
  if (search.known != nullptr)
    std::erase_if(values, [&](ValueId id) { return search.known->contains(id); });
  if (values.empty()) return {};
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

std::vector<HalfOverflow> take_asked(const Requests& requests, std::vector<HalfOverflow>& found) {
  std::vector<HalfOverflow> asked;
  std::ranges::copy_if(found, std::back_inserter(asked),
                       [&](const HalfOverflow& one) { return asks_for_f16(requests, one.layer); });
  std::erase_if(found, [&](const HalfOverflow& one) { return asks_for_f16(requests, one.layer); });
  return asked;
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

std::unordered_map<std::string, Decision> types_around(const Graph& graph, const Requests& requests,
                                                       std::span<const size_t> layers,
                                                       std::span<const HalfOverflow> found) {
  const Uses uses(graph);
  const std::unordered_set<size_t> halves(layers.begin(), layers.end());
  std::unordered_map<std::string, Decision> types;
  for (const HalfOverflow& one : found) {
    const Decision decision{
        Precision::bf16, ReasonCode::kept_for_accuracy,
        fmt::format("f16 does not hold '{}', which reaches {:.3g} on the calibration data",
                    graph.value(one.value).name, one.largest)};
    std::vector<size_t> around = {one.layer};
    for (const u32 reader : uses.consumers(one.value)) {
      if (halves.contains(reader) && !asks_for_f16(requests, reader)) around.push_back(reader);
    }
    for (const size_t n : around) {
      for (const std::string& origin : graph.nodes[n].origins) types.try_emplace(origin, decision);
    }
  }
  return types;
}

}  // namespace octet
