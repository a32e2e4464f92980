// SPDX-License-Identifier: Apache-2.0
// Two constants that are added one after the other become one, also where a Reshape between the sums parts axes before those of the first constant: to the scores
// of Swin's shifted windows the bias of positions is added first and, for each window of an image, what hides neighbours of elsewhere. Kernels of
// attention have one sum. Runs when types are known.
#include <algorithm>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "ops/shared/strided.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/scores.h"

namespace octet {
namespace {

// A sum of [heads, n, n] and [windows, 1, n, n] has windows x heads x n x n elements. Up to kFewElements (4 MiB) it may be any number of times as large as
// the two constants, so are all of Swin for images of 224 x 224; above, kMostGrowth times, and never more than kMostElements.
constexpr s64 kMostElements = 1 << 24;
constexpr s64 kFewElements = 1 << 20;
constexpr s64 kMostGrowth = 4;

class SumJoiner : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) join(node);
  }

 private:
  // An Add of f32 and a constant, which input that is; -1: it is none.
  int constant_of(const Node& add) const {
    if (!is_op(add, "Add") || add.inputs.size() != 2) return -1;
    if (shape_of(add.outputs[0]).is_unknown()) return -1;  // the constant may add axes
    for (const int i : {0, 1}) {
      const Tensor* constant = graph_.constant_input(add, static_cast<size_t>(i));
      const bool adds =
          constant != nullptr && constant->dtype() == Dtype::f32 &&
          !graph_.is_constant(add.inputs[static_cast<size_t>(1 - i)]) &&
          shape_of(add.inputs[static_cast<size_t>(1 - i)]) == shape_of(add.outputs[0]);
      if (adds) return i;
    }
    return -1;
  }

  // How many of the last axes a Reshape leaves as they are.
  static int same_last_axes(const Shape& a, const Shape& b) {
    int same = 0;
    while (same < std::min(a.rank(), b.rank()) && a[a.rank() - 1 - same] == b[b.rank() - 1 - same])
      ++same;
    return same;
  }

  // A constant without its first axes, which are of one element, so that at most `most` are left; empty where they are more.
  static Tensor last_axes(const Tensor& constant, int most) {
    Shape shape;
    const int first = std::max(0, constant.shape().rank() - most);
    for (int d = 0; d < constant.shape().rank(); ++d) {
      if (d < first && constant.shape()[d] != 1) return {};
      if (d >= first) shape.push_back(constant.shape()[d]);
    }
    return constant.reshaped(shape);
  }

  void join(Node& outer) {
    const int own = constant_of(outer);
    if (own < 0) return;
    const ValueId id = outer.inputs[static_cast<size_t>(1 - own)];
    Node* between = uses_.only_consumer(id) < 0 ? nullptr : producer_of(graph_, uses_, id);
    if (between == nullptr) return;
    Node* inner = between;
    int axes = shape_of(id).rank();
    if (is_op(*between, "Reshape")) {
      const ValueId before = between->inputs[0];
      if (shape_of(before).is_unknown() || uses_.only_consumer(before) < 0) return;
      axes = same_last_axes(shape_of(before), shape_of(id));
      inner = producer_of(graph_, uses_, before);
    }
    const int earlier = inner == nullptr ? -1 : constant_of(*inner);
    // Sums of other networks keep their order, and with it their bits.
    const auto is_sum = [&](const Node& node) { return constant_of(node) >= 0; };
    if (earlier < 0 || !comes_to_softmax(graph_, uses_, outer, is_sum)) return;
    const Tensor& constant = *graph_.constant_input(outer, static_cast<size_t>(own));
    const Tensor first =
        last_axes(*graph_.constant_input(*inner, static_cast<size_t>(earlier)), axes);
    if (!first || !may_join(outer, first, constant) || !rewrites_.allow()) return;
    prepend_origins(outer, *inner);
    Node sum = node_beside(
        outer, outer.op, outer.name + ".sum",
        {inner->inputs[static_cast<size_t>(earlier)], outer.inputs[static_cast<size_t>(own)]});
    sum.outputs = {kNoValue};
    outer.inputs[static_cast<size_t>(own)] =
        graph_.add_constant(sum.name, eval_node(sum, std::vector<Tensor>{first, constant})[0]);
    const ValueId scores = inner->inputs[static_cast<size_t>(1 - earlier)];
    (between == inner ? outer.inputs[static_cast<size_t>(1 - own)] : between->inputs[0]) = scores;
  }

  bool may_join(const Node& add, const Tensor& a, const Tensor& b) const {
    const s64 joined = broadcast_shapes(a.shape(), b.shape()).elements();
    const s64 most = std::max(kFewElements, kMostGrowth * (a.elements() + b.elements()));
    return joined <= std::min(most, kMostElements) && may_fold(joined, add);
  }
};

}  // namespace

void join_sums(Graph& graph, Rewrites& rewrites) { SumJoiner(graph, rewrites).run(); }

}  // namespace octet
