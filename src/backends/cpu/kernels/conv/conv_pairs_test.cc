// SPDX-License-Identifier: Apache-2.0
// The steps of conv_pairs.h are the weights again, and none of their pairs can leave s16.
#include "backends/cpu/kernels/conv/conv_pairs.h"

#include <gtest/gtest.h>

#include <random>

namespace octet {
namespace {

constexpr s64 kChunks = 37;
constexpr s64 kDepth = kChunks * kConvChunk;
constexpr s64 kOrders[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};

// Adds the steps of every block up to [channel][k].
std::vector<s32> unpacked(const PackedConv& packed, s64 channels) {
  std::vector<s32> sums(static_cast<size_t>(channels * kDepth));
  for (size_t b = 0; b < packed.pair_blocks.size(); ++b) {
    const ConvPairBlock& block = packed.pair_blocks[b];
    const s64* offset = packed.offsets.data() + block.first_offset;
    const s8* w = reinterpret_cast<const s8*>(packed.weights.data()) + block.first_weight;
    for (int kind = 0; kind < 5; ++kind) {
      const s64 first = kind == 4 ? 8 * kConvChunk : 0;
      const s64 last = (kind == 3 ? 8 : 16) * kConvChunk;
      for (s64 step = 0; step < block.steps[kind]; ++step, ++offset) {
        for (s64 i = first; i < last; ++i, ++w) {
          EXPECT_TRUE(i % 2 != 0 || std::abs(w[0] + w[1]) <= 128);
          const s64 c = static_cast<s64>(b) * kConvLanes + i / kConvChunk;
          if (c >= channels) {
            EXPECT_EQ(*w, 0);
          } else {
            sums[static_cast<size_t>(c * kDepth + *offset +
                                     kOrders[kind % 3 * (kind < 3)][i % 4])] += *w;
          }
        }
      }
    }
  }
  return sums;
}

// Leaves gaps, beyond which no step may read.
void remove_some(ConvChunks& chunks, std::vector<s8>& weights, s64 channels) {
  for (const s64 gap : {20, 19, 9}) {
    chunks.offsets.erase(chunks.offsets.begin() + gap);
    const auto first = chunks.sources.begin() + gap * kConvChunk;
    chunks.sources.erase(first, first + kConvChunk);
    for (s64 c = 0; c < channels; ++c) {
      for (s64 i = 0; i < kConvChunk; ++i)
        weights[static_cast<size_t>(c * kDepth + gap * kConvChunk + i)] = 0;
    }
  }
}

bool reads_gap(s64 offset) {
  const auto touches = [&](s64 chunk) {
    return offset + kConvChunk > chunk * kConvChunk && offset < (chunk + 1) * kConvChunk;
  };
  return touches(9) || touches(19) || touches(20) || offset + kConvChunk > kDepth;
}

TEST(ConvPairs, StepsAddUpToTheWeightsAndCannotSaturate) {
  for (const s32 size : {10, 60, 127, 128}) {
    for (const s64 channels : {1, 16, 21}) {
      std::mt19937_64 random(static_cast<u64>(size));
      std::vector<s8> weights(static_cast<size_t>(channels * kDepth));
      for (s8& w : weights) {
        const s32 value = static_cast<s32>(random() % (2 * static_cast<u64>(size) + 1)) - size;
        w = static_cast<s8>(size == 128 ? (value < 0 ? -128 : 127) : value);
      }
      ConvChunks chunks;
      for (s64 k = 0; k < kDepth; ++k) {
        if (k % kConvChunk == 0) chunks.offsets.push_back(k);
        chunks.sources.push_back(k);
      }
      remove_some(chunks, weights, channels);
      PackedConv packed;
      append_pairs({weights, kDepth, 1}, chunks, {0, channels}, packed);
      EXPECT_EQ(unpacked(packed, channels), std::vector<s32>(weights.begin(), weights.end()));
      for (const s64 offset : packed.offsets) EXPECT_FALSE(reads_gap(offset));
    }
  }
}

}  // namespace
}  // namespace octet
