// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/channel_runs.h"

#include <algorithm>
#include <optional>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"

namespace octet {
namespace {

constexpr int kRank = 4, kChannels = 1;
enum : size_t { kStarts = 1, kAxes = 3, kSteps = 4 };

std::optional<std::vector<s64>> constant_ints(const Graph& graph, const Node& node, size_t i) {
  const Tensor* tensor = graph.constant_input(node, i);
  if (tensor == nullptr) return std::nullopt;
  std::vector<s64> values;
  if (tensor->dtype() == Dtype::s64) {
    const auto all = tensor->as<s64>();
    values.assign(all.begin(), all.end());
  } else if (tensor->dtype() == Dtype::s32) {
    const auto all = tensor->as<s32>();
    values.assign(all.begin(), all.end());
  } else {
    return std::nullopt;
  }
  return values;
}

// The result has all rows, columns and images.
bool is_whole_but_channels(const Shape& from, const Shape& to) {
  for (int d = 0; d < kRank; ++d) {
    if (d != kChannels && from[d] != to[d]) return false;
  }
  return true;
}

std::vector<s64> run_of_slice(const Graph& graph, const Node& node) {
  const Shape &from = graph.value(node.inputs[0]).type.shape,
              &to = graph.value(node.outputs[0]).type.shape;
  if (to.rank() != kRank || to.elements() == 0 || !is_whole_but_channels(from, to)) return {};
  const auto starts = constant_ints(graph, node, kStarts);
  if (!starts) return {};
  std::vector<s64> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<s64>(i));
  if (node.input(kAxes) != kNoValue) {
    const auto given = constant_ints(graph, node, kAxes);
    if (!given || given->size() != starts->size()) return {};
    axes = *given;
  }
  if (node.input(kSteps) != kNoValue) {
    const auto given = constant_ints(graph, node, kSteps);
    if (!given || given->size() != starts->size()) return {};
    steps = *given;
  }
  s64 first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] != 1) return {};
    if (normalize_axis(axes[i], kRank) != kChannels) continue;
    const s64 channels = from[kChannels], start = (*starts)[i];
    first = std::clamp<s64>(start < 0 ? start + channels : start, 0, channels - 1);
  }
  return {first};
}

std::vector<s64> runs_of_split(const Graph& graph, const Node& node) {
  if (axis_of(node, kRank) != kChannels) return {};
  std::vector<s64> firsts;
  s64 at = 0;
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) return {};
    const Shape& part = graph.value(id).type.shape;
    if (part.rank() != kRank || part.elements() == 0) return {};
    firsts.push_back(at);
    at += part[kChannels];
  }
  return firsts;
}

}  // namespace

std::vector<s64> channel_runs(const Graph& graph, const Node& node) {
  const bool slice = node.op->name == "Slice";
  if ((!slice && node.op->name != "Split") || node.inputs.empty() || node.inputs[0] == kNoValue)
    return {};
  if (graph.value(node.inputs[0]).type.shape.rank() != kRank) return {};
  return slice ? run_of_slice(graph, node) : runs_of_split(graph, node);
}

}  // namespace octet
