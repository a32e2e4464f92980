// SPDX-License-Identifier: Apache-2.0
// Packing of convolution weights: which four input bytes make a chunk, and the order in which kernels read the weights.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "arch/isa.h"
#include "backends/cpu/kernels/codes/aligned.h"
#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "backends/cpu/kernels/codes/padded_rows.h"
#include "ops/shared/conv.h"

namespace octet {

struct ConvKernel;

// Element (channel, k) is data[channel * channel_stride + k * k_stride], k = (c * kernel_h + y) * kernel_w + x.
struct ConvWeights {
  std::span<const s8> data;
  s64 channel_stride = 0;
  s64 k_stride = 1;
};

// The chunks of one group: where they are and which weight each byte meets (-1: none, the weight is zero).
struct ConvChunks {
  std::vector<s64> offsets;  // [chunks]
  std::vector<s64> sources;  // [chunks][4], k of ConvWeights
};
// Adjacent input bytes of the window: the channels of a tap, or of a row of taps where those touch.
s64 conv_run_bytes(const ConvGeometry& geometry, const ImageStrides& strides);
ConvChunks conv_chunks(const ConvGeometry& geometry, const ImageStrides& strides, s64 group);
// The offsets alone, of all groups.
std::vector<s64> chunk_offsets(const ConvGeometry& geometry, const ImageStrides& strides);

// Writes the words of four weights that chunks name, of each channel, turned: [chunk][width], of which `channels` are written.
class WordPacker {
 public:
  WordPacker(const ConvWeights& weights, const ConvChunks& chunks, Isa isa);

  void pack(s64 first, s64 channels, s64 width, u8* dst) const;

 private:
  // Of how many taps the weights of an input channel lie side by side, where chunks have one tap's of all channels after
  // another's; else 0.
  s64 taps_side_by_side() const;
  void gather(const s8* src, s8* dst) const;

  const ConvWeights& weights_;
  const ConvChunks& chunks_;
  Isa isa_;
  s64 taps_;
};

struct PackedConv {
  s64 chunks = 0;
  s64 padded_channels = 0;  // of one group, a multiple of kConvLanes
  s64 group_bytes = 0;      // of one group's weights
  // [groups][blocks][packed_depth() / pack_group][channels of the block][pack_group]
  AlignedVector<u8> weights;
  // Of a pair kernel, see conv_pairs.h: rows of [groups], blocks of [groups][channels / 8].
  std::vector<ConvRun> pair_runs;
  std::vector<ConvPairRows> pair_rows;
  std::vector<ConvPairBlock> pair_blocks;
  AlignedVector<s32> pair_positions;
  AlignedVector<s32> bias;  // [groups][padded_channels], less zero point * sum of weights
  AlignedVector<f32> multiplier;
};

struct ConvConstants {
  ConvWeights weights;
  std::span<const s32> bias;
  std::span<const f32> multiplier;
  s32 input_zero_point = 0;
};

// The bias of a channel less zero point * sum of its weights. Wraps like the kernels' sums: the total is proven to fit, its
// parts need not.
s32 folded_bias(const ConvConstants& constants, const ConvGeometry& geometry, s64 channel);

// "3x3 g1 64>128 by 576,1 zero 128": what every packing depends on beside the constants themselves.
std::string constants_key(const ConvGeometry& geometry, const ConvConstants& constants);

PackedConv pack_conv(const ConvKernel& kernel, const ConvGeometry& geometry,
                     const ImageStrides& strides, const ConvConstants& constants);

}  // namespace octet
