// SPDX-License-Identifier: Apache-2.0
#include "plan/growing_zeros.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

template <class Test>
bool is_constant_of(const GrowingLengths& at, ValueId id, const Test& test) {
  if (id == kNoValue || !at.is_settled(id) || at.type(id).dtype != Dtype::f32) return false;
  return std::ranges::all_of(at.known(id).as<f32>(), test);
}
bool is_finite_constant(const GrowingLengths& at, ValueId id) {
  return is_constant_of(at, id, [](f32 x) { return std::isfinite(x) && x != 0; });
}
bool is_zero_constant(const GrowingLengths& at, ValueId id) {
  return is_constant_of(at, id, [](f32 x) { return x == 0; });
}

}  // namespace

bool are_reals(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

// Whether rows that are not in use are zeros behind the node because they are before it. What grows might be an infinity there.
bool GrowingZeros::keeps(const Node& node) const {
  const auto zeros = [&](size_t i) {
    const ValueId id = node.input(i);
    return id != kNoValue && zeros_[id];
  };
  const auto reals = [&](ValueId id) { return are_reals(at_.type(id).dtype); };
  const auto number = [&](size_t i) { return is_finite_constant(at_, node.input(i)); };
  const auto zero = [&](size_t i) { return zeros(i) || is_zero_constant(at_, node.input(i)); };
  switch (growing_rules(*node.op).zeros) {
    case ZerosRule::anything:
      return false;
    case ZerosRule::zeros:
      return zeros(0);
    case ZerosRule::reals:
      return zeros(0) && reals(node.input(0));
    case ZerosRule::factor:
      return reals(node.outputs[0]) && ((zeros(0) && number(1)) || (zeros(1) && number(0)));
    case ZerosRule::dividend:
      return reals(node.outputs[0]) && zeros(0) && number(1);
    case ZerosRule::either:
      return reals(node.outputs[0]) && zero(1) && zero(2);
  }
  return false;
}

void GrowingZeros::pass_on(const Node& node) {
  if (!node.outputs.empty() && node.outputs[0] != kNoValue && !zeros_[node.outputs[0]])
    zeros_[node.outputs[0]] = keeps(node);
}

}  // namespace octet
