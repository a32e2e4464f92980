// SPDX-License-Identifier: Apache-2.0
// QConv kernels against the scalar reference at the edges of their tiles.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/kernels/codes/conv/tile_conv.h"
#include "backends/cpu/kernels/codes/conv/tile_merge.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_conv_case.h"

namespace octet {
namespace {

// The planner's order.
Offer as_planned(const LowerRequest& request) {
  Offer tiles = lower_q_conv_tiles(request);
  return std::holds_alternative<Candidate>(tiles) ? tiles : lower_q_conv(request);
}

TEST(QConv, ChannelsAtTheEdgesOfEveryTile) {
  for (const ConvKernel& kernel : kConstantConvKernels) {
    for (s64 outputs : {s64{1}, kConvLanes - 1, kConvLanes, kConvLanes + 1, kernel.channels - 1,
                        kernel.channels, kernel.channels + 1, 2 * kernel.channels + 33}) {
      const ConvCase c{.channels = 5, .height = 3, .width = 4, .outputs = outputs};
      expect_exact(probe_of(c), as_planned, text(c));
    }
  }
}

TEST(QConv, InputChannelsAroundAChunk) {
  for (s64 channels = 1; channels <= 9; ++channels) {
    for (s64 kernel_w : {1, 2, 3}) {
      for (s64 dilation : {1, 2}) {
        ConvCase c{.channels = channels, .outputs = 5, .kernel_h = 2, .kernel_w = kernel_w};
        c.dilation = dilation;
        c.pads = {0, 0, 0, 0};
        expect_exact(probe_of(c), as_planned, text(c));
      }
    }
  }
}

TEST(QConv, PixelsAroundTheTile) {
  for (s64 width = 1; width <= 14; ++width) {
    ConvCase c{
        .batch = 2, .height = 2, .width = width, .outputs = 20, .kernel_h = 1, .kernel_w = 1};
    c.pads = {0, 0, 0, 0};
    expect_exact(probe_of(c), as_planned, text(c));
  }
}

// Long runs of adjacent bytes, whole and with tails, under tiles that end inside rows and at their ends.
TEST(QConv, LongRunsUnderWideTiles) {
  for (s64 channels : {32, 36, 64, 68, 132}) {
    for (s64 width : {10, 14, 16, 17, 28, 33}) {
      for (s64 kernel_size : {1, 3}) {
        ConvCase c{.batch = 2, .channels = channels, .height = 3, .width = width, .outputs = 80};
        c.kernel_h = c.kernel_w = kernel_size;
        c.pads.assign(4, kernel_size / 2);
        expect_exact(probe_of(c), as_planned, text(c));
      }
    }
  }
}

// So many outputs that AVX2 writes the bytes of a tile in several orders first, of windows of whole registers and of less.
TEST(QConv, PreparedRows) {
  for (s64 channels : {1, 3, 4, 7, 8, 13, 16, 24, 40}) {
    for (s64 kernel_size : {1, 3}) {
      ConvCase c{.channels = channels, .height = 3, .width = 5, .outputs = 136};
      c.kernel_h = c.kernel_w = kernel_size;
      c.pads.assign(4, kernel_size / 2);
      c.extreme_weights = channels % 2 != 0;
      expect_exact(probe_of(c), as_planned, text(c));
    }
  }
}

TEST(QConv, StridesPadsAndDilations) {
  for (s64 stride : {1, 2, 3}) {
    for (s64 dilation : {1, 2}) {
      for (const std::vector<s64>& pads :
           {std::vector<s64>{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 0}, {3, 2, 0, 3}}) {
        ConvCase c{.batch = 2, .channels = 6, .height = 8, .width = 9, .outputs = 18};
        c.stride = stride;
        c.dilation = dilation;
        c.pads = pads;
        expect_exact(probe_of(c), as_planned, text(c));
      }
    }
  }
}

TEST(QConv, Groups) {
  for (s64 groups : {2, 3, 6, 12}) {
    for (s64 factor : {1, 3}) {
      ConvCase c{.channels = 12, .outputs = 12 * factor, .groups = groups};
      expect_exact(probe_of(c), as_planned, text(c));
      // Unpadded, the last chunk of the last group ends with the value: nothing readable lies behind it.
      c.pads = {0, 0, 0, 0};
      expect_exact(probe_of(c), as_planned, text(c) + ", unpadded");
    }
  }
}

TEST(QConv, ZeroPointsAndSaturation) {
  for (s64 zero_point : {0, 1, 127, 128, 255}) {
    for (Codes codes : {Codes::any, Codes::extremes, Codes::highest}) {
      ConvCase c{.channels = 40, .outputs = 17};
      c.zero_point = zero_point;
      c.codes = codes;
      c.extreme_weights = codes != Codes::any;
      expect_exact(probe_of(c), as_planned, text(c));
    }
  }
}

// 255 * 127 * 2 passes s16, and a long sum passes 2^24.
TEST(QConv, LongSumsOfTheLargestProducts) {
  ConvCase c{.channels = 600, .height = 3, .width = 3, .outputs = 16};
  c.codes = Codes::highest;
  c.extreme_weights = true;
  c.zero_point = 0;
  for (f32 multiplier : {1e-6f, 1e-3f, 1.0f, 1e6f, 1e30f}) {
    c.multiplier = multiplier;
    Probe probe = probe_of(c);
    auto weights = probe.inputs[1].tensor.mutable_as<s8>();
    // Every second channel sums equal signs.
    for (size_t i = 0; i < weights.size(); ++i) {
      if (i / (600 * 9) % 2 == 0) weights[i] = i / (600 * 9) % 4 == 0 ? 127 : -127;
    }
    expect_exact(probe, as_planned, text(c));
  }
}

TEST(QConv, ResidualLeakyTableAndRealOutputs) {
  for (s64 outputs : {7, 64, 70}) {
    ConvCase c{.batch = 2, .channels = outputs == 7 ? s64{16} : s64{32}, .outputs = outputs};
    Probe probe = probe_of(c);
    add_residual(probe, 77);
    expect_exact(probe, as_planned, text(c) + ", residual");
    probe.attrs.set("activation", std::string("leaky_relu"));
    probe.attrs.set("activation_alpha", 0.3f);
    expect_exact(probe, as_planned, text(c) + ", residual, leaky");
    Probe table = probe;
    table.inputs.push_back(constant(random_u8({256}, 11)));
    expect_exact(table, as_planned, text(c) + ", residual, leaky, table");
    table.attrs.set("output_dtype", std::string("s8"));
    table.attrs.set("output_zero_point", s64{-20});
    table.attrs.set("lo", s64{-100});
    table.attrs.set("hi", s64{90});
    expect_exact(table, as_planned, text(c) + ", table of s8");
    for (const char* activation : {"", "relu", "clip", "leaky_relu"}) {
      probe.attrs.set("output_dtype", std::string("f32"));
      probe.attrs.set("activation", std::string(activation));
      probe.attrs.set("activation_min", -20.0f);
      probe.attrs.set("activation_max", 31.5f);
      expect_exact(probe, as_planned, text(c) + ", f32 " + activation);
    }
  }
}

TEST(QConv, NoImages) {
  for (s64 kernel_size : {1, 3}) {
    ConvCase c{.batch = 0, .channels = 32, .height = 16, .width = 16, .outputs = 32};
    c.kernel_h = c.kernel_w = kernel_size;
    c.pads.assign(4, kernel_size / 2);
    Probe probe = probe_of(c);
    add_residual(probe, 77);
    expect_exact(probe, as_planned, text(c));
  }
}

TEST(QConv, OneMultiplierAndNoBias) {
  ConvCase c{.outputs = 20};
  Probe probe = probe_of(c);
  probe.inputs[2] = omitted();
  probe.inputs[3] = constant(random_multipliers(1, 5, 0.002f));
  expect_exact(probe, as_planned, "one multiplier");
}

TEST(QConv, BandsOfRowsThatDoNotFitTheBuffer) {
  ConvCase c{.channels = 70, .height = 40, .width = 130, .outputs = 3};
  c.stride = 2;
  expect_exact(probe_of(c), as_planned, text(c));
}

TEST(QConv, RejectsWithReasons) {
  Probe probe = probe_of({});
  probe.inputs[1].constant = false;
  EXPECT_EQ(run_guarded(probe, as_planned, {}).reject, "the weights are not constant s8");
  Probe deep{.op = "QConv"};
  deep.inputs = {activation(random_u8({1, 4, 5}, 1)), constant(random_s8({2, 4, 3}, 2)), omitted(),
                 constant(random_multipliers(2, 3, 0.1f))};
  EXPECT_EQ(run_guarded(deep, as_planned, {}).reject, "only 2-D convolutions have a kernel");
}

// Shapes that suit the tile kernel: pixels that fill a tile, cross rows or leave a rest; runs of full steps and tails.
TEST(QConv, TilesOfEveryShape) {
  for (s64 width : {7, 8, 14, 15, 16, 17, 28, 33}) {
    for (s64 channels : {32, 64, 68, 100, 192}) {
      const bool pointwise = (width + channels) % 3 == 0;
      ConvCase c{.channels = channels, .height = 3, .width = width};
      c.outputs = 16 + (width * channels) % 123;
      c.kernel_h = c.kernel_w = pointwise ? 1 : 3;
      if (pointwise) c.pads = {0, 0, 0, 0};
      c.stride = 1 + width % 2;
      c.dilation = !pointwise && channels == 68 ? 2 : 1;
      if (c.dilation == 2) c.pads = {2, 2, 2, 2};
      expect_exact(probe_of(c), as_planned, text(c));
    }
  }
}

// Few channels: neighbouring pixels are one on tiles, where rows divide; borders, strides and residuals go along.
TEST(QConv, FewChannelsMergePixels) {
  for (s64 outputs : {1, 3, 8, 12, 16, 24, 32}) {
    for (s64 width : {16, 24, 34, 36, 62}) {
      for (s64 stride : {1, 2}) {
        ConvCase c{.batch = 2, .channels = 3, .height = 5, .width = width, .outputs = outputs};
        c.stride = stride;
        expect_exact(probe_of(c), as_planned, text(c));
        c.channels = 8 + outputs;
        c.kernel_h = c.kernel_w = 1;
        c.pads = {0, 0, 0, 0};
        Probe probe = probe_of(c);
        add_residual(probe, 77);
        expect_exact(probe, as_planned, text(c) + ", residual");
        probe.attrs.set("output_dtype", std::string("f32"));
        expect_exact(probe, as_planned, text(c) + ", residual, f32");
      }
    }
  }
}

TEST(QConv, PixelsMergeWhereTheyPay) {
  ConvGeometry stem;
  stem.in_channels = 3;
  stem.out_channels = 8;
  stem.window.axes[1] = {64, 32, 3, 2, 1, 0, 1};
  stem.window.axes[2] = {64, 32, 3, 2, 1, 0, 1};
  EXPECT_GT(merged_pixels(stem), 1);
  const ConvGeometry merged = merged_geometry(stem, 4);
  EXPECT_EQ(merged.window.w().out, 8);
  EXPECT_EQ(merged.window.w().kernel, 9);
  EXPECT_EQ(merged.out_channels, 32);
  stem.window.axes[2].out = 31;  // no pixels to pair
  EXPECT_EQ(merged_pixels(stem), 1);
  stem.window.axes[2].out = 32;
  stem.out_channels = 128;
  EXPECT_EQ(merged_pixels(stem), 1);
}

ConvCase stem(s64 size, s64 channels, s64 outputs) {
  ConvCase c{
      .batch = 2, .channels = channels, .height = size, .width = size + 5, .outputs = outputs};
  c.kernel_h = c.kernel_w = 7;
  c.stride = 2;
  c.pads = {3, 3, 3, 3};
  return c;
}

// Images of even and odd sizes, borders that reach further on one side, residuals, and bands of few rows.
TEST(QConv, FoldedStems) {
  for (s64 odd : {0, 1}) {
    for (const std::vector<s64>& pads :
         {std::vector<s64>{3, 3, 3, 3}, {0, 0, 0, 0}, {4, 2, 1, 5}}) {
      ConvCase c = stem(100 + odd, 3 + odd, 64);
      c.height = 20 + odd;
      c.pads = pads;
      EXPECT_TRUE(folds(conv_geometry(c))) << text(c);
      expect_exact(probe_of(c), as_planned, text(c));
    }
  }
  ConvCase c = stem(300, 3, 40);
  c.batch = 1;
  c.kernel_w = 6;
  c.height = 30;
  Probe probe = probe_of(c);
  EXPECT_TRUE(folds(conv_geometry(c))) << text(c);
  add_residual(probe, 91);
  expect_exact(probe, as_planned, text(c) + ", residual");
}

TEST(QConv, FoldsWhereItPays) {
  EXPECT_TRUE(folds(conv_geometry(stem(224, 3, 64))));
  ConvCase c = stem(224, 3, 32);
  c.kernel_h = c.kernel_w = 3;
  EXPECT_FALSE(folds(conv_geometry(c)));  // 27 bytes of a window lie in three steps, folded in two
  c = stem(224, 3, 64);
  c.stride = 1;
  EXPECT_FALSE(folds(conv_geometry(c)));
  EXPECT_FALSE(folds(conv_geometry(stem(224, 8, 64))));
}

TEST(QConv, TilesInGroups) {
  ConvCase c{.batch = 2, .channels = 192, .height = 4, .width = 9, .outputs = 96, .groups = 3};
  expect_exact(probe_of(c), as_planned, text(c));
}

// Rows keep the promise of their names: the best kernel of each level runs.
TEST(QConv, EveryTableRowIsTested) {
  auto names = expect_exact(probe_of({.channels = 5}), as_planned, "names");
  const auto tiles = expect_exact(probe_of({.channels = 64}), as_planned, "names");
  names.insert(names.end(), tiles.begin(), tiles.end());
  for (const ConvKernel& kernel : kConstantConvKernels) {
    if (!hardware_has(kernel.isa)) continue;
    EXPECT_NE(std::find(names.begin(), names.end(), kernel.name), names.end()) << kernel.name;
  }
  for (const TileKernel& kernel : kTileKernels) {
    if (!hardware_has(kernel.isa)) continue;
    EXPECT_NE(std::find(names.begin(), names.end(), kernel.name), names.end()) << kernel.name;
  }
}

}  // namespace
}  // namespace octet
