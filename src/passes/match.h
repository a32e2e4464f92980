// SPDX-License-Identifier: Apache-2.0
// Helpers that passes share: asking what surrounds a node.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"
#include "graph/graph_edit.h"
#include "graph/op_traits.h"

namespace octet {

inline bool is_op(const Node& node, std::string_view name) { return node.op->name == name; }

// The node producing a value, or null for constants and graph inputs.
Node* producer_of(Graph& graph, const Uses& uses, ValueId id);
// The only node reading a value that is no graph output, or null.
Node* only_reader(Graph& graph, const Uses& uses, ValueId id);

// The element of a constant with exactly one element, as f32 (f32 constants only).
std::optional<f32> scalar_constant(const Graph& graph, ValueId id);

// Positions of the inputs whose elements a node of QuantKind::move_codes moves.
std::vector<size_t> moved_inputs(const Node& node);

}  // namespace octet
