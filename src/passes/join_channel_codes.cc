// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear with a scale and a zero point for each channel, as some quantizers put before depthwise convolutions. A channel
// that was never seen alive gets another zero point than the rest, while kernels read codes with one. Values that are never
// negative have u8 codes with zero point 0 that mean the same: q - zero_point, at most the highest code less the zero point. Where
// that is below 255 in some channel, a Min of codes follows. The producer's own upper bound is a code of each channel, too, and goes
// into that Min, so the producer is left with a plain Relu. Runs before fuse_qdq.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/rounding.h"
#include "graph/op_traits.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "ops/shared/activation.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

constexpr s32 kHighest = 255;  // of u8

bool same_constant(const Tensor* a, const Tensor* b) {
  return a != nullptr && b != nullptr && a->dtype() == b->dtype() &&
         a->elements() == b->elements() && std::memcmp(a->data(), b->data(), a->bytes()) == 0;
}

void leave_relu(Attrs& attrs) {
  erase_attribute<&ActivationAttributes::activation_min>(attrs);
  erase_attribute<&ActivationAttributes::activation_max>(attrs);
  set_attribute<&ActivationAttributes::activation>(attrs, Activation::Kind::relu);
}

class Joiner : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      Node& quantize = graph_.nodes[at_];
      if (!is_quantize(quantize) || !read(quantize)) continue;
      Node* producer = producer_of(graph_, uses_, quantize.inputs[0]);
      if (producer == nullptr || !never_negative(*producer)) continue;
      const bool bounded = take_bound(quantize, *producer);
      if (!bounded &&
          std::ranges::all_of(zero_points_, [&](s32 z) { return z == zero_points_[0]; }))
        continue;
      if (!rewrites_.allow()) break;
      if (bounded) leave_relu(producer->attrs);
      rewrite(quantize);
    }
    edit_.apply();
  }

 private:
  // Scales and zero points along axis 1, which all readers of the codes have as well.
  bool read(const Node& quantize) {
    const Tensor* scale = graph_.constant_input(quantize, 1);
    const Tensor* zero = graph_.constant_input(quantize, 2);
    const ValueId codes = quantize.outputs[0];
    const TensorType& type = graph_.value(codes).type;
    if (scale == nullptr || zero == nullptr || scale->dtype() != Dtype::f32) return false;
    if (type.shape.is_unknown() || type.shape.rank() < 3 || !is_code(type.dtype)) return false;
    const s64 channels = scale->elements();
    if (scale->shape().rank() != 1 || channels < 2 || zero->elements() != channels) return false;
    if (attribute_of<&ScaleAttributes::axis>(quantize) != 1 ||
        attribute_of<&ScaleAttributes::block_size>(quantize) != 0)
      return false;
    if (uses_.is_output(codes) || uses_.consumers(codes).empty()) return false;
    for (u32 reader : uses_.consumers(codes)) {
      const Node& node = graph_.nodes[reader];
      if (!is_dequantize(node) || attribute_of<&ScaleAttributes::axis>(node) != 1 ||
          !same_constant(graph_.constant_input(node, 1), scale) ||
          !same_constant(graph_.constant_input(node, 2), zero))
        return false;
    }
    zero_points_.clear();
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
      zero_points_.push_back(code_at(view(*zero), c));
    const s32 highest = code_range(type.dtype).hi;
    upper_.assign(zero_points_.size(), kHighest);
    for (size_t c = 0; c < upper_.size(); ++c) upper_[c] = highest - zero_points_[c];
    return true;
  }

  bool never_negative(const Node& node) const {
    if (node.op->traits->takes_activation) return activation_of(node).min >= 0.0f;
    if (is_op(node, "Clip")) {
      const auto low = scalar_constant(graph_, node.input(1));
      return low && *low >= 0.0f;
    }
    return is_op(node, "Relu");
  }

  // A convolution clamped to [0, max]: max becomes a code of each channel.
  bool take_bound(const Node& quantize, const Node& producer) {
    if (!is_op(producer, "Conv") || !is_op_read_once(producer)) return false;
    const Activation activation = activation_of(producer);
    if (activation.kind != Activation::Kind::clip || activation.min != 0.0f ||
        std::isinf(activation.max))
      return false;
    const auto scales = graph_.constant_input(quantize, 1)->as<f32>();
    for (size_t c = 0; c < upper_.size(); ++c)
      upper_[c] = std::min(upper_[c], quantize_bound(activation.max, scales[c]));
    return true;
  }

  static s32 quantize_bound(f32 bound, f32 scale) {
    return octet::quantize(bound, scale, 0, 0, kHighest);
  }

  bool is_op_read_once(const Node& node) const { return uses_.only_consumer(node.outputs[0]) >= 0; }

  void rewrite(Node& quantize) {
    const s64 channels = std::ssize(upper_);
    const ValueId old = quantize.outputs[0];
    const TensorType type{Dtype::u8, graph_.value(old).type.shape};
    const std::string name = graph_.value(old).name;
    const ValueId zeros = graph_.add_constant(name + ".zeros", Tensor(Dtype::u8, {channels}));
    quantize.inputs.resize(3, kNoValue);
    quantize.inputs[2] = zeros;
    quantize.outputs[0] = graph_.add_value(name + ".joined", type);
    const ValueId codes = bounded_codes(quantize, type);
    for (u32 reader : uses_.consumers(old)) {
      Node& dequantize = graph_.nodes[reader];
      dequantize.inputs[0] = codes;
      dequantize.inputs[2] = zeros;
    }
  }

  // The codes that `quantize` makes, none above the upper one of its channel.
  ValueId bounded_codes(const Node& quantize, const TensorType& type) {
    const ValueId codes = quantize.outputs[0];
    if (std::ranges::all_of(upper_, [](s32 code) { return code >= kHighest; })) return codes;
    Shape shape = type.shape;
    for (int i = 0; i < shape.rank(); ++i) shape[i] = i == 1 ? std::ssize(upper_) : 1;
    Tensor upper(Dtype::u8, shape);
    std::ranges::transform(upper_, upper.mutable_as<u8>().begin(),
                           [](s32 code) { return static_cast<u8>(code); });
    Node min = node_beside(quantize, find_op("Min"), quantize.name + "_bounded", {codes});
    min.inputs.push_back(graph_.add_constant(quantize.name + ".upper", std::move(upper)));
    min.outputs = {graph_.add_value(min.name, type)};
    min.decision = {Precision::int8, ReasonCode::qdq_in_model,
                    "the highest codes that the model has for each channel"};
    const ValueId result = min.outputs[0];
    edit_.insert_after(at_, std::move(min));
    return result;
  }

  // Of the QuantizeLinear that is looked at, for each channel: its zero point, and its highest code less that.
  std::vector<s32> zero_points_;
  std::vector<s32> upper_;
};

}  // namespace

void join_channel_codes(Graph& graph, Rewrites& rewrites) { Joiner(graph, rewrites).run(); }

}  // namespace octet
