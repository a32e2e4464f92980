// SPDX-License-Identifier: Apache-2.0
#include "precision/relevance.h"

#include <algorithm>
#include <numeric>

#include "passes/match.h"
#include "precision/channel_classes.h"
#include "precision/product_weights.h"
#include "precision/roles.h"

namespace octet {
namespace {

constexpr int kImageChannelAxis = 1;
enum : size_t { kProductInput = 0, kAddedInput = 3 };

f64 total(const std::vector<f64>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

size_t channels_of(const Graph& graph, ValueId id) {
  const Shape& shape = graph.value(id).type.shape;
  const bool image =
      is_real_activation(graph, id) && shape.rank() == 4 && shape[kImageChannelAxis] > 0;
  return image ? static_cast<size_t>(shape[kImageChannelAxis]) : 1;
}

class Backward {
 public:
  Backward(const Graph& graph, const Ranges& ranges, std::vector<std::vector<f64>>& relevance)
      : graph_(graph), relevance_(relevance) {
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      relevance_.emplace_back(channels_of(graph, id), 0.0);
      const auto range = ranges.find(id);
      power_.push_back(range == ranges.end() ? std::vector<f64>() : variances(range->second));
      if (power_.back().size() != relevance_.back().size())
        power_.back().assign(relevance_.back().size(), 1.0);
    }
  }

  void run() {
    for (ValueId id : graph_.outputs) spread(1.0 / static_cast<f64>(graph_.outputs.size()), id);
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) hand_on(*node);
  }

 private:
  void spread(f64 amount, ValueId id) {
    for (f64& own : relevance_[id]) own += amount / static_cast<f64>(relevance_[id].size());
  }

  std::vector<ValueId> activations(const Node& node) const {
    std::vector<ValueId> ids;
    for (ValueId id : node.inputs) {
      if (is_real_activation(graph_, id)) ids.push_back(id);
    }
    return ids;
  }

  void hand_on(const Node& node) {
    if (separates_channels(graph_, node) && is_real_activation(graph_, node.inputs[0]))
      return hand_on_product(node);
    const std::vector<ValueId> inputs = activations(node);
    if (inputs.empty()) return;
    if (is_op(node, "Concat") && hand_on_parts(node)) return;
    if (is_op(node, "Split") && hand_on_split(node)) return;
    f64 rest = 0;
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      if (!hand_on_channels(inputs, id)) rest += total(relevance_[id]);
    }
    for (ValueId id : inputs) spread(rest / static_cast<f64>(inputs.size()), id);
  }

  // Channel by channel, by their power.
  bool hand_on_channels(const std::vector<ValueId>& inputs, ValueId result) {
    const size_t count = relevance_[result].size();
    const auto fits = [&](ValueId id) { return relevance_[id].size() == count; };
    if (!std::ranges::all_of(inputs, fits)) return false;
    for (size_t c = 0; c < count; ++c) {
      f64 power = 0;
      for (ValueId id : inputs) power += power_[id][c];
      for (ValueId id : inputs) {
        const f64 share = power > 0 ? power_[id][c] / power : 1.0 / static_cast<f64>(inputs.size());
        relevance_[id][c] += relevance_[result][c] * share;
      }
    }
    return true;
  }

  bool hand_on_parts(const Node& node) {
    const std::vector<f64>& whole = relevance_[node.outputs[0]];
    size_t sum = 0;
    for (ValueId id : node.inputs) sum += id == kNoValue ? 0 : relevance_[id].size();
    if (sum != whole.size() || whole.size() < 2) return false;
    size_t at = 0;
    for (ValueId id : node.inputs) {
      for (f64& own : relevance_[id]) own += whole[at++];
    }
    return true;
  }

  bool hand_on_split(const Node& node) {
    std::vector<f64>& whole = relevance_[node.inputs[0]];
    size_t sum = 0;
    for (ValueId id : node.outputs) sum += id == kNoValue ? 0 : relevance_[id].size();
    if (sum != whole.size() || whole.size() < 2) return false;
    size_t at = 0;
    for (ValueId id : node.outputs) {
      for (const f64 part : relevance_[id]) whole[at++] += part;
    }
    return true;
  }

  void hand_on_product(const Node& node) {
    const ProductWeights weights(graph_, node);
    const ValueId in = node.inputs[kProductInput], residual = node.input(kAddedInput);
    const std::vector<f64>& result = relevance_[node.outputs[0]];
    if (weights.inputs() != relevance_[in].size() || weights.outputs() != result.size())
      return spread(total(result), in);
    const std::vector<f64> sums = weights.power_of(power_[in]);
    for (size_t o = 0; o < result.size(); ++o) {
      const bool adds = residual != kNoValue && relevance_[residual].size() == result.size();
      const f64 other = adds ? power_[residual][o] : 0.0;
      const f64 power = sums[o] + other;
      if (!(power > 0)) continue;
      for (size_t i = 0; i < weights.inputs_of_group(); ++i) {
        const size_t c = weights.input_of(o, i);
        relevance_[in][c] += result[o] * weights.squares(o, i) * power_[in][c] / power;
      }
      if (adds) relevance_[residual][o] += result[o] * other / power;
    }
  }

  const Graph& graph_;
  std::vector<std::vector<f64>>& relevance_;
  std::vector<std::vector<f64>> power_;  // of each value's channels
};

}  // namespace

Relevance::Relevance(const Graph& graph, const Ranges& ranges) {
  const auto tells = [](const auto& entry) { return !variances(entry.second).empty(); };
  if (std::ranges::none_of(ranges, tells)) {
    relevance_.resize(graph.value_count());
    return;
  }
  Backward(graph, ranges, relevance_).run();
}

std::vector<f64> variances(const Range& range) {
  if (range.seen == nullptr) return {};
  const std::vector<f64>&power = range.seen->channel_power, &mean = range.seen->channel_mean;
  std::vector<f64> result;
  for (size_t c = 0; c < power.size(); ++c) {
    const f64 constant = mean.size() == power.size() ? mean[c] * mean[c] : 0.0;
    result.push_back(std::max(0.0, power[c] - constant));
  }
  return result;
}

}  // namespace octet
