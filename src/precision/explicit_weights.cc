// SPDX-License-Identifier: Apache-2.0
#include "precision/explicit_weights.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/quantize_weights.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias };

std::unordered_set<std::string> names_of_integer_nodes(const Graph& fused) {
  std::unordered_set<std::string> names;
  for (const Node& node : fused.nodes) {
    if (node.decision.precision != Precision::int8 || node.op->domain != "octet") continue;
    names.insert(node.name);
    names.insert(node.origins.begin(), node.origins.end());
  }
  return names;
}

bool is_in(const std::unordered_set<std::string>& names, const Node& node) {
  return names.contains(node.name) ||
         std::ranges::any_of(node.origins, [&](const auto& name) { return names.contains(name); });
}

class Writer {
 public:
  Writer(Graph& graph, WeightCodes& weight_codes)
      : graph_(graph), weight_codes_(weight_codes), uses_(graph), edit_(graph) {}

  void run(const std::unordered_set<std::string>& integer) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_in(integer, graph_.nodes[n])) write(n);
    }
    edit_.apply();
  }

 private:
  // The input's scale; nothing where it is not one, or not known.
  std::optional<f32> input_scale(const Node& node) {
    const Node* dq = producer_of(graph_, uses_, node.input(kX));
    if (dq == nullptr || !is_dequantize(*dq)) return std::nullopt;
    const auto type = code_type(graph_, *dq);
    return type ? std::optional(type->params.scale) : std::nullopt;
  }

  void write(size_t at) {
    const Node& node = graph_.nodes[at];
    if (node.op->traits->recurrence_of_codes != nullptr) return write_recurrence(at);
    if (node.op->traits->integer_product == nullptr) return;
    const Tensor* weights = graph_.constant_input(node, kWeights);
    const std::optional<f32> scale = input_scale(node);
    if (weights == nullptr || weights->dtype() != Dtype::f32 || !scale) return;
    const Shape& shape = weights->shape();
    if (shape.rank() < 2 || shape.elements() == 0) return;
    const bool convolution = is_op(node, "Conv");
    const int axis = convolution ? 0 : shape.rank() - 1;
    const Tensor* bias = graph_.constant_input(node, kBias);
    const bool real_bias = bias != nullptr && bias->dtype() == Dtype::f32;
    const QuantizedWeights codes =
        quantize_weights(*weights, real_bias ? bias->as<f32>() : std::span<const f32>(),
                         {shape[axis], convolution ? shape.elements() / shape[0] : 1},
                         {.scale = *scale}, &weight_codes_);
    if (!codes.reject.empty()) return;
    put(at, kWeights, codes, axis);
  }

  // A scale for each row of each direction: axis 1 of one direction, axis 0 of matrices that lie one behind the other.
  void write_recurrence(size_t at) {
    for (const size_t i : {kRecW, kRecR}) {
      const Value weights = graph_.value(graph_.nodes[at].inputs[i]);
      if (!graph_.is_constant(graph_.nodes[at].inputs[i])) continue;
      const Shape& shape = weights.type.shape;
      const Channels channels = recurrent_channels(shape);
      QuantizedWeights codes = quantize_weights(
          weights.constant.reshaped({channels.count, channels.inner}), {}, channels,
          {.scale = kStateScale, .max_magnitude = kMostStateCode}, &weight_codes_);
      if (!codes.reject.empty()) continue;
      if (shape[0] == 1) codes.codes = codes.codes.reshaped(shape);
      put(at, i, codes, shape[0] == 1 ? 1 : 0);
      if (shape[0] != 1) reshape(at, i, shape);
    }
  }

  void reshape(size_t at, size_t input, const Shape& shape) {
    ValueId& id = graph_.nodes[at].inputs[input];
    const std::string name = graph_.value(id).name + ".directions";
    Tensor sizes(Dtype::s64, Shape{shape.rank()});
    std::ranges::copy(shape, sizes.mutable_as<s64>().begin());
    Node node{.op = find_op("Reshape"),
              .name = name,
              .inputs = {id, graph_.add_constant(name + ".sizes", std::move(sizes))},
              .outputs = {graph_.add_value(name, {Dtype::f32, shape})},
              .attrs = {},
              .origins = {},
              .decision = {}};
    id = node.outputs[0];
    edit_.insert_before(at, std::move(node));
  }

  void put(size_t at, size_t input, const QuantizedWeights& codes, int axis) {
    Node& node = graph_.nodes[at];
    const Value weights = graph_.value(node.inputs[input]);
    const s64 count = std::ssize(codes.scales);
    Node dequantize{.op = find_op("DequantizeLinear"),
                    .name = weights.name + ".dequantized",
                    .inputs = {graph_.add_constant(weights.name + ".codes", codes.codes),
                               graph_.add_constant(weights.name + ".scales",
                                                   Tensor::of<f32>({count}, codes.scales))},
                    .outputs = {graph_.add_value(weights.name + ".dequantized",
                                                 {Dtype::f32, codes.codes.shape()})},
                    .attrs = {},
                    .origins = {},
                    .decision = {}};
    set_attribute<&ScaleAttributes::axis>(dequantize.attrs, static_cast<s64>(axis));
    node.inputs[input] = dequantize.outputs[0];
    edit_.insert_before(at, std::move(dequantize));
  }

  Graph& graph_;
  WeightCodes& weight_codes_;
  Uses uses_;
  GraphEdit edit_;
};

// Q/DQ say what is integer; what stays real beside them they do not.
void forget_decision(Node& node) {
  const bool stays_real =
      node.decision.precision == Precision::f32 && node.op->quant.kind != QuantKind::none;
  node.decision = stays_real ? Decision{Precision::f32, node.decision.code, {}} : Decision{};
}

}  // namespace

Graph with_explicit_weights(Graph placed, const Graph& fused, WeightCodes& weight_codes) {
  Writer(placed, weight_codes).run(names_of_integer_nodes(fused));
  for (Node& node : placed.nodes) forget_decision(node);
  placed.compact();
  return placed;
}

}  // namespace octet
