// SPDX-License-Identifier: Apache-2.0
// Identity (also what Dropout becomes) disappears, and so do Concat of one tensor, Cast to the type that its input has, Pad by nothing and Slice of all;
// a graph output keeps its name. So do tables that leave codes as they are.
#include <algorithm>
#include <numeric>

#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

// Dropout that kept its second output, the mask, although nobody reads it.
bool drops_nothing(const Uses& uses, const Node& node) {
  if (!is_op(node, "Dropout") || node.inputs.size() != 1) return false;
  return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId id) {
    return id == kNoValue || (uses.consumers(id).empty() && !uses.is_output(id));
  });
}

// What only data tell of a value's size is not known of its type either: f32 stands for any (graph/propagate.cc).
bool casts_nothing(const Graph& graph, const Node& node) {
  if (!is_op(node, "Cast")) return false;
  const TensorType& type = graph.value(node.inputs[0]).type;
  return !type.shape.is_unknown() && attribute_of<&CastAttributes::to>(node) == type.dtype;
}

bool all_are(const Graph& graph, const Node& node, size_t i, s64 number) {
  const Tensor* all = graph.constant_input(node, i);
  return all != nullptr && all->dtype() == Dtype::s64 &&
         std::ranges::all_of(all->as<s64>(), [&](s64 each) { return each == number; });
}

// What exporters write for images of a multiple of the window.
bool pads_nothing(const Graph& graph, const Node& node) {
  return is_op(node, "Pad") && all_are(graph, node, 1, 0);
}

// What exporters write behind windows of an image that needed no Pad. A dynamic axis may be longer than where it is cut.
bool cuts_nothing(const Graph& graph, const Node& node) {
  const Tensor* axes = is_op(node, "Slice") ? graph.constant_input(node, 3) : nullptr;
  if (axes == nullptr || axes->dtype() != Dtype::s64) return false;
  if (node.input(4) != kNoValue && !all_are(graph, node, 4, 1)) return false;
  const Shape &from = graph.value(node.inputs[0]).type.shape,
              &to = graph.value(node.outputs[0]).type.shape;
  if (from.is_unknown() || to.is_unknown()) return false;
  return std::ranges::all_of(axes->as<s64>(), [&](s64 axis) {
    const int d = static_cast<int>(axis < 0 ? axis + from.rank() : axis);
    return from[d] > 0 && from[d] == to[d];
  });
}

// A product with one positive number, whose codes have the scale of the other side times that number; a Clip beyond all codes.
bool changes_nothing(const Graph& graph, const Node& node) {
  const Tensor* table = is_table(node) ? graph.constant_input(node, 1) : nullptr;
  if (table == nullptr || table->elements() != 256) return false;
  const Dtype dtype = graph.value(node.inputs[0]).type.dtype;
  if (dtype != table->dtype()) return false;
  // The same code may stand for another number: of a mask, 255 - x of codes that begin at 0.
  const auto zero_point = [&](ValueId id) {
    const std::optional<QuantParams>& quant = graph.value(id).quant;
    return quant ? quant->zero_point : 0;
  };
  if (zero_point(node.inputs[0]) != zero_point(node.outputs[0])) return false;
  const CodeRange range = code_range(dtype);
  for (s32 code = range.lo; code <= range.hi; ++code)
    if (code_at(view(*table), table_index(code, dtype)) != code) return false;
  return true;
}

class CopyRemover : GraphPass {
 public:
  CopyRemover(Graph& graph, Rewrites& rewrites)
      : GraphPass(graph, rewrites), stands_for_(graph.value_count()) {
    std::iota(stands_for_.begin(), stands_for_.end(), ValueId{0});
  }

  template <class F>
  void run(const F& is_copy) {
    std::vector<u32> gone;
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      rename_inputs(node);
      if (!is_copy(uses_, node) || !rewrites_.allow()) continue;
      if (!uses_.is_output(node.outputs[0])) {
        stands_for_[node.outputs[0]] = node.inputs[0];
        gone.push_back(n);
      } else if (hand_over_output(node)) {
        gone.push_back(n);
      }
    }
    // Readers before the node that handed its output over.
    for (Node& node : graph_.nodes) rename_inputs(node);
    erase_nodes(graph_, gone);
  }

 private:
  // The node that produces the identity's input produces the graph output directly. Only where nothing but nodes stand
  // before it: an input or constant that is an output as well keeps its Identity.
  bool hand_over_output(const Node& identity) {
    const ValueId from = identity.inputs[0], output = identity.outputs[0];
    Node* before = producer_of(graph_, uses_, from);
    if (before == nullptr || uses_.is_output(from)) return false;
    std::ranges::replace(before->outputs, from, output);
    stands_for_[from] = output;
    return true;
  }

  void rename_inputs(Node& node) const {
    for (ValueId& id : node.inputs) {
      while (id != kNoValue && stands_for_[id] != id) id = stands_for_[id];
    }
  }

  // For the output of a removed node what it copied, which may have been handed over since; else the value itself.
  std::vector<ValueId> stands_for_;
};

}  // namespace

void remove_identity(Graph& graph, Rewrites& rewrites) {
  CopyRemover(graph, rewrites).run([](const Uses& uses, const Node& node) {
    const bool joins_nothing = is_op(node, "Concat") && node.inputs.size() == 1;
    return is_op(node, "Identity") || joins_nothing || drops_nothing(uses, node);
  });
}

// Types, and what follows from shapes, are known from fold_constants on.
void remove_copy(Graph& graph, Rewrites& rewrites) {
  CopyRemover(graph, rewrites).run([&](const Uses&, const Node& node) {
    return casts_nothing(graph, node) || pads_nothing(graph, node) || cuts_nothing(graph, node);
  });
}

void remove_plain_table(Graph& graph, Rewrites& rewrites) {
  CopyRemover(graph, rewrites).run([&](const Uses&, const Node& node) {
    return changes_nothing(graph, node);
  });
}

}  // namespace octet
