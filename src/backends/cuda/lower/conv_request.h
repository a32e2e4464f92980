// SPDX-License-Identifier: Apache-2.0
// A product by constant weights as the kernels of convolutions see it: of QConv, or of QMatMul with its rows as pixels.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cuda/lower/product.h"
#include "ops/shared/conv.h"

namespace octet::cuda {

// Where the weight of a channel, an input channel of its group and a tap lies.
struct WeightStrides {
  s64 channel = 0, cin = 0, tap = 0;
};

// One of several products of one x.
struct ProductPart {
  Tensor weights;  // as ConvRequest::weights
  s32 zero_point = 0;
};

struct ConvRequest {
  Product product;
  ConvGeometry geometry;
  Tensor weights;  // s8; of the first part
  WeightStrides strides;
  Shape x, y;
  bool rows = false;    // of a dense matrix: OH = 1, OW rows
  bool t_fits = false;  // sums_fit(), where it was asked for many tiles
  // Several products of one x, equally wide, whose results lie one behind another in y; empty: it is one.
  std::vector<ProductPart> parts = {};
  // The graph's constants that all of these are made of, what ends the product included; empty: they are the graph's own.
  std::vector<Tensor> sources = {};
  // Sets `sources`, before any of them is replaced.
  void keep_sources();

  s64 pixels() const { return geometry.batch * geometry.window.out_elements(); }
  s64 cin() const { return geometry.in_channels_per_group(); }
  s64 cout() const { return geometry.out_channels_per_group(); }
  s64 part_count() const { return std::max<s64>(1, std::ssize(parts)); }
  s64 columns() const { return cout() / part_count(); }  // of a part
  s64 k() const { return cin() * geometry.window.kernel_elements(); }
  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }
  // k goes over taps, then channels.
  s8 weight(s64 channel, s64 k) const {
    return weights_of(channel)[k % cin() * strides.cin + k / cin() * strides.tap];
  }
  // f(tap, channel of x, weight) of an output channel's weights: who reads all of them divides nothing for each.
  template <class F>
  void for_each_weight(s64 channel, const F& f) const {
    const s8* own = weights_of(channel);
    const s64 taps = geometry.window.kernel_elements(), channels = cin();
    for (s64 tap = 0; tap < taps; ++tap) {
      for (s64 c = 0; c < channels; ++c) f(tap, c, own[tap * strides.tap + c * strides.cin]);
    }
  }
  // 1x1, each pixel of y from that of x.
  bool pointwise() const;
  // For each channel, of all groups.
  std::vector<s32> weight_sums() const;
  // Whether t of every output stays far within s32: EpilogueSpec::t_fits.
  bool sums_fit() const;
  // Whether all sums with their biases are shorter than 23 bits: exact where a real holds them beside the bits of 1.5 * 2^23.
  bool sums_are_short() const;
  PixelStrides input_strides(const Placement& placement) const;
  PixelStrides output_strides(const Placement& placement) const;

 private:
  const s8* weights_of(s64 channel) const {
    if (parts.empty()) return weights.as<s8>().data() + channel * strides.channel;
    const Tensor& own = parts[static_cast<size_t>(channel / columns())].weights;
    return own.as<s8>().data() + channel % columns() * strides.channel;
  }
};

// A QMatMul by a constant matrix: its rows are the pixels of a 1x1 convolution. Empty, or why not.
std::string read_linear(const LowerRequest& request, ConvRequest& conv);
// Empty, or why no kernel takes it.
std::string read_conv(const LowerRequest& request, ConvRequest& conv);

// Window, sizes of x and y, zero point and type of x; where values lie.
ConvWindow conv_window(const ConvRequest& conv);
ConvOperands conv_operands(const ConvRequest& conv, const BindArgs& bind);
// Bytes that an access to x may take, and neighbouring channels that one to y and to what is added may, up to `most`.
s64 input_access(const ConvRequest& conv, const BindArgs& bind, s64 most);
s64 output_access(const ConvRequest& conv, const BindArgs& bind, s64 most);

// The weights, then bias, multipliers and so on.
std::vector<BlobRecipe> conv_blobs(const ConvRequest& conv, BlobRecipe weights);

// In nhwc one that takes any place of its values.
Candidate conv_candidate(const LowerRequest& request, std::string kernel, Layout layout);

// The same convolution in fewer groups, a divisor of its own: the weights between those that were are zeros.
ConvRequest with_groups(const ConvRequest& conv, s64 groups);
// A 1x1 convolution of whose pixels so many neighbours are one: the weights are a block for each along the diagonal.
ConvRequest with_joined_pixels(const ConvRequest& conv, s64 pixels);

// By families/conv_mma/, on any GPU: the cheapest, or all where they are measured.
Candidates conv_mma_candidates(const LowerRequest& request, const ConvRequest& conv, Layout layout);
// By families/conv_wgmma/.
Offer conv_wgmma_offer(const LowerRequest& request, ConvRequest conv, Layout layout);
// By conv_wgmma where the chip has it, else by conv_mma.
Offer conv_matrix_offer(const LowerRequest& request, const ConvRequest& conv, Layout layout);
// With neighbouring pixels as one.
Offer conv_joined_offer(const LowerRequest& request, const ConvRequest& conv);

}  // namespace octet::cuda
