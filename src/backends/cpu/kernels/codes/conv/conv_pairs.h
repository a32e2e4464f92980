// SPDX-License-Identifier: Apache-2.0
// Weights for vpmaddubsw without saturation. The instruction adds two neighbouring products u8 * s8 in s16, which is exact
// when two weights of one sign are not above 128 together, for each of the 8 channels of a register. Of a chunk's four bytes
// three pairings exist, 01 23, 02 13 and 03 12, and the second of a pair may be inverted: x * w = 255 * w + (255 - x) * -w, so
// that weights of one sign become weights of two. Nearly always one of these twelve variants is exact; those that pay are
// written once for each pixel (ConvPairRows). What is left over is multiplied as words.
// Where the sums of two chunks fit s16 together, they are added before they are widened: five instructions for 64 products
// instead of six.
#pragma once

#include "backends/cpu/kernels/codes/conv/conv_pack.h"

namespace octet {

struct ChannelRange {
  s64 first, count;
};

// Bytes of one pixel's row at most.
s64 pair_row_bytes(s64 chunks);

// Appends the blocks of one group to `packed`, and to its bias what inverted bytes need: of the channels from `bias` on.
void append_pairs(const ConvWeights& weights, const ConvChunks& chunks, ChannelRange channels,
                  PackedConv& packed, std::span<s32> bias);

}  // namespace octet
