// SPDX-License-Identifier: Apache-2.0
// The steps of conv_pairs.h give the products of the weights as they are, read nothing outside of the window, and none of
// their sums can leave s16.
#include "backends/cpu/kernels/codes/conv/conv_pairs.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "arch/isa.h"
#include "backends/cpu/kernels/codes/conv/conv.h"

namespace octet {
namespace {

constexpr s64 kChunks = 37;
constexpr s64 kDepth = kChunks * kConvChunk;
constexpr s64 kOrders[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};

struct Case {
  std::vector<s8> weights;  // [channel][kDepth]
  ConvChunks chunks;
  PackedConv packed;
  std::vector<s32> bias;
};

// All chunks, or with gaps beyond which no step may read.
Case pack(s32 size, s64 channels, bool gaps) {
  Case c;
  std::mt19937_64 random(static_cast<u64>(size));
  c.weights.resize(static_cast<size_t>(channels * kDepth));
  c.bias.resize(static_cast<size_t>(channels));
  for (s8& w : c.weights) {
    const s32 value = static_cast<s32>(random() % (2 * static_cast<u64>(size) + 1)) - size;
    w = static_cast<s8>(size == 128 ? (value < 0 ? -128 : 127) : value);
  }
  for (s64 k = 0; k < kChunks; ++k) {
    const bool gap = gaps && (k == 9 || k == 19 || k == 20);
    if (!gap) c.chunks.offsets.push_back(k * kConvChunk);
    for (s64 i = 0; i < kConvChunk; ++i) {
      if (!gap) c.chunks.sources.push_back(k * kConvChunk + i);
      for (s64 o = 0; gap && o < channels; ++o)
        c.weights[static_cast<size_t>(o * kDepth + k * kConvChunk + i)] = 0;
    }
  }
  append_pairs({c.weights, kDepth, 1}, c.chunks, {0, channels}, c.packed, c.bias);
  return c;
}

// The bytes that positions mean: those of the window, or rows as ConvPairRows describes them. -1: none may be read.
std::vector<s32> row_of(const Case& c, const std::vector<u8>& x) {
  const ConvPairRows& rows = c.packed.pair_rows[0];
  std::vector<s32> lying;
  for (const s64 offset : c.chunks.offsets) {
    for (s64 i = 0; i < kConvChunk; ++i) lying.push_back(x[static_cast<size_t>(offset + i)]);
  }
  if (rows.variants == 0) {
    std::vector<s32> window(static_cast<size_t>(kDepth), -1);
    for (size_t i = 0; i < lying.size(); ++i)
      window[static_cast<size_t>(c.chunks.offsets[i / 4]) + i % 4] = lying[i];
    return window;
  }
  std::vector<s32> row(static_cast<size_t>(rows.pitch), -1);
  for (s64 v = 0; v < rows.variants; ++v) {
    for (size_t i = 0; i < lying.size(); ++i) {
      const size_t shift = 8 * (i % 4);
      const size_t from = i / 4 * 4 + (static_cast<u32>(rows.orders[v]) >> shift & 3);
      const s32 flip = static_cast<s32>(static_cast<u32>(rows.flips[v]) >> shift & 255);
      row[static_cast<size_t>(v * rows.bytes) + i] = lying[from] ^ flip;
    }
  }
  for (size_t i = 0; rows.words && i < lying.size(); ++i) {
    row[static_cast<size_t>(rows.variants * rows.bytes) + 2 * i] = lying[i];
    row[static_cast<size_t>(rows.variants * rows.bytes) + 2 * i + 1] = 0;
  }
  return row;
}

// Runs the steps of a block: sums of 8 channels.
class Runner {
 public:
  Runner(const Case& c, const ConvPairBlock& block, const std::vector<s32>& row)
      : row_(row),
        position_(c.packed.pair_positions.data() + block.first_position),
        weights_(reinterpret_cast<const s8*>(c.packed.weights.data()) + block.first_weight) {
    for (s64 k = 0; k < block.doubles; ++k) bytes(2, 0);
    for (s64 k = 0; k < block.singles; ++k) bytes(1, 0);
    for (const size_t i : {size_t{0}, size_t{1}}) {
      for (s64 k = 0; k < block.swapped[i]; ++k) bytes(1, i + 1);
    }
    for (s64 k = 0; k < block.words; ++k) words();
  }

  const std::array<s32, kPairLanes>& sums() const { return sums_; }

 private:
  s32 at(s64 position) const {
    const s32 value = row_[static_cast<size_t>(position)];
    EXPECT_GE(value, 0);
    return value;
  }

  // Steps that add up before they are widened.
  void bytes(s64 steps, size_t order) {
    for (s64 i = 0; i < 2 * kPairLanes; ++i) {
      s32 most = 0, least = 0;
      for (s64 k = 0; k < 2 * steps; ++k) {
        const s32 w = weights_[k / 2 * 32 + 2 * i + k % 2];
        const s64 from = kOrders[order][i % 2 * 2 + k % 2];
        sums_[static_cast<size_t>(i / 2)] += w * at(position_[k / 2] + from);
        (w > 0 ? most : least) += 255 * w;
      }
      EXPECT_LE(most, 32767);
      EXPECT_GE(least, -32768);
    }
    position_ += steps;
    weights_ += steps * 32;
  }

  void words() {
    for (s64 i = 0; i < 2 * kPairLanes * 2; ++i) {
      s16 w;
      memcpy(&w, weights_ + 2 * i, 2);
      const s64 from = *position_ + (i / 16 * 2 + i % 2) * 2;
      sums_[static_cast<size_t>(i % 16 / 2)] += w * (at(from) + 256 * at(from + 1));
    }
    ++position_;
    weights_ += 64;
  }

  const std::vector<s32>& row_;
  const s32* position_;
  const s8* weights_;
  std::array<s32, kPairLanes> sums_{};
};

void expect_products(const Case& c, s64 channels, const std::vector<u8>& x) {
  const std::vector<s32> row = row_of(c, x);
  ASSERT_EQ(static_cast<s64>(c.packed.pair_blocks.size()), (channels + 7) / 8);
  for (s64 b = 0; b * kPairLanes < channels; ++b) {
    const Runner runner(c, c.packed.pair_blocks[static_cast<size_t>(b)], row);
    for (s64 i = 0; i < kPairLanes; ++i) {
      const s64 channel = b * kPairLanes + i;
      s32 expected = 0;
      for (s64 k = 0; k < kDepth && channel < channels; ++k)
        expected +=
            c.weights[static_cast<size_t>(channel * kDepth + k)] * x[static_cast<size_t>(k)];
      const s32 bias = channel < channels ? c.bias[static_cast<size_t>(channel)] : 0;
      EXPECT_EQ(runner.sums()[static_cast<size_t>(i)] + bias, expected);
    }
  }
}

TEST(ConvPairs, StepsGiveTheProductsAndCannotSaturate) {
  if (!hardware_has(Isa::avx2)) GTEST_SKIP() << "weights are packed for AVX2 by AVX2";
  bool in_place = false, rows = false, words = false, doubles = false, swapped = false;
  for (const s32 size : {10, 60, 100, 127, 128}) {
    for (const s64 channels : {1, 16, 21, 96}) {
      for (const bool gaps : {false, true}) {
        const Case c = pack(size, channels, gaps);
        std::mt19937_64 random(7);
        std::vector<u8> x(static_cast<size_t>(kDepth));
        for (u8& byte : x) byte = static_cast<u8>(random());
        expect_products(c, channels, x);
        expect_products(c, channels, std::vector<u8>(x.size(), 255));
        in_place = in_place || c.packed.pair_rows[0].variants == 0;
        rows = rows || c.packed.pair_rows[0].variants > 1;
        for (const ConvPairBlock& block : c.packed.pair_blocks) {
          words = words || block.words > 0;
          doubles = doubles || block.doubles > 0;
          swapped = swapped || block.swapped[0] + block.swapped[1] > 0;
        }
      }
    }
  }
  EXPECT_TRUE(in_place && rows && words && doubles && swapped);
}

// Positions are s32, also those of the words behind all variants.
TEST(ConvPairs, DepthsBeyondThePositionsAreRejected) {
  ConvGeometry g;
  g.out_channels = 1;
  g.in_channels = s64{200} << 20;
  ASSERT_EQ(conv_depth_reject(g), nullptr);
  EXPECT_LE(pair_row_bytes(g.in_channels / kConvChunk), std::numeric_limits<s32>::max());
  g.in_channels = s64{210} << 20;
  EXPECT_NE(conv_depth_reject(g), nullptr);
  EXPECT_NE(conv_reject(g), nullptr);
}

}  // namespace
}  // namespace octet
