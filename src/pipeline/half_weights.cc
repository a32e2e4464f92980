// SPDX-License-Identifier: Apache-2.0
#include "pipeline/half_weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/monitor.h"
#include "data/sample_feed.h"
#include "graph/graph_edit.h"
#include "octet/data.h"
#include "pipeline/target.h"
#include "precision/precision.h"
#include "precision/roles.h"
#include "runtime/inside.h"

namespace octet {
namespace {

constexpr f32 kSmallestNormal = 0x1p-14f;
constexpr s64 kMeasuredSamples = 8;

bool is_weights(const Graph& graph, ValueId id) {
  return graph.is_constant(id) && graph.value(id).type.dtype == Dtype::f32;
}

HalfWeights count(const Tensor& real) {
  HalfWeights found;
  found.elements = real.elements();
  for (const f32 x : real.as<f32>()) {
    if (x == 0 || !std::isfinite(x)) continue;
    const f32 half = std::fabs(static_cast<f32>(f16(x)));
    found.flushed += half == 0;
    found.subnormal += half > 0 && half < kSmallestNormal;
    found.infinite += std::isinf(half);
  }
  return found;
}

int64_t lost_of(const HalfWeights& found) {
  return found.subnormal + found.flushed + found.infinite;
}

// Which layers stay real in an INT8 build with good data.
std::vector<bool> stays_real(const Graph& graph, const PrecisionPlan& plan,
                             const Requests& requests) {
  std::vector<bool> real(graph.nodes.size(), true);
  if (!plan.int8) return real;
  Graph assigned = graph;
  Ranges assumed;
  for (ValueId id : values_to_observe(graph)) {
    assumed[id] = {.tensor = graph.value(id).name, .min = -1, .max = 1, .threshold = 1};
  }
  assign_precision(assigned, assumed, {plan.keep_float, requests.layers});
  for (size_t n = 0; n < real.size(); ++n)
    real[n] = assigned.nodes[n].decision.precision != Precision::int8;
  return real;
}

bool is_lost(f32 x) {
  const f32 half = std::fabs(static_cast<f32>(f16(x)));
  return x != 0 && std::isfinite(x) && (half < kSmallestNormal || std::isinf(half));
}

// In f16 those that it does not hold, the others as they are: what comes of these alone.
Tensor with_lost_rounded(const Tensor& real) {
  Tensor result = rounded_to(real, Precision::f16);
  const auto x = real.as<f32>();
  const auto y = result.mutable_as<f32>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (!is_lost(x[i])) y[i] = x[i];
  }
  return result;
}

// A copy of the graph with the results of the layers as outputs, each twice: as it is, and by a copy of the layer with what f16 makes of these
// weights.
Graph doubled(const Graph& graph, const std::vector<size_t>& layers) {
  Graph twice = graph;
  twice.outputs.clear();
  GraphEdit edit(twice);
  for (const size_t n : layers) {
    Node copy = twice.nodes[n];
    copy.name += ".f16";
    for (ValueId& id : copy.inputs) {
      if (!is_weights(twice, id)) continue;
      const std::string name = twice.value(id).name + ".f16";
      id = twice.add_constant(name, with_lost_rounded(twice.value(id).constant));
    }
    for (ValueId& id : copy.outputs) {
      if (id == kNoValue) continue;
      const std::string name = twice.value(id).name + ".f16";
      id = twice.add_value(name, TensorType(twice.value(id).type));
    }
    twice.outputs.push_back(twice.nodes[n].outputs[0]);
    twice.outputs.push_back(copy.outputs[0]);
    edit.insert_after(n, std::move(copy));
  }
  edit.apply();
  remove_dead_nodes(twice);
  return twice;
}

struct Sums {
  f64 error = 0, power = 0;

  void add(const Tensor& want, const Tensor& got) {
    if (want.dtype() != Dtype::f32 || want.shape() != got.shape()) return;
    const auto a = want.as<f32>(), b = got.as<f32>();
    for (size_t i = 0; i < a.size(); ++i) {
      const f64 difference = f64{a[i]} - f64{b[i]};
      error += difference * difference;
      power += f64{a[i]} * f64{a[i]};
    }
  }
  f64 relative() const { return power > 0 ? std::sqrt(error / power) : 0; }
};

// What a type makes of weights.
struct Loss {
  f64 error = 0;  // squared
  bool infinite = false;
};

f32 largest_of(Precision type) { return type == Precision::f16 ? 65504.0f : 0x1.fep127f; }

Loss loss_in(const Tensor& real, Precision type) {
  const Tensor rounded = rounded_to(real, type);
  const auto x = real.as<f32>(), y = rounded.as<f32>();
  Loss loss;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) continue;
    const f64 difference = f64{x[i]} - f64{y[i]};
    loss.error += difference * difference;
    loss.infinite = loss.infinite || std::fabs(x[i]) > largest_of(type);
  }
  return loss;
}

}  // namespace

std::vector<size_t> f16_layers(const Graph& graph, const PrecisionPlan& plan,
                               const Requests& requests) {
  const auto asks = [](const LayerRequest& layer) { return layer.precision == Precision::f16; };
  const bool all = float_types(plan).f16;
  if (!all && std::ranges::none_of(requests.layers, asks)) return {};
  const std::vector<bool> real = stays_real(graph, plan, requests);
  const KeptNames names(graph, plan.keep_float);
  std::vector<size_t> layers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!real[n] || node.outputs.empty() || node.outputs[0] == kNoValue) continue;
    if (!is_real(graph.value(node.outputs[0]).type)) continue;
    const Precision asked =
        requests.layers.empty() ? Precision::none : requests.layers[n].precision;
    const bool kept = names.keeper_of(node) != nullptr;
    const bool open = asked == Precision::none || asked == Precision::int8;
    if (asked == Precision::f16 || (all && open && !kept)) layers.push_back(n);
  }
  return layers;
}

std::vector<std::string> affected_lines(std::span<const HalfWeights> found) {
  std::vector<std::string> lines;
  const auto add = [&](int64_t HalfWeights::*kind, std::string_view what) {
    const auto count = std::ranges::count_if(found, [&](const auto& one) { return one.*kind > 0; });
    if (count > 0)
      lines.push_back(fmt::format("{} weights are affected by this issue: {}", count, what));
  };
  add(&HalfWeights::subnormal, "Detected subnormal FP16 values.");
  add(&HalfWeights::flushed,
      "Detected values less than smallest positive FP16 subnormal value, which become zero.");
  add(&HalfWeights::infinite,
      "Detected finite FP32 values which would overflow in FP16 and converted them to the closest "
      "finite FP16 value.");
  return lines;
}

std::vector<HalfWeights> examine_halves(const Graph& graph, std::span<const size_t> layers) {
  std::vector<HalfWeights> list;
  for (const size_t n : layers) {
    const Node& node = graph.nodes[n];
    for (ValueId id : node.inputs) {
      if (!is_weights(graph, id)) continue;
      HalfWeights found = count(graph.value(id).constant);
      if (lost_of(found) == 0) continue;
      found.tensor = graph.value(id).name;
      found.layer = node.name;
      found.nodes = node.origins;
      list.push_back(std::move(found));
    }
  }
  return list;
}

void measure_halves(const Graph& graph, const CalibrationOptions& data, const StageOptions& stage,
                    std::vector<HalfWeights>& found) {
  std::vector<size_t> layers;
  std::unordered_set<std::string> names;
  for (const HalfWeights& weights : found) names.insert(weights.layer);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (names.contains(graph.nodes[n].name)) layers.push_back(n);
  }
  auto model = std::make_shared<Model>();
  model->graph = doubled(graph, layers);
  DataOptions some = data;
  some.max_samples =
      some.max_samples == 0 ? kMeasuredSamples : std::min(some.max_samples, kMeasuredSamples);
  const std::vector<TensorInfo> infos = input_infos(model->graph);
  const DataSource source = DataSource::open(some, infos);
  const auto feed = feed_of(source, infos);
  ContextOptions options;
  options.threads = stage.threads;
  Context context = Inside::context(std::move(model), options);
  std::vector<Sums> sums(layers.size());
  while (auto sample = feed->next()) {
    check_stop(stage.monitor);
    const std::vector<Tensor> results = context.run(sample->inputs);
    for (size_t i = 0; i < sums.size(); ++i) sums[i].add(results[2 * i], results[2 * i + 1]);
  }
  std::unordered_map<std::string, f64> errors;
  for (size_t i = 0; i < layers.size(); ++i)
    errors[graph.nodes[layers[i]].name] = sums[i].relative();
  for (HalfWeights& weights : found) weights.error = errors[weights.layer];
}

void note_remedies(std::span<const HalfWeights> rest, std::vector<HalfWeights>& found) {
  std::unordered_map<std::string_view, std::vector<const HalfWeights*>> by_layer;
  for (const HalfWeights& one : rest) by_layer[one.layer].push_back(&one);
  for (HalfWeights& weights : found) {
    const auto of_layer = [&](const auto& is_it) -> const HalfWeights* {
      const auto layer = by_layer.find(weights.layer);
      if (layer == by_layer.end()) return nullptr;
      const auto at = std::ranges::find_if(
          layer->second, [&](const HalfWeights* other) { return is_it(other->tensor); });
      return at == layer->second.end() ? nullptr : *at;
    };
    // A layer between two others may be rescaled twice, and names that are taken get a number.
    const std::string rescaled = weights.tensor + ".rescaled";
    const auto same = of_layer([&](const std::string& name) { return name == weights.tensor; });
    const auto moved =
        of_layer([&](const std::string& name) { return name.starts_with(rescaled); });
    if (same != nullptr) {
      weights.remedy = same->remedy;
      weights.type = same->type;
      continue;
    }
    weights.remedy = "rescaled by powers of two, with the layer beside it";
    if (moved == nullptr) continue;
    weights.remedy += fmt::format("; {} left", lost_of(*moved));
    if (moved->remedy.empty()) continue;
    weights.remedy += "; " + moved->remedy;
    weights.type = moved->type;
  }
}

std::unordered_map<std::string, Decision> types_instead(const Graph& graph,
                                                        const Requests& requests,
                                                        std::vector<HalfWeights>& found) {
  std::unordered_set<std::string> asked;
  for (size_t n = 0; n < requests.layers.size(); ++n) {
    if (requests.layers[n].precision == Precision::f16) asked.insert(graph.nodes[n].name);
  }
  std::unordered_map<std::string_view, ValueId> ids;
  for (ValueId id = 0; id < graph.value_count(); ++id) ids.emplace(graph.value(id).name, id);
  std::unordered_map<std::string, Decision> instead;
  for (HalfWeights& weights : found) {
    if (asked.contains(weights.layer)) continue;
    const Tensor& real = graph.value(ids.at(weights.tensor)).constant;
    const Loss half = loss_in(real, Precision::f16), brain = loss_in(real, Precision::bf16);
    if (half.error <= brain.error) continue;
    weights.type = brain.infinite ? Precision::f32 : Precision::bf16;
    weights.remedy = fmt::format("the layer is {}", to_string(weights.type));
    const Decision decision{weights.type, ReasonCode::kept_for_accuracy,
                            fmt::format("f16 does not hold its weights '{}'", weights.tensor)};
    for (const std::string& node : weights.nodes) {
      const auto [at, fresh] = instead.try_emplace(node, decision);
      if (!fresh && weights.type == Precision::f32) at->second = decision;
    }
  }
  return instead;
}

}  // namespace octet
