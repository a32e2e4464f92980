// SPDX-License-Identifier: Apache-2.0
#include "plan/growing_lengths.h"

#include <algorithm>
#include <cstring>

#include "graph/op_traits.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

struct RuleRow {
  std::string_view op;
  GrowingRules rules;
};

constexpr RuleRow kRules[] = {
#define GROWING(op, rows, known, zeros) \
  {op, {GrowingRule::rows, KnownRule::known, ZerosRule::zeros}},
#include "plan/growing.def"
#undef GROWING
};

std::vector<s64> integers(const Tensor& tensor) {
  if (!tensor) return {};
  if (tensor.dtype() == Dtype::s64) {
    const auto values = tensor.as<s64>();
    return {values.begin(), values.end()};
  }
  if (tensor.dtype() != Dtype::s32) return {};
  const auto values = tensor.as<s32>();
  return {values.begin(), values.end()};
}

bool is_integer_type(Dtype dtype) { return dtype == Dtype::s64 || dtype == Dtype::s32; }

bool are_equal(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// Of an operand of one element, or of as many as the other.
s64 element(const std::vector<s64>& values, size_t i) {
  return values.size() == 1 ? values[0] : values[i];
}
int sign(s64 a, s64 b) { return (a > b ? 1 : 0) - (a < b ? 1 : 0); }

// As two's complement has it, which is what a run would compute.
s64 difference(s64 a, s64 b) { return static_cast<s64>(static_cast<u64>(a) - static_cast<u64>(b)); }

}  // namespace

GrowingRules growing_rules(const OpDef& op) {
  for (const RuleRow& row : kRules) {
    if (row.op == op.name) return row.rules;
  }
  if (op.traits->permutes) return {GrowingRule::moves, KnownRule::linear, ZerosRule::zeros};
  if (op.traits->elementwise || op.quant.kind == QuantKind::table) return {GrowingRule::elements};
  return {};
}

bool keeps_rows(const Shape& from, int axis, const Shape& to, int to_axis) {
  return dims_product(from, 0, axis) == dims_product(to, 0, to_axis) && from[axis] == to[to_axis];
}

GrowingLengths::GrowingLengths(const Graph& graph, At least, At most)
    : graph_(graph), least_(std::move(least)), most_(std::move(most)) {
  axes_.resize(graph.value_count(), -1);
  dependence_.resize(graph.value_count(), Dependence::data);
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    axes_[id] = find_axis(id);
    if (graph.is_constant(id)) dependence_[id] = Dependence::fixed;
  }
  for (const Node& node : graph.nodes) visit(node);
}

int GrowingLengths::find_axis(ValueId id) const {
  const Shape &a = least_.facts.types[id].shape, &b = most_.facts.types[id].shape;
  if (a == b) return -1;
  if (a.rank() != b.rank()) return kManyAxes;
  int found = -1;
  for (int d = 0; d < a.rank(); ++d) {
    if (a[d] == b[d]) continue;
    if (found != -1 || b[d] - a[d] != lengths()) return kManyAxes;
    found = d;
  }
  return found;
}

void GrowingLengths::visit(const Node& node) {
  const bool known =
      std::ranges::all_of(node.outputs, [&](ValueId id) { return id == kNoValue || is_known(id); });
  if (!known) return;
  const Dependence found = of_node(node);
  for (const ValueId id : node.outputs) {
    if (id != kNoValue) dependence_[id] = found;
  }
}

Dependence GrowingLengths::of_node(const Node& node) const {
  if (node.op->traits->reads_types_only)
    return of_integers(node, {GrowingRule::none, KnownRule::linear});
  const auto is_fixed = [&](ValueId id) { return dependence(id) == Dependence::fixed; };
  if (std::ranges::all_of(node.inputs, is_fixed)) return Dependence::fixed;
  if (node.outputs.size() != 1) return Dependence::other;
  const GrowingRules rules = growing_rules(*node.op);
  if (grows(node.outputs[0])) return of_rows(node, rules);
  return of_integers(node, rules);
}

// More rows, and the first as before.
Dependence GrowingLengths::of_rows(const Node& node, GrowingRules rules) const {
  if (axis(node.outputs[0]) < 0) return Dependence::other;
  const auto settled = [&](ValueId id) { return is_settled(id); };
  const auto fixed = [&](size_t i) { return dependence(node.input(i)) == Dependence::fixed; };
  const auto counted = [&](size_t i) { return counts(node.input(i)); };
  bool holds = false;
  switch (rules.rows) {
    case GrowingRule::elements:
      holds = std::ranges::all_of(node.inputs, settled);
      break;
    case GrowingRule::moves:
      holds = is_settled(node.inputs[0]) && counted(1) && moves_rows(node);
      break;
    case GrowingRule::turns:
    case GrowingRule::expands:
      holds = is_settled(node.inputs[0]) && counted(1);
      break;
    case GrowingRule::cuts:
      holds = is_settled(node.inputs[0]) && fixed(1) && counted(2) && fixed(3) && fixed(4) &&
              is_same(node.inputs[0], node.outputs[0]);
      break;
    case GrowingRule::joins:
      holds = std::ranges::all_of(node.inputs, settled) &&
              normalize_axis(attribute_of<&ConcatAttributes::axis>(node),
                             type(node.outputs[0]).shape.rank()) != axis(node.outputs[0]);
      break;
    case GrowingRule::
        sizes:  // Range counts from input 0 by input 2; the other has one value everywhere
      holds = rules.known != KnownRule::range ? counted(0) : fixed(0) && counted(1) && fixed(2);
      break;
    default:
      break;
  }
  return holds ? Dependence::prefix : Dependence::other;
}

// A cut from the first row to behind the last.
bool GrowingLengths::is_same(ValueId a, ValueId b) const {
  return are_equal(least_.facts.known[a], least_.facts.known[b]) &&
         are_equal(most_.facts.known[a], most_.facts.known[b]);
}

bool GrowingLengths::moves_rows(const Node& node) const {
  const ValueId from = node.inputs[0], to = node.outputs[0];
  if (axis(from) < 0 || axis(to) < 0) return false;
  return keeps_rows(type(from).shape, axis(from), type(to).shape, axis(to));
}

// Integers of one shape for both lengths.
Dependence GrowingLengths::of_integers(const Node& node, GrowingRules rules) const {
  const ValueId result = node.outputs[0];
  bool linear = false;
  switch (rules.known) {
    case KnownRule::linear:
    case KnownRule::scaled:
      linear = is_linear(node, rules);
      break;
    case KnownRule::compares:
      if (!is_decided(node)) return Dependence::other;
      return are_equal(least_.facts.known[result], most_.facts.known[result]) ? Dependence::fixed
                                                                              : Dependence::other;
    case KnownRule::chooses:
      linear = dependence(node.inputs[0]) == Dependence::fixed && counts(node.inputs[1]) &&
               counts(node.inputs[2]);
      break;
    case KnownRule::range:
      linear = counts(node.inputs[0]) && counts(node.inputs[1]) &&
               dependence(node.inputs[2]) == Dependence::fixed;
      break;
    case KnownRule::nothing:
      break;
  }
  if (!linear || grows(result) || !is_integer_type(type(result).dtype)) return Dependence::other;
  if (are_equal(least_.facts.known[result], most_.facts.known[result])) return Dependence::fixed;
  const std::vector<s64> from = least_ints(result), to = most_ints(result);
  for (size_t i = 0; i < from.size(); ++i) {
    if (difference(to[i], from[i]) % lengths() != 0) return Dependence::other;
  }
  return Dependence::affine;
}

// Operands are affine where they count, and do not change where they say which elements of others are meant.
bool GrowingLengths::is_linear(const Node& node, GrowingRules rules) const {
  if (node.op->traits->reads_types_only) return axis(node.inputs[0]) != kManyAxes;
  const bool all_count = rules.rows == GrowingRule::elements || rules.rows == GrowingRule::joins;
  int changing = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (dependence(node.inputs[i]) == Dependence::fixed) continue;
    if (dependence(node.inputs[i]) != Dependence::affine || (i > 0 && !all_count)) return false;
    ++changing;
  }
  return changing == 1 || rules.known != KnownRule::scaled;
}

// The sign of the operands' difference is the same for both lengths, and so between them.
bool GrowingLengths::is_decided(const Node& node) const {
  const ValueId a = node.inputs[0], b = node.inputs[1];
  if (!counts(a) || !counts(b)) return false;
  const std::vector<s64> a_least = least_ints(a), b_least = least_ints(b);
  const std::vector<s64> a_most = most_ints(a), b_most = most_ints(b);
  const bool beside = type(a).shape == type(b).shape || a_most.size() == 1 || b_most.size() == 1;
  if (!beside || a_most.empty() || b_most.empty()) return false;
  for (size_t i = 0; i < std::max(a_most.size(), b_most.size()); ++i) {
    if (sign(element(a_least, i), element(b_least, i)) !=
        sign(element(a_most, i), element(b_most, i)))
      return false;
  }
  return true;
}

std::vector<s64> GrowingLengths::least_ints(ValueId id) const {
  return id == kNoValue || !is_known(id) ? std::vector<s64>() : integers(least_.facts.known[id]);
}
std::vector<s64> GrowingLengths::most_ints(ValueId id) const {
  return id == kNoValue || !is_known(id) ? std::vector<s64>() : integers(most_.facts.known[id]);
}

std::optional<ValueId> GrowingLengths::first_unlike(s64 length, const Propagated& facts) const {
  for (ValueId id = 0; id < graph_.value_count(); ++id) {
    Shape expected = type(id).shape;
    if (axis(id) == kManyAxes) continue;
    if (axis(id) >= 0) expected[axis(id)] -= most_.length - length;
    if (facts.types[id].shape != expected) return id;
    const Tensor& known_here = facts.known[id];
    if (dependence(id) == Dependence::fixed && known(id) && !are_equal(known_here, known(id)))
      return id;
    if (dependence(id) != Dependence::affine) continue;
    const std::vector<s64> here = integers(known_here), there = most_ints(id), by = slopes(id);
    if (here.size() != there.size()) return id;
    for (size_t i = 0; i < here.size(); ++i) {
      if (difference(there[i], here[i]) != by[i] * (most_.length - length)) return id;
    }
  }
  return std::nullopt;
}

std::vector<s64> GrowingLengths::slopes(ValueId id) const {
  const std::vector<s64> from = least_ints(id);
  std::vector<s64> slopes = most_ints(id);
  for (size_t i = 0; i < from.size(); ++i) slopes[i] = difference(slopes[i], from[i]) / lengths();
  return slopes;
}

}  // namespace octet
