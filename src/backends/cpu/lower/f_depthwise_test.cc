// SPDX-License-Identifier: Apache-2.0
// The depthwise kernel against the scalar reference, to the bit.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"
#include "backends/cpu/lower/specials_testing.h"

namespace octet {
namespace {

void set_activation(Probe& probe, const std::string& activation) {
  if (!activation.empty()) probe.attrs.set("activation", activation);
  if (activation == "clip") {
    probe.attrs.set("activation_min", -0.5f);
    probe.attrs.set("activation_max", 0.75f);
  }
}

struct Case {
  Shape x;
  std::vector<s64> strides, pads, dilations;
  std::string activation;
};

TEST(FloatDepthwise, EqualsTheReference) {
  const Case cases[] = {{{1, 16, 9, 8}, {1, 1}, {1, 1, 1, 1}, {1, 1}, ""},
                        {{2, 5, 7, 11}, {2, 2}, {0, 0, 1, 1}, {1, 1}, "relu"},
                        {{1, 33, 6, 5}, {1, 2}, {2, 2, 2, 2}, {2, 2}, "leaky_relu"},
                        {{1, 8, 3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, "clip"},
                        {{1, 24, 1, 1}, {1, 1}, {1, 1, 1, 1}, {1, 1}, "relu"},
                        {{1, 40, 40, 40}, {2, 2}, {1, 1, 1, 1}, {1, 1}, ""}};
  for (const Case& c : cases) {
    for (const bool bias : {false, true}) {
      Probe probe{.op = "Conv",
                  .inputs = {{random_f32(c.x, 1), false, Layout::nhwc},
                             {random_f32(Shape{c.x[1], 1, 3, 3}, 2), true}},
                  .threads = 2};
      if (bias) probe.inputs.push_back({random_f32(Shape{c.x[1]}, 3), true});
      probe.attrs.set("exact", s64{1});
      probe.attrs.set("group", c.x[1]);
      probe.attrs.set("strides", c.strides);
      probe.attrs.set("pads", c.pads);
      probe.attrs.set("dilations", c.dilations);
      set_activation(probe, c.activation);
      probe.inputs[0].tensor.mutable_as<f32>()[0] = std::numeric_limits<f32>::quiet_NaN();
      const Tensor want = probe.reference()[0];
      for (const Isa isa : simd_levels()) {
        probe.isa = isa;
        const ProbeResult result = run_probe(probe, lower_f_depthwise);
        ASSERT_EQ(result.reject, "");
        expect_same_f32(result.outputs[0], want, to_string(c.x) + c.activation);
      }
    }
  }
}

TEST(FloatDepthwise, OnlyWhereExactnessIsAskedFor) {
  Probe probe{.op = "Conv",
              .inputs = {{random_f32(Shape{1, 4, 5, 5}, 1), false, Layout::nhwc},
                         {random_f32(Shape{4, 1, 3, 3}, 2), true}},
              .isa = first_simd_level()};
  probe.attrs.set("group", s64{4});
  EXPECT_EQ(run_probe(probe, lower_f_depthwise).reject, "a close result is enough here");
}

struct TapsCase {
  Shape x;
  std::vector<s64> kernel, strides, pads, dilations;
  std::string activation;
};

// Pairs of rows and single ones, whole registers and parts, channels that fill registers with their neighbours, windows beyond the image.
const TapsCase kTapsCases[] = {
    {{1, 16, 9, 8}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, ""},
    {{2, 40, 12, 13}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, "clip"},
    {{1, 33, 7, 19}, {3, 3}, {1, 1}, {0, 2, 1, 0}, {1, 1}, "relu"},
    {{2, 8, 7, 21}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, "leaky_relu"},
    {{1, 4, 7, 6}, {5, 3}, {1, 1}, {2, 1, 2, 1}, {1, 1}, "relu"},
    {{1, 5, 7, 11}, {3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}, "relu"},
    {{1, 24, 9, 9}, {5, 5}, {2, 1}, {2, 2, 2, 2}, {1, 1}, ""},
    {{1, 17, 9, 9}, {7, 7}, {1, 1}, {3, 3, 3, 3}, {1, 1}, "clip"},
    {{1, 32, 6, 5}, {3, 3}, {1, 2}, {2, 2, 2, 2}, {2, 2}, "leaky_relu"},
    {{1, 16, 1, 1}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, "relu"},
    {{1, 16, 2, 2}, {3, 3}, {1, 1}, {3, 3, 3, 3}, {1, 1}, ""},
};

Probe taps_probe(const TapsCase& c) {
  Probe probe{.op = "Conv",
              .inputs = {{random_f32(c.x, 1), false, Layout::nhwc},
                         {random_f32(Shape{c.x[1], 1, c.kernel[0], c.kernel[1]}, 2), true},
                         {random_f32(Shape{c.x[1]}, 3), true}}};
  probe.attrs.set("group", c.x[1]);
  probe.attrs.set("strides", c.strides);
  probe.attrs.set("pads", c.pads);
  probe.attrs.set("dilations", c.dilations);
  set_activation(probe, c.activation);
  return probe;
}

TEST(FloatDepthwiseTaps, IsCloseToTheReferenceAndEqualOnAllLevelsAndThreads) {
  for (const TapsCase& c : kTapsCases) {
    Probe probe = taps_probe(c);
    Tensor first;
    for (const Isa isa : simd_levels()) {
      probe.isa = isa;
      for (const int threads : {1, 3}) {
        probe.threads = threads;
        const ProbeResult result = run_probe(probe, lower_f_depthwise_taps);
        ASSERT_EQ(result.reject, "");
        expect_close_f32(result.outputs[0], probe.reference()[0], to_string(c.x));
        if (first) expect_same_f32(result.outputs[0], first, to_string(c.x));
        first = result.outputs[0];
      }
    }
  }
}

// docs/numerics.md, section 8; a tap outside of the image is no product.
TEST(FloatDepthwiseTaps, KeepsNanAndInfinities) {
  for (const TapsCase& c : kTapsCases) {
    Probe probe = taps_probe(c);
    const auto x = probe.inputs[0].tensor.mutable_as<f32>();
    x[0] = std::numeric_limits<f32>::quiet_NaN();
    x[x.size() / 2] = std::numeric_limits<f32>::infinity();
    const Tensor want = probe.reference()[0];
    for (const Isa isa : simd_levels()) {
      probe.isa = isa;
      expect_same_specials(run_probe(probe, lower_f_depthwise_taps).outputs[0], want,
                           to_string(c.x));
    }
  }
}

TEST(FloatDepthwiseTaps, SaysWhyNot) {
  Probe probe = taps_probe(kTapsCases[0]);
  probe.isa = first_simd_level();
  probe.attrs.set("exact", s64{1});
  EXPECT_EQ(run_probe(probe, lower_f_depthwise_taps).reject, "an exact result is asked for");
  Probe wide = taps_probe({{1, 2, 9, 9}, {8, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}, ""});
  wide.isa = first_simd_level();
  EXPECT_EQ(run_probe(wide, lower_f_depthwise_taps).reject, "the window has more than 49 taps");
}

}  // namespace
}  // namespace octet
