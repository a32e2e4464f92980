// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic between steps: positions, sizes, sums of masks. Functions of elements (families/map/).
#include "backends/cuda/lower/integers.h"

#include "backends/cuda/families/map/elements.h"
#include "core/check.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/functions.h"

namespace octet::cuda {

bool is_integer(Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
    case Dtype::u16:
    case Dtype::u32:
    case Dtype::u64:
      return true;
    default:
      return is_signed_integer(dtype);
  }
}

bool is_signed_integer(Dtype dtype) {
  return dtype == Dtype::s8 || dtype == Dtype::s16 || dtype == Dtype::s32 || dtype == Dtype::s64;
}

std::string wrapping_type(Dtype dtype) { return dtype_bytes(dtype) == 8 ? "u64" : "u32"; }

namespace {

bool has_one_operand(std::string_view op) { return op == "Abs" || op == "Neg"; }

// Of a and b, which have the type of the result.
std::string body_of(const Node& node, Dtype dtype) {
  const std::string_view op = node.op->name;
  const std::string wrap = wrapping_type(dtype);
  const auto wrapping = [&](char sign) { return fmt::format("({0})a {1} ({0})b", wrap, sign); };
  if (op == "Abs") return fmt::format("a < 0 ? ({0})0 - ({0})a : ({0})a", wrap);
  if (op == "Add") return wrapping('+');
  if (op == "Div") return "whole_quotient(a, b)";
  if (op == "Max") return "a > b ? a : b";
  if (op == "Min") return "a < b ? a : b";
  if (op == "Mod")
    return attribute_of<&ModAttributes::fmod>(node) ? "rest_of_division(a, b)"
                                                    : "floored_rest(a, b)";
  if (op == "Mul") return wrapping('*');
  if (op == "Neg") return fmt::format("({0})0 - ({0})a", wrap);
  if (op == "Sub") return wrapping('-');
  return {};
}

}  // namespace

Offer lower_integers(const LowerRequest& request) {
  for (const TensorType& type : request.inputs) {
    if (!is_integer(type.dtype)) return Reject{"the operands are not integers"};
  }
  if (has_activation(request.node)) return Reject{"an activation is computed with it"};
  const size_t operands = has_one_operand(request.node.op->name) ? 1 : 2;
  if (request.inputs.size() != operands) return Reject{"there are not two operands"};
  std::string body = body_of(request.node, request.outputs[0].dtype);
  OCTET_CHECK(!body.empty());  // lowerings.def and the functions above are one list
  return elementwise_of_inputs(request, "integers", std::move(body));
}

}  // namespace octet::cuda
