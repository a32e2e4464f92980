// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_recurrent.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/recurrent.h"
#include "ops/quantized/quantize_node.h"
#include "ops/quantized/quantize_weights.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"

namespace octet {
namespace {

// They keep a state within -1..1.
bool has_default_functions(const Node& node, s64 directions) {
  const RecurrentKind& kind = recurrent_kind(node.op->name);
  const std::vector<CellFunction> functions = recurrent_functions(node, kind, directions);
  const size_t each = kind.default_activations.size();
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name != kind.default_activations[i % each]) return false;
  }
  return true;
}

struct Rows {
  QuantizedWeights weights;
  Tensor codes;  // of the shape of the weights
};

Rows rows_of(const Tensor& real, const ProductInput& input, WeightCodes* cache) {
  const Channels channels = recurrent_channels(real.shape());
  Rows rows;
  rows.weights =
      quantize_weights(real.reshaped({channels.count, channels.inner}), {}, channels, input, cache);
  if (rows.weights.reject.empty())
    rows.weights.reject = accumulator_overflow(rows.weights, channels, input);
  if (rows.weights.reject.empty()) rows.codes = rows.weights.codes.reshaped(real.shape());
  return rows;
}

// One for each row of W, then of R.
Tensor multipliers_of(const Rows& w, const Rows& r, f32 scale_x) {
  const Shape& shape = w.codes.shape();
  Tensor multipliers(Dtype::f32, Shape{2, shape[0], shape[1]});
  const auto all = multipliers.mutable_as<f32>();
  const size_t rows = w.weights.scales.size();
  for (size_t i = 0; i < rows; ++i) {
    all[i] = scale_x * w.weights.scales[i];
    all[rows + i] = kStateScale * r.weights.scales[i];
  }
  return multipliers;
}

// Empty inputs are none.
std::vector<ValueId> inputs_of(const Node& node, ValueId x, const RecurrentConstants& codes,
                               Graph& graph) {
  std::vector<ValueId> inputs = node.inputs;
  inputs.resize(kQRecMultipliers + 1, kNoValue);
  inputs[kRecX] = x;
  inputs[kRecW] = graph.add_constant(node.name + "_weights", codes.w);
  inputs[kRecR] = graph.add_constant(node.name + "_state_weights", codes.r);
  inputs[kQRecMultipliers] = graph.add_constant(node.name + "_multipliers", codes.multipliers);
  return inputs;
}

}  // namespace

Channels recurrent_channels(const Shape& weights) { return {weights[0] * weights[1], weights[2]}; }

std::string no_recurrence_of_codes(const Graph& graph, const Node& node) {
  for (size_t i : {kRecW, kRecR, kRecB}) {
    if (node.input(i) == kNoValue) continue;
    const Tensor* constant = graph.constant_input(node, i);
    if (constant == nullptr) return "its weights or its bias are no constants";
    if (constant->dtype() != Dtype::f32) return "its weights or its bias are not f32";
  }
  if (node.input(kRecPeepholes) != kNoValue) return "it has peepholes";
  if (attribute_of<&RecurrentAttributes::clip>(node) > 0.0f) return "its sums are clipped";
  if (attribute_of<&RecurrentAttributes::input_forget>(node))
    return "its input gate is the forget gate too";
  const Tensor* w = graph.constant_input(node, kRecW);
  if (!has_default_functions(node, w->shape()[0])) return "its functions may leave -1..1";
  const Tensor* h = graph.constant_input(node, kRecInitialH);
  if (h != nullptr && h->dtype() == Dtype::f32 &&
      !std::ranges::all_of(h->as<f32>(), [](f32 x) { return x >= -1.0f && x <= 1.0f; }))
    return "its initial state lies beyond -1..1";
  return {};
}

RecurrentConstants recurrent_constants(const Graph& graph, const Node& node, const InputCodes& x,
                                       WeightCodes* cache) {
  const CodeRange range = code_range(x.dtype);
  const s32 zero_point = x.params.zero_point;
  const s32 magnitude = std::max(zero_point - range.lo, range.hi - zero_point);
  const Rows w = rows_of(*graph.constant_input(node, kRecW),
                         {.scale = x.params.scale, .max_magnitude = magnitude}, cache);
  const Rows r = rows_of(*graph.constant_input(node, kRecR),
                         {.scale = kStateScale, .max_magnitude = kMostStateCode}, cache);
  for (const Rows* rows : {&w, &r})
    if (!rows->weights.reject.empty()) return {.reject = rows->weights.reject};
  RecurrentConstants codes{w.codes, r.codes, multipliers_of(w, r, x.params.scale), {}};
  if (!all_finite(codes.multipliers.as<f32>()))
    codes.reject = "its scales are too far apart for one multiplier";
  return codes;
}

Node recurrence_of_codes(const Node& node, std::vector<ValueId> inputs, s32 zero_point) {
  Node result{.op = node.op->traits->recurrence_of_codes,
              .name = node.name,
              .inputs = std::move(inputs),
              .outputs = {},
              .attrs = {},
              .origins = {},
              .decision = {}};
  copy_attributes<RecurrentShapeAttributes>(node.attrs, result.attrs);
  set_attribute<&QRecurrentAttributes::state_scale>(result.attrs, kStateScale);
  set_attribute<&OutputCodesAttributes::output_dtype>(result.attrs, Dtype::f32);
  set_input_zero_point(result, kRecX, zero_point);
  return result;
}

QuantizeResult quantize_recurrent(const QuantizeRequest& request) {
  const Node& node = request.node;
  if (node.decision.precision != Precision::int8)
    return reject("no Q/DQ of the model says how the state of a recurrent layer is rounded");
  if (std::string why = unreadable_codes(request, kRecX); !why.empty()) return reject(why);
  if (std::string why = no_recurrence_of_codes(request.graph, node); !why.empty())
    return reject(why);
  const QuantizedInput& x = request.inputs[kRecX];
  const InputCodes type{{x.scalar_scale(), x.zero_point}, codes_dtype(request, kRecX)};
  const RecurrentConstants codes =
      recurrent_constants(request.graph, node, type, request.weight_codes);
  if (!codes.reject.empty()) return reject(codes.reject);
  return {recurrence_of_codes(node, inputs_of(node, x.codes, codes, request.graph), x.zero_point),
          {}};
}

}  // namespace octet
