// SPDX-License-Identifier: Apache-2.0
// Real weights and biases -> s8 codes, per-channel scales and s32 biases (docs/numerics.md section 3).
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

class WeightCodes;  // ops/quantized/weight_codes.h

// Which output channel each weight belongs to: axis 0 of a convolution's, the last axis of a matrix.
struct Channels {
  s64 count = 1;
  s64 inner = 1;  // elements between neighbours along the channel axis

  size_t of(size_t element) const {
    return element / static_cast<size_t>(inner) % static_cast<size_t>(count);
  }

  // Calls visit(first, count, channel) for runs of neighbours of one channel: dividing for every element would take longer than
  // what is done with it.
  template <class Visit>
  void for_each_run(size_t elements, const Visit& visit) const {
    const size_t run = static_cast<size_t>(inner);
    for (size_t first = 0, channel = 0; first < elements; first += run) {
      visit(first, std::min(run, elements - first), channel);
      channel = channel + 1 < static_cast<size_t>(count) ? channel + 1 : 0;
    }
  }
};

struct QuantizedWeights {
  Tensor codes;             // s8 or s16, the shape of the weights
  std::vector<f32> scales;  // one for each channel
  std::vector<s32> bias;    // one for each channel, or empty
  std::string reject;       // not empty: why the weights have no codes
};

// What weights and bias are quantized against.
struct ProductInput {
  f32 scale = 1.0f;
  s32 max_magnitude = 255;  // of q - zero_point
  // Where each output channel reads one input channel, and those have scales of their own: that of each output channel.
  std::vector<f32> channel_scales = {};

  f32 scale_of(size_t channel) const {
    return channel_scales.empty() ? scale : channel_scales[channel];
  }
};

struct WeightScales {
  std::vector<f32> scales;  // one for each channel
  std::string reject;       // not empty: why there are none
};

// scale[c] = max|w| / 127, raised where the bias would pass 2^30. `bias` may be empty.
WeightScales weight_scales(const Tensor& weights, std::span<const f32> bias,
                           const Channels& channels, const ProductInput& input, WeightCodes& cache);
// These, codes in -127..127, ties to even, and the codes of the bias. What `cache` knows of the weights is not computed again.
QuantizedWeights quantize_weights(const Tensor& weights, std::span<const f32> bias,
                                  const Channels& channels, const ProductInput& input,
                                  WeightCodes* cache = nullptr);

// rne(bias[c] / (scale_x * scale_w[c])) in f64, which may pass 32 bits.
std::vector<f64> wide_bias(std::span<const f64> bias, std::span<const f32> scales,
                           const ProductInput& input);
// bias32[c]: the same, saturated to s32.
std::vector<s32> quantize_bias(std::span<const f64> bias, std::span<const f32> scales,
                               const ProductInput& input);

// The smallest scale of a channel's weights for which bias32 does not pass 2^30.
f32 raised_scale(f32 bias, f32 scale_x);

// The largest magnitude of each channel's sum of products, for any input; without the bias.
std::vector<s64> largest_sums(const QuantizedWeights& weights, const Channels& channels,
                              const ProductInput& input);
// Why the s32 accumulator of some channel might overflow for some input; empty: it is proven that none does.
std::string accumulator_overflow(const QuantizedWeights& weights, const Channels& channels,
                                 const ProductInput& input);

}  // namespace octet
