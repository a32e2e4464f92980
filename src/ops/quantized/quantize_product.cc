// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes/codes.h"
#include "ops/attributes/window.h"
#include "ops/quantized/integer_weights.h"
#include "ops/quantized/quantize_node.h"
#include "ops/quantized/quantize_weights.h"
#include "ops/shared/float_io.h"
#include "ops/shared/matmul.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kResidual };

class Builder {
 public:
  Builder(const QuantizeRequest& request, const ProductRule& rule,
          std::span<const f32> output_scales)
      : request_(request), rule_(rule), output_scales_(output_scales) {}

  QuantizeResult build();

 private:
  // Keeps the reason of a check; true where there is none.
  bool passes(std::string reason) {
    reject_ = std::move(reason);
    return reject_.empty();
  }
  bool refuse(std::string reason) { return passes(std::move(reason)); }
  const QuantizedInput& input(size_t i) const { return request_.inputs[i]; }
  bool has_codes(size_t i) const {
    return i < request_.inputs.size() && input(i).codes != kNoValue;
  }
  // The constant codes behind input i, or null.
  const Tensor* constant_codes(size_t i) const {
    return has_codes(i) && request_.graph.is_constant(input(i).codes)
               ? &request_.graph.value(input(i).codes).constant
               : nullptr;
  }
  s32 max_magnitude(size_t i) const {
    const CodeRange codes = code_range(codes_dtype(request_, i));
    return std::max(input(i).zero_point - codes.lo, codes.hi - input(i).zero_point);
  }

  s64 lone_channels() const;
  bool check_activations();
  bool check_output_scales();
  void spread_input_scales();
  bool constant_weights();
  bool real_weights(const Tensor& weights);
  bool coded_weights(const Tensor& codes);
  bool coded_scales();
  bool coded_bias();
  void bring_biases_nearer();
  bool raise_scale(size_t channel);
  bool activation_weights();
  bool multipliers();
  Node node();

  const QuantizeRequest& request_;
  const ProductRule& rule_;
  std::span<const f32> output_scales_;
  std::string reject_;
  Channels channels_;
  ProductInput x_;
  QuantizedWeights weights_;
  std::vector<f64> wide_bias_;  // of real biases over weights in codes, before they saturate
  std::vector<f32> multipliers_;
};

Channels channels_of(const Shape& weights, int axis) {
  if (weights.rank() < 2) return {1, std::max<s64>(weights.elements(), 1)};
  if (axis < 0) axis += weights.rank();
  Channels channels{weights[axis], 1};
  for (int i = axis + 1; i < weights.rank(); ++i) channels.inner *= weights[i];
  return channels;
}

// The input channels of a convolution none of whose sums joins two of them (depthwise); else 1.
s64 Builder::lone_channels() const {
  const ValueId id = has_codes(kWeights) ? input(kWeights).codes : request_.node.input(kWeights);
  const Shape& shape = request_.graph.value(id).type.shape;
  const s64 groups = conv_groups(request_.node);
  const bool lone = rule_.op == "QConv" && request_.graph.is_constant(id) && shape.rank() >= 3 &&
                    shape[1] == 1 && shape[0] % groups == 0 && input(kX).axis == 1;
  return lone ? groups : 1;
}

bool Builder::check_output_scales() {
  if (output_scales_.empty()) return true;
  const ValueId weights =
      has_codes(kWeights) ? input(kWeights).codes : request_.node.input(kWeights);
  const Shape& shape = request_.graph.value(weights).type.shape;
  if (shape.rank() < 3 || shape[0] != std::ssize(output_scales_))
    return refuse(fmt::format("its output has {} scales", output_scales_.size()));
  if (request_.node.input(kResidual) != kNoValue)
    return refuse("its output has a scale for each channel, and a sum is in it");
  const Activation activation = activation_of(request_.node);
  const bool relu = activation.min == 0.0f && std::isinf(activation.max);
  if (activation.is_clamp() && !relu)
    return refuse("its output has a scale for each channel, and bounds that are no codes of all");
  for (f32 scale : output_scales_) {
    if (!std::isnormal(scale) || scale < 0.0f)
      return refuse(fmt::format("the scale {} of its output is not a positive number", scale));
  }
  return true;
}

bool Builder::check_activations() {
  const s64 channels = has_codes(kX) ? lone_channels() : 1;
  if (has_codes(kX) && channels == 1 && input(kX).scale.elements() > 1 && constant_codes(kWeights))
    return refuse(
        fmt::format("input 0 has {} scales, whose ratios its weights, which are codes, cannot take "
                    "without being rounded; one scale or real weights have an integer form",
                    input(kX).scale.elements()));
  if (!passes(unreadable_codes(request_, kX, channels))) return false;
  if (request_.graph.is_constant(input(kX).codes)) return refuse("its first operand is constant");
  if (request_.node.input(kResidual) != kNoValue &&
      !passes(unreadable_codes(request_, kResidual))) {
    return false;
  }
  x_ = {input(kX).scalar_scale(), max_magnitude(kX)};
  return passes(unwritable_output(request_)) && check_output_scales();
}

bool Builder::real_weights(const Tensor& weights) {
  std::vector<f32> bias;
  if (const ValueId id = request_.node.input(kBias); id != kNoValue && !has_codes(kBias)) {
    if (!request_.graph.is_constant(id)) return refuse("its bias is computed at run time");
    const FloatInput values(view(request_.graph.value(id).constant));
    bias.assign(values.values().begin(), values.values().end());
  }
  weights_ = quantize_weights(weights, bias, channels_, x_, request_.weight_codes);
  return passes(weights_.reject);
}

bool Builder::coded_scales() {
  const FloatInput scales(view(input(kWeights).scale));
  const Shape& shape = request_.graph.value(input(kWeights).codes).type.shape;
  if (scales.values().size() != 1) {
    const s64 wanted =
        rule_.channel_axis < 0 ? shape.rank() + rule_.channel_axis : rule_.channel_axis;
    const s64 axis =
        input(kWeights).axis < 0 ? input(kWeights).axis + shape.rank() : input(kWeights).axis;
    if (axis != wanted || std::ssize(scales.values()) != channels_.count) {
      return refuse(
          fmt::format("its weights have {} scales along axis {}, not one for each output "
                      "channel",
                      scales.values().size(), axis));
    }
  }
  for (s64 c = 0; c < channels_.count; ++c) {
    weights_.scales.push_back(scales[scales.values().size() == 1 ? 0 : c]);
    if (!std::isnormal(weights_.scales.back()) || weights_.scales.back() < 0.0f) {
      return refuse(
          fmt::format("the weight scale {} is not a positive number", weights_.scales.back()));
    }
  }
  return true;
}

bool Builder::coded_weights(const Tensor& codes) {
  const bool unsigned_codes = codes.dtype() == Dtype::u8;
  if (codes.dtype() == Dtype::s16 && takes_s16_weights(request_.node, rule_.op, codes)) {
    weights_.codes = codes;  // symmetric_weights made them
    return coded_scales();
  }
  if (!unsigned_codes && codes.dtype() != Dtype::s8) {
    return refuse(fmt::format("its weights are {}, not u8 or s8", dtype_name(codes.dtype())));
  }
  const bool per_tensor = input(kWeights).scale.elements() == 1;
  const s32 zero_point = per_tensor ? input(kWeights).zero_point : 0;
  if (zero_point != (unsigned_codes ? 128 : 0) ||
      (!per_tensor && !input(kWeights).zero_points_are_zero)) {
    return refuse(fmt::format("its {} weights have a zero point other than {}",
                              dtype_name(codes.dtype()), unsigned_codes ? 128 : 0));
  }
  weights_.codes = Tensor(Dtype::s8, codes.shape());
  const ConstView source = view(codes);
  const auto relabeled = weights_.codes.mutable_as<s8>();
  for (size_t i = 0; i < relabeled.size(); ++i) {
    relabeled[i] = static_cast<s8>(code_at(source, i) - zero_point);
  }
  return coded_scales();
}

// A bias in codes is taken as it is where its scale says what the accumulator holds, else read as reals.
bool Builder::coded_bias() {
  const ValueId id = request_.node.input(kBias);
  if (id == kNoValue || !weights_.bias.empty()) return true;
  std::vector<f64> real;
  if (const Tensor* codes = constant_codes(kBias)) {
    if (codes->dtype() != Dtype::s32) return refuse("its bias is not s32");
    const FloatInput scales(view(input(kBias).scale));
    if (const auto n = std::ssize(scales.values()); n != 1 && n != codes->elements()) {
      return refuse("its bias has neither one scale nor one for each value");
    }
    bool exact = input(kBias).zero_point == 0;
    for (s64 c = 0; c < codes->elements(); ++c) {
      const f32 scale = scales[scales.values().size() == 1 ? 0 : c];
      const auto channel = static_cast<size_t>(c);
      exact = exact && scale == x_.scale_of(channel) * weights_.scales[channel];
      const s64 code = s64{codes->as<s32>()[static_cast<size_t>(c)]} - input(kBias).zero_point;
      real.push_back(static_cast<f64>(code) * f64{scale});
    }
    if (exact) {
      weights_.bias.assign(codes->as<s32>().begin(), codes->as<s32>().end());
      return true;
    }
  } else if (request_.graph.is_constant(id)) {
    const FloatInput values(view(request_.graph.value(id).constant));
    real.assign(values.values().begin(), values.values().end());
  } else {
    return refuse("its bias is computed at run time");
  }
  if (!std::all_of(real.begin(), real.end(), [](f64 v) { return std::isfinite(v); })) {
    return refuse("its bias holds an infinity or a NaN");
  }
  wide_bias_ = wide_bias(real, weights_.scales, x_);
  weights_.bias = quantize_bias(real, weights_.scales, x_);
  return true;
}

// Each output channel's input channel.
void Builder::spread_input_scales() {
  const FloatInput scales(view(input(kX).scale));
  const s64 given = std::ssize(scales.values());
  if (given == 1) return;
  for (s64 c = 0; c < channels_.count; ++c)
    x_.channel_scales.push_back(scales[c / (channels_.count / given)]);
}

bool Builder::constant_weights() {
  const ValueId id = request_.node.input(kWeights);
  const Tensor* codes = constant_codes(kWeights);
  const Tensor& weights = codes != nullptr ? *codes : request_.graph.value(id).constant;
  channels_ = channels_of(weights.shape(), rule_.channel_axis);
  spread_input_scales();
  if (!(codes != nullptr ? coded_weights(weights) : real_weights(weights))) return false;
  if (!coded_bias() || !multipliers()) return false;
  bring_biases_nearer();
  for (size_t c = 0; c < wide_bias_.size(); ++c) {
    if (wide_bias_[c] != weights_.bias[c] && !raise_scale(c))
      return refuse(
          fmt::format("the bias of channel {} passes 32 bits at the scale of its weights", c));
  }
  return passes(accumulator_overflow(weights_, channels_, x_));
}

// A channel whose weights are next to nothing has a bias at the end of s32, where the accumulator might not fit, though every
// accumulator gives one and the same code. There a bias that lets it fit gives that code too.
void Builder::bring_biases_nearer() {
  constexpr f64 kMax = std::numeric_limits<s32>::max();
  const Activation activation = activation_of(request_.node);
  const bool clamps = activation.kind == Activation::Kind::none || activation.is_clamp();
  if (wants_real_output(request_) || request_.node.input(kResidual) != kNoValue || !clamps) return;
  CodeRange range = code_range(request_.output_dtype);
  range.zero_point = request_.output.zero_point;
  const std::vector<s64> sums = largest_sums(weights_, channels_, x_);
  for (size_t c = 0; c < weights_.bias.size(); ++c) {
    const f64 sum = static_cast<f64>(sums[c]);
    const f64 bias = wide_bias_.empty() ? weights_.bias[c] : wide_bias_[c];
    if (std::abs(bias) + sum <= kMax || sum > kMax) continue;
    // Codes never fall where the accumulator grows, so equal ends mean that all between are equal.
    const auto code = [&](f64 acc) {
      return requantize(static_cast<f32>(acc) * multipliers_[c], range);
    };
    const f64 nearer = bias < 0 ? sum - kMax : kMax - sum;
    const f64 lowest = std::min(bias, nearer) - sum, highest = std::max(bias, nearer) + sum;
    if (code(lowest) != code(highest)) continue;
    weights_.bias[c] = static_cast<s32>(nearer);
    if (!wide_bias_.empty()) wide_bias_[c] = nearer;
  }
}

// Weights that are next to nothing beside their bias: as for real weights, their scale is raised to one in which 32 bits hold it. The
// codes are s8 copies that this builder made.
bool Builder::raise_scale(size_t channel) {
  if (weights_.codes.dtype() != Dtype::s8) return false;
  const f32 scale_x = x_.scale_of(channel), before = weights_.scales[channel];
  const auto bias = static_cast<f32>(wide_bias_[channel] * f64{scale_x} * f64{before});
  const f32 raised = raised_scale(bias, scale_x);
  if (!std::isfinite(bias) || !std::isnormal(raised)) return false;
  const f64 ratio = f64{before} / f64{raised};
  const auto codes = weights_.codes.mutable_as<s8>();
  for (size_t i = 0; i < codes.size(); ++i) {
    if (channels_.of(i) == channel)
      codes[i] = static_cast<s8>(std::nearbyint(static_cast<f64>(codes[i]) * ratio));
  }
  weights_.scales[channel] = raised;
  wide_bias_[channel] = std::nearbyint(f64{bias} / (f64{scale_x} * f64{raised}));
  weights_.bias[channel] = static_cast<s32>(wide_bias_[channel]);
  multipliers_.clear();
  return multipliers();
}

bool Builder::activation_weights() {
  if (!rule_.activation_weights) return refuse("its weights are computed at run time");
  if (!passes(unreadable_codes(request_, kWeights))) return false;
  if (request_.node.input(kBias) != kNoValue) {
    return refuse("both operands are computed at run time and it has a bias");
  }
  const Shape& a = request_.graph.value(input(kX).codes).type.shape;
  const Shape& b = request_.graph.value(input(kWeights).codes).type.shape;
  const s64 depth = std::max(a.rank() > 0 ? a[a.rank() - 1] : Shape::kDynamic,
                             b.rank() > 0 ? b[std::max(b.rank() - 2, 0)] : Shape::kDynamic);
  // A depth that depends on the input is looked at where it is known, by every plan (OpTraits::wide_sums of QMatMul).
  const s64 product = s64{x_.max_magnitude} * max_magnitude(kWeights);
  if (depth > std::numeric_limits<s32>::max() / product) {
    return refuse(fmt::format("the sum of {} products can pass 32 bits", depth));
  }
  weights_.scales = {input(kWeights).scalar_scale()};
  return multipliers();
}

bool Builder::multipliers() {
  for (size_t c = 0; c < weights_.scales.size(); ++c) {
    f32 multiplier = x_.scale_of(c) * weights_.scales[c];
    if (!wants_real_output(request_))
      multiplier /= output_scales_.empty() ? request_.output.scale : output_scales_[c];
    if (!std::isfinite(multiplier))
      return refuse("its scales are too far apart for one multiplier");
    multipliers_.push_back(multiplier);
  }
  return true;
}

Node Builder::node() {
  Graph& graph = request_.graph;
  const std::string name = request_.node.name;
  std::vector<ValueId> inputs(5, kNoValue);
  inputs[kProductX] = input(kX).codes;
  inputs[kProductWeights] = weights_.codes ? graph.add_constant(name + "_weights", weights_.codes)
                                           : input(kWeights).codes;
  if (!weights_.bias.empty()) {
    inputs[kProductBias] = graph.add_constant(
        name + "_bias", Tensor::of<s32>(Shape{std::ssize(weights_.bias)}, weights_.bias));
  }
  inputs[kProductMultiplier] = graph.add_constant(
      name + "_multiplier", Tensor::of<f32>(Shape{std::ssize(multipliers_)}, multipliers_));
  const bool residual = request_.node.input(kResidual) != kNoValue;
  if (residual) inputs[kProductResidual] = input(kResidual).codes;
  Node node = integer_node(rule_.op, std::move(inputs));
  copy_attributes<ConvAttributes>(request_.node.attrs, node.attrs);
  set_output_attrs(node, request_, activation_of(request_.node));
  const size_t none = request_.inputs.size();
  set_zero_points(node, request_,
                  {kX, weights_.codes ? none : kWeights, none, none, residual ? kResidual : none});
  if (residual) {
    const f32 scale = input(kResidual).scalar_scale();
    set_attribute<&EpilogueAttributes::residual_multiplier>(
        node.attrs, wants_real_output(request_) ? scale : scale / request_.output.scale);
  }
  return node;
}

QuantizeResult Builder::build() {
  const bool constant = constant_codes(kWeights) != nullptr ||
                        request_.graph.is_constant(request_.node.input(kWeights));
  const bool done = check_activations() && (constant ? constant_weights() : activation_weights());
  return done ? QuantizeResult{node(), {}} : reject(reject_);
}

}  // namespace

QuantizeResult quantize_product(const QuantizeRequest& request, const ProductRule& rule,
                                std::span<const f32> output_scales) {
  return Builder(request, rule, output_scales).build();
}

}  // namespace octet
