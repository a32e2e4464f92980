// SPDX-License-Identifier: Apache-2.0
#include "precision/level_channels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/attributes/normalization.h"
#include "ops/attributes/window.h"
#include "ops/shared/activation.h"
#include "passes/match.h"

namespace octet {
namespace {

enum : size_t { kInput, kProductWeights, kProductBias, kProductResidual };

constexpr f64 kCodes = 254;  // between the lowest and the highest code of s8
// A channel this much livelier than epsilon is normalized alike with any
// epsilon, to less than a code of its input.
constexpr f64 kLively = 1024;

// The statistics of the normalization's input, where each channel has its own.
const TensorStatistics* statistics_of(const Node& norm, const Ranges& ranges) {
  const auto range = ranges.find(norm.inputs[kInput]);
  if (range == ranges.end() || range->second.seen == nullptr) return nullptr;
  // What a user gave has the last word.
  const std::optional<RangeMethod>& method = range->second.method;
  if (method && (method->rule == RangeRule::given || method->rule == RangeRule::cache))
    return nullptr;
  const TensorStatistics& seen = *range->second.seen;
  const size_t channels = seen.channel_power.size();
  const bool whole = channels > 0 && seen.channel_mean.size() == channels &&
                     seen.channel_min.size() == channels && seen.channel_max.size() == channels;
  return whole ? &seen : nullptr;
}

f64 variance_of(const TensorStatistics& seen, size_t channel) {
  return seen.channel_power[channel] - seen.channel_mean[channel] * seen.channel_mean[channel];
}

// A slice of rows or columns: channels stay what they are.
bool crops_pixels(const Graph& graph, const Node& node) {
  const Tensor* axes = is_op(node, "Slice") ? graph.constant_input(node, 3) : nullptr;
  if (axes == nullptr || axes->dtype() != Dtype::s64) return false;
  const int rank = graph.value(node.inputs[0]).type.shape.rank();
  return std::ranges::all_of(axes->as<s64>(),
                             [&](s64 axis) { return (axis < 0 ? axis + rank : axis) >= 2; });
}

// A convolution and what its result is, up to the normalization that alone
// reads it.
struct Leveling {
  size_t product = 0;
  std::vector<ValueId> values;
};

bool is_transposed(const Node& node) { return is_op(node, "ConvTranspose"); }

bool is_plain_product(const Graph& graph, const Node& node, size_t channels) {
  if (!is_op(node, "Conv") && !is_transposed(node)) return false;
  const Tensor* weights = graph.constant_input(node, kProductWeights);
  const Tensor* bias = graph.constant_input(node, kProductBias);
  if (weights == nullptr || weights->dtype() != Dtype::f32 || weights->shape().rank() != 4)
    return false;
  if (node.input(kProductBias) != kNoValue && (bias == nullptr || bias->dtype() != Dtype::f32))
    return false;
  const s64 groups = conv_groups(node);
  const s64 outputs = is_transposed(node) ? weights->shape()[1] * groups : weights->shape()[0];
  return outputs == static_cast<s64>(channels) && node.input(kProductResidual) == kNoValue &&
         activation_of(node).kind == Activation::Kind::none;
}

std::optional<Leveling> leveling_of(const Graph& graph, const Uses& uses, const Node& norm,
                                    size_t channels) {
  Leveling leveling;
  ValueId id = norm.inputs[kInput];
  while (uses.only_consumer(id) >= 0 && uses.producer(id) >= 0) {
    leveling.values.push_back(id);
    leveling.product = static_cast<size_t>(uses.producer(id));
    const Node& node = graph.nodes[leveling.product];
    if (is_plain_product(graph, node, channels)) return leveling;
    if (!crops_pixels(graph, node)) return {};
    id = node.inputs[0];
  }
  return {};
}

// The output channel of a product's weight.
class OutputChannels {
 public:
  explicit OutputChannels(const Node& product, const Shape& weights)
      : transposed_(is_transposed(product)),
        taps_(weights[2] * weights[3]),
        second_(weights[1]),
        inputs_of_group_(weights[0] / conv_groups(product)) {}

  size_t of(size_t weight) const {
    const s64 plane = static_cast<s64>(weight) / taps_;
    const s64 first = plane / second_;
    return static_cast<size_t>(transposed_ ? first / inputs_of_group_ * second_ + plane % second_
                                           : first);
  }

 private:
  bool transposed_;
  s64 taps_, second_, inputs_of_group_;
};

// y = factor * x + offset of each channel.
struct Line {
  f64 factor = 1, offset = 0;
};

f64 half_width(const TensorStatistics& seen, size_t channel) {
  return (seen.channel_max[channel] - seen.channel_min[channel]) / 2;
}

// Of the widest channel.
f64 reach_of(const TensorStatistics& seen) {
  f64 reach = 0;
  for (size_t c = 0; c < seen.channel_power.size(); ++c)
    reach = std::max(reach, half_width(seen, c));
  return reach;
}

f64 epsilon_of(const Node& norm) { return f64{attribute_of<&NormAttributes::epsilon>(norm)}; }

std::vector<Line> lines_of(const TensorStatistics& seen, f64 reach, f64 epsilon) {
  std::vector<Line> lines(seen.channel_power.size());
  for (size_t c = 0; c < lines.size(); ++c) {
    const f64 half = half_width(seen, c);
    if (half > 0 && variance_of(seen, c) > kLively * epsilon) lines[c].factor = reach / half;
    lines[c].offset = -lines[c].factor * (seen.channel_max[c] + seen.channel_min[c]) / 2;
  }
  return lines;
}

bool fits_single(f64 x) { return std::fabs(x) <= f64{std::numeric_limits<f32>::max()}; }

// False, and nothing changed, where a weight or a bias would be no number.
bool apply(Graph& graph, Node& product, const std::vector<Line>& lines) {
  const Tensor weights = *graph.constant_input(product, kProductWeights);
  const Tensor* bias = graph.constant_input(product, kProductBias);
  const OutputChannels channels(product, weights.shape());
  Tensor leveled(Dtype::f32, weights.shape());
  for (size_t i = 0; i < leveled.mutable_as<f32>().size(); ++i) {
    const f64 weight = f64{weights.as<f32>()[i]} * lines[channels.of(i)].factor;
    if (!fits_single(weight)) return false;
    leveled.mutable_as<f32>()[i] = static_cast<f32>(weight);
  }
  Tensor moved(Dtype::f32, Shape{std::ssize(lines)});
  for (size_t c = 0; c < lines.size(); ++c) {
    const f64 before = bias != nullptr ? f64{bias->as<f32>()[c]} : 0.0;
    const f64 after = lines[c].factor * before + lines[c].offset;
    if (!fits_single(after)) return false;
    moved.mutable_as<f32>()[c] = static_cast<f32>(after);
  }
  product.inputs.resize(std::max<size_t>(product.inputs.size(), 3), kNoValue);
  product.inputs[kProductWeights] =
      graph.add_constant(product.name + ".leveled_weights", std::move(leveled));
  product.inputs[kProductBias] =
      graph.add_constant(product.name + ".leveled_bias", std::move(moved));
  return true;
}

bool is_in_codes(const Node& node) { return node.decision.precision == Precision::int8; }

void level(Graph& graph, const Uses& uses, const Node& norm, Ranges& ranges) {
  const TensorStatistics* seen = statistics_of(norm, ranges);
  if (seen == nullptr) return;
  const auto leveling = leveling_of(graph, uses, norm, seen->channel_power.size());
  if (!leveling || !is_in_codes(graph.nodes[leveling->product])) return;
  const f64 reach = reach_of(*seen);
  if (!(reach > 0) || !std::isnormal(static_cast<f32>(reach))) return;
  Node& product = graph.nodes[leveling->product];
  if (!apply(graph, product, lines_of(*seen, reach, epsilon_of(norm)))) return;
  for (ValueId id : leveling->values) {
    Range& range = ranges[id];
    range.min = -static_cast<f32>(reach);
    range.max = static_cast<f32>(reach);
    range.threshold = f64{range.max};
    range.seen = nullptr;
    graph.rename(id, graph.value(id).name + ".leveled");
  }
}

}  // namespace

std::optional<f64> lost_by_normalization(const Graph& graph, const Uses& uses, const Node& norm,
                                         const Ranges& ranges) {
  const TensorStatistics* seen = statistics_of(norm, ranges);
  if (seen == nullptr) return {};
  const Range& range = ranges.at(norm.inputs[kInput]);
  const size_t channels = seen->channel_power.size();
  const bool leveled = leveling_of(graph, uses, norm, channels).has_value();
  const f64 largest = std::max(std::fabs(f64{range.min}), std::fabs(f64{range.max}));
  if (!leveled && range.threshold < largest) return {};
  const f64 reach = reach_of(*seen), epsilon = epsilon_of(norm);
  const std::vector<Line> lines = lines_of(*seen, reach, epsilon);
  f64 lost = 0;
  size_t alive = 0;
  for (size_t c = 0; c < channels; ++c) {
    const f64 step =
        leveled ? 2 * reach / kCodes / lines[c].factor : f64{code_type_of(range).params.scale};
    const f64 variance = variance_of(*seen, c);
    if (!(variance > 0)) continue;
    // What is not lively stays as narrow as it is, and may lie within one code. Epsilon hides the rest of what is hardly alive.
    lost += std::min(variance, step * step / 12) / (variance + std::max(epsilon, 0.0));
    ++alive;
  }
  return alive == 0 ? 0.0 : lost / static_cast<f64>(alive);
}

void level_channels(Graph& graph, Ranges& ranges) {
  const Uses uses(graph);
  // Ids of values stay, and so do the places of nodes.
  for (const Node& node : graph.nodes) {
    if (is_op(node, "InstanceNormalization") && is_in_codes(node)) level(graph, uses, node, ranges);
  }
}

}  // namespace octet
