// SPDX-License-Identifier: Apache-2.0
// What a graph's values are for two lengths of its caches, and what that says of all lengths between them.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/propagate.h"

namespace octet {

// What growing.def says of an operator.
enum class GrowingRule : u8 {
  none,
  elements,
  moves,
  turns,
  expands,
  product,
  softmax,
  others,
  splits,
  reduces,
  sums,
  picks,
  cuts,
  joins,
  scatters,
  sizes,
};
enum class KnownRule : u8 { nothing, linear, scaled, compares, chooses, range };
enum class ZerosRule : u8 { anything, zeros, reals, factor, dividend, either };
struct GrowingRules {
  GrowingRule rows = GrowingRule::none;
  KnownRule known = KnownRule::nothing;
  ZerosRule zeros = ZerosRule::anything;
};
GrowingRules growing_rules(const OpDef& op);
// Whether rows of one axis are those of another where the elements stay in their order.
bool keeps_rows(const Shape& from, int axis, const Shape& to, int to_axis);

// How a value that follows from sizes depends on the length. Of all lengths, not only of the two.
enum class Dependence : u8 {
  data,    // not known before the run
  fixed,   // not at all
  prefix,  // a longer run has more rows, the first of which are those of a shorter one
  affine,  // each element grows by a fixed amount with each row
  other,   // in another way, or nobody knows: a run computes it
};

class GrowingLengths {
 public:
  // Two lengths, and the types and values that the graph's values have for them.
  struct At {
    s64 length;
    Propagated facts;
  };
  GrowingLengths(const Graph& graph, At least, At most);

  // The axis along which a value has more rows for a longer run; -1: none, kManyAxes: several, or by another number than the length.
  static constexpr int kManyAxes = -2;
  int axis(ValueId id) const { return id == kNoValue ? -1 : axes_[id]; }
  bool grows(ValueId id) const { return axis(id) != -1; }
  Dependence dependence(ValueId id) const {
    return id == kNoValue ? Dependence::fixed : dependence_[id];
  }
  // Fixed or affine: what a size has to be.
  bool counts(ValueId id) const {
    return dependence(id) == Dependence::fixed || dependence(id) == Dependence::affine;
  }
  bool is_settled(ValueId id) const {
    return dependence(id) == Dependence::fixed || dependence(id) == Dependence::prefix;
  }

  const Shape& shape_of_least(ValueId id) const { return least_.facts.types[id].shape; }
  const TensorType& type(ValueId id) const { return most_.facts.types[id]; }  // of the longest run
  const Tensor& known(ValueId id) const { return most_.facts.known[id]; }     // likewise; or empty
  // As integers, empty where they are not known for both lengths.
  std::vector<s64> least_ints(ValueId id) const;
  std::vector<s64> most_ints(ValueId id) const;
  // By how much each element of an affine value grows with a row.
  std::vector<s64> slopes(ValueId id) const;
  // A value whose sizes or elements are not those that follow for a run of another length; none where all are.
  std::optional<ValueId> first_unlike(s64 length, const Propagated& facts) const;
  s64 most() const { return most_.length; }
  s64 lengths() const { return most_.length - least_.length; }

 private:
  int find_axis(ValueId id) const;
  void visit(const Node& node);
  Dependence of_node(const Node& node) const;
  Dependence of_rows(const Node& node, GrowingRules rules) const;
  Dependence of_integers(const Node& node, GrowingRules rules) const;
  bool is_linear(const Node& node, GrowingRules rules) const;
  bool is_decided(const Node& node) const;
  bool is_same(ValueId a, ValueId b) const;
  bool moves_rows(const Node& node) const;
  bool is_known(ValueId id) const { return least_.facts.known[id] && most_.facts.known[id]; }

  const Graph& graph_;
  const At least_, most_;
  std::vector<int> axes_;
  std::vector<Dependence> dependence_;
};

}  // namespace octet
