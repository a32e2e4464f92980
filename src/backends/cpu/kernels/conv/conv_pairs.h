// SPDX-License-Identifier: Apache-2.0
// Weights for vpmaddubsw without saturation. The instruction adds two neighbouring products u8 * s8 in s16, which is exact
// when two weights of one sign are not above 128 together. Of a chunk's four bytes three pairings exist: 01 23, 02 13 and
// 03 12; for 16 channels one of them is nearly always exact, and the activations are shuffled to match. Chunks are sorted by
// pairing. Where none is exact, what pairs have above 128 goes to further steps of 8 channels, each of which serves up to
// three pairs of neighbouring chunks.
#pragma once

#include "backends/cpu/kernels/conv/conv_pack.h"

namespace octet {

struct ChannelRange {
  s64 first, count;
};

// Appends the blocks of one group to `packed`.
void append_pairs(const ConvWeights& weights, const ConvChunks& chunks, ChannelRange channels,
                  PackedConv& packed);

}  // namespace octet
