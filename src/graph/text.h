// SPDX-License-Identifier: Apache-2.0
// The text form of a graph: what golden tests compare, dumps show, and an engine file stores (constants apart).
//
//   graph "resnet20"(%input: f32[?,3,32,32]) {
//     const %w: s8[16,3,3,3] = #0
//     const %two: s64[1] = {2}
//     %y: u8[?,16,32,32] @(0.0235, 0) = QConv(%input, %w, _) {pads=[1,1,1,1], mode="x"} name "conv1" from ["/conv1", "/relu1"] as int8 "why"
//     return %y
//   }
//
// A type of unknown rank is f32[*]. An attribute may be a graph (the body of an If): then_branch=graph "name"(...) {...}
// Names are bare when they are [A-Za-z0-9_./-]+, else quoted as JSON strings. Floats print so that they read back equal.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace octet {

struct PrintOptions {
  // Constants with at most this many elements are printed in place; larger ones as #index into `blobs`.
  s64 inline_elements = 16;
  std::vector<Tensor>* blobs =
      nullptr;  // null: large constants print as "..." and the text cannot be parsed back
  bool decisions = true;
};

std::string print(const Graph& graph, const PrintOptions& options = {});
// The value of an attribute, or the elements of a constant, as they stand in such a text; "..." where a constant has more than 16.
std::string print_attribute(const AttrValue& value);
std::string print_elements(const Tensor& tensor);

// Parses the text form. `blob(index, type)` supplies constants printed as #index.
// Throws Error(invalid_model) with line and column. The result is verified.
using BlobSource = std::function<Tensor(s64 index, const TensorType& type)>;
using OpSource = const OpDef* (*)(std::string_view name);  // find_op of ops/registry.h
Graph parse_graph(std::string_view text, OpSource find_op, const BlobSource& blob = nullptr);

}  // namespace octet
