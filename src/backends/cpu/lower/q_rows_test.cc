// SPDX-License-Identifier: Apache-2.0
// QSoftmax and QLayerNormalization against the scalar reference, to the bit, between guard pages.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

struct Quant {
  f32 scale_x;
  s64 zero_x;
  f32 scale_y;
  s64 zero_y;
};

// Steep and flat, ties (scales that are powers of two), results beyond the codes on both sides.
const Quant kQuants[] = {{0.1f, 128, 1.0f / 255.0f, 0}, {0.0625f, 7, 0.00390625f, 0},
                         {1.5f, 255, 0.0009f, 3},       {0.03125f, 100, 0.015625f, 128},
                         {2e37f, 90, 0.0078125f, 0},    {0.5f, 128, 2e-38f, 255}};

Probe probe_of(const char* op, const Tensor& x, const Quant& quant) {
  Probe probe{.op = op, .inputs = {activation(x)}};
  probe.attrs.set("scales", std::vector<f32>{quant.scale_x, quant.scale_y});
  probe.attrs.set("input_zero_points", std::vector<s64>{quant.zero_x});
  probe.attrs.set("output_zero_point", quant.zero_y);
  return probe;
}

TEST(QSoftmax, EqualsTheReference) {
  for (const Quant& quant : kQuants) {
    for (s64 count = 1; count < 70; ++count) {
      const Tensor x = random_u8(Shape{3, count}, static_cast<u64>(count));
      expect_exact_above_none(probe_of("QSoftmax", x, quant), lower_q_softmax,
                              fmt::format("{} of scale {}", count, quant.scale_x));
    }
  }
}

TEST(QSoftmax, ManyRows) {
  for (const Quant& quant : kQuants) {
    const Tensor x = random_u8(Shape{2, 3, 65, 130}, 5);
    expect_exact_above_none(probe_of("QSoftmax", x, quant), lower_q_softmax, "attention");
    expect_exact_above_none(probe_of("QSoftmax", random_u8(Shape{9001, 2}, 6), quant),
                            lower_q_softmax, "pairs");
    expect_exact_above_none(
        probe_of("QSoftmax", random_u8(Shape{37, 8}, 7, Codes::extremes), quant), lower_q_softmax,
        "short rows");
    expect_exact_above_none(
        probe_of("QSoftmax", random_u8(Shape{5, 300}, 8, Codes::highest), quant), lower_q_softmax,
        "equal codes");
  }
}

TEST(QSoftmax, RealsBecomeCodes) {
  for (const Quant& quant : kQuants) {
    for (s64 count : {1, 2, 7, 8, 9, 16, 33, 64, 65, 130, 384}) {
      for (f32 size : {0.5f, 8.0f, 200.0f}) {
        Probe probe = probe_of("QSoftmax", random_u8(Shape{1}, 1), quant);
        probe.inputs = {{random_f32(Shape{2, 21, count}, 4, size)}};
        probe.attrs.set("input_zero_points", std::vector<s64>{0});
        expect_exact_above_none(probe, lower_q_softmax, fmt::format("{} reals", count));
      }
    }
  }
}

TEST(QSoftmax, SpecialReals) {
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  for (s64 count : {3, 70}) {
    for (const std::vector<f32>& odd :
         {std::vector<f32>{-inf}, {inf}, {nan}, {-inf, -inf, -inf}, {nan, inf, -inf}}) {
      Tensor x = random_f32(Shape{5, count}, 4);
      for (size_t i = 0; i < odd.size(); ++i)
        x.mutable_as<f32>()[static_cast<size_t>(count) + i] = odd[i];
      Probe probe = probe_of("QSoftmax", random_u8(Shape{1}, 1), kQuants[0]);
      probe.inputs = {{x}};
      probe.attrs.set("input_zero_points", std::vector<s64>{0});
      expect_exact_above_none(probe, lower_q_softmax, "special reals");
    }
  }
}

TEST(QSoftmax, RowsBeyondTheCache) {
  expect_exact_above_none(probe_of("QSoftmax", random_u8(Shape{5, 65537}, 9), kQuants[3]),
                          lower_q_softmax, "long rows");
}

TEST(QSoftmax, SaysWhyNot) {
  Probe probe = probe_of("QSoftmax", random_u8(Shape{2, 3, 4}, 1), kQuants[0]);
  probe.attrs.set("axis", s64{1});
  EXPECT_EQ(run_guarded(probe, lower_q_softmax, {}).reject, "the instruction set has no vectors");
  probe.isa = first_simd_level();
  EXPECT_EQ(run_guarded(probe, lower_q_softmax, {}).reject, "the axis is not the last one");
  probe.attrs.set("hi", s64{200});
  EXPECT_EQ(run_guarded(probe, lower_q_softmax, {}).reject, "the output is clamped");
}

TEST(QLayerNormalization, EqualsTheReference) {
  for (const Quant& quant : kQuants) {
    for (s64 count : {1, 2, 7, 8, 15, 16, 17, 33, 192, 768}) {
      for (bool bias : {false, true}) {
        Probe probe = probe_of("QLayerNormalization", random_u8(Shape{2, 30, count}, 1), quant);
        probe.inputs.push_back(constant(random_f32(Shape{count}, 2)));
        if (bias) probe.inputs.push_back(constant(random_f32(Shape{count}, 3)));
        expect_exact_above_none(probe, lower_q_layer_norm,
                                fmt::format("{} of scale {}", count, quant.scale_x));
      }
    }
  }
}

TEST(QLayerNormalization, RealsBecomeCodes) {
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  for (const Quant& quant : kQuants) {
    for (s64 count : {1, 2, 7, 8, 9, 16, 33, 192}) {
      for (f32 odd : {0.5f, -inf, nan}) {
        Tensor x = random_f32(Shape{7, count}, 4, 8.0f);
        x.mutable_as<f32>()[static_cast<size_t>(2 * count)] = odd;
        Probe probe = probe_of("QLayerNormalization", random_u8(Shape{1}, 1), quant);
        probe.inputs = {
            {x}, constant(random_f32(Shape{count}, 2)), constant(random_f32({count}, 3))};
        probe.attrs.set("input_zero_points", std::vector<s64>{0});
        expect_exact_above_none(probe, lower_q_layer_norm, fmt::format("{} reals", count));
      }
    }
  }
}

TEST(QLayerNormalization, SaysWhyNot) {
  Probe probe = probe_of("QLayerNormalization", random_u8(Shape{2, 4}, 1), kQuants[0]);
  probe.isa = first_simd_level();
  probe.inputs.push_back({random_f32(Shape{4}, 2)});
  EXPECT_EQ(run_guarded(probe, lower_q_layer_norm, {}).reject, "scale or bias is not constant");
}

}  // namespace
}  // namespace octet
