// SPDX-License-Identifier: Apache-2.0
// What TensorRT's inspector says of a layer beside its values: its type, and the parameters of that type.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/tensor.h"

namespace octet {

struct TensorRtKind {
  std::string type;                   // "LayerType"
  nlohmann::ordered_json parameters;  // from "ParameterType" on, in TensorRT's order
};

// A node with the types of its values, rank 0 where one is omitted.
struct TensorRtNode {
  const Graph& graph;
  const Node& node;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;

  bool has_input(size_t i) const { return node.input(i) != kNoValue; }
  // Whether every size is known; else parameters that follow from sizes are left out.
  bool is_static() const;
};

TensorRtKind tensorrt_kind(const TensorRtNode& node);
// A copy into another type, layout or memory: of the model's QuantizeLinear and DequantizeLinear ("QDQ"), or one that was inserted.
TensorRtKind tensorrt_reformat(bool of_model);

}  // namespace octet
