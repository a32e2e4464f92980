// SPDX-License-Identifier: Apache-2.0
// f32 elementwise operators of one input, in whatever layout the input has.
#include "backends/cpu/lower/f_unary.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/unary.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/host/queue.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/functions.h"

namespace octet {
namespace {

struct Choice {
  std::string_view name = {};  // of the table row
  f32 a = 0.0f;
  f32 b = 0.0f;
  std::string reject = {};
};

Choice choose_clip(const LowerRequest& request) {
  Choice choice{.name = "clip"};
  const bool constant =
      scalar_constant(request, 1, -std::numeric_limits<f32>::infinity(), choice.a) &&
      scalar_constant(request, 2, std::numeric_limits<f32>::infinity(), choice.b);
  if (!constant) choice.reject = "the bounds are not constants";
  return choice;
}

Choice choose_gelu(const Node& node) {
  return {.name = attribute_of<&GeluAttributes::approximate>(node) == GeluForm::tanh ? "gelu_tanh"
                                                                                     : "gelu"};
}

// The definition rounds x^2 once, as the product does; other powers go through f64.
Choice choose_pow(const LowerRequest& request) {
  f32 exponent = 0.0f;
  const bool square = scalar_constant(request, 1, 0.0f, exponent) && exponent == 2.0f;
  if (!square || request.outputs[0].shape != request.inputs[0].shape) {
    return {.reject = "only squares have a kernel"};
  }
  return {.name = "square"};
}

Choice choose(const LowerRequest& request) {
  const Node& node = request.node;
  const std::string_view op = node.op->name;
  if (op == "Clip") return choose_clip(request);
  if (op == "Gelu") return choose_gelu(node);
  if (op == "Celu") return {.name = "celu", .a = attribute_of<&AlphaAttributes::alpha>(node)};
  if (op == "Elu") return {.name = "elu", .a = attribute_of<&AlphaAttributes::alpha>(node)};
  if (op == "Selu") {
    const auto selu = attributes_of<SeluAttributes>(node);
    return {.name = "selu", .a = selu.alpha, .b = selu.gamma};
  }
  if (op == "LeakyRelu")
    return {.name = "leaky_relu", .a = attribute_of<&LeakyReluAttributes::alpha>(node)};
  if (op == "Pow") return choose_pow(request);
  if (op == "Swish") return {.name = "swish", .a = attribute_of<&AlphaAttributes::alpha>(node)};
  if (op == "RoundTo")
    return {.name =
                attribute_of<&CastAttributes::to>(node) == Dtype::f16 ? "round_f16" : "round_bf16"};
  if (op == "HardSigmoid") {
    const auto sigmoid = attributes_of<HardSigmoidAttributes>(node);
    return {.name = "hard_sigmoid", .a = sigmoid.alpha, .b = sigmoid.beta};
  }
  for (const UnaryKernel& kernel : kUnaryKernels) {
    if (op == kernel.op) return {.name = kernel.name};
  }
  return {.reject = "no f32 kernel computes this operator"};
}

struct UnaryStep {
  UnaryChoice choice;
  int rounds;
  bool x_halves, y_halves;  // are stored as bf16
  Rows rows;

  void operator()(const StepArgs& step) const {
    rows.for_each(pool_of(step), [&](const Rows::Offsets& at, s64 count) {
      const UnaryArgs args{step.inputs[0] + at[1] * element_bytes(x_halves),
                           step.outputs[0] + at[0] * element_bytes(y_halves),
                           count,
                           choice.a,
                           choice.b,
                           rounds,
                           x_halves,
                           y_halves};
      (x_halves || y_halves ? choice.halves : choice.function)(&args);
    });
  }
};

}  // namespace

const UnaryKernel* find_unary(std::string_view name) {
  for (const UnaryKernel& kernel : kUnaryKernels) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

UnaryChoice choose_unary(const LowerRequest& request) {
  const Choice choice = choose(request);
  if (!choice.reject.empty()) return {.reject = choice.reject};
  const UnaryKernel* row = find_unary(choice.name);
  if (row == nullptr) return {.reject = "no f32 kernel computes this operator"};
  return {.function = kernel_for(*row, isa_of(request.target)),
          .halves = row->bf16,
          .name = std::string(choice.name),
          .a = choice.a,
          .b = choice.b};
}

Offer lower_f_unary(const LowerRequest& request) {
  if (std::string reason = halves_reject(request); !reason.empty()) return Reject{reason};
  const UnaryChoice choice = choose_unary(request);
  if (!choice.reject.empty()) return Reject{choice.reject};

  Candidate candidate;
  candidate.kernel = kernel_name("f32", choice.name, isa_of(request.target));
  candidate.inputs = request.layouts;
  candidate.outputs = {request.layouts[0]};
  candidate.holds = request.constants();
  candidate.holds[0] = false;
  // One channel leaves no dense dimension to walk when its pixels are apart.
  candidate.strided = request.layouts[0] == Layout::nhwc && request.outputs[0].shape[1] != 1;
  const bool x_halves = is_stored_half(request.inputs[0]),
             y_halves = is_stored_half(request.outputs[0]);
  if (x_halves == y_halves) candidate.overwrites = {0};
  candidate.note = rounding_note(request.node);
  candidate.bind = [choice, rounds = rounding_code(request.node), x_halves, y_halves,
                    shape = request.outputs[0].shape](const BindArgs& bind) -> RunStep {
    const RowOperand operands[] = {{shape, bind.outputs[0]}, {shape, bind.inputs[0]}};
    return UnaryStep{choice, rounds, x_halves, y_halves, Rows(operands)};
  };
  return candidate;
}

}  // namespace octet
