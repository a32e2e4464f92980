// SPDX-License-Identifier: Apache-2.0
// Steps of vpmaddubsw that cannot saturate and read chunks where they lie: what pairs of weights have above 128 goes to further
// steps, unless another pairing of the four bytes is exact. For layers of few output channels, where writing the bytes in other orders (conv_pairs.h) takes longer.
#pragma once

#include <array>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv_args.h"

namespace octet {

inline constexpr s32 kMostOfPair = 128;  // of weights of one sign: 255 * 128 is a s16

// One chunk of 8 channels: [byte][channel].
using PairColumns = std::array<std::array<s16, kPairLanes>, kConvChunk>;

struct PairStep {
  s64 offset;
  PairColumns weights;
  u32 pairing = 0;
};

// pairings: of each chunk one that is exact, or 0.
std::vector<PairStep> steps_in_place(const std::vector<s64>& offsets, const PairColumns* chunks,
                                     const std::vector<u32>& pairings);

}  // namespace octet
