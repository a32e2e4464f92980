// SPDX-License-Identifier: Apache-2.0
// Questions about Q/DQ around the nodes of an imported graph, for the lint.
#pragma once

#include "graph/graph.h"
#include "graph/op_traits.h"
#include "octet/qdq_lint.h"

namespace octet {

// The runtimes that notes are about.
inline constexpr const char* kTensorRT = "tensorrt";
inline constexpr const char* kOnnxRuntime = "onnxruntime";
inline constexpr const char* kOctet = "octet";

enum : size_t { kLinearX, kLinearScale, kLinearZeroPoint };

struct QdqView {
  const Graph& graph;
  const Uses uses;

  explicit QdqView(const Graph& g) : graph(g), uses(g) {}

  const Node* producer(ValueId id) const {
    const s32 at = id == kNoValue ? -1 : uses.producer(id);
    return at < 0 ? nullptr : &graph.nodes[static_cast<size_t>(at)];
  }
  const Node* dequantize_of(ValueId id) const {
    const Node* node = producer(id);
    return node != nullptr && is_dequantize(*node) ? node : nullptr;
  }
  // A real value that a run computes, as far as the import knows types.
  bool is_activation(ValueId id) const { return id != kNoValue && !graph.is_constant(id); }
  bool is_weighted(const Node& node) const { return node.op->traits->macs != nullptr; }
  // Of codes or what QuantizeLinear makes of a constant: weights.
  bool is_constant_codes(const Node& dequantize) const {
    const ValueId codes = dequantize.input(kLinearX);
    if (graph.is_constant(codes)) return true;
    const Node* quantize = producer(codes);
    return quantize != nullptr && is_quantize(*quantize) &&
           graph.is_constant(quantize->input(kLinearX));
  }
};

// Notes about layers: what Q/DQ around a node lacks for it to be INT8 in each runtime.
void note_layers(const QdqView& view, std::vector<QdqNote>& notes);

}  // namespace octet
