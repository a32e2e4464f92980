// SPDX-License-Identifier: Apache-2.0
// Concrete shape inference: from the sizes of the graph's inputs to the type of every value, evaluating shape arithmetic
// on the way. Used on sample sizes by the compiler and on real sizes by the planner.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet {

// What folding may compute: a few bytes of model can ask for hours of arithmetic on constants. What no steps are left for is
// left to the run, where its user decides.
class FoldingBudget {
 public:
  // Steps as work_of() counts them: a nanosecond for one that moves an element, a hundred for one that computes an exponential.
  explicit FoldingBudget(f64 steps) : left_(steps) {}
  // For a graph as it is compiled. The constants that it holds pay by their size for what is made of them.
  explicit FoldingBudget(const Graph& graph);

  // Takes the steps of a node, if so many are left; else remembers it.
  bool take(f64 steps, const Node& node);
  f64 left() const { return left_; }
  // For the user: which node was too much; empty where none was.
  std::string left_out() const;

 private:
  f64 left_;
  f64 most_refused_ = 0;
  std::string refused_;
};

struct PropagateOptions {
  // What a dimension that only data tell is taken to be (the compiler samples two sizes); 0: such a value stays unknown.
  s64 sample = 0;
  // Each such dimension is one larger than the one before.
  bool distinct_samples = false;
  // Values computed from constants alone are evaluated up to this size; larger ones are left to the run.
  s64 fold_bytes = s64{1} << 20;
  // DequantizeLinear of constants stays a node (explicit Q/DQ weights, needed by fusion).
  bool keep_dequantize = false;
  // Convolutions and matrix products of constants stay nodes: at plan time they are work that the user should see.
  bool keep_products = false;
  // Shared with other propagations over the same graph; null: that of one plan.
  FoldingBudget* budget = nullptr;
};

struct Propagated {
  // Of every value. Shape::unknown() where only a run tells; the element type is then as far as known, else f32.
  std::vector<TensorType> types;
  std::vector<Tensor> known;  // the value itself where it does not depend on input data; else empty
  std::vector<bool> from_data;  // its type depends on data: sampled, or unknown
  // Of each node: why its output types are not known (empty where they are), and the value whose data would tell them
  // (kNoValue when only the result does).
  std::vector<std::string> reasons;
  std::vector<ValueId> needs;
};

// `input_shapes` in the order of graph.inputs, concrete. Throws Error naming the node whose inputs do not fit.
Propagated propagate(const Graph& graph, std::span<const Shape> input_shapes,
                     const PropagateOptions& options = {});

// The same from whole types, and values where they are known (empty tensors elsewhere): bodies of control flow.
Propagated propagate(const Graph& graph, std::span<const TensorType> inputs,
                     std::span<const Tensor> known, const PropagateOptions& options);

}  // namespace octet
