// SPDX-License-Identifier: Apache-2.0
// Float convolutions and matrix products of oneDNN against the scalar reference: tolerance class `close`.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"
#include "core/small_types.h"

namespace octet {
namespace {

using Ints = std::vector<s64>;

struct ConvCase {
  Shape x, w;
  Attrs attrs = {};
};

Attrs window(const Ints& strides, const Ints& pads, const Ints& dilations, s64 group) {
  Attrs attrs;
  attrs.set("strides", strides);
  attrs.set("pads", pads);
  attrs.set("dilations", dilations);
  attrs.set("group", group);
  return attrs;
}

std::vector<ConvCase> conv_cases() {
  return {{{1, 3, 33, 31}, {16, 3, 3, 3}, window({2, 2}, {1, 1, 1, 1}, {1, 1}, 1)},
          {{1, 16, 40, 40}, {24, 16, 3, 3}, window({1, 1}, {1, 1, 1, 1}, {1, 1}, 1)},
          {{3, 16, 20, 20}, {24, 16, 1, 1}, window({1, 1}, {0, 0, 0, 0}, {1, 1}, 1)},
          {{1, 24, 50, 50}, {24, 1, 3, 3}, window({1, 1}, {1, 1, 1, 1}, {1, 1}, 24)},
          {{1, 24, 64, 48}, {24, 1, 5, 5}, window({2, 2}, {1, 1, 2, 2}, {1, 1}, 24)},
          {{1, 12, 30, 30}, {18, 4, 3, 3}, window({1, 1}, {2, 2, 2, 2}, {2, 2}, 3)},
          {{2, 5, 9, 8}, {7, 5, 3, 2}, window({1, 2}, {0, 1, 2, 0}, {1, 1}, 1)},
          {{2, 5, 40}, {7, 5, 3}, window({2}, {1, 1}, {1}, 1)},
          {{1, 3, 6, 7, 8}, {4, 3, 3, 3, 3}, window({1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, 1)}};
}

void expect_close_on_threads(Probe& probe, Offer (*lowering)(const LowerRequest&),
                             const std::string& what) {
  const Tensor want = probe.reference()[0];
  for (int threads : {1, 2, 3}) {
    probe.threads = threads;
    const ProbeResult result = run_probe(probe, lowering);
    ASSERT_EQ(result.reject, "");
    expect_close_f32(result.outputs[0], want, what);
  }
}

TEST(FloatConv, IsCloseToTheReference) {
  OCTET_NEEDS_ISA(Isa::avx2);
  const std::string activations[] = {"", "relu", "clip", "leaky_relu"};
  size_t turn = 0;
  for (const ConvCase& c : conv_cases()) {
    Probe probe{.op = "Conv", .attrs = c.attrs, .isa = hardware_isa()};
    probe.inputs = {{random_f32(c.x, 1), false, c.x.rank() == 4 ? Layout::nhwc : Layout::linear},
                    {random_f32(c.w, 2, 0.3f), true},
                    {random_f32(Shape{c.w[0]}, 3), true}};
    probe.attrs.set("activation", activations[turn++ % 4]);
    probe.attrs.set("activation_min", -0.5f);
    probe.attrs.set("activation_max", 1.0f);
    probe.attrs.set("activation_alpha", 0.2f);
    for (bool residual : {false, true}) {
      if (residual) probe.inputs.push_back({random_f32(probe.reference()[0].shape(), 4), false});
      expect_close_on_threads(probe, lower_f_conv, to_string(c.x) + to_string(c.w));
    }
  }
}

// docs/numerics.md, section 8: oneDNN's own Relu and Clip would make numbers of NaN, and of -infinity times a slope of 0 as well.
TEST(FloatConv, ActivationsKeepNan) {
  OCTET_NEEDS_ISA(Isa::avx2);
  const f32 nan = std::numeric_limits<f32>::quiet_NaN(), inf = std::numeric_limits<f32>::infinity();
  for (const char* activation : {"", "relu", "clip", "leaky_relu", "flat"}) {
    const bool flat = activation == std::string("flat");
    for (bool residual : {false, true}) {
      Probe probe{.op = "Conv", .isa = hardware_isa(), .threads = 2};
      Tensor x = random_f32(Shape{1, 8, 9, 9}, 1);
      x.mutable_as<f32>()[5] = nan, x.mutable_as<f32>()[40] = inf, x.mutable_as<f32>()[41] = -inf;
      probe.inputs = {{x, false, Layout::nhwc},
                      {random_f32(Shape{24, 8, 1, 1}, 2), true},
                      {random_f32(Shape{24}, 3), true}};
      if (residual) probe.inputs.push_back({random_f32(Shape{1, 24, 9, 9}, 4), false});
      probe.attrs.set("activation", std::string(flat ? "leaky_relu" : activation));
      probe.attrs.set("activation_min", -0.5f);
      probe.attrs.set("activation_max", 1.0f);
      probe.attrs.set("activation_alpha", flat ? 0.0f : 0.2f);
      const Tensor want = probe.reference()[0];
      const ProbeResult result = run_probe(probe, lower_f_conv);
      ASSERT_EQ(result.reject, "");
      s64 nans = 0;
      for (s64 i = 0; i < want.elements(); ++i) {
        const f32 w = want.as<f32>()[static_cast<size_t>(i)];
        const f32 g = result.outputs[0].as<f32>()[static_cast<size_t>(i)];
        ASSERT_EQ(std::isnan(g), std::isnan(w)) << activation << " " << i;
        ASSERT_EQ(std::isinf(g), std::isinf(w)) << activation << " " << i;
        nans += std::isnan(w) ? 1 : 0;
      }
      EXPECT_GE(nans, 24) << activation;
    }
  }
}

TEST(FloatConv, SaysWhyNot) {
  Probe probe{.op = "Conv",
              .inputs = {{random_f32(Shape{1, 2, 4, 4}, 1)}, {random_f32(Shape{2, 2, 1, 1}, 2)}},
              .isa = Isa::avx2};
  EXPECT_EQ(run_probe(probe, lower_f_conv).reject, "the weights are not constant");
}

// One row and column more than the taps reach.
Attrs beyond_the_last_tap() {
  Attrs attrs;
  attrs.set("strides", std::vector<s64>{2, 2});
  attrs.set("auto_pad", std::string("VALID"));
  attrs.set("output_shape", std::vector<s64>{28, 20});
  attrs.set("group", s64{1});
  return attrs;
}

TEST(FloatConvTranspose, IsCloseToTheReference) {
  OCTET_NEEDS_ISA(Isa::avx2);
  const ConvCase cases[] = {{{2, 6, 9, 8}, {6, 5, 3, 3}, window({2, 2}, {1, 1, 1, 1}, {1, 1}, 1)},
                            {{1, 6, 9, 8}, {6, 4, 2, 2}, window({2, 2}, {0, 0, 0, 0}, {1, 1}, 2)},
                            {{3, 16, 7, 7}, {16, 8, 4, 4}, window({2, 2}, {1, 1, 1, 1}, {1, 1}, 1)},
                            {{1, 8, 7, 7}, {8, 1, 3, 3}, window({1, 1}, {2, 2, 2, 2}, {2, 2}, 8)},
                            {{2, 6, 20}, {6, 5, 3}, window({2}, {1, 1}, {1}, 1)},
                            {{1, 64, 13, 9}, {64, 32, 3, 3}, beyond_the_last_tap()}};
  for (const ConvCase& c : cases) {
    Probe probe{.op = "ConvTranspose", .attrs = c.attrs, .isa = hardware_isa()};
    probe.inputs = {{random_f32(c.x, 1), false, c.x.rank() == 4 ? Layout::nhwc : Layout::linear},
                    {random_f32(c.w, 2, 0.3f), true}};
    for (bool bias : {false, true}) {
      if (bias) probe.inputs.push_back({random_f32(Shape{c.w[1] * c.attrs.i("group")}, 3), true});
      for (int threads : {1, 2}) {
        probe.threads = threads;
        const ProbeResult result = run_probe(probe, lower_f_conv_transpose);
        ASSERT_EQ(result.reject, "");
        expect_close_f32(result.outputs[0], probe.reference()[0], to_string(c.x) + to_string(c.w));
      }
    }
  }
}

struct MatMulCase {
  Shape a, b;
  bool constant;
};

// Weights that a model multiplies from the left, one matrix for all batches or one for each.
TEST(FloatMatMul, ConstantLeft) {
  OCTET_NEEDS_ISA(Isa::avx2);
  const MatMulCase cases[] = {{{128, 4}, {1, 4, 32}, false},
                              {{9, 8}, {3, 8, 65}, false},
                              {{2, 8, 5, 16}, {2, 8, 16, 7}, false},
                              {{1, 17, 8}, {8, 5}, false}};
  for (const MatMulCase& c : cases) {
    Probe probe{.op = "MatMul",
                .inputs = {{random_f32(c.a, 1), true}, {random_f32(c.b, 2, 0.2f)}},
                .isa = hardware_isa()};
    for (int threads : {1, 3}) {
      probe.threads = threads;
      const ProbeResult result = run_probe(probe, lower_f_matmul);
      ASSERT_EQ(result.reject, "");
      expect_close_f32(result.outputs[0], probe.reference()[0], to_string(c.a) + to_string(c.b));
    }
  }
}

TEST(FloatMatMul, IsCloseToTheReference) {
  OCTET_NEEDS_ISA(Isa::avx2);
  const MatMulCase cases[] = {{{65, 192}, {192, 576}, true},
                              {{1, 65, 192}, {192, 192}, true},
                              {{4, 65, 48}, {4, 48, 65}, false},
                              {{2, 3, 17, 8}, {2, 3, 8, 17}, false},
                              {{3, 9, 8}, {8, 5}, false},
                              {{2, 1, 9, 8}, {3, 8, 5}, false},
                              {{2, 9, 8}, {2, 8, 5}, true},
                              {{8}, {8, 5}, true},
                              {{9, 8}, {8}, true},
                              {{300, 128}, {128, 128}, false}};
  for (const MatMulCase& c : cases) {
    Probe probe{.op = "MatMul",
                .inputs = {{random_f32(c.a, 1)}, {random_f32(c.b, 2, 0.2f), c.constant}},
                .isa = hardware_isa()};
    for (int step = 0; step < 3; ++step) {
      const Shape out = probe.reference()[0].shape();
      if (step == 1 && c.b.rank() > 1) {
        probe.inputs.push_back({random_f32(Shape{out[out.rank() - 1]}, 3), true});
        probe.attrs.set("activation", std::string("relu"));
      } else if (step == 2 && c.b.rank() > 1) {
        probe.inputs.push_back({random_f32(out, 4)});
      }
      expect_close_on_threads(probe, lower_f_matmul, to_string(c.a) + to_string(c.b));
    }
  }
}

// Sums around the edges of panels, in the order of the inner dimension; with a bias and an activation, and with a residual.
TEST(FloatMatMul, PacksTheRightSideWhereNothingElseMultiplies) {
  const MatMulCase cases[] = {{{4, 65, 48}, {4, 48, 65}, false},
                              {{2, 3, 17, 8}, {2, 3, 8, 17}, false},
                              {{3, 9, 8}, {8, 5}, false},
                              {{2, 1, 9, 8}, {3, 8, 5}, false},
                              {{2, 9, 8}, {2, 8, 24}, true},
                              {{8}, {8, 5}, false},
                              {{9, 8}, {8}, false},
                              {{300, 128}, {128, 31}, false},
                              {{1, 7, 33}, {1, 33, 1}, false},
                              {{2, 40, 3}, {2, 3, 16}, false}};
  for (const MatMulCase& c : cases) {
    Probe probe{.op = "MatMul",
                .inputs = {{random_f32(c.a, 1)}, {random_f32(c.b, 2, 0.2f), c.constant}}};
    for (int step = 0; step < 3; ++step) {
      const Shape out = probe.reference()[0].shape();
      if (step == 1 && c.b.rank() > 1) {
        probe.inputs.push_back({random_f32(Shape{out[out.rank() - 1]}, 3), true});
        probe.attrs.set("activation", std::string("relu"));
      } else if (step == 2 && c.b.rank() > 1) {
        probe.inputs.push_back({random_f32(out, 4)});
      }
      for (const Isa isa : simd_levels()) {
        probe.isa = isa;
        if (isa.has(Isa::avx2)) {
          EXPECT_EQ(run_probe(probe, lower_f_matmul_packing).reject, "oneDNN has kernels for it");
        } else {
          expect_close_on_threads(probe, lower_f_matmul_packing, to_string(c.a) + to_string(c.b));
        }
      }
    }
  }
}

// Of bf16, whose products are exact in f32: by constants and of two values, batches with a right side each and with one.
TEST(FloatMatMul, LayersOfBf16AreCloseToTheReference) {
  OCTET_NEEDS_ISA(Isa::avx2);
  struct Product {
    Shape a, b;
  };
  const Product products[] = {{{2, 3, 17, 40}, {2, 3, 40, 23}},
                              {{5, 33}, {33, 64}},
                              {{2, 17, 40}, {40, 23}},
                              {{4, 2, 65, 32}, {4, 1, 32, 65}}};
  for (const Product& product : products) {
    for (const bool constant : {false, true}) {
      if (constant && product.b.rank() != 2) continue;
      Probe probe{.op = "MatMul",
                  .inputs = {{random_f32(product.a, 1)}, {random_f32(product.b, 2), constant}},
                  .isa = hardware_isa(),
                  .precision = Precision::bf16};
      for (ProbeInput& input : probe.inputs) {
        for (f32& x : input.tensor.mutable_as<f32>()) x = static_cast<f32>(bf16(x));
      }
      const Tensor want = probe.reference()[0];
      for (const int threads : {1, 3}) {
        probe.threads = threads;
        const ProbeResult result = run_probe(probe, lower_f_matmul);
        ASSERT_EQ(result.reject, "");
        const bool few = !constant && product.a[product.a.rank() - 2] < 16;
        const bool pairs = cpu_multiplies_bf16() && hardware_has(Isa::vnni) && !few;
        EXPECT_EQ(result.candidate.kernel, pairs ? "dnnl_matmul_bf16" : "dnnl_matmul_f32");
        expect_close_f32(result.outputs[0], want, to_string(product.a));
      }
    }
  }
}

}  // namespace
}  // namespace octet
