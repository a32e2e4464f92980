// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/quantized/quantize_node.h"
#include "ops/quantized/weight_codes.h"

namespace octet {
namespace {

constexpr f64 kMaxBias = 1 << 30;
// Where all weights of a channel are zero their scale is free: the bias gets as many bits as a float keeps.
constexpr f64 kZeroChannelBias = 1 << 24;

// The smallest float scale for which |bias / (scale_x * scale)| <= limit.
f32 scale_for_bias(f32 bias, f32 scale_x, f64 limit) {
  const f64 needed = std::fabs(f64{bias}) / (f64{scale_x} * limit);
  const f32 scale = static_cast<f32>(needed);
  return f64{scale} < needed ? std::nextafter(scale, std::numeric_limits<f32>::infinity()) : scale;
}

f32 channel_scale(f32 largest, f32 bias, f32 scale_x) {
  f32 scale = largest / 127.0f;
  if (largest == 0.0f) {
    scale = bias == 0.0f ? 1.0f : scale_for_bias(bias, scale_x, kZeroChannelBias);
  }
  scale = std::max(scale, scale_for_bias(bias, scale_x, kMaxBias));
  return std::max(scale, std::numeric_limits<f32>::min());  // scales are normal numbers
}

}  // namespace

WeightScales weight_scales(const Tensor& weights, std::span<const f32> bias,
                           const Channels& channels, const ProductInput& input,
                           WeightCodes& cache) {
  const auto largest = cache.magnitudes(weights, channels);
  if (!largest || !all_finite(bias))
    return {{}, "the weights or the bias hold an infinity or a NaN"};
  std::vector<f32> scales;
  for (size_t c = 0; c < largest->size(); ++c) {
    scales.push_back(
        channel_scale((*largest)[c], bias.empty() ? 0.0f : bias[c], input.scale_of(c)));
  }
  if (!all_finite(scales))
    return {std::move(scales), "the bias is too large for the scale of the input"};
  return {std::move(scales), {}};
}

QuantizedWeights quantize_weights(const Tensor& weights, std::span<const f32> bias,
                                  const Channels& channels, const ProductInput& input,
                                  WeightCodes* cache) {
  QuantizedWeights result;
  WeightCodes once;
  WeightCodes& known = cache != nullptr ? *cache : once;
  WeightScales found = weight_scales(weights, bias, channels, input, known);
  result.scales = std::move(found.scales);
  result.reject = std::move(found.reject);
  if (!result.reject.empty()) return result;
  result.codes = known.codes(weights, channels, result.scales);
  if (!bias.empty()) {
    const std::vector<f64> wide(bias.begin(), bias.end());
    result.bias = quantize_bias(wide, result.scales, input);
  }
  return result;
}

std::vector<f64> wide_bias(std::span<const f64> bias, std::span<const f32> scales,
                           const ProductInput& input) {
  std::vector<f64> codes;
  for (size_t c = 0; c < bias.size(); ++c)
    codes.push_back(std::nearbyint(bias[c] / (f64{input.scale_of(c)} * f64{scales[c]})));
  return codes;
}

std::vector<s32> quantize_bias(std::span<const f64> bias, std::span<const f32> scales,
                               const ProductInput& input) {
  std::vector<s32> codes;
  for (f64 code : wide_bias(bias, scales, input)) {
    codes.push_back(static_cast<s32>(
        std::clamp<f64>(code, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max())));
  }
  return codes;
}

f32 raised_scale(f32 bias, f32 scale_x) { return scale_for_bias(bias, scale_x, kMaxBias); }

std::vector<s64> largest_sums(const QuantizedWeights& weights, const Channels& channels,
                              const ProductInput& input) {
  std::vector<s64> sums(static_cast<size_t>(channels.count), 0);
  const auto add = [&](auto codes) {
    channels.for_each_run(codes.size(), [&](size_t first, size_t count, size_t channel) {
      s64 sum = 0;
      for (auto code : codes.subspan(first, count)) sum += std::abs(s32{code});
      sums[channel] += sum * input.max_magnitude;
    });
  };
  weights.codes.dtype() == Dtype::s16 ? add(weights.codes.as<s16>()) : add(weights.codes.as<s8>());
  return sums;
}

std::string accumulator_overflow(const QuantizedWeights& weights, const Channels& channels,
                                 const ProductInput& input) {
  const std::vector<s64> sums = largest_sums(weights, channels, input);
  for (size_t c = 0; c < sums.size(); ++c) {
    const s64 bias = weights.bias.empty() ? 0 : std::abs(s64{weights.bias[c]});
    const s64 largest = sums[c] + bias;
    if (largest <= std::numeric_limits<s32>::max()) continue;
    return fmt::format("the accumulator of channel {} can reach {}, beyond 32 bits", c, largest);
  }
  return {};
}

}  // namespace octet
