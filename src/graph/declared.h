// SPDX-License-Identifier: Apache-2.0
// What a model file says about the type of a value that its nodes compute.
#pragma once

#include <memory>
#include <optional>

#include "core/types.h"
#include "graph/graph.h"

namespace octet {

struct DeclaredType {
  std::shared_ptr<const Graph> body;  // in which the value is; null: in the main graph
  ValueId id = kNoValue;
  bool is_output = false;      // of the graph; else a value inside of it
  std::string dtype;           // ONNX's name of it; empty where the file does not say
  std::optional<Dtype> known;  // empty where it is none of ours
  std::optional<Shape> shape;  // negative dimensions may be any
};

}  // namespace octet
