// SPDX-License-Identifier: Apache-2.0
// One graph for many lengths of a decoder's caches. Exporters write a cache as an input that Concat joins with the rows of new tokens, so each length has
// types, and so a plan, of its own. make_growing() writes the same computation over caches of a fixed number of rows, of which a run says how many are in use:
// that length is an input of the graph (docs/adr/0034-growing-caches.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/offer.h"

namespace octet {

// Without memory of the caller's own, caches get rows in multiples of so many: what a token computes in vain is half of that.
inline constexpr s64 kGrowingStep = 64;

// Along `axis` a tensor of the model has the run's length + `extra` rows, and one of the growing graph Growing::rows.
struct GrowingAxis {
  int axis = -1;  // -1: the sizes are the same for all lengths
  s64 extra = 0;

  bool grows() const { return axis >= 0; }
  bool operator==(const GrowingAxis&) const = default;
};

// An input that Concat continues.
struct Cache {
  size_t input = 0;  // of the graph
  int axis = 0;
  u32 node = 0;  // the Concat
};

// Those of the graph whose axis of the Concat is dynamic.
std::vector<Cache> find_caches(const Graph& graph);

struct Growing {
  Graph graph;                // its last input is the length, an s64 scalar
  std::vector<Shape> shapes;  // of its inputs
  s64 least = 0, most = 0;    // lengths that it is for
  s64 rows = 0;
  std::vector<GrowingAxis> inputs, outputs;  // of the model
  std::vector<std::optional<size_t>>
      continues;  // of each output: the input whose rows it has, and those of the run

  // The length of a run over inputs of these shapes, if it is one of those.
  std::optional<s64> length_of(std::span<const Shape> input_shapes) const;
  // Of the model's output in a run of this length.
  Shape output_shape(size_t i, const Shape& whole, s64 length) const;
};

// For runs over inputs of these shapes and of other lengths. `rows`: of the caches; 0: the next multiple of kGrowingStep. A Reject says which node has no form for
// lengths that are not known. Throws Error for shapes that the graph does not take.
using GrowingOrReject = std::variant<Growing, Reject>;
GrowingOrReject make_growing(const Graph& graph, std::span<const Shape> input_shapes, s64 rows = 0);

}  // namespace octet
