// SPDX-License-Identifier: Apache-2.0
// What hides keys of Swin's shifted windows is a constant for each window of an image, which exporters of transformers repeat for each image of a batch before they
// add it to scores. Scores get images and windows as two axes for that sum, and the constant stays one image's: else a run would make and read one
// of all images. Runs when types are known.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "passes/axis_parts.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/scores.h"

namespace octet {
namespace {

constexpr s64 kMostMaskElements = 1 << 24;
constexpr int kMostNodes = 8;

class MaskParter : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) part(graph_.nodes[at_]);
    edit_.apply();
  }

 private:
  // Of the dimensions from the second on; 0 where one is not known.
  static s64 behind_first(const Shape& shape) {
    s64 product = 1;
    for (int d = 1; d < shape.rank(); ++d) {
      if (shape[d] <= 0 || product > kMostMaskElements / shape[d]) return 0;
      product *= shape[d];
    }
    return product;
  }

  // The part of a value that its first axis repeats: element i of that axis is element i % n of the part, which has n. Nothing: it is no such value.
  std::optional<Tensor> repeated(ValueId id, int depth = 0) const {
    const Node* node = depth < kMostNodes ? producer_of_constants(id) : nullptr;
    if (node == nullptr || shape_of(id).is_unknown() || behind_first(shape_of(id)) == 0) return {};
    if (is_op(*node, "Expand")) return expanded(*node);
    if (moves_axes(*node) && !is_op(*node, "Transpose")) return reshaped(*node, depth);
    return is_op(*node, "Add") ? added(*node, depth) : std::nullopt;
  }
  const Node* producer_of_constants(ValueId id) const {
    return id == kNoValue || graph_.is_constant(id) ? nullptr : producer_of(graph_, uses_, id);
  }

  // Of a constant along a first axis of one element, or one more.
  std::optional<Tensor> expanded(const Node& expand) const {
    const Tensor* constant = graph_.constant_input(expand, 0);
    const Shape& to = shape_of(expand.outputs[0]);
    if (constant == nullptr || constant->dtype() != Dtype::f32 || to.rank() < 2) return {};
    Shape one{1};
    for (int d = 1; d < to.rank(); ++d) one.push_back(to[d]);
    const Shape& from = constant->shape();
    const bool is_part = from.elements() == one.elements() && from.rank() <= to.rank() &&
                         from.rank() + 1 >= to.rank();
    return is_part ? std::optional(constant->reshaped(one)) : std::nullopt;
  }

  std::optional<Tensor> reshaped(const Node& node, int depth) const {
    const std::optional<Tensor> part = repeated(node.inputs[0], depth + 1);
    const Shape& to = shape_of(node.outputs[0]);
    const s64 behind = behind_first(to);
    if (!part || behind == 0 || part->elements() % behind != 0) return {};
    Shape shape{part->elements() / behind};
    for (int d = 1; d < to.rank(); ++d) shape.push_back(to[d]);
    return part->reshaped(shape);
  }

  // With a constant that is the same for all of the first axis.
  std::optional<Tensor> added(const Node& add, int depth) const {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Tensor* constant = graph_.constant_input(add, i);
      if (constant == nullptr || constant->dtype() != Dtype::f32) continue;
      const std::optional<Tensor> part = repeated(add.inputs[1 - i], depth + 1);
      const Shape &own = constant->shape(), &to = shape_of(add.outputs[0]);
      if (!part || part->shape().rank() != to.rank() || own.rank() > to.rank()) return {};
      if (own.rank() == to.rank() && own[0] != 1) return {};
      const s64 parts = part->shape()[0], each = behind_first(to);
      if (parts > kMostMaskElements / each || !may_fold(parts * each, add)) return {};
      Node sum = node_beside(add, add.op, add.name + ".part", add.inputs);
      sum.outputs = {kNoValue};
      std::vector<Tensor> terms{*part, *part};
      terms[i] = *constant;
      return eval_node(sum, terms)[0];
    }
    return {};
  }

  void part(Node& add) {
    if (!is_op(add, "Add") || add.inputs.size() != 2) return;
    const auto passes_none = [](const Node&) { return false; };
    if (!comes_to_softmax(graph_, uses_, add, passes_none)) return;
    const Shape& whole = shape_of(add.outputs[0]);
    if (whole.is_unknown() || whole.rank() < 3 || behind_first(whole) == 0) return;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (shape_of(add.inputs[1 - i]) != whole) continue;
      const std::optional<Tensor> mask = repeated(add.inputs[i]);
      if (!mask || mask->shape().rank() != whole.rank()) continue;
      if (rewrites_.allow()) replace(add, i, *mask);
      return;
    }
  }

  ValueId reshape_of(const Node& add, const std::string& what, ValueId x, const TensorType& type) {
    const std::vector<s64> sizes = reshape_sizes(type.shape);
    const ValueId shape = graph_.add_constant(add.name + "." + what + "_sizes",
                                              Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes));
    Node node = node_beside(add, find_op("Reshape"), add.name + "." + what, {x, shape});
    node.origins = {};
    node.outputs = {graph_.add_value(node.name, type)};
    const ValueId id = node.outputs[0];
    edit_.insert_before(at_, std::move(node));
    return id;
  }

  void replace(Node& add, size_t at, const Tensor& mask) {
    const Shape whole = shape_of(add.outputs[0]);
    const s64 windows = mask.shape()[0];
    Shape apart{whole[0] > 0 ? whole[0] / windows : Shape::kDynamic, windows};
    for (int d = 1; d < whole.rank(); ++d) apart.push_back(whole[d]);
    const ValueId scores = reshape_of(add, "windows", add.inputs[1 - at], {Dtype::f32, apart});
    Node sum = node_beside(add, add.op, add.name + ".masked", {});
    sum.inputs.resize(2);
    sum.inputs[at] = graph_.add_constant(add.name + ".mask", mask);
    sum.inputs[1 - at] = scores;
    sum.outputs = {graph_.add_value(sum.name, {Dtype::f32, apart})};
    const std::vector<s64> sizes = reshape_sizes(whole);
    add.op = find_op("Reshape");
    add.inputs = {
        sum.outputs[0],
        graph_.add_constant(add.name + ".sizes", Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes))};
    add.attrs = Attrs();
    edit_.insert_before(at_, std::move(sum));
  }
};

}  // namespace

void part_masks(Graph& graph, Rewrites& rewrites) { MaskParter(graph, rewrites).run(); }

}  // namespace octet
