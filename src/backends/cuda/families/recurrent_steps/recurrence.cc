// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/recurrent_steps/recurrence.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/element_type.h"
#include "graph/op_traits.h"
#include "ops/attributes/recurrent.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/zero_points.h"

namespace octet::cuda {
namespace {

// In the words of device/math.cuh what ops/shared/recurrent.cc has.
std::string expression(const CellFunction& function) {
  struct Named {
    std::string_view name;
    const char* text;  // A: alpha, B: beta
  };
  constexpr Named kExpressions[] = {
      {"Affine", "f32_add(f32_mul({0},x),{1})"},
      {"Elu", "x<0.0f?f32_mul({0},f32_sub(math_exp(x),1.0f)):x"},
      {"HardSigmoid", "math_hard_sigmoid(x,{0},{1})"},
      {"LeakyRelu", "x<0.0f?f32_mul({0},x):x"},
      {"Relu", "x<0.0f?0.0f:x"},
      {"ScaledTanh", "f32_mul({0},math_tanh(f32_mul({1},x)))"},
      {"Sigmoid", "math_sigmoid(x)"},
      {"Softplus", "f32_add(x<0.0f?0.0f:x,math_log(f32_add(1.0f,math_exp(-magnitude(x)))))"},
      {"Softsign", "f32_div(x,f32_add(1.0f,magnitude(x)))"},
      {"Tanh", "math_tanh(x)"},
      {"ThresholdedRelu", "x>{0}?x:0.0f"}};
  for (const Named& named : kExpressions) {
    if (named.name == function.name)
      return fmt::format(fmt::runtime(named.text), exact_text(function.alpha),
                         exact_text(function.beta));
  }
  return {};
}

// Empty where there is a function without an expression.
std::vector<std::string> functions_of(const Node& node, const RecurrentKind& kind, s64 directions) {
  const std::vector<CellFunction> all = recurrent_functions(node, kind, directions);
  const size_t count = all.size() / static_cast<size_t>(directions);
  std::vector<std::string> functions;
  for (size_t i = 0; i < count; ++i) {
    std::string forward = expression(all[i]), backward = expression(all[all.size() - count + i]);
    if (forward.empty() || backward.empty()) return {};
    functions.push_back(forward == backward ? forward
                                            : fmt::format("d?({}):({})", backward, forward));
  }
  return functions;
}

// Lengths that are constant must lie within the steps; where all are the whole, nobody has to read them.
std::string read_lengths(const LowerRequest& request, Recurrence& r) {
  if (!r.reads[kRecLengths]) return {};
  r.length = element_type(request.inputs[kRecLengths].dtype);
  const Tensor& lengths = r.constants[kRecLengths];
  if (!lengths) return {};
  bool whole = true;
  for (s64 n = 0; n < r.g.batch; ++n) {
    const auto i = static_cast<size_t>(n);
    const s64 length = lengths.dtype() == Dtype::s32 ? lengths.as<s32>()[i] : lengths.as<s64>()[i];
    if (length < 0 || length > r.g.steps) return "a sequence is longer than the input";
    whole = whole && length == r.g.steps;
  }
  if (whole) r.reads[kRecLengths] = false, r.constants[kRecLengths] = Tensor();
  return {};
}

// Whether an f32 holds the sum of each row's products, with factors of such a magnitude, and so do all sums on the way there.
bool holds_sums(const Tensor& weights, s32 magnitude) {
  constexpr s64 kMost = s64{1} << 24;
  const auto codes = weights.as<s8>();
  const auto count = static_cast<size_t>(weights.shape()[2]);
  for (size_t row = 0; row < codes.size(); row += count) {
    s64 sum = 0;
    for (size_t i = 0; i < count; ++i) sum += std::abs(s32{codes[row + i]}) * magnitude;
    if (sum > kMost) return false;
  }
  return true;
}

std::string read_codes(const LowerRequest& request, Recurrence& r) {
  const TensorType& x = request.inputs[kRecX];
  if (request.constant(kRecX) != nullptr) return "the input is a constant";
  for (size_t i : {size_t{kRecW}, size_t{kRecR}, size_t{kQRecMultipliers}}) {
    if (request.constant(i) == nullptr) return "the weights are not constant";
  }
  const s32 zero_point = input_zero_point(request.node, kRecX);
  const CodeRange range = code_range(x.dtype);
  const s32 magnitude = std::max(zero_point - range.lo, range.hi - zero_point);
  if (!holds_sums(*request.constant(kRecW), magnitude) ||
      !holds_sums(*request.constant(kRecR), kMostStateCode))
    return "sums of so many products of codes do not fit into 24 bits";
  r.codes = {element_type(x.dtype), zero_point, state_scale_of(request.node),
             *request.constant(kQRecMultipliers)};
  return {};
}

std::string check_operands(const LowerRequest& request, Recurrence& r) {
  const bool codes = request.node.op->traits->s8_weights;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool real = i != kRecLengths && (!codes || (i != kRecX && i != kRecW && i != kRecR));
    if (real && request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  return codes ? read_codes(request, r) : std::string();
}

}  // namespace

std::string read_recurrence(const LowerRequest& request, Recurrence& r) {
  if (std::string reason = check_operands(request, r); !reason.empty()) return reason;
  for (size_t i : {kRecX, kRecR}) {
    if (request.inputs[i].shape.elements() == 0) return "an operand is empty";
  }
  const Node& node = request.node;
  const std::string_view op = node.op->name.substr(r.codes ? 1 : 0);  // QLSTM: LSTM
  const RecurrentKind& kind = recurrent_kind(op);
  r.node = node.name;
  r.g = recurrent_geometry(node, request.inputs[kRecX].shape, request.inputs[kRecR].shape);
  constexpr s64 kMost = s64{1} << 31;
  if (r.g.steps * r.g.batch >= kMost) return "there are 2^31 steps";
  if (std::max(r.g.input, kind.gates * r.g.hidden) >= kMost) return "a step has 2^31 elements";
  r.sizes = {r.g.steps,
             r.g.batch,
             r.g.hidden,
             r.g.directions,
             kind.gates,
             op == "GRU" && !attribute_of<&RecurrentShapeAttributes::linear_before_reset>(node)};
  for (size_t i = 0; i < std::min(kRecOperands, request.inputs.size()); ++i) {
    r.reads[i] = request.has_input(i);
    if (const Tensor* constant = request.constant(i)) r.constants[i] = *constant;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) r.writes[i] = node.outputs[i] != kNoValue;
  r.functions = functions_of(node, kind, r.g.directions);
  if (r.functions.empty()) return "a function is none of the kernel's";
  r.clip = std::max(0.0f, attribute_of<&RecurrentAttributes::clip>(node));
  r.input_forget = attribute_of<&RecurrentAttributes::input_forget>(node);
  return read_lengths(request, r);
}

}  // namespace octet::cuda
