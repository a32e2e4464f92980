// SPDX-License-Identifier: Apache-2.0
// QAdd, QMul, QTable, QuantizeLinear, DequantizeLinear kernels against the scalar reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/codes/quantize/quantize.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

Probe binary(const std::string& op, ProbeInput a, ProbeInput b, s64 zero_a, s64 zero_b) {
  Probe probe{.op = op};
  probe.inputs = {std::move(a), std::move(b)};
  probe.attrs.set("multipliers", std::vector<f32>{0.7f, -1.3f});
  probe.attrs.set("multiplier", 0.013f);
  probe.attrs.set("input_zero_points", std::vector<s64>{zero_a, zero_b});
  probe.attrs.set("output_zero_point", s64{90});
  probe.attrs.set("lo", s64{2});
  return probe;
}

void expect_both(ProbeInput a, ProbeInput b, const std::string& what, s64 zero_a = 128,
                 s64 zero_b = 100) {
  expect_exact(binary("QAdd", a, b, zero_a, zero_b), lower_q_add, "QAdd " + what);
  expect_exact(binary("QMul", a, b, zero_a, zero_b), lower_q_mul, "QMul " + what);
}

// All 65,536 pairs of codes.
TEST(QBinary, EveryPairOfCodes) {
  Tensor a(Dtype::u8, Shape{256, 256}), b(Dtype::u8, Shape{256, 256});
  for (size_t i = 0; i < 65536; ++i) {
    a.mutable_as<u8>()[i] = static_cast<u8>(i / 256);
    b.mutable_as<u8>()[i] = static_cast<u8>(i % 256);
  }
  for (s64 zero_a : {0, 1, 127, 128, 255}) {
    for (s64 zero_b : {0, 128, 255})
      expect_both(activation(a), activation(b), "all", zero_a, zero_b);
  }
  Probe huge = binary("QAdd", activation(a), activation(b), 3, 4);
  huge.attrs.set("multipliers", std::vector<f32>{1e12f, -1e12f});
  expect_exact(huge, lower_q_add, "huge multipliers");
  huge.attrs.set("activation", std::string("leaky_relu"));
  huge.attrs.set("activation_alpha", 0.1f);
  huge.attrs.set("multipliers", std::vector<f32>{0.4f, 0.4f});
  expect_exact(huge, lower_q_add, "leaky");
}

TEST(QBinary, LengthsAroundAVector) {
  for (s64 n : {1, 31, 32, 33, 63, 64, 65, 127, 129}) {
    expect_both(activation(random_u8({n}, 1)), activation(random_u8({n}, 2)), std::to_string(n));
  }
}

TEST(QBinary, ImagesAndBroadcasts) {
  const Shape full{2, 37, 3, 5};
  const auto a = activation(random_u8(full, 1), Layout::nhwc);
  for (const Shape& shape : {full, Shape{2, 37, 1, 1}, Shape{1, 37, 1, 1}, Shape{1, 1, 1, 1},
                             Shape{2, 1, 3, 5}, Shape{1, 1, 1, 5}}) {
    const Tensor b = random_u8(shape, 2);
    expect_both(a, activation(b, Layout::nhwc), "nhwc, nhwc " + to_string(shape));
    expect_both(activation(b, Layout::nhwc), a, "nhwc " + to_string(shape) + ", nhwc");
    expect_both(a, activation(b), "nhwc, linear " + to_string(shape));
    expect_both(a, constant(b), "nhwc, constant " + to_string(shape));
  }
  expect_both(a, activation(random_u8({37, 1, 1}, 3)), "nhwc, rank 3");
  expect_both(a, constant(random_u8({37, 1, 1}, 3)), "nhwc, constant of rank 3");
  expect_both(constant(random_u8({37, 1, 1}, 3)), a, "constant of rank 3, nhwc");
  expect_both(a, constant(random_u8(Shape{}, 3)), "nhwc, scalar");
}

TEST(QBinary, OneChannel) {
  const auto a = activation(random_u8({2, 1, 3, 5}, 1), Layout::nhwc);
  expect_both(a, activation(random_u8({2, 1, 3, 5}, 2), Layout::nhwc), "one channel");
  expect_both(a, constant(random_u8({1}, 2)), "one channel and a scalar");
}

TEST(QBinary, LinearBroadcasts) {
  const auto a = activation(random_u8({3, 4, 50}, 1));
  for (const Shape& shape : {Shape{50}, Shape{4, 1}, Shape{3, 1, 50}, Shape{1}, Shape{3, 4, 50}}) {
    expect_both(a, activation(random_u8(shape, 2)), "linear " + to_string(shape));
  }
}

TEST(QBinary, RejectsWithReasons) {
  const auto a = activation(random_u8({2, 3, 4, 5}, 1), Layout::nhwc);
  const auto b = activation(random_u8({3, 4, 5}, 2));
  EXPECT_EQ(run_guarded(binary("QAdd", a, b, 0, 0), lower_q_add, {}).reject,
            "the broadcast strides within a row");
}

TEST(QTable, AllCodesAndLayouts) {
  for (s64 n : {1, 63, 64, 65, 1000}) {
    Probe probe{.op = "QTable"};
    probe.inputs = {activation(random_u8({n}, 1)), constant(random_u8({256}, 2))};
    expect_exact(probe, lower_q_table, "linear");
  }
  Probe image{.op = "QTable"};
  image.inputs = {activation(random_u8({2, 70, 3, 5}, 1), Layout::nhwc),
                  constant(random_u8({256}, 2))};
  expect_exact(image, lower_q_table, "nhwc");
}

TEST(QMin, UpperCodesOfChannels) {
  for (s64 channels : {1, 3, 31, 32, 64, 65, 96, 129}) {
    Probe probe{.op = "Min"};
    probe.inputs = {activation(random_u8({2, channels, 3, 5}, 1), Layout::nhwc),
                    constant(random_u8({1, channels, 1, 1}, 2))};
    expect_exact(probe, lower_q_min, std::to_string(channels));
    probe.inputs[0] = activation(random_u8({2, channels, 3, 5}, 1));
    expect_exact(probe, lower_q_min, std::to_string(channels) + " linear");
  }
}

// Ties, both infinities, NaN, and values far outside.
Tensor awkward_f32(const Shape& shape, f32 scale) {
  Tensor x = random_f32(shape, 7, 40.0f * scale);
  auto values = x.mutable_as<f32>();
  const f32 inf = std::numeric_limits<f32>::infinity();
  const f32 special[] = {inf, -inf, std::nanf(""), 1e30f, -1e30f, 0.0f, -0.0f, 1e-40f};
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 3 == 0) values[i] = (static_cast<f32>(i % 512) - 255.5f) * scale;
    if (i % 7 == 0) values[i] = special[i / 7 % 8];
  }
  return x;
}

Probe quantize(const Tensor& x, Layout layout, f32 scale, u8 zero_point) {
  Probe probe{.op = "QuantizeLinear"};
  probe.inputs = {activation(x, layout), constant(Tensor::scalar(scale)),
                  constant(Tensor::scalar(zero_point))};
  return probe;
}

TEST(QuantizeLinear, EqualsTheReference) {
  for (u8 zero_point : {u8{0}, u8{1}, u8{127}, u8{128}, u8{255}}) {
    for (f32 scale : {0.1f, 1.0f, 3.7e-3f, 1.0f / 3.0f}) {
      for (s64 n : {1, 15, 16, 17, 4000}) {
        expect_exact(quantize(awkward_f32({n}, scale), Layout::linear, scale, zero_point),
                     lower_q_quantize, "linear");
      }
    }
  }
}

// The floats next to every boundary between two codes, for scales of many mantissas, and those that only division serves.
TEST(QuantizeLinear, FloatsAroundEveryBoundary) {
  std::vector<f32> scales = {0x1.fffffep-7f, 0x1p-7f,   0x1.000002p-7f,
                             1.0f / 255.0f,  0x1p-100f, 0x1p100f};
  const Tensor random = random_f32({12}, 21);
  for (f32 r : random.as<f32>()) scales.push_back(std::fabs(r) + 1e-3f);
  for (f32 scale : scales) {
    for (u8 zero_point : {u8{0}, u8{114}, u8{255}}) {
      std::vector<f32> values;
      for (s32 code = -2; code < 257; ++code) {
        f32 x = (static_cast<f32>(code - zero_point) + 0.5f) * scale;
        for (int i = 0; i < 3; ++i) x = std::nextafter(x, -1e38f);
        for (int i = 0; i < 7; ++i, x = std::nextafter(x, 1e38f)) values.push_back(x);
      }
      Tensor x(Dtype::f32, Shape{static_cast<s64>(values.size())});
      std::copy(values.begin(), values.end(), x.mutable_as<f32>().begin());
      expect_exact(quantize(x, Layout::linear, scale, zero_point), lower_q_quantize,
                   fmt::format("scale {:a}, zero point {}", scale, zero_point));
    }
  }
}

TEST(QuantizeLinear, DividesOnlyWhereItMust) {
  EXPECT_GT(near_quotient(1.0f / 255.0f, 114).reciprocal, 0.0f);
  EXPECT_EQ(near_quotient(0x1p-100f, 0).reciprocal, 0.0f);
  EXPECT_EQ(near_quotient(0x1p100f, 0).reciprocal, 0.0f);
}

TEST(QuantizeLinear, PlanesToPixels) {
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 1, 4, 300}, Shape{1, 35, 3, 270}}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      expect_exact(quantize(awkward_f32(shape, 0.02f), layout, 0.02f, 114), lower_q_quantize,
                   to_string(shape));
    }
  }
}

// Codes of 16 bits there and back; the scale of the first makes most values end at the bounds.
template <class T>
void wide_codes_equal_the_reference(Isa isa, Dtype dtype, T zero_point) {
  const ProbeInput zero{Tensor::scalar(zero_point), true};
  for (f32 scale : {1e-6f, 2e-5f, 0.013f}) {
    const ProbeInput scales{Tensor::scalar(scale), true};
    for (s64 channels : {1, 5, 16}) {
      for (Layout layout : {Layout::linear, Layout::nhwc}) {
        const Tensor x = awkward_f32(Shape{2, channels, 3, 7}, 0.02f);
        Probe there{.op = "QuantizeLinear", .inputs = {{x, false, layout}, scales, zero}};
        const Tensor codes = there.reference()[0];
        ASSERT_EQ(codes.dtype(), dtype);
        Probe back{.op = "DequantizeLinear", .inputs = {{codes, false, layout}, scales, zero}};
        there.isa = back.isa = isa;
        const ProbeResult wide = run_probe(there, lower_quantize_wide);
        ASSERT_EQ(wide.reject, "");
        EXPECT_EQ(std::memcmp(wide.outputs[0].data(), codes.data(), codes.bytes()), 0) << scale;
        const ProbeResult reals = run_probe(back, lower_dequantize_wide);
        ASSERT_EQ(reals.reject, "");
        expect_same_f32(reals.outputs[0], back.reference()[0], "reals");
      }
    }
  }
}

TEST(QuantizeLinear, SixteenBits) {
  for (const QuantizeWideKernel& kernel : kQuantizeWideKernels) {
    if (!hardware_has(kernel.isa)) continue;
    wide_codes_equal_the_reference<u16>(kernel.isa, Dtype::u16, 32111);
    wide_codes_equal_the_reference<u16>(kernel.isa, Dtype::u16, 0);
    wide_codes_equal_the_reference<s16>(kernel.isa, Dtype::s16, 0);
    wide_codes_equal_the_reference<s16>(kernel.isa, Dtype::s16, -700);
  }
}

TEST(QuantizeLinear, AScaleForEachChannel) {
  const Tensor scales = random_multipliers(5, 3, 0.02f);
  const Tensor zero_points = random_u8({5}, 4);
  for (const Shape& shape : {Shape{2, 5, 4, 4}, Shape{1, 5, 3, 11}, Shape{3, 5, 70}}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      if (shape.rank() != 4 && layout == Layout::nhwc) continue;
      Probe probe{.op = "QuantizeLinear"};
      probe.inputs = {activation(awkward_f32(shape, 0.02f), layout), constant(scales),
                      constant(zero_points)};
      expect_exact(probe, lower_q_quantize_channels, to_string(shape));
      probe.op = "DequantizeLinear";
      probe.inputs[0] = activation(random_u8(shape, 9), layout);
      expect_exact(probe, lower_q_dequantize_channels, to_string(shape));
    }
  }
}

TEST(DequantizeLinear, EqualsTheReference) {
  for (u8 zero_point : {u8{0}, u8{77}, u8{255}}) {
    for (s64 n : {1, 7, 8, 9, 17, 300}) {
      Probe probe{.op = "DequantizeLinear"};
      probe.inputs = {activation(random_u8({n}, 1)), constant(Tensor::scalar(0.037f)),
                      constant(Tensor::scalar(zero_point))};
      expect_exact(probe, lower_q_dequantize, "linear");
      probe.inputs[0] = activation(random_u8({2, n, 3, 2}, 1), Layout::nhwc);
      expect_exact(probe, lower_q_dequantize, "nhwc");
    }
  }
}

}  // namespace
}  // namespace octet
