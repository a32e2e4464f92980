// SPDX-License-Identifier: Apache-2.0
// Conv and MatMul of reals by constant weights, with what a plan's graph has around them: codes or 16 bits that become reals, and reals that become those.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "backends/cuda/device/real_end.h"
#include "backends/cuda/lower/product.h"
#include "ops/shared/activation.h"
#include "ops/shared/conv.h"

namespace octet::cuda {

// Of codes: one scale and zero point for all.
struct Scaling {
  Number type = Number::u8;
  f32 scale = 1.0f;
  s32 zero_point = 0;
};

// Inputs of Conv and of MatMul.
enum FloatProductInput : size_t { kFloatX, kFloatWeights, kFloatBias, kFloatResidual };

// Of all weights: none is infinite or NaN, and each is a number of the type.
struct WeightFacts {
  bool finite = false, bf16 = false, f16 = false;
};

struct FloatProduct {
  ConvGeometry geometry;
  bool rows = false;                              // of MatMul: pixels of an image of one row
  bool transposed = false;                        // of ConvTranspose: lower/float_variants.h
  std::optional<Scaling> dequantized, quantized;  // x and y are codes
  std::optional<Scaling> residual_codes;
  Number x_type = Number::f32, y_type = Number::f32, residual_type = Number::f32;  // of reals
  Number grid = Number::f32;              // a type of 16 bits whose numbers the reals of x are
  Number residual_rounded = Number::f32;  // reals of the residual's codes are rounded to it
  Number rounded = Number::f32;           // reals of y are rounded to it
  size_t x_input = kFloatX, bias_input = kFloatBias,
         residual_input = kFloatResidual;  // of the step
  Activation activation;
  FunctionEnd function{};            // of the rounded reals
  bool residual_last = false;        // the residual is added to these, or to the function's
  Number sum_rounded = Number::f32;  // and then reals of y are rounded to it
  Tensor weights, bias;              // bias is empty where a run brings it, or there is none
  std::string weights_form = {};     // of a product by other weights: all that these depend on
  std::function<Tensor()> made_weights = nullptr;  // and they, made of `weights`, the graph's
  WeightFacts facts;
  bool has_bias = false, has_residual = false;
  s64 weight_channel = 0, weight_cin = 0, weight_tap = 0;  // strides
  Shape x, y;

  s64 pixels() const { return geometry.batch * geometry.window.out_elements(); }
  s64 cin() const { return geometry.in_channels_per_group(); }
  s64 cout() const { return geometry.out_channels_per_group(); }
  s64 weight_count() const {
    return geometry.out_channels * cin() * geometry.window.kernel_elements();
  }
  // With its weights at hand: whoever packs them needs them, and nobody else.
  FloatProduct with_weights() const {
    FloatProduct product = *this;
    if (made_weights) product.weights = made_weights();
    return product;
  }
  // Of with_weights().
  f32 weight(s64 channel, s64 k) const {
    const s64 at = channel * weight_channel + k % cin() * weight_cin + k / cin() * weight_tap;
    return weights.as<f32>()[static_cast<size_t>(at)];
  }
  PixelStrides strides(const Shape& shape, s64 channels, const Placement& placement) const {
    return rows ? PixelStrides{0, 0, channels} : pixel_strides(shape, placement);
  }
};

// Of the node alone, or of the chain that float_product.cc found. Empty, or why no kernel takes it.
std::string read_float_product(const LowerRequest& request, FloatProduct& product);

// A caller's reals that are rounded to 16 bits for the product alone, it, and what stands behind; or those reals as they are.
std::vector<u32> find_image_product(const Graph& graph, const Uses& uses, u32 last);
std::vector<u32> find_product_of_reals(const Graph& graph, const Uses& uses, u32 last);

// The upper halves of what is left of the number, three times: exactly the number.
std::array<u16, 3> bf16_terms(f32 value);

// What an end computes of the layer's reals: functions of one value.
EndFunction end_function(const Node& node);
FunctionEnd function_end(const Node& node);
// The fields of specs, and the pointers of y's end; of a constant bias that of blob `bias`.
ConvWindow float_window(const FloatProduct& product);
RealEnd real_end(const FloatProduct& product);
RealEndParams real_end_params(const FloatProduct& product, const StepData& data, size_t bias);

PixelStrides in_bytes(const PixelStrides& numbers, s64 bytes);

// Neighbouring channels that an access may take, up to `most`, of a value whose first element is `offset` elements behind a multiple of every access.
s64 pixel_access(s64 most, s64 channels, const PixelStrides& by, s64 offset);

// By families/product_terms/, families/terms_wgmma/, families/product_wgmma/ and families/depthwise_real/.
Offer product_terms_offer(const LowerRequest& request, const FloatProduct& product);
Offer terms_wgmma_offer(const LowerRequest& request, const FloatProduct& product);
Offer product_wgmma_offer(const LowerRequest& request, const FloatProduct& product);
Offer depthwise_real_offer(const LowerRequest& request, const FloatProduct& product);

}  // namespace octet::cuda
