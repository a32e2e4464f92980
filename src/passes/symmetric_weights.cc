// SPDX-License-Identifier: Apache-2.0
// Constant weights behind a DequantizeLinear with zero points become s8 codes without: what kernels multiply by. Where a
// difference does not fit s8 the weights become a sum of s8 parts, and the product reads the input's channels of such weights that
// often; those of a depthwise convolution become s16.
#include <algorithm>
#include <vector>

#include "ops/attributes/moves.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/integer_weights.h"
#include "ops/registry.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

class Rewriter : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& node = graph_.nodes[at_];
      if (node.op->traits->integer_product != nullptr) rewrite(node);
    }
    edit_.apply();
  }

 private:
  const Node* dequantize_of(ValueId id) {
    const Node* node = producer_of(graph_, uses_, id);
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

  void rewrite(Node& node) {
    const Node* weights_dq = dequantize_of(node.input(1));
    const Node* x_dq = dequantize_of(node.input(0));
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
    const std::string_view op = node.op->traits->integer_product->name;
    const auto axes = weight_axes(op, codes);
    if (!axes) return;
    const auto s8s =
        s8_weights(codes, zeros ? &zero : nullptr, *axes, takes_s16_weights(node, op, codes));
    if (!s8s) return;
    const InputChannels channels = input_channels(node, op, codes, *axes);
    const bool once = std::ssize(s8s->inputs) == channels.in_group;
    const bool known = !graph_.value(x_dq->inputs[0]).type.shape.is_unknown();
    if ((!once && !known) || !rewrites_.allow()) return;
    node.inputs[1] = dequantized(
        *weights_dq,
        {graph_.add_constant(node.name + "_centered", s8s->codes), weights_dq->input(1)});
    if (once) return;
    const ValueId x = gathered(*x_dq, channels, s8s->inputs);
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
    const ValueId result = node.outputs[0];
    edit_.insert_before(at_, std::move(node));
    return result;
  }

  ValueId gathered(const Node& dq, const InputChannels& channels, std::span<const s64> inputs) {
    const Value x = graph_.value(dq.inputs[0]);
    TensorType type = x.type;
    const int axis =
        static_cast<int>(channels.axis < 0 ? channels.axis + type.shape.rank() : channels.axis);
    const std::vector<s64> order = repeated_order(channels, inputs);
    type.shape[axis] = std::ssize(order);
    const std::string name = dq.name + "_repeated";
    Node node = node_beside(dq, find_op("GatherChannels"), name, {dq.inputs[0]});
    if (gathers_channels(channels)) {
      set_attribute<&GatherChannelsAttributes::channels>(node.attrs, order);
    } else {
      node.op = find_op("Gather");
      set_attribute<&AxisAttributes::axis>(node.attrs, channels.axis);
      node.inputs.push_back(
          graph_.add_constant(name + ".order", Tensor::of<s64>(Shape{std::ssize(order)}, order)));
    }
    node.outputs = {graph_.add_value(node.name, type)};
    node.decision = {Precision::int8, ReasonCode::moves_codes,
                     "repeats the channels whose weights have nine bits"};
    const ValueId result = node.outputs[0];
    graph_.value(result).quant = x.quant;
    edit_.insert_before(at_, std::move(node));
    return result;
  }
};

}  // namespace

void symmetric_weights(Graph& graph, Rewrites& rewrites) { Rewriter(graph, rewrites).run(); }

}  // namespace octet
