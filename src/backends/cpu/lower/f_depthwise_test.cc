// SPDX-License-Identifier: Apache-2.0
// The depthwise kernel against the scalar reference, to the bit.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/probe.h"

namespace octet {

Offer lower_f_depthwise(const LowerRequest& request);

namespace {

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
      if (!c.activation.empty()) probe.attrs.set("activation", c.activation);
      if (c.activation == "clip") {
        probe.attrs.set("activation_min", -0.5f);
        probe.attrs.set("activation_max", 0.75f);
      }
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
              .isa = Isa::avx2};
  probe.attrs.set("group", s64{4});
  EXPECT_EQ(run_probe(probe, lower_f_depthwise).reject, "a close result is enough here");
}

}  // namespace
}  // namespace octet
