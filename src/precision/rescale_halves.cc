// SPDX-License-Identifier: Apache-2.0
// Weights that are too small for f16 beside others that have room: the channels of a product take a power of two more, and the product
// that alone reads them takes it away again.
#include <cmath>
#include <limits>
#include <unordered_set>

#include "ops/attributes/window.h"
#include "ops/shared/activation.h"
#include "passes/match.h"
#include "precision/halves.h"

namespace octet {
namespace {

constexpr int kMostShift = 40;

// What f16 makes worse of the elements.
s64 lost(std::span<f32* const> elements, int shift) {
  s64 count = 0;
  for (const f32* x : elements) {
    const f32 moved = std::ldexp(*x, shift);
    if (std::ldexp(moved, -shift) != *x) return std::numeric_limits<s64>::max();
    const f32 half = std::fabs(static_cast<f32>(f16(moved)));
    count += moved != 0 && (half < 0x1p-14f || std::isinf(half)) ? 1 : 0;
  }
  return count;
}

// Two products, the second of which alone reads the first's result, and their weights by channel of that value.
class Pair {
 public:
  Pair(Graph& graph, Node& first, Node& second) : graph_(graph), first_(first), second_(second) {}

  bool fits() const {
    const Tensor* a = weights(first_);
    const Tensor* b = weights(second_);
    if (a == nullptr || b == nullptr || first_.input(3) != kNoValue) return false;
    if (!a->shape().is_static() || first_.op != second_.op) return false;
    const bool conv = is_op(first_, "Conv");
    if (!conv && (!is_op(first_, "MatMul") || a->shape().rank() != 2 || b->shape().rank() != 2))
      return false;
    const Activation::Kind kind = activation_of(first_).kind;
    if (kind == Activation::Kind::clip) return false;
    if (second_.inputs[0] != first_.outputs[0]) return false;
    for (size_t i = 1; i < second_.inputs.size(); ++i) {
      if (second_.inputs[i] == first_.outputs[0]) return false;
    }
    const Tensor* bias = weights(first_, 2);
    if (first_.input(2) != kNoValue && (bias == nullptr || bias->elements() != channels()))
      return false;
    return channels() == read_channels();
  }

  void rescale() {
    const Node first = first_, second = second_;
    own_weights();
    bool changed = false;
    for (s64 c = 0; c < channels(); ++c) changed = rescale_channel(c) || changed;
    if (changed) return;
    first_.inputs = first.inputs;
    second_.inputs = second.inputs;
  }

 private:
  const Tensor* weights(const Node& node, size_t i = 1) const {
    const Tensor* tensor = graph_.constant_input(node, i);
    return tensor != nullptr && tensor->dtype() == Dtype::f32 ? tensor : nullptr;
  }
  bool conv() const { return is_op(first_, "Conv"); }
  s64 channels() const { return weights(first_)->shape()[conv() ? 0 : 1]; }
  s64 read_channels() const {
    const Shape& shape = weights(second_)->shape();
    return conv() ? shape[1] * conv_groups(second_) : shape[0];
  }

  // Other readers of the constants keep theirs.
  void own_weights() {
    for (Node* node : {&first_, &second_}) {
      const size_t count = node == &first_ ? node->inputs.size() : 2;
      for (size_t i = 1; i < count; ++i) {
        ValueId& id = node->inputs[i];
        if (id == kNoValue) continue;
        const std::string name = graph_.value(id).name + ".rescaled";
        id = graph_.add_constant(name, graph_.value(id).constant.clone());
      }
    }
  }

  // `count` runs of `run` elements, `step` apart.
  struct Runs {
    s64 begin, step, run, count;
  };
  static void take(Tensor& tensor, const Runs& runs, std::vector<f32*>& out) {
    f32* data = tensor.mutable_as<f32>().data() + runs.begin;
    for (s64 i = 0; i < runs.count; ++i) {
      for (s64 k = 0; k < runs.run; ++k) out.push_back(data + i * runs.step + k);
    }
  }

  Tensor& tensor(const Node& node, size_t i) { return graph_.value(node.inputs[i]).constant; }

  std::vector<f32*> written(s64 c) {
    std::vector<f32*> elements;
    Tensor& w = tensor(first_, 1);
    if (conv()) {
      const s64 row = w.elements() / channels();
      take(w, {c * row, 0, row, 1}, elements);
    } else {
      take(w, {c, channels(), 1, w.shape()[0]}, elements);
    }
    if (first_.input(2) != kNoValue) take(tensor(first_, 2), {c, 0, 1, 1}, elements);
    return elements;
  }

  std::vector<f32*> read(s64 c) {
    std::vector<f32*> elements;
    Tensor& w = tensor(second_, 1);
    if (!conv()) {
      const s64 row = w.shape()[1];
      take(w, {c * row, 0, row, 1}, elements);
      return elements;
    }
    const s64 groups = conv_groups(second_), in = w.shape()[1];
    const s64 out = w.shape()[0] / groups, taps = w.elements() / (w.shape()[0] * in);
    take(w, {(c / in * out * in + c % in) * taps, in * taps, taps, out}, elements);
    return elements;
  }

  bool rescale_channel(s64 c) {
    const std::vector<f32*> a = written(c), b = read(c);
    const s64 before = lost(a, 0) + lost(b, 0);
    s64 least = before;
    int best = 0;
    for (int size = 1; size <= kMostShift && least > 0; ++size) {
      for (const int shift : {size, -size}) {
        const s64 in_a = lost(a, shift), in_b = lost(b, -shift);
        if (in_a >= least || in_b >= least - in_a) continue;
        least = in_a + in_b;
        best = shift;
      }
    }
    if (best == 0) return false;
    for (f32* x : a) *x = std::ldexp(*x, best);
    for (f32* x : b) *x = std::ldexp(*x, -best);
    return true;
  }

  Graph& graph_;
  Node& first_;
  Node& second_;
};

}  // namespace

Graph rescaled_for_halves(Graph graph, std::span<const size_t> layers) {
  const std::unordered_set<size_t> chosen(layers.begin(), layers.end());
  const Uses uses(graph);
  for (const size_t n : layers) {
    Node& first = graph.nodes[n];
    const s32 reader = uses.only_consumer(first.outputs[0]);
    if (reader < 0 || !chosen.contains(static_cast<size_t>(reader))) continue;
    Pair pair(graph, first, graph.nodes[static_cast<size_t>(reader)]);
    if (pair.fits()) pair.rescale();
  }
  remove_dead_nodes(graph);  // the copies that were not needed, and what others replaced
  return graph;
}

}  // namespace octet
