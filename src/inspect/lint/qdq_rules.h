// SPDX-License-Identifier: Apache-2.0
// What runtimes want of QuantizeLinear and DequantizeLinear, rule by rule: of one pair, its parameters and who reads it.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "inspect/lint/qdq_lint.h"
#include "inspect/lint/qdq_view.h"

namespace octet {

class PairRules {
 public:
  // `defaults`: nodes without a zero point of their own.
  PairRules(const Graph& graph, const QdqView& view, std::span<const std::string> defaults)
      : graph_(graph), view_(view), defaults_(defaults.begin(), defaults.end()) {}

  // Adds the notes of a pair whose role is known. `quantize`: null where codes are constants; `by`: the readers of its reals.
  void note_pair(const Node* quantize, const Node& dequantize, const std::vector<const Node*>& by,
                 QdqPair& pair) const;
  // Of one node alone: its type, zero point, scale and axis.
  void note_parameters(const Node& node, QdqPair& pair) const;

 private:
  void note_scale(const Node& node, const Tensor& scale, QdqPair& pair) const;
  void note_role(const Node& dequantize, const std::vector<const Node*>& by, QdqPair& pair) const;
  void note_weight_axis(const Node& dequantize, const Node& reader, QdqPair& pair) const;
  void note_reader(const Node& reader, QdqPair& pair) const;
  void note_redundant(const Node& quantize, const std::vector<const Node*>& by,
                      QdqPair& pair) const;

  const Graph& graph_;
  const QdqView& view_;
  const std::unordered_set<std::string> defaults_;
};

}  // namespace octet
