// SPDX-License-Identifier: Apache-2.0
// The growing graph while it is written: its nodes, and its values as nodes of it read them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "plan/growing_lengths.h"

namespace octet {

class GrowingValues {
 public:
  // `added`: rows of a run.
  GrowingValues(const Graph& from, const GrowingLengths& lengths, s64 added);

  // A node of the graph's own.
  ValueId add(const OpDef* op, std::vector<ValueId> inputs, const TensorType& type,
              Attrs attrs = {});
  ValueId constant(Tensor tensor);
  ValueId length() const { return length_; }

  // As the nodes of the growing graph read a value.
  ValueId operand(ValueId id);
  // What it is for the longest run: sizes.
  ValueId size_operand(const Node& node, ValueId id);
  // The value with another in rows that are not in use.
  ValueId filled(ValueId value, const TensorType& type, int axis, Tensor filling);
  // QSoftmax is DequantizeLinear, Softmax and QuantizeLinear, with every rounding of the three: what the first of them gives.
  ValueId dequantized(const Node& node, ValueId codes, const TensorType& type);

  Node copy_of(const Node& node);
  void copy(const Node& node);
  // All inputs but the first are sizes.
  void copy_sized(const Node& node);
  void write(Node node) { to_.nodes.push_back(std::move(node)); }
  Node& last() { return to_.nodes.back(); }
  void give(ValueId output) { to_.outputs.push_back(output); }
  // Leaves nothing behind.
  Graph finish();

 private:
  ValueId affine(ValueId id);
  ValueId in_use(s64 rows, int behind);

  const GrowingLengths& at_;
  const s64 added_;
  Graph to_;
  ValueId length_ = kNoValue, limit_ = kNoValue;
  std::map<ValueId, ValueId> affine_;
  std::map<std::pair<s64, int>, ValueId> in_use_;
};

}  // namespace octet
