// SPDX-License-Identifier: Apache-2.0
// What QConv and QMatMul share on a GPU: constants, the end of a product as a field of a spec, operands and their strides.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/device/conv_window.h"
#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/number.h"
#include "backends/cuda/lower/step.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/conv.h"

namespace octet::cuda {

// A product's operands beside x and weights. Tensors share the graph's memory.
struct Product {
  Epilogue epilogue;
  bool x_s8 = false;
  Tensor bias, multiplier, table;  // bias and table may be empty
  bool has_residual = false, residual_s8 = false;
  bool has_addend = false, addend_s8 = false;
  Tensor addend_row;               // an addend that is one constant row of channels
  Number real_type = Number::f32;  // as which reals leave the step

  bool real() const { return epilogue.real(); }
  // Of what leaves the step.
  s64 element_bytes() const { return real() ? bytes_of(real_type) : 1; }
};

// Empty, or why the operands do not fit.
std::string read_product(const LowerRequest& request, Product& product);

// The end of a product as a field of a kernel's spec: without table_lanes, and t_fits not known.
EpilogueSpec epilogue_spec(const Product& product);

// The table as kernels read it: codes, or lines (device/epilogue.h).
std::vector<std::byte> table_of(const Product& product);

// For each channel: the bias less what the zero point of x adds (weight_sums: of each channel's weights), and the multiplier.
std::vector<s32> biases_of(const Product& product, s64 channels,
                           const std::vector<s32>& weight_sums);
std::vector<f32> multipliers_of(const Tensor& multiplier, s64 channels);

// Blobs in this order: bias, multiplier, table, the addend's row; those that are not there are left out. `weight_sums`: for each
// channel the sum of its weights, which the zero point of x multiplies.
std::vector<BlobRecipe> epilogue_blobs(const Product& product, const Tensor& weights, s64 channels,
                                       std::function<std::vector<s32>()> weight_sums);

// The pointers, from blobs that begin at `first`.
EpilogueParams epilogue_params(const Product& product, const StepData& data, size_t first);

// Empty, or which size, stride or dilation is no field of a spec.
std::string reject_sizes(const ConvGeometry& geometry);
// The fields of a window without its pixels, of which some kernels know only when they run. reject_sizes() was asked before.
ConvWindow window_fields(const ConvGeometry& geometry, bool x_signed, s32 zero_point);

// Of an operand in nhwc.
PixelStrides pixel_strides(const Shape& shape, const Placement& placement);

// The largest power of two, up to `most`, that divides all of them.
s64 common_power(s64 most, std::initializer_list<s64> values);

}  // namespace octet::cuda
