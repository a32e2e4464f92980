// SPDX-License-Identifier: Apache-2.0
// A product that is multiplied or divided by a constant for each output channel (the layer scale of transformers and ConvNeXt), or by one number (the
// queries of attention), takes it into its weights and its bias, also from behind what only moves elements. Runs when biases and activations
// are known: their patterns hold constants too.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "ops/attributes/activation.h"
#include "ops/attributes/moves.h"
#include "passes/affine.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

// A product whose result a value has, element for element, maybe in other places.
struct Moved {
  Node* product = nullptr;
  int axis = -1;  // of the value: that of the output channels; -1: they are spread
};

// Each writes all weights anew: of a long chain of factors the others stay.
constexpr int kMostTimes = 4;

// Weights times it stay numbers that f32 holds well.
bool keeps_normal(f64 scale) {
  return scale == 0 || (std::fabs(scale) <= 0x1p32 && std::fabs(scale) >= 0x1p-32);
}

class FactorFolder : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) {
      const bool divides = is_op(node, "Div");
      if (!divides && !is_op(node, "Mul")) continue;
      if (!fold(node)) break;
    }
  }

 private:
  // False when no more rewrites are allowed.
  bool fold(Node& mul) {
    const bool divides = is_op(mul, "Div");
    const size_t side = !divides && graph_.is_constant(mul.inputs[0]) ? 1 : 0;
    const ValueId id = mul.inputs[side];
    const Tensor* factor = graph_.constant_input(mul, 1 - side);
    if (factor == nullptr || factor->dtype() != Dtype::f32) return true;
    if (has_activation(mul) || !keeps_shape(mul, side)) return true;
    const Moved moved = moved_product(id);
    if (moved.product == nullptr) return true;
    const std::optional<Affine> affine = affine_of(*factor, moved, shape_of(id).rank(), divides);
    if (!affine || !takes_affine(graph_, *moved.product, affine->scale.size())) return true;
    if (times_[moved.product->inputs[1]] == kMostTimes) return true;
    if (!rewrites_.allow()) return false;
    scale(*moved.product, *affine);
    rename_moved(*moved.product, id);
    const Node last = *producer_of(graph_, uses_, id);
    replace_fused(mul, last, last);
    return true;
  }

  bool keeps_shape(const Node& mul, size_t side) const {
    const Shape& shape = shape_of(mul.inputs[side]);
    return !shape.is_unknown() && shape == shape_of(mul.outputs[0]);
  }

  // The product behind values that nobody else reads.
  Moved moved_product(ValueId id) {
    std::vector<const Node*> movers;
    Node* node = nullptr;
    for (;; id = node->inputs[0]) {
      node = only_reader(graph_, uses_, id) == nullptr ? nullptr : producer_of(graph_, uses_, id);
      if (node == nullptr || !node->op->traits->permutes) break;
      movers.push_back(node);
    }
    if (node == nullptr || node->outputs[0] != id || !has_constants(*node)) return {};
    Moved moved{node, output_channel_axis(graph_, *node)};
    for (; !movers.empty(); movers.pop_back()) moved.axis = axis_behind(*movers.back(), moved.axis);
    return moved;
  }

  bool has_constants(const Node& product) const {
    const ValueId bias = product.input(2);
    return product.inputs.size() > 1 && graph_.is_constant(product.inputs[1]) &&
           (bias == kNoValue || graph_.is_constant(bias));
  }

  static int axis_behind(const Node& mover, int axis) {
    if (axis < 0 || !is_op(mover, "Transpose")) return -1;
    const auto given = attribute_of<&TransposeAttributes::perm>(mover);
    if (!given) return -1;
    const std::vector<s64>& perm = *given;
    const auto at = std::ranges::find(perm, axis);
    return at == perm.end() ? -1 : static_cast<int>(at - perm.begin());
  }

  // What the constant does to each output channel; nothing where it does more. `rank` is that of the value it multiplies.
  std::optional<Affine> affine_of(const Tensor& factor, const Moved& moved, int rank,
                                  bool divides) const {
    const Shape& result = shape_of(moved.product->outputs[0]);
    if (result.is_unknown() || result.rank() < 2) return {};
    const s64 channels = result[output_channel_axis(graph_, *moved.product)];
    const int axis = moved.axis - (rank - factor.shape().rank());  // of the constant
    const bool by_channel = moved.axis >= 0 && axis >= 0 && factor.elements() == channels &&
                            factor.shape()[axis] == channels;
    if (channels < 1 || (factor.elements() != 1 && !by_channel)) return {};
    const std::span<const f32> values = factor.as<f32>();
    Affine affine;
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      const f64 value{values[values.size() == 1 ? 0 : c]};
      affine.scale.push_back(divides ? 1 / value : value);
      if (!std::isfinite(value) || !keeps_normal(affine.scale.back())) return {};
    }
    affine.shift.assign(affine.scale.size(), 0.0);
    return affine;
  }

  // What lies between is not the model's tensor of that name any more, which may have a range by hand or in a cache.
  void rename_moved(const Node& product, ValueId id) {
    for (const Node* node; (node = producer_of(graph_, uses_, id)) != &product;) {
      id = node->inputs[0];
      std::string name = graph_.value(id).name + ".scaled";
      while (!graph_.rename(id, name)) name += '_';
    }
  }

  void scale(Node& product, const Affine& affine) {
    const std::string name = graph_.value(product.outputs[0]).name;
    const Tensor weights = graph_.value(product.inputs[1]).constant;
    const int times = times_[product.inputs[1]] + 1;
    product.inputs[1] =
        graph_.add_constant(name + ".scaled_weights", scaled_weights(product, weights, affine));
    times_[product.inputs[1]] = times;
    if (product.input(2) == kNoValue) return;
    const Tensor bias = graph_.value(product.inputs[2]).constant;
    product.inputs[2] = graph_.add_constant(name + ".scaled_bias", folded_bias(&bias, affine));
  }

  std::unordered_map<ValueId, int> times_;  // how often these weights have been scaled
};

}  // namespace

void fold_factor(Graph& graph, Rewrites& rewrites) { FactorFolder(graph, rewrites).run(); }

}  // namespace octet
