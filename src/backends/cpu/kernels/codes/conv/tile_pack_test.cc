// SPDX-License-Identifier: Apache-2.0
// Packed tiles, byte by byte, against what the order of a tile is.
#include "backends/cpu/kernels/codes/conv/tile_pack.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/divide.h"

namespace octet {
namespace {

struct Case {
  s64 groups, inputs, outputs;  // channels of a group
  s64 taps_y, taps_x;
  bool rows;  // runs are rows of taps
  bool wide;  // blocks of four tiles
  s64 k_stride = 1;
};

std::vector<s8> random_codes(s64 count) {
  std::mt19937 random(7);
  std::vector<s8> codes(static_cast<size_t>(count));
  for (s8& code : codes) code = static_cast<s8>(random());
  return codes;
}

// The weight that column `column` of a group's tile has at byte `b` of a window's steps; zero behind a run and behind the last channel.
s8 expected(const Case& c, const ConvWeights& weights, s64 group, s64 channel, s64 b) {
  const s64 run_bytes = (c.rows ? c.taps_x : 1) * c.inputs;
  const s64 of_run = ceil_div(run_bytes, kTileStep) * kTileStep, run = b / of_run, at = b % of_run;
  if (channel >= c.outputs || at >= run_bytes) return 0;
  const s64 tap = run * (c.rows ? c.taps_x : 1) + at / c.inputs;
  const s64 k = at % c.inputs * c.taps_y * c.taps_x + tap;
  return weights.data[static_cast<size_t>((group * c.outputs + channel) * weights.channel_stride +
                                          k * weights.k_stride)];
}

// Of four tiles that are interleaved, which channel stands in a column.
s64 channel_of(const Case& c, s64 position) {
  const s64 block = position / 64 * 64, within = position % 64;
  if (!c.wide || block + 64 > ceil_div(c.outputs, kTileColumns) * kTileColumns) return position;
  return block + within % 16 / 4 * 16 + within / 16 * 4 + within % 4;
}

TEST(PackedTiles, HaveEachWeightInItsPlace) {
  const Case cases[] = {{1, 64, 64, 1, 1, false, true},     {1, 64, 80, 3, 3, false, false},
                        {1, 100, 130, 3, 2, false, true},   {1, 3, 64, 7, 7, true, true},
                        {2, 20, 40, 3, 3, false, false},    {1, 24, 33, 1, 5, true, false},
                        {1, 96, 48, 1, 1, false, false, 3}, {3, 5, 16, 2, 2, false, false, 2}};
  for (const Case& c : cases) {
    ConvGeometry g{.groups = c.groups,
                   .in_channels = c.groups * c.inputs,
                   .out_channels = c.groups * c.outputs,
                   .window = {}};
    g.window.axes[1].kernel = c.taps_y;
    g.window.axes[2].kernel = c.taps_x;
    const s64 values = c.inputs * c.taps_y * c.taps_x;
    const std::vector<s8> codes = random_codes(g.out_channels * values * c.k_stride);
    const std::vector<f32> multiplier(1, 0.5f);
    const ConvConstants constants{
        .weights = {codes, values * c.k_stride, c.k_stride}, .bias = {}, .multiplier = multiplier};
    const s64 run_bytes = (c.rows ? c.taps_x : 1) * c.inputs;
    const s64 runs = c.taps_y * (c.rows ? 1 : c.taps_x);
    const s64 steps = runs * ceil_div(run_bytes, kTileStep);
    for (const Isa isa : {Isa::none, hardware_isa()}) {
      const PackedTiles packed = pack_tiles(g, {run_bytes, steps, c.wide}, constants, isa);
      ASSERT_EQ(packed.padded_channels, ceil_div(c.outputs, kTileColumns) * kTileColumns);
      ASSERT_EQ(std::ssize(packed.weights), c.groups * packed.padded_channels * steps * kTileStep);
      for (s64 i = 0; i < std::ssize(packed.weights); ++i) {
        const s64 tile = i / (steps * kTileWeights), within = i % (steps * kTileWeights);
        const s64 b = within / 64 * 4 + within % 4, column = within / 4 % kTileColumns;
        const s64 group = tile * kTileColumns / packed.padded_channels;
        const s64 position = tile * kTileColumns % packed.padded_channels + column;
        ASSERT_EQ(packed.weights[static_cast<size_t>(i)],
                  expected(c, constants.weights, group, channel_of(c, position), b))
            << c.inputs << " inputs, byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace octet
