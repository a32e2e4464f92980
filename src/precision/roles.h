// SPDX-License-Identifier: Apache-2.0
// What precision needs to know about a node's inputs: which of them carry activations that could be codes.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace octet {

// Of a value whose type only a run tells, the element type says nothing.
inline bool is_real(const TensorType& type) {
  return type.dtype == Dtype::f32 && !type.shape.is_unknown();
}

inline bool is_real_activation(const Graph& graph, ValueId id) {
  return id != kNoValue && !graph.is_constant(id) && is_real(graph.value(id).type);
}

// The decision about a node whose result is of this type, which is no f32 tensor.
Decision without_real_type(const TensorType& type);

// Whether the operator has an integer form at all (its weights or mode may still rule it out).
bool has_integer_rule(const Graph& graph, const Node& node);

// Whether what the node makes in INT8 can only be codes: other products may give a real result. A product without a rule of its own is
// made of others by a pass that needs Q/DQ on all sides (ConvTranspose).
bool gives_codes_only(const Node& node, size_t output);

// Whether an INT8 node has codes at this place: of plugins' operators some tensors may stay real.
bool reads_codes(const Node& node, size_t input);
bool gives_codes(const Node& node, size_t output);

// The f32 activations that the node would read as codes.
std::vector<ValueId> code_inputs(const Graph& graph, const Node& node);

// All values whose ranges the node's integer form needs: code_inputs and the result.
std::vector<ValueId> ranged_values(const Graph& graph, const Node& node);

}  // namespace octet
