// SPDX-License-Identifier: Apache-2.0
// Constant weights behind a DequantizeLinear with zero points become s8 codes without: what kernels multiply by. Where a
// difference does not fit s8 the weights become a sum of s8 parts, and the product reads its input's channels that often.
#include <algorithm>
#include <vector>

#include "ops/quantized/epilogue.h"
#include "ops/quantized/integer_weights.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

// The integer operator that the node will become; empty for others.
std::string_view product_of(const Node& node) {
  if (is_op(node, "Conv")) return "QConv";
  return is_op(node, "MatMul") ? "QMatMul" : "";
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph), uses_(graph) {}

  void run(Rewrites& rewrites) {
    const std::vector<Node> original = graph_.nodes;
    for (const Node& node : original) {
      Node copy = node;
      if (!product_of(node).empty()) rewrite(original, copy, rewrites);
      nodes_.push_back(std::move(copy));
    }
    graph_.nodes = std::move(nodes_);
  }

 private:
  const Node* dequantize_of(const std::vector<Node>& nodes, ValueId id) const {
    const s32 at = id == kNoValue ? -1 : uses_.producer(id);
    const Node* node = at < 0 ? nullptr : &nodes[static_cast<size_t>(at)];
    return node != nullptr && is_dequantize(*node) ? node : nullptr;
  }

  // One zero point in the middle of u8, or none in s8: fusion takes these as they are.
  static bool is_symmetric(const Tensor& codes, const Tensor* zero_points) {
    if (zero_points == nullptr) return codes.dtype() == Dtype::s8;
    const s32 center = codes.dtype() == Dtype::u8 ? 128 : 0;
    const bool all = zero_points->elements() == 1 || center == 0;
    for (size_t i = 0; i < static_cast<size_t>(zero_points->elements()); ++i) {
      if (code_at(view(*zero_points), i) != center) return false;
    }
    return all;
  }

  void rewrite(const std::vector<Node>& original, Node& node, Rewrites& rewrites) {
    const Node* weights_dq = dequantize_of(original, node.input(1));
    const Node* x_dq = dequantize_of(original, node.input(0));
    if (weights_dq == nullptr || x_dq == nullptr || !graph_.is_constant(weights_dq->input(0)) ||
        graph_.is_constant(x_dq->input(0)) || !code_type(graph_, *x_dq))
      return;
    const bool zeros = weights_dq->input(2) != kNoValue;
    if (zeros && !graph_.is_constant(weights_dq->input(2))) return;
    const Tensor codes = graph_.value(weights_dq->input(0)).constant;
    const Tensor zero = zeros ? graph_.value(weights_dq->input(2)).constant : Tensor();
    if (!is_code(codes.dtype()) || (zeros && zero.dtype() != codes.dtype()) ||
        is_symmetric(codes, zeros ? &zero : nullptr))
      return;
    const std::string_view op = product_of(node);
    const auto axes = weight_axes(op, codes);
    if (!axes) return;
    const auto s8s = s8_weights(codes, zeros ? &zero : nullptr, *axes);
    const bool known = !graph_.value(x_dq->inputs[0]).type.shape.is_unknown();
    if (!s8s || (s8s->parts > 1 && !known) || !rewrites.allow()) return;
    node.inputs[1] = dequantized(
        *weights_dq, {graph_.add_constant(node.name + "_s8", s8s->codes), weights_dq->input(1)});
    if (s8s->parts == 1) return;
    const InputChannels channels = input_channels(node, op, codes, *axes);
    const ValueId x = gathered(*x_dq, channels, s8s->parts);
    std::vector<ValueId> inputs = x_dq->inputs;
    inputs[0] = x;
    node.inputs[0] = dequantized(*x_dq, std::move(inputs));
  }

  // The same DequantizeLinear of other codes.
  ValueId dequantized(const Node& like, std::vector<ValueId> inputs) {
    Node node = like;
    const Shape shape = graph_.value(inputs[0]).type.shape;
    node.name += "_again";
    node.inputs = std::move(inputs);
    node.outputs = {graph_.add_value(node.name, {Dtype::f32, shape})};
    nodes_.push_back(node);
    return node.outputs[0];
  }

  ValueId gathered(const Node& dq, const InputChannels& channels, s64 parts) {
    const Value x = graph_.value(dq.inputs[0]);
    TensorType type = x.type;
    const int axis =
        static_cast<int>(channels.axis < 0 ? channels.axis + type.shape.rank() : channels.axis);
    if (type.shape[axis] >= 0) type.shape[axis] *= parts;
    Node node;
    node.op = find_op("Gather");
    node.name = dq.name + "_repeated";
    node.inputs = {dq.inputs[0],
                   graph_.add_constant(node.name + ".order", repeated_order(channels, parts))};
    node.outputs = {graph_.add_value(node.name, type)};
    node.attrs.set("axis", channels.axis);
    node.origins = dq.origins;
    graph_.value(node.outputs[0]).quant = x.quant;
    nodes_.push_back(node);
    return node.outputs[0];
  }

  Graph& graph_;
  Uses uses_;
  std::vector<Node> nodes_;
};

}  // namespace

void symmetric_weights(Graph& graph, Rewrites& rewrites) { Rewriter(graph).run(rewrites); }

}  // namespace octet
