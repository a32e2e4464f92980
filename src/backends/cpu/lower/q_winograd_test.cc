// SPDX-License-Identifier: Apache-2.0
// The Winograd convolution against the scalar reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/kernels/codes/conv/winograd.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_conv_case.h"

namespace octet {
namespace {

// It serves one level only.
Offer winograd_first(const LowerRequest& request) {
  Offer winograd = lower_q_conv_winograd(request);
  return std::holds_alternative<Candidate>(winograd) ? winograd : lower_q_conv(request);
}

TEST(QConvWinograd, TilesAtTheEdgesOfTheImage) {
  for (s64 height : {1, 2, 3, 7, 8}) {
    for (s64 width : {1, 2, 5, 14, 15}) {
      ConvCase c{.batch = 2, .channels = 16, .height = height, .width = width, .outputs = 18};
      expect_exact(probe_of(c), winograd_first, text(c));
      if (height < 3 || width < 3) continue;
      c.pads = {0, 1, 0, 0};
      expect_exact(probe_of(c), winograd_first, text(c) + ", one pad");
    }
  }
}

TEST(QConvWinograd, ChannelsAndGroupsOfTiles) {
  for (s64 channels : {16, 32, 48, 128}) {
    for (s64 outputs : {1, 15, 16, 17, 33}) {
      const ConvCase c{.channels = channels, .height = 17, .width = 25, .outputs = outputs};
      expect_exact(probe_of(c), winograd_first, text(c));
    }
  }
}

// The largest sums that the transforms meet, and sums beyond the codes.
TEST(QConvWinograd, ZeroPointsAndSaturation) {
  for (s64 zero_point : {0, 1, 128, 255}) {
    for (Codes codes : {Codes::any, Codes::extremes, Codes::highest}) {
      ConvCase c{.channels = 32, .outputs = 16};
      c.zero_point = zero_point;
      c.codes = codes;
      c.extreme_weights = true;
      expect_exact(probe_of(c), winograd_first, text(c));
      c.multiplier = 1e9f;
      expect_exact(probe_of(c), winograd_first, text(c));
    }
  }
}

TEST(QConvWinograd, ResidualLeakyTableAndRealOutputs) {
  for (s64 outputs : {7, 32}) {
    const ConvCase c{.batch = 2, .channels = 16, .outputs = outputs};
    Probe probe = probe_of(c);
    add_residual(probe, 200);
    probe.attrs.set("activation", std::string("leaky_relu"));
    Probe table = probe;
    table.inputs.push_back(constant(random_u8({256}, 11)));
    expect_exact(table, winograd_first, text(c) + ", table");
    probe.attrs.set("output_dtype", std::string("f32"));
    expect_exact(probe, winograd_first, text(c) + ", f32");
  }
}

TEST(QConvWinograd, RunsWhereItIsOffered) {
  const auto names = expect_exact(probe_of({.channels = 16}), winograd_first, "names");
  EXPECT_EQ(std::ranges::count(names, kWinogradKernels[0].name) > 0,
            hardware_has(kWinogradKernels[0].isa));
}

TEST(QConvWinograd, RejectsWithReasons) {
  const auto reject = [](const ConvCase& c) {
    Probe probe = probe_of(c);
    probe.isa = Isa::avx2;
    return run_guarded(probe, lower_q_conv_winograd, {}).reject;
  };
  EXPECT_EQ(reject({.channels = 20}), "the channels are no multiple of 16");
  EXPECT_EQ(reject({.kernel_h = 5}), "the window is not 3x3");
  EXPECT_EQ(reject({.stride = 2}), "the window has strides or dilations");
  EXPECT_EQ(reject({.channels = 1040, .outputs = 1}), "the channels are more than 1024");
  EXPECT_EQ(reject({.channels = 512, .outputs = 512}),
            "the transformed weights are too large to be read again");
}

}  // namespace
}  // namespace octet
