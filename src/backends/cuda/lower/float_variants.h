// SPDX-License-Identifier: Apache-2.0
// Products of reals that are computed as others: in wider groups, or, transposed convolutions, as a convolution for each phase.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/lower/float_product.h"

namespace octet::cuda {

// Input channels of several groups together, at most: of 16 bits a product's step of k is full, and most of it zeros beyond.
constexpr s64 kWidestFloatGroup = 64;

// Whether so many groups can be taken together that more output channels than `few` are one group's.
bool has_wider_groups(s64 groups, s64 cin, s64 cout, s64 few);
// The same convolution in fewer groups, a divisor of its own: the weights between those that were are zeros. What an infinity or NaN of one group
// makes NaN there reaches the others, so only reals of 16 bits are multiplied so.
FloatProduct with_groups(const FloatProduct& product, s64 groups);

// Outputs of a transposed convolution that lie `row` and `column` behind multiples of its strides: those of a convolution of stride 1.
struct FloatPhase {
  FloatProduct product;
  s64 row = 0, column = 0;
};

// Why a ConvTranspose of an image has no phases; else empty.
std::string reject_phases(const Node& node, const Shape& x, const Shape& weights);
// Of a product whose `transposed` is set, without those that have no outputs; of any other it alone.
std::vector<FloatPhase> phases_of(const FloatProduct& product);
// From a pixel of a phase to the next one, in y.
PixelStrides phase_strides(const FloatProduct& product, const PixelStrides& y);

}  // namespace octet::cuda
