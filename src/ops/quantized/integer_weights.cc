// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/integer_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/window.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/integer_inputs.h"
#include "ops/quantized/integer_padding.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

enum IntegerInput : size_t { kX, kWeights, kXZeroPoint, kWeightZeroPoint };

constexpr s32 kLowest = -128, kHighest = 127;
constexpr s64 kExactInF32 = s64{1} << 24;
constexpr s64 kMostOfX = 255;  // |x - zero_point|

// w - zero_point of every weight.
std::vector<s32> centered(const Tensor& weights, const Tensor* zero_points, s64 inner) {
  const ConstView codes = view(weights);
  std::vector<s32> result(static_cast<size_t>(weights.elements()));
  const size_t count = zero_points == nullptr ? 1 : static_cast<size_t>(zero_points->elements());
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t channel = count == 1 ? 0 : i / static_cast<size_t>(inner) % count;
    const s32 zero = zero_points == nullptr ? 0 : code_at(view(*zero_points), channel);
    result[i] = code_at(codes, i) - zero;
  }
  return result;
}

// How many s8 a value is the sum of.
s64 parts_of(s32 value) {
  s64 parts = 1;
  while (value < parts * kLowest || value > parts * kHighest) ++parts;
  return parts;
}

s64 largest_sum(const std::vector<s32>& values, s64 channels, s64 inner) {
  std::vector<s64> sums(static_cast<size_t>(channels), 0);
  for (size_t i = 0; i < values.size(); ++i)
    sums[i / static_cast<size_t>(inner) % sums.size()] += std::abs(values[i]);
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

// Part `part` of a value: what earlier parts, clamped to s8, left over.
s8 part_of(s32 value, s64 part) {
  for (; part > 0; --part) value -= std::clamp(value, kLowest, kHighest);
  return static_cast<s8>(std::clamp(value, kLowest, kHighest));
}

// [outer][inputs][inner] of [outer][channels][inner] values: the first parts of all, then the next ones of those channels that have any.
class Parts {
 public:
  Parts(const std::vector<s32>& values, s64 channels, s64 inner)
      : values_(values), channels_(channels), inner_(inner) {
    std::vector<s64> most(static_cast<size_t>(channels), 1);
    for (size_t i = 0; i < values.size(); ++i) {
      s64& parts = most[i / static_cast<size_t>(inner) % most.size()];
      parts = std::max(parts, parts_of(values[i]));
    }
    for (s64 part = 0; part < *std::ranges::max_element(most); ++part) {
      for (s64 c = 0; c < channels; ++c) {
        if (most[static_cast<size_t>(c)] <= part) continue;
        inputs_.push_back(c);
        parts_.push_back(part);
      }
    }
  }

  const std::vector<s64>& inputs() const { return inputs_; }
  s64 most() const { return parts_.back() + 1; }

  s8 code(s64 index) const {
    const s64 count = std::ssize(inputs_);
    const s64 outer = index / inner_ / count, rest = index % inner_;
    const auto input = static_cast<size_t>(index / inner_ % count);
    const s64 from = (outer * channels_ + inputs_[input]) * inner_ + rest;
    return part_of(values_[static_cast<size_t>(from)], parts_[input]);
  }

 private:
  const std::vector<s32>& values_;
  s64 channels_, inner_;
  std::vector<s64> inputs_, parts_;
};

Tensor s16_codes(const std::vector<s32>& values, const Shape& shape) {
  Tensor codes(Dtype::s16, shape);
  std::ranges::transform(values, codes.mutable_as<s16>().begin(),
                         [](s32 value) { return static_cast<s16>(value); });
  return codes;
}

const Tensor* scalar_code(const NodeParser& parser, size_t i) {
  const Tensor* tensor = parser.constant(i);
  return tensor != nullptr && is_code(tensor->dtype()) && tensor->elements() == 1 ? tensor
                                                                                  : nullptr;
}

// zero_point * (sums of the weights of each output channel), real.
ValueId correction(NodeParser& parser, const Tensor& weights, const Tensor* zero_points,
                   const WeightAxes& axes) {
  const Shape& shape = weights.shape();
  const s64 channels = shape[axes.output];
  const s64 inner = dims_product(shape, axes.output + 1, shape.rank());
  const std::vector<s32> values = centered(weights, zero_points, inner);
  Shape broadcast{channels};
  for (int d = axes.input + 1; axes.output < axes.input && d < shape.rank(); ++d)
    broadcast.push_back(1);  // of an image, whose channels come before height and width
  Tensor sums(Dtype::f32, broadcast);
  const auto dst = sums.mutable_as<f32>();
  for (size_t i = 0; i < values.size(); ++i)
    dst[i / static_cast<size_t>(inner) % dst.size()] += static_cast<f32>(values[i]);
  Attrs to_real;
  set_attribute<&CastAttributes::to>(to_real, Dtype::f32);
  const ValueId zero =
      parser.emit_before("Cast", {parser.node.input(kXZeroPoint)}, std::move(to_real));
  return parser.emit_before("Mul", {zero, parser.add_constant(std::move(sums))});
}

// What a product reads whose zero point is subtracted afterwards; nothing where it has no integer form.
std::optional<ValueId> x_of_dynamic(NodeParser& parser, std::string_view op,
                                    const Tensor& weights) {
  if (!parser.is_one_code(kXZeroPoint)) return {};
  if (op == "QConv") return padded_by_zero_point(parser, weights.shape(), kXZeroPoint);
  return weights.shape().rank() == 2 ? std::optional(parser.node.input(kX)) : std::nullopt;
}

// QConv or QMatMul of codes whose accumulators come out as they are, in f32.
void become_real_product(NodeParser& parser, std::string_view op, ValueId x, s32 zero_point) {
  Node& node = parser.node;
  set_attribute<&OutputCodesAttributes::output_dtype>(node.attrs, Dtype::f32);
  set_input_zero_points(node, std::array{zero_point, 0, 0, 0});
  node.inputs = {x, kNoValue, kNoValue, kNoValue};
  parser.set_input(kProductMultiplier, Tensor::of<f32>(Shape{1}, std::vector<f32>{1.0f}));
  parser.become(op);
}

}  // namespace

bool takes_s16_weights(const Node& node, std::string_view op, const Tensor& weights) {
  const Shape& shape = weights.shape();
  return op == "QConv" && shape.rank() == 4 && shape[1] == 1 && conv_groups(node) == shape[0];
}

std::optional<S8Weights> s8_weights(const Tensor& weights, const Tensor* zero_points,
                                    const WeightAxes& axes, bool allow_s16) {
  const Shape& shape = weights.shape();
  const s64 channels = shape[axes.output];
  const s64 inner = dims_product(shape, axes.output + 1, shape.rank());
  if (!is_code(weights.dtype()) || weights.elements() == 0) return {};
  const bool fits = zero_points == nullptr ||
                    (zero_points->dtype() == weights.dtype() &&
                     (zero_points->elements() == 1 || zero_points->elements() == channels));
  if (!fits) return {};
  const std::vector<s32> values = centered(weights, zero_points, inner);
  const Parts parts(values, shape[axes.input], dims_product(shape, axes.input + 1, shape.rank()));
  S8Weights result;
  result.max_sum = largest_sum(values, channels, inner);
  if (allow_s16 && parts.most() == 2) {
    result.codes = s16_codes(values, shape);
    result.inputs = {0};
    return result;
  }
  result.inputs = parts.inputs();
  Shape wide = shape;
  wide[axes.input] = std::ssize(result.inputs);
  result.codes = Tensor(Dtype::s8, wide);
  const auto dst = result.codes.mutable_as<s8>();
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = parts.code(static_cast<s64>(i));
  return result;
}

std::vector<s64> repeated_order(const InputChannels& channels, std::span<const s64> inputs) {
  std::vector<s64> order;
  for (s64 group = 0; group < channels.groups; ++group) {
    for (s64 input : inputs) order.push_back(group * channels.in_group + input);
  }
  return order;
}

ValueId repeat_channels(NodeParser& parser, ValueId x, const InputChannels& channels,
                        std::span<const s64> inputs) {
  if (std::ssize(inputs) == channels.in_group) return x;
  const std::vector<s64> order = repeated_order(channels, inputs);
  Attrs attrs;
  if (gathers_channels(channels)) {
    set_attribute<&GatherChannelsAttributes::channels>(attrs, order);
    return parser.emit_before("GatherChannels", {x}, std::move(attrs));
  }
  set_attribute<&AxisAttributes::axis>(attrs, channels.axis);
  const Tensor indices = Tensor::of<s64>(Shape{std::ssize(order)}, order);
  return parser.emit_before("Gather", {x, parser.add_constant(indices)}, std::move(attrs));
}

std::optional<WeightAxes> weight_axes(std::string_view op, const Tensor& weights) {
  const int rank = weights.shape().rank();
  if (op == "QConv") return rank >= 3 ? std::optional(WeightAxes{0, 1}) : std::nullopt;
  return rank >= 2 ? std::optional(WeightAxes{rank - 1, rank - 2}) : std::nullopt;
}

InputChannels input_channels(const Node& node, std::string_view op, const Tensor& weights,
                             const WeightAxes& axes) {
  const s64 in_group = weights.shape()[axes.input];
  if (op != "QConv") return {1, in_group, -1};
  return {conv_groups(node), in_group, 1};
}

namespace {

// Input channels [first, last) of weights.
Tensor weights_between(const Tensor& weights, int axis, s64 first, s64 last) {
  Shape shape = weights.shape();
  const s64 all = shape[axis], bytes = dims_product(shape, axis + 1, shape.rank());
  shape[axis] = last - first;
  Tensor part(weights.dtype(), shape);
  const std::byte* src = weights.data() + first * bytes;
  std::byte* dst = part.mutable_data();
  for (s64 outer = 0; outer < dims_product(shape, 0, axis); ++outer) {
    std::copy_n(src + outer * all * bytes, shape[axis] * bytes, dst);
    dst += shape[axis] * bytes;
  }
  return part;
}

// A product of codes whose sums f32 does not hold exactly, by parts of its input channels whose sums it does.
class SplitProduct {
 public:
  SplitProduct(NodeParser& parser, std::string_view op, const Tensor& weights, const Tensor& zeros,
               const WeightAxes& axes)
      : parser_(parser), op_(op), weights_(weights), zeros_(zeros), axes_(axes) {}

  // False, with nothing changed, where so many parts are no help.
  bool prepare() {
    const bool grouped = op_ == "QConv" && conv_groups(parser_.node) != 1;
    if (grouped || (op_ == "QMatMul" && weights_.shape().rank() != 2)) return false;
    const s64 channels = weights_.shape()[axes_.input];
    for (s64 count = 2; count <= std::min(kMostParts, channels); count *= 2) {
      parts_.clear();
      for (s64 i = 0; i < count; ++i) {
        const s64 first = channels * i / count, last = channels * (i + 1) / count;
        const Tensor part = weights_between(weights_, axes_.input, first, last);
        const auto s8s = s8_weights(part, zero_points(), axes_);
        if (!s8s || s8s->max_sum * kMostOfX > kExactInF32) break;
        parts_.push_back({first, last, part, *s8s});
      }
      if (std::ssize(parts_) == count) return true;
    }
    return false;
  }

  // `zero_point`: of x; nothing where the run tells it.
  void emit(ValueId x, std::optional<s32> zero_point) {
    ValueId sum = kNoValue;
    const std::string name = parser_.node.name;
    for (size_t i = 0; i < parts_.size(); ++i) {
      parser_.node.name = fmt::format("{}_part{}", name, i);
      const ValueId part = emit_part(x, zero_point, parts_[i]);
      if (i + 1 == parts_.size()) {
        parser_.node.inputs = {sum, part};
      } else {
        sum = sum == kNoValue ? part : parser_.emit_before("Add", {sum, part});
      }
    }
    parser_.node.name = name;
    parser_.node.attrs = {};
    parser_.become("Add");
  }

 private:
  static constexpr s64 kMostParts = 64;

  struct Part {
    s64 first, last;  // input channels
    Tensor weights;
    S8Weights s8s;
  };

  const Tensor* zero_points() const { return zeros_ ? &zeros_ : nullptr; }

  ValueId emit_part(ValueId x, std::optional<s32> zero_point, const Part& part) {
    const s64 axis = op_ == "QConv" ? 1 : -1;
    x = parser_.emit_before("Slice", {x, parser_.add_ints({part.first}),
                                      parser_.add_ints({part.last}), parser_.add_ints({axis})});
    x = repeat_channels(parser_, x, {1, part.last - part.first, axis}, part.s8s.inputs);
    Attrs attrs = parser_.node.attrs;
    set_attribute<&OutputCodesAttributes::output_dtype>(attrs, Dtype::f32);
    set_attribute<&EpilogueAttributes::input_zero_points>(attrs, {zero_point.value_or(0), 0, 0, 0});
    const Tensor one = Tensor::of<f32>(Shape{1}, std::vector<f32>{1.0f});
    ValueId sum = parser_.emit_before(
        op_, {x, parser_.add_constant(part.s8s.codes), kNoValue, parser_.add_constant(one)},
        std::move(attrs));
    if (!zero_point)
      sum = parser_.emit_before("Sub",
                                {sum, correction(parser_, part.weights, zero_points(), axes_)});
    Attrs to_integer;
    set_attribute<&CastAttributes::to>(to_integer, Dtype::s32);
    return parser_.emit_before("Cast", {sum}, std::move(to_integer));
  }

  NodeParser& parser_;
  const std::string_view op_;
  const Tensor& weights_;
  const Tensor& zeros_;
  const WeightAxes& axes_;
  std::vector<Part> parts_;
};

}  // namespace

void parse_integer_product(NodeParser& parser, std::string_view op) {
  const Tensor* given = parser.constant(kWeights);
  if (given == nullptr ||
      (parser.has_input(kWeightZeroPoint) && !parser.constant(kWeightZeroPoint)))
    return;
  // Copies share their data; adding constants moves those of the graph.
  const Tensor weights = *given;
  const Tensor zeros =
      parser.has_input(kWeightZeroPoint) ? *parser.constant(kWeightZeroPoint) : Tensor();
  const auto axes = weight_axes(op, weights);
  if (!axes) return;
  const auto s8s = s8_weights(weights, zeros ? &zeros : nullptr, *axes,
                              takes_s16_weights(parser.node, op, weights));
  if (!s8s) return;
  const bool wide = s8s->max_sum * kMostOfX > kExactInF32;
  SplitProduct split(parser, op, weights, zeros, *axes);
  if (wide && !split.prepare()) return;
  const Tensor* zero = scalar_code(parser, kXZeroPoint);
  const s32 zero_point = zero == nullptr ? 0 : code_at(view(*zero), 0);
  // A zero point of the run is subtracted after the product.
  const bool dynamic = zero == nullptr && parser.has_input(kXZeroPoint);
  ValueId x = parser.node.input(kX);
  if (dynamic) {
    const std::optional<ValueId> padded = x_of_dynamic(parser, op, weights);
    if (!padded) return;
    x = *padded;
  }
  if (wide) return split.emit(x, dynamic ? std::nullopt : std::optional(zero_point));
  const InputChannels channels = input_channels(parser.node, op, weights, *axes);
  x = repeat_channels(parser, x, channels, s8s->inputs);
  if (dynamic)
    parser.emit_after("Sub", {correction(parser, weights, zeros ? &zeros : nullptr, *axes)});
  Attrs to_integer;
  set_attribute<&CastAttributes::to>(to_integer, Dtype::s32);
  parser.emit_after("Cast", {}, std::move(to_integer));
  become_real_product(parser, op, x, zero_point);
  parser.set_input(kProductWeights, s8s->codes);
}

}  // namespace octet
