// SPDX-License-Identifier: Apache-2.0
// What codes of x and of the state cost a recurrent layer: a trial of some steps beside the layer of reals. A state that gates hold for long, or
// that they turn over by little, takes the rounding of every step along; no formula of scales tells that.
#include <algorithm>
#include <random>
#include <vector>

#include "core/rounding.h"
#include "graph/op_traits.h"
#include "ops/attributes/recurrent.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/quantize_recurrent.h"
#include "passes/qdq.h"
#include "precision/precision.h"

namespace octet {
namespace {

constexpr s64 kSteps = 16;
// Few units say little in one sequence; of many one is enough, and takes long.
constexpr s64 kMostSequences = 8;
constexpr s64 kMostProducts = s64{1} << 26;

struct Trial {
  Tensor reals, codes;
};

// Noise of which a quarter of the codes is the deviation, about. The generator's own numbers are the same everywhere.
Trial noise(const Shape& shape, const CodeType& type) {
  const CodeRange range = code_range(type.dtype);
  const auto codes_each = static_cast<f32>(range.hi - range.lo);
  Trial trial{Tensor(Dtype::f32, shape), Tensor(type.dtype, shape)};
  std::mt19937 random(1);
  for (size_t i = 0; i < trial.reals.as<f32>().size(); ++i) {
    f32 sum = 0;  // of three: bell enough
    for (int k = 0; k < 3; ++k) sum += static_cast<f32>(random() >> 8) / 16777216.0f;
    const f32 code = static_cast<f32>(range.lo) + sum / 3.0f * codes_each;
    const f32 real = (code - static_cast<f32>(type.params.zero_point)) * type.params.scale;
    trial.reals.mutable_as<f32>()[i] = real;
    const s32 nearest =
        quantize(real, type.params.scale, type.params.zero_point, range.lo, range.hi);
    trial.codes.mutable_data()[i] = static_cast<std::byte>(nearest & 0xff);
  }
  return trial;
}

// Of sequences without lengths or initial states.
std::vector<f32> first_result(Node node, std::vector<Tensor> inputs) {
  inputs.resize(std::max(inputs.size(), node.inputs.size()));
  node.inputs.assign(inputs.size(), kNoValue);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) node.inputs[i] = static_cast<ValueId>(i);
  }
  node.outputs = {0};
  const Tensor result = eval_node(node, inputs)[0];
  return {result.as<f32>().begin(), result.as<f32>().end()};
}

f64 share(const std::vector<f32>& got, const std::vector<f32>& want) {
  f64 error = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const f64 d = f64{want[i]} - f64{got[i]};
    error += d * d;
    power += f64{want[i]} * f64{want[i]};
  }
  return power > 0 ? error / power : 0.0;
}

}  // namespace

f64 lost_by_recurrence(const Graph& graph, const Node& node, const Range& input) {
  const CodeType type = code_type_of(input);
  const RecurrentConstants codes =
      recurrent_constants(graph, node, {type.params, type.dtype}, nullptr);
  if (!codes.reject.empty()) return 1.0;
  const Tensor &w = *graph.constant_input(node, kRecW), &r = *graph.constant_input(node, kRecR);
  const Tensor* bias = graph.constant_input(node, kRecB);
  const s64 products = kSteps * (w.shape().elements() + r.shape().elements());
  const s64 sequences =
      std::clamp<s64>(kMostProducts / std::max<s64>(products, 1), 1, kMostSequences);
  Shape shape{kSteps, sequences, w.shape()[2]};
  if (attribute_of<&RecurrentShapeAttributes::layout>(node)) std::swap(shape[0], shape[1]);
  const Trial trial = noise(shape, type);
  std::vector<Tensor> reals = {trial.reals, w, r}, integers = {trial.codes, codes.w, codes.r};
  if (bias != nullptr) reals.push_back(*bias), integers.push_back(*bias);
  integers.resize(kQRecMultipliers + 1);
  integers[kQRecMultipliers] = codes.multipliers;
  Node real = node;
  real.inputs.clear();
  return share(first_result(recurrence_of_codes(node, {}, type.params.zero_point), integers),
               first_result(std::move(real), reals));
}

}  // namespace octet
