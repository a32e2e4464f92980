// SPDX-License-Identifier: Apache-2.0
// A bottleneck as its kernels see it, and what they read of constants.
#pragma once

#include <vector>

#include "backends/cuda/families/bottleneck/spec.h"
#include "backends/cuda/lower/conv_request.h"
#include "core/divide.h"

namespace octet::cuda::bottleneck {

struct Bottleneck {
  ConvRequest reduce, spatial, expand;
  ConvRequest project;  // where that is the shortcut
  Shortcut shortcut = Shortcut::none;

  bool projects() const { return shortcut == Shortcut::projection; }
  s64 chunks() const { return ceil_div(reduce.cin(), s64{kChannels}); }
};

// Empty, or why no family takes the chain.
std::string read(const LowerRequest& request, Bottleneck& block);
EpilogueSpec end_of(const ConvRequest& conv);

// What the specs of both families have, but for where y lies.
template <class Spec>
void set_block(Spec& spec, const Bottleneck& block) {
  const ConvRequest& y = block.expand;
  spec.width = field_of(y.w().out), spec.height = field_of(y.h().out);
  spec.rows = field_of(y.geometry.batch * y.h().out);
  spec.chunks = field_of(block.chunks());
  spec.cout = field_of(y.cout());
  spec.shortcut = block.shortcut;
  spec.x_signed = block.reduce.product.x_s8;
  spec.reduced_signed = block.spatial.product.x_s8;
  spec.spatial_signed = y.product.x_s8;
  spec.border = block.spatial.product.epilogue.zero_point(kProductX);
  spec.y_access = 1;
  spec.reduce = end_of(block.reduce), spec.spatial = end_of(block.spatial);
  spec.expand = end_of(y);
  if (block.projects()) spec.project = end_of(block.project);
}
template <class Spec>
void place_block(Spec& spec, const Bottleneck& block, const BindArgs& bind) {
  constexpr s64 kWidest = 16;
  spec.y = block.expand.output_strides(bind.outputs[0]);
  spec.y_access = field_of(common_power(
      kWidest, {spec.cout, spec.y.image, spec.y.row, spec.y.pixel, bind.output_offset(0)}));
}

struct WgmmaBottleneck : Bottleneck {
  Spec spec{};
};

// Whether the digits of all biases fit a product of 32 bytes of k.
bool biases_have_digits(const Bottleneck& block);
// The tiles; scales and, where they are added, biases of all ends in the kernel's order.
std::vector<BlobRecipe> blobs_of(const WgmmaBottleneck& block);
// Of families/bottleneck_mma/: tiles with their rows swizzled, scales, and biases, which begin with the bits of 1.5 * 2^23 where all of a convolution's sums are short.
std::vector<BlobRecipe> mma_blobs_of(const Bottleneck& block);

}  // namespace octet::cuda::bottleneck
