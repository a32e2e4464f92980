// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, as views of what they move: Transpose, Reshape and its kin, Split, and Gather of one index.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "ops/shared/strided.h"

namespace octet {

StridedView dense_view(const Shape& shape);

// Whether the node's data are its first input, and its results may be views of it.
bool makes_views(const Node& node);
// Output `output` of such a node, of known size, as a view of what `input` views; nothing where it is none (a Reshape that would copy).
std::optional<StridedView> view_behind(const Graph& graph, const Node& node, size_t output,
                                       const StridedView& input);
// In another shape: nothing where axes that lie apart would be joined.
std::optional<StridedView> reshaped_view(const StridedView& view, const Shape& shape);
// The other way round, of Transpose or Reshape: where the elements of its input lie in what `output` views of its result.
std::optional<StridedView> view_before(const Graph& graph, const Node& node,
                                       const StridedView& output);

}  // namespace octet
