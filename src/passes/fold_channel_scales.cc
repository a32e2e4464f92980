// SPDX-License-Identifier: Apache-2.0
// A DequantizeLinear with a scale for each channel, before a product that joins channels, gets one scale: what a channel's scale is more
// goes into the weights that meet it. Real weights take any factor, since they get their codes afterwards; weights that are codes take
// whole factors for which they stay codes, so nothing is rounded. Where they do not the product stays real, and fuse_qdq says why. Depthwise
// convolutions read such scales as they are. Runs when join_channel_codes has brought zero points to one.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "graph/op_traits.h"
#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

enum : size_t { kScaledInput, kFoldedWeights };

// The input channel that each weight meets.
struct ScaledChannels {
  s64 count = 0;    // of the input
  s64 own = 1;      // of them that a weight may meet, one group's
  s64 inner = 1;    // weights between neighbours along the input channels
  s64 outputs = 1;  // output channels of a group, where the group follows from the output channel

  s64 of(s64 weight) const {
    const s64 own_channel = weight / inner % own;
    return own == count ? own_channel
                        : weight / (inner * own) / outputs % (count / own) * own + own_channel;
  }
};

class ScaleFolder : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      Node& product = graph_.nodes[at];
      const Node* dq = read(product);
      if (dq == nullptr) continue;
      const std::optional<ValueId> weights = folded_weights(product);
      if (!weights) continue;
      if (!rewrites_.allow()) break;
      rewrite(at, *dq, *weights);
    }
    edit_.apply();
  }

 private:
  // The DequantizeLinear before a product of constant weights that joins channels, if each of those has a scale.
  const Node* read(const Node& product) {
    if (!is_op(product, "Conv") && !is_matrix_product(product)) return nullptr;
    const Node* dq = producer_of(graph_, uses_, product.inputs[kScaledInput]);
    if (dq == nullptr || !is_dequantize(*dq) || graph_.is_constant(dq->inputs[0])) return nullptr;
    std::optional<QuantizedInput> input = read_dequantize(graph_, *dq);
    if (!input || input->scale.elements() < 2 || !find_channels(product)) return nullptr;
    const int rank = graph_.value(input->codes).type.shape.rank();
    const s64 axis = is_matrix_product(product) ? rank - 1 : 1;
    if (input->axis != axis || input->scale.elements() != channels_.count) return nullptr;
    scales_.assign(input->scale.as<f32>().begin(), input->scale.as<f32>().end());
    const auto usable = [](f32 scale) { return std::isnormal(scale) && scale > 0.0f; };
    type_ = {{1.0f, input->zero_point}, graph_.value(input->codes).type.dtype};
    return is_code(type_.dtype) && std::ranges::all_of(scales_, usable) ? dq : nullptr;
  }

  static bool is_matrix_product(const Node& node) { return is_op(node, "MatMul"); }

  bool find_channels(const Node& product) {
    const Shape& w = graph_.value(product.inputs[kFoldedWeights]).type.shape;
    if (w.is_unknown() || w.rank() < 2) return false;
    if (is_matrix_product(product)) {
      const s64 depth = w[w.rank() - 2];
      channels_ = {depth, depth, w[w.rank() - 1], 1};
      return depth > 1;
    }
    const s64 groups = conv_groups(product);
    s64 taps = 1;
    for (int i = 2; i < w.rank(); ++i) taps *= w[i];
    channels_ = {w[1] * groups, w[1], taps, w[0] / groups};
    return w[1] > 1 && w[0] > 0 && w[0] % groups == 0;
  }

  // Real ones, or what stands in the place of their DequantizeLinear; sets the scale of the input.
  std::optional<ValueId> folded_weights(const Node& product) {
    if (const Tensor* real = graph_.constant_input(product, kFoldedWeights))
      return real->dtype() == Dtype::f32 ? std::optional(scaled(product, *real)) : std::nullopt;
    const Node* dq = producer_of(graph_, uses_, product.inputs[kFoldedWeights]);
    if (dq == nullptr || !is_dequantize(*dq)) return {};
    const Tensor* codes = graph_.constant_input(*dq, 0);
    const std::optional<QuantizedInput> weights = read_dequantize(graph_, *dq);
    if (codes == nullptr || codes->dtype() != Dtype::s8 || !weights || weights->zero_point != 0)
      return {};
    std::optional<Tensor> multiplied = multiples(*codes);
    if (!multiplied) return {};
    Node after = *dq;
    after.name = product.name + ".weights";
    after.inputs[0] = graph_.add_constant(product.name + ".weight_codes", *std::move(multiplied));
    after.outputs = {graph_.add_value(after.name, graph_.value(dq->outputs[0]).type)};
    made_.push_back(after);
    return after.outputs[0];
  }

  ValueId scaled(const Node& product, const Tensor& real) {
    type_.params.scale = *std::ranges::max_element(scales_);
    Tensor weights(Dtype::f32, real.shape());
    for (size_t i = 0; i < weights.mutable_as<f32>().size(); ++i) {
      const f64 factor = f64{scales_[channel_of(i)]} / f64{type_.params.scale};
      weights.mutable_as<f32>()[i] = static_cast<f32>(f64{real.as<f32>()[i]} * factor);
    }
    return graph_.add_constant(product.name + ".weights", std::move(weights));
  }

  // Of the least scale; nothing where a channel's is no whole multiple, or a code leaves its type.
  std::optional<Tensor> multiples(const Tensor& codes) {
    type_.params.scale = *std::ranges::min_element(scales_);
    Tensor weights(Dtype::s8, codes.shape());
    for (size_t i = 0; i < weights.mutable_as<s8>().size(); ++i) {
      const f64 factor = f64{scales_[channel_of(i)]} / f64{type_.params.scale};
      const f64 code = static_cast<f64>(codes.as<s8>()[i]) * factor;
      if (factor != std::floor(factor) || code < -128.0 || code > 127.0) return {};
      weights.mutable_as<s8>()[i] = static_cast<s8>(code);
    }
    return weights;
  }

  size_t channel_of(size_t weight) const {
    return static_cast<size_t>(channels_.of(static_cast<s64>(weight)));
  }

  void rewrite(size_t at, const Node& dq, ValueId weights) {
    Node one = make_dequantize(graph_, dq.inputs[0], type_, dq.name + ".one_scale");
    one.origins = dq.origins;
    graph_.nodes[at].inputs[kScaledInput] = one.outputs[0];
    graph_.nodes[at].inputs[kFoldedWeights] = weights;
    edit_.insert_before(at, std::move(one));
    for (Node& made : made_) edit_.insert_before(at, std::move(made));
    made_.clear();
  }

  // Of the product that is looked at.
  ScaledChannels channels_;
  std::vector<f32> scales_;
  CodeType type_;  // of the input, with one scale
  std::vector<Node> made_;
};

}  // namespace

void fold_channel_scales(Graph& graph, Rewrites& rewrites) { ScaleFolder(graph, rewrites).run(); }

}  // namespace octet
