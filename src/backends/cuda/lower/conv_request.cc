// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/conv_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/lower/window_tiles.h"

namespace octet::cuda {

std::string read_conv(const LowerRequest& request, ConvRequest& conv) {
  const Tensor* weights = request.constant(kProductWeights);
  if (weights == nullptr) return "the weights are not constant";
  if (weights->dtype() != Dtype::s8) return "the weights are not s8";
  conv.geometry = conv_geometry(request.node, request.inputs[kProductX].shape, weights->shape());
  if (conv.geometry.window.rank != 2) return "it has not two spatial axes";
  // An image of padding alone is no tensor that the memory accelerator takes.
  const bool is_empty = request.inputs[kProductX].shape.elements() == 0;
  if (is_empty || conv.geometry.out_channels == 0 || conv.pixels() == 0)
    return "there is nothing to compute";
  if (std::string reason = reject_sizes(conv.geometry); !reason.empty()) return reason;
  conv.weights = *weights;
  conv.strides = {.channel = conv.k(), .cin = conv.geometry.window.kernel_elements(), .tap = 1};
  conv.x = request.inputs[kProductX].shape;
  conv.y = request.outputs[0].shape;
  std::string reason = read_product(request, conv.product);
  if (!reason.empty()) return reason;
  return conv.product.epilogue.zero_point(kProductWeights) != 0 ? "the weights have a zero point"
                                                                : "";
}

ConvWindow conv_window(const ConvRequest& conv) {
  ConvWindow window =
      window_fields(conv.geometry, conv.product.x_s8, conv.product.epilogue.zero_point(kProductX));
  window.pixels = field_of(conv.pixels());
  return window;
}

ConvOperands conv_operands(const ConvRequest& conv, const BindArgs& bind) {
  const auto operand = [&](size_t i) { return conv.output_strides(bind.inputs[i]); };
  const bool has_addend = conv.product.has_addend && !conv.product.addend_row;
  return {.x = conv.input_strides(bind.inputs[kProductX]),
          .y = conv.output_strides(bind.outputs[0]),
          .residual = conv.product.has_residual ? operand(kProductResidual) : PixelStrides{},
          .addend = has_addend ? operand(kProductAddend) : PixelStrides{}};
}

s64 input_access(const ConvRequest& conv, const BindArgs& bind, s64 most) {
  const PixelStrides x = conv.input_strides(bind.inputs[kProductX]);
  return common_power(most, {conv.cin(), x.image, x.row, x.pixel, bind.input_offset(kProductX)});
}

s64 output_access(const ConvRequest& conv, const BindArgs& bind, s64 most) {
  const PixelStrides y = conv.output_strides(bind.outputs[0]);
  s64 width = common_power(most, {conv.cout(), y.image, y.row, y.pixel,
                                  bind.output_offset(0) / conv.product.element_bytes()});
  const auto operand = [&](size_t i) {
    const PixelStrides r = conv.output_strides(bind.inputs[i]);
    width = common_power(width, {r.image, r.row, r.pixel, bind.input_offset(i)});
  };
  if (conv.product.has_residual) operand(kProductResidual);
  if (conv.product.has_addend && !conv.product.addend_row) operand(kProductAddend);
  return width;
}

std::vector<s32> ConvRequest::weight_sums() const {
  std::vector<s32> sums;
  for (s64 c = 0; c < geometry.out_channels; ++c) {
    s32 sum = 0;
    for_each_weight(c, [&](s64, s64, s8 weight) { sum += weight; });
    sums.push_back(sum);
  }
  return sums;
}

void ConvRequest::keep_sources() {
  if (sources.empty())
    sources = {weights, product.bias, product.multiplier, product.table, product.addend_row};
}

bool ConvRequest::sums_fit() const {
  constexpr f64 kFar = 1 << 30;
  if (const std::optional<SumStage>& sum = product.epilogue.sum;
      sum && !(std::abs(sum->own_multiplier) < kFar && std::abs(sum->addend_multiplier) < kFar))
    return false;
  const std::span<const f32> multipliers = product.multiplier.as<f32>();
  f64 largest = 0;
  for (s64 c = 0; c < geometry.out_channels; ++c) {
    const size_t at = static_cast<size_t>(c);
    f64 sum = product.bias ? std::abs(static_cast<f64>(product.bias.as<s32>()[at])) : 0.0;
    s64 magnitude = 0;
    for_each_weight(c, [&](s64, s64, s8 weight) { magnitude += std::abs(weight); });
    sum += 255.0 * static_cast<f64>(magnitude);
    const f32 m = multipliers[multipliers.size() == 1 ? 0 : at];
    largest = std::max(largest, sum * std::abs(static_cast<f64>(m)));
  }
  return largest + 512.0 * std::abs(static_cast<f64>(product.epilogue.residual_multiplier)) < kFar;
}

bool ConvRequest::sums_are_short() const {
  constexpr s64 kLimit = s64{1} << 22, kLargestCode = 255;
  for (s64 c = 0; c < geometry.out_channels; ++c) {
    s64 sum = 0;
    for_each_weight(c, [&](s64, s64, s8 weight) { sum += kLargestCode * std::abs(weight); });
    if (product.bias) sum += std::abs(s64{product.bias.as<s32>()[static_cast<size_t>(c)]});
    if (sum >= kLimit) return false;
  }
  return true;
}

bool ConvRequest::pointwise() const { return is_pointwise(geometry); }

PixelStrides ConvRequest::input_strides(const Placement& placement) const {
  return rows ? PixelStrides{0, 0, geometry.in_channels} : pixel_strides(x, placement);
}

PixelStrides ConvRequest::output_strides(const Placement& placement) const {
  return rows ? PixelStrides{0, 0, columns()} : pixel_strides(y, placement);
}

std::vector<BlobRecipe> conv_blobs(const ConvRequest& conv, BlobRecipe weights) {
  std::vector<BlobRecipe> all{std::move(weights)};
  const s64 channels = conv.geometry.out_channels;
  for (BlobRecipe& blob : epilogue_blobs(conv.product, conv.weights, channels,
                                         [conv] { return conv.weight_sums(); })) {
    if (!conv.sources.empty()) {
      blob.constants = conv.sources;
      blob.key += fmt::format(" of {} channels", channels);
    }
    all.push_back(std::move(blob));
  }
  return all;
}

Offer conv_matrix_offer(const LowerRequest& request, const ConvRequest& conv, Layout layout) {
  if (device_of(request).chip().reject_without({Instruction::wgmma, Instruction::tma}).empty())
    return conv_wgmma_offer(request, conv, layout);
  if (conv.product.real() && conv.product.real_type != Number::f32)
    return Reject{"mma.sync's kernel stores reals as f32 alone"};
  return conv_mma_candidates(request, conv, layout);
}

Candidate conv_candidate(const LowerRequest& request, std::string kernel, Layout layout) {
  Candidate candidate = candidate_of(request, std::move(kernel), layout);
  candidate.strided = candidate.writes_slices = candidate.by_image = layout == Layout::nhwc;
  return candidate;
}

}  // namespace octet::cuda
