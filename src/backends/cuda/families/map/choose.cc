// SPDX-License-Identifier: Apache-2.0
// Masks: comparisons, logic, and Where, element by element with broadcast (the kernel of this folder).
#include "backends/cuda/families/map/elements.h"
#include "backends/cuda/lower/integers.h"
#include "ops/attributes/functions.h"

namespace octet::cuda {
namespace {

struct Function {
  std::string_view op, body;
};

// Bools are bytes, 0 or 1.
constexpr Function kComparisons[] = {
    {"Equal", "a == b"}, {"Greater", "a > b"}, {"GreaterOrEqual", "a >= b"},
    {"IsNaN", "a != a"}, {"Less", "a < b"},    {"LessOrEqual", "a <= b"}};
constexpr Function kLogic[] = {
    {"And", "a & b"}, {"Not", "a == 0"}, {"Or", "a | b"}, {"Xor", "a ^ b"}};

template <size_t kCount>
std::string body_of(const LowerRequest& request, const Function (&functions)[kCount]) {
  for (const Function& function : functions) {
    if (function.op == request.node.op->name) return std::string(function.body);
  }
  return {};
}

// Either infinity, or one that the attributes name.
std::string infinity_text(const Node& node) {
  const auto attributes = attributes_of<IsInfAttributes>(node);
  return fmt::format("({} && a == INFINITY_F32) || ({} && a == -INFINITY_F32)",
                     attributes.detect_positive, attributes.detect_negative);
}

// Halves are no type of kernels.
bool is_compared(Dtype dtype) {
  return is_integer(dtype) || dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::boolean;
}

}  // namespace

Offer lower_comparison(const LowerRequest& request) {
  const Dtype dtype = request.inputs[0].dtype;
  if (!is_compared(dtype))
    return Reject{fmt::format("comparing {} is left to the CPU", dtype_name(dtype))};
  return elementwise_of_inputs(request, "comparison",
                               request.node.op->name == "IsInf" ? infinity_text(request.node)
                                                                : body_of(request, kComparisons));
}

Offer lower_logic(const LowerRequest& request) {
  return elementwise_of_inputs(request, "logic", body_of(request, kLogic));
}

// Only moves what it chooses, so values of any type are bits.
Offer lower_where(const LowerRequest& request) {
  return elementwise_of_inputs(request, "where", "a != 0 ? b : c");
}

}  // namespace octet::cuda
