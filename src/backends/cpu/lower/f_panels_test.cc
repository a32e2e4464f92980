// SPDX-License-Identifier: Apache-2.0
// Our own f32 convolutions and matrix products against the scalar reference (tolerance class `close`) and against each other, to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"
#include "backends/cpu/lower/specials_testing.h"
#include "plan/own_attributes.h"

namespace octet {
namespace {

struct Case {
  Shape x, w;
  std::vector<s64> strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  s64 group = 1;
  std::string activation = "";
};

// Whole panels and parts, rows that follow each other and rows that do not, padding of every kind, pixels 4096 bytes apart, strips, weights
// that are more than the image.
const Case kCases[] = {
    {{1, 3, 33, 31}, {16, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}},
    {{1, 16, 40, 40}, {24, 16, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, "relu"},
    {{3, 16, 20, 20}, {24, 16, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1, "clip"},
    {{2, 5, 9, 8}, {7, 5, 3, 2}, {1, 2}, {0, 1, 2, 0}, {1, 1}, 1, "leaky_relu"},
    {{1, 12, 30, 30}, {30, 4, 3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}, 3},
    {{1, 32, 11, 13}, {48, 16, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2, "relu"},
    {{1, 1024, 5, 5}, {40, 1024, 1, 1}},
    {{1, 1024, 5, 5}, {33, 1024, 1, 1}, {2, 2}},
    {{1, 64, 7, 7}, {136, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{2, 24, 17, 1}, {1, 24, 3, 1}, {1, 1}, {1, 0, 1, 0}},
    {{1, 64, 130, 120}, {8, 64, 5, 5}, {2, 3}, {0, 4, 3, 2}},
    {{1, 4, 2, 2}, {40, 4, 3, 3}, {1, 1}, {3, 3, 3, 3}},
    {{1, 16, 6, 5}, {16, 16, 1, 1}, {1, 1}, {1, 2, 0, 1}},
    {{1, 8, 12, 12}, {8, 8, 2, 2}, {2, 2}},
};

Probe conv_probe(const Case& c) {
  Probe probe{.op = "Conv",
              .inputs = {{random_f32(c.x, 1), false, Layout::nhwc},
                         {random_f32(c.w, 2, 0.3f), true},
                         {random_f32(Shape{c.w[0]}, 3), true}}};
  probe.attrs.set("group", c.group);
  probe.attrs.set("strides", c.strides);
  probe.attrs.set("pads", c.pads);
  probe.attrs.set("dilations", c.dilations);
  probe.attrs.set("activation", c.activation);
  probe.attrs.set("activation_min", -0.5f);
  probe.attrs.set("activation_max", 1.0f);
  probe.attrs.set("activation_alpha", 0.2f);
  return probe;
}

// Sums have one order: on all levels, for any threads, wherever pixels lie.
void expect_close_and_equal(Probe probe, Offer (*lowering)(const LowerRequest&),
                            const std::string& what) {
  const Tensor want = probe.reference()[0];
  Tensor first;
  for (const Isa isa : simd_levels()) {
    for (const int threads : {1, 2, 3}) {
      for (const s64 spread : {0, 8}) {
        probe.isa = isa;
        probe.threads = threads;
        probe.spread = spread;
        const ProbeResult result = run_probe(probe, lowering);
        ASSERT_EQ(result.reject, "") << what;
        if (!first) expect_close_f32(result.outputs[0], want, what);
        if (first) expect_same_f32(result.outputs[0], first, what);
        first = result.outputs[0];
      }
    }
  }
}

TEST(FloatPanels, ConvolutionsAreCloseToTheReferenceAndEqualOnAllLevelsAndThreads) {
  for (const Case& c : kCases) {
    Probe probe = conv_probe(c);
    const std::string what = to_string(c.x) + to_string(c.w);
    expect_close_and_equal(probe, lower_f_conv_panels, what);
    probe.inputs.push_back({random_f32(probe.reference()[0].shape(), 4), false, Layout::nhwc});
    expect_close_and_equal(probe, lower_f_conv_panels, what + " with a residual");
    probe.inputs[2] = {};
    expect_close_and_equal(probe, lower_f_conv_panels, what + " without a bias");
  }
}

// One and three dimensions: padding of every kind, taps and outputs that lie apart, groups, few and many channels, strips of rows and of columns.
const Case kVolumes[] = {
    {{2, 5, 40}, {7, 5, 3}, {2}, {1, 1}, {1}},
    {{1, 1, 900}, {40, 1, 10}, {5}, {0, 0}, {1}},
    {{1, 64, 130}, {33, 64, 3}, {1}, {2, 2}, {2}, 1, "relu"},
    {{1, 12, 50}, {30, 4, 5}, {1}, {0, 4}, {1}, 3, "clip"},
    {{1, 1024, 20}, {16, 1024, 1}, {1}, {0, 0}, {1}},
    {{1, 320, 700}, {8, 320, 3}, {1}, {200, 200}, {200}},
    {{1, 24, 900}, {20, 24, 25}, {1}, {12, 12}, {1}, 1, "leaky_relu"},
    {{2, 3, 6, 7, 8}, {4, 3, 3, 3, 3}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
    {{1, 16, 5, 12, 9}, {20, 16, 2, 3, 3}, {2, 1, 2}, {0, 1, 2, 1, 0, 0}, {1, 2, 1}, 1, "relu"},
    {{1, 32, 9, 20, 22}, {24, 32, 3, 1, 1}, {1, 1, 1}, {2, 0, 0, 2, 0, 0}, {2, 1, 1}},
    {{1, 16, 3, 9, 150}, {24, 8, 3, 3, 3}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, 2},
};

TEST(FloatPanels, VolumesAreCloseToTheReferenceAndEqualOnAllLevelsAndThreads) {
  for (const Case& c : kVolumes) {
    Probe probe = conv_probe(c);
    probe.inputs[0].layout = Layout::linear;
    const std::string what = to_string(c.x) + to_string(c.w);
    expect_close_and_equal(probe, lower_f_conv_volumes, what);
    probe.inputs.push_back({random_f32(probe.reference()[0].shape(), 4)});
    expect_close_and_equal(probe, lower_f_conv_volumes, what + " with a residual");
    probe.inputs[2] = {};
    expect_close_and_equal(probe, lower_f_conv_volumes, what + " without a bias");
  }
}

struct TransposedCase {
  Shape x, w;
  std::vector<s64> strides = {2, 2}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  s64 group = 1;
  std::vector<s64> output_padding = {0, 0};
};

// Phases of equal and of unequal taps and sizes, padding on each side, taps that lie apart, groups, one phase alone, outputs behind the last tap.
const TransposedCase kTransposed[] = {
    {{2, 16, 9, 8}, {16, 24, 2, 2}},
    {{2, 6, 9, 8}, {6, 5, 3, 3}, {2, 2}, {1, 1, 1, 1}},
    {{2, 6, 9, 8}, {6, 5, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1, {1, 1}},
    {{3, 16, 7, 7}, {16, 40, 4, 4}, {2, 2}, {1, 1, 1, 1}},
    {{1, 8, 11, 6}, {8, 16, 5, 4}, {3, 2}, {0, 2, 1, 1}},
    {{1, 8, 7, 7}, {8, 8, 3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {{1, 8, 9, 7}, {8, 8, 3, 3}, {2, 2}, {1, 0, 0, 1}, {3, 3}},
    {{1, 24, 5, 6}, {24, 8, 2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 3},
    {{1, 64, 30, 50}, {64, 12, 8, 8}, {4, 4}, {2, 2, 2, 2}},
    {{1, 1024, 3, 3}, {1024, 16, 4, 4}, {4, 4}},
    {{2, 6, 20}, {6, 5, 3}, {2}, {1, 1}, {1}, 1, {1}},
    {{1, 40, 70}, {40, 36, 16}, {8}, {4, 4}, {1}, 1, {0}},
    {{1, 12, 40}, {12, 8, 4}, {2}, {1, 1}, {1}, 3, {0}},
    {{1, 8, 4, 5, 6}, {8, 20, 2, 2, 2}, {2, 2, 2}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, 1, {0, 0, 0}},
    {{2, 6, 3, 7, 5}, {6, 9, 3, 4, 3}, {1, 2, 2}, {1, 1, 1, 1, 1, 0}, {1, 1, 1}, 1, {0, 0, 1}},
};

Probe transposed_probe(const TransposedCase& c) {
  Probe probe{
      .op = "ConvTranspose",
      .inputs = {{random_f32(c.x, 1), false, c.x.rank() == 4 ? Layout::nhwc : Layout::linear},
                 {random_f32(c.w, 2, 0.3f), true},
                 {random_f32(Shape{c.w[1] * c.group}, 3), true}}};
  probe.attrs.set("group", c.group);
  probe.attrs.set("strides", c.strides);
  probe.attrs.set("pads", c.pads);
  probe.attrs.set("dilations", c.dilations);
  probe.attrs.set("output_padding", c.output_padding);
  return probe;
}

TEST(FloatPanels, TransposedConvolutionsAreCloseToTheReferenceAndEqualOnAllLevelsAndThreads) {
  for (const TransposedCase& c : kTransposed) {
    Probe probe = transposed_probe(c);
    const std::string what = to_string(c.x) + to_string(c.w);
    expect_close_and_equal(probe, lower_f_conv_transpose_panels, what);
    probe.inputs[2] = {};
    expect_close_and_equal(probe, lower_f_conv_transpose_panels, what + " without a bias");
  }
}

TEST(FloatPanels, TransposedConvolutionsOfManyPhasesAndOfOutputsThatNothingReachesAreRefused) {
  OCTET_NEEDS_VECTORS();
  const TransposedCase fewer{{1, 8, 4, 4}, {8, 8, 1, 2}};
  const TransposedCase apart{{1, 8, 4, 4}, {8, 8, 3, 3}, {2, 2}, {0, 0, 0, 0}, {2, 2}};
  for (const TransposedCase& c : {fewer, apart}) {
    Probe probe = transposed_probe(c);
    probe.isa = hardware_isa();
    EXPECT_EQ(run_probe(probe, lower_f_conv_transpose_panels).reject,
              "no tap reaches some of the outputs");
  }
  Probe patches = transposed_probe({{1, 8, 4, 4}, {8, 24, 9, 8}, {9, 8}});
  patches.isa = hardware_isa();
  EXPECT_EQ(run_probe(patches, lower_f_conv_transpose_panels).reject, "its outputs have 72 phases");
}

TEST(FloatPanels, ResultsAreRounded) {
  OCTET_NEEDS_VECTORS();
  for (const char* to : {"f16", "bf16"}) {
    Probe probe = conv_probe(kCases[1]);
    const Tensor exact = [&] {
      probe.isa = simd_levels().front();
      return run_probe(probe, lower_f_conv_panels).outputs[0];
    }();
    probe.attrs.set(std::string(kRounds), std::string(to));
    for (const Isa isa : simd_levels()) {
      probe.isa = isa;
      const Tensor got = run_probe(probe, lower_f_conv_panels).outputs[0];
      for (size_t i = 0; i < got.as<f32>().size(); ++i) {
        const f32 x = exact.as<f32>()[i];
        const bool half = to == std::string("f16");
        ASSERT_EQ(got.as<f32>()[i], half ? static_cast<f32>(f16(x)) : static_cast<f32>(bf16(x)));
      }
    }
  }
}

// NaN and both infinities among the activations.
void put_specials(Probe& probe) {
  const auto x = probe.inputs[0].tensor.mutable_as<f32>();
  x[5] = std::numeric_limits<f32>::quiet_NaN();
  x[x.size() / 2] = std::numeric_limits<f32>::infinity();
  x[x.size() / 3] = -std::numeric_limits<f32>::infinity();
}

// docs/numerics.md, section 8.
TEST(FloatPanels, KeepNanAndInfinities) {
  for (const char* activation : {"", "relu", "clip", "leaky_relu"}) {
    Case c = kCases[1];
    c.activation = activation;
    Probe probe = conv_probe(c);
    put_specials(probe);
    const Tensor want = probe.reference()[0];
    for (const Isa isa : simd_levels()) {
      probe.isa = isa;
      expect_same_specials(run_probe(probe, lower_f_conv_panels).outputs[0], want, activation);
    }
  }
}

TEST(FloatPanels, ProductsAreCloseToTheReferenceAndEqualOnAllLevelsAndThreads) {
  struct Product {
    Shape a, b;
  };
  const Product products[] = {{{65, 192}, {192, 160}},
                              {{1, 65, 192}, {192, 100}},
                              {{2, 3, 17, 8}, {8, 33}},
                              {{1, 2048}, {2048, 15}},
                              {{8}, {8, 5}},
                              {{300, 128}, {128, 128}},
                              {{7, 1024}, {1024, 16}},
                              {{500, 1}, {1, 40}}};
  for (const Product& p : products) {
    Probe probe{.op = "MatMul", .inputs = {{random_f32(p.a, 1)}, {random_f32(p.b, 2, 0.2f), true}}};
    const std::string what = to_string(p.a) + to_string(p.b);
    expect_close_and_equal(probe, lower_f_matmul_panels, what);
    const Shape out = probe.reference()[0].shape();
    probe.inputs.push_back({random_f32(Shape{out[out.rank() - 1]}, 3), true});
    probe.inputs.push_back({random_f32(out, 4)});
    probe.attrs.set("activation", std::string("relu"));
    expect_close_and_equal(probe, lower_f_matmul_panels, what + " with all");
  }
}

// Tiles at edges, strips, panels and parts, padding of every kind, weights that are more than the image.
const Case kWinogradCases[] = {
    {{1, 16, 40, 40}, {24, 16, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, "relu"},
    {{2, 5, 9, 8}, {7, 5, 3, 3}, {1, 1}, {0, 1, 2, 0}, {1, 1}, 1, "leaky_relu"},
    {{1, 64, 7, 7}, {136, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, "clip"},
    {{1, 1024, 3, 4}, {40, 1024, 3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{3, 64, 61, 60}, {32, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{1, 33, 4, 2}, {17, 33, 3, 3}, {1, 1}, {3, 3, 3, 3}},
    {{1, 192, 13, 13}, {320, 192, 3, 3}, {1, 1}, {1, 1, 1, 1}},
};

TEST(FloatWinograd, IsCloseToTheReferenceAndEqualOnAllLevelsAndThreads) {
  for (const Case& c : kWinogradCases) {
    Probe probe = conv_probe(c);
    const std::string what = to_string(c.x) + to_string(c.w);
    expect_close_and_equal(probe, lower_f_conv_winograd, what);
    probe.inputs.push_back({random_f32(probe.reference()[0].shape(), 4), false, Layout::nhwc});
    expect_close_and_equal(probe, lower_f_conv_winograd, what + " with a residual");
  }
}

// An infinity or NaN reaches the pixels whose windows hold it, not all of their tile; sums of large numbers that cancel are finite.
TEST(FloatWinograd, KeepsNanAndInfinities) {
  for (const char* activation : {"", "relu", "clip", "leaky_relu"}) {
    Case c = kWinogradCases[1];
    c.activation = activation;
    Probe probe = conv_probe(c);
    put_specials(probe);
    probe.inputs[0].tensor.mutable_as<f32>()[100] = 3e38f;
    probe.inputs.push_back({random_f32(probe.reference()[0].shape(), 4), false, Layout::nhwc});
    const Tensor want = probe.reference()[0];
    Tensor first;
    for (const Isa isa : simd_levels()) {
      probe.isa = isa;
      const Tensor got = run_probe(probe, lower_f_conv_winograd).outputs[0];
      expect_same_specials(got, want, activation);
      if (first) expect_same_f32(got, first, activation);
      first = got;
    }
  }
}

// Against f64: no larger than twice those of sums in the order of the weights.
TEST(FloatWinograd, ErrsNoMoreThanDirectSums) {
  OCTET_NEEDS_VECTORS();
  const Case c = {{1, 128, 14, 14}, {32, 128, 3, 3}, {1, 1}, {1, 1, 1, 1}};
  Probe probe = conv_probe(c);
  probe.isa = simd_levels().back();
  const Tensor winograd = run_probe(probe, lower_f_conv_winograd).outputs[0];
  const Tensor direct = run_probe(probe, lower_f_conv_panels).outputs[0];
  f64 winograd_errs = 0, direct_errs = 0;
  for (s64 i = 0; i < winograd.elements(); ++i) {
    const s64 o = i / 196, y = i % 196 / 14, x = i % 14;
    f64 exact = probe.inputs[2].tensor.as<f32>()[static_cast<size_t>(o)];
    for (s64 k = 0; k < 128 * 9; ++k) {
      const s64 iy = y + k % 9 / 3 - 1, ix = x + k % 3 - 1;
      if (iy < 0 || iy >= 14 || ix < 0 || ix >= 14) continue;
      exact +=
          static_cast<f64>(
              probe.inputs[0].tensor.as<f32>()[static_cast<size_t>(k / 9 * 196 + iy * 14 + ix)]) *
          static_cast<f64>(probe.inputs[1].tensor.as<f32>()[static_cast<size_t>(o * 1152 + k)]);
    }
    const auto at = static_cast<size_t>(i);
    winograd_errs = std::max(winograd_errs, std::abs(winograd.as<f32>()[at] - exact));
    direct_errs = std::max(direct_errs, std::abs(direct.as<f32>()[at] - exact));
  }
  EXPECT_LE(winograd_errs, 2 * direct_errs);
}

// Products of bf16 are exact in f32: what the processor has for them gives the sums of the rounded operands, in another order.
void expect_bf16_sums(Probe probe, Offer (*lowering)(const LowerRequest&),
                      const std::string& what) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    for (f32& x : probe.inputs[i].tensor.mutable_as<f32>()) x = static_cast<f32>(bf16(x));
  }
  probe.precision = Precision::bf16;
  probe.isa = hardware_isa().common(Isa::vnni.with(Isa{Feature::avx512_bf16}));
  const Tensor want = probe.reference()[0];
  Tensor first;
  for (const int threads : {1, 3}) {
    for (const s64 spread : {0, 8}) {
      probe.threads = threads;
      probe.spread = spread;
      const ProbeResult result = run_probe(probe, lowering);
      ASSERT_EQ(result.reject, "") << what;
      EXPECT_EQ(result.candidate.kernel.starts_with("bf16_"), cpu_multiplies_bf16()) << what;
      expect_close_f32(result.outputs[0], want, what);
      if (first) expect_same_f32(result.outputs[0], first, what);
      first = result.outputs[0];
    }
  }
}

TEST(FloatPanels, LayersOfBf16AreCloseToTheReference) {
  if (!hardware_has(Isa::vnni)) return;  // f32 kernels: the tests above
  for (const Case& c : kCases) {
    Probe probe = conv_probe(c);
    probe.inputs.push_back({random_f32(probe.reference()[0].shape(), 4), false, Layout::nhwc});
    expect_bf16_sums(probe, lower_f_conv_panels, to_string(c.x) + to_string(c.w));
  }
}

// An image of a batch has the bits that it has alone.
TEST(FloatPanels, PositionInABatchDoesNotMatter) {
  OCTET_NEEDS_VECTORS();
  Case c = kCases[2];
  Probe batch = conv_probe(c);
  batch.isa = simd_levels().back();
  const Tensor all = run_probe(batch, lower_f_conv_panels).outputs[0];
  const auto image = static_cast<size_t>(c.x.elements() / 3);
  for (size_t i = 0; i < 3; ++i) {
    Probe one = batch;
    Tensor x(Dtype::f32, Shape{1, 16, 20, 20});
    std::copy_n(batch.inputs[0].tensor.as<f32>().data() + i * image, image,
                x.mutable_as<f32>().data());
    one.inputs[0].tensor = x;
    const Tensor alone = run_probe(one, lower_f_conv_panels).outputs[0];
    const auto size = static_cast<size_t>(alone.elements());
    for (size_t k = 0; k < size; ++k)
      ASSERT_EQ(alone.as<f32>()[k], all.as<f32>()[i * size + k]) << i << " " << k;
  }
}

TEST(FloatWinograd, SaysWhyNot) {
  Probe probe = conv_probe(kCases[0]);
  probe.isa = first_simd_level();
  EXPECT_EQ(run_probe(probe, lower_f_conv_winograd).reject,
            "not 3x3 without strides and dilations");
  Probe large = conv_probe(kWinogradCases[0]);
  large.isa = first_simd_level();
  large.inputs[1].tensor.mutable_as<f32>()[7] = 2e30f;
  EXPECT_EQ(run_probe(large, lower_f_conv_winograd).reject, "a weight is too large");
}

// A copy of all that such a window spans would be of terabytes, or its size would wrap.
TEST(FloatPanels, WindowsThatLieInPaddingAreRefused) {
  OCTET_NEEDS_VECTORS();
  constexpr s64 kFar = (s64{1} << 31) - 64;
  const auto reason = [](Probe probe, Offer (*lowering)(const LowerRequest&)) {
    probe.isa = hardware_isa();
    return run_probe(probe, lowering).reject;
  };
  const char* const kReason = "its windows lie mostly in padding";
  const Case image{{1, 4, 8, 8}, {8, 4, 2, 2}, {1, 1}, {kFar, kFar, 0, 0}, {kFar, kFar}};
  EXPECT_EQ(reason(conv_probe(image), lower_f_conv_panels), kReason);
  if (hardware_has(Isa::avx2)) {
    EXPECT_EQ(reason(conv_probe(image), lower_f_conv), kReason);
  }
  Probe signal = conv_probe({{1, 4, 64}, {8, 4, 2}, {1}, {kFar, 0}, {kFar}});
  signal.inputs[0].layout = Layout::linear;
  EXPECT_EQ(reason(signal, lower_f_conv_volumes), kReason);
  const TransposedCase transposed{
      {1, 4, 8, 8}, {4, 8, 2, 2}, {1, 1}, {kFar, kFar, 0, 0}, {kFar, kFar}};
  EXPECT_EQ(reason(transposed_probe(transposed), lower_f_conv_transpose_panels), kReason);
}

TEST(FloatPanels, SayWhyNot) {
  Probe probe = conv_probe({{1, 16, 9, 9}, {16, 1, 3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 16});
  probe.isa = first_simd_level();
  // What oneDNN is faster at is left to it.
  const bool dnnl = hardware_has(Isa::avx2);
  EXPECT_EQ(run_probe(probe, lower_f_conv_panels).reject,
            dnnl ? "groups have too few channels" : "");
  EXPECT_EQ(run_probe(probe, lower_f_conv_volumes).reject, "the input is an image");
  probe.inputs[1].constant = false;
  EXPECT_EQ(run_probe(probe, lower_f_conv_panels).reject, "the weights are not constant");
  Probe batches{.op = "MatMul",
                .inputs = {{random_f32(Shape{2, 9, 8}, 1)}, {random_f32(Shape{2, 8, 5}, 2), true}},
                .isa = first_simd_level()};
  EXPECT_EQ(run_probe(batches, lower_f_matmul_panels).reject, "the right side is no matrix");
  batches.inputs[1].tensor = Tensor(Dtype::f32, Shape{8, 4097});
  EXPECT_EQ(run_probe(batches, lower_f_matmul_panels).reject,
            dnnl ? "the weights have more than 128 KiB" : "");
}

}  // namespace
}  // namespace octet
