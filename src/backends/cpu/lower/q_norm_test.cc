// SPDX-License-Identifier: Apache-2.0
// QInstanceNormalization against the scalar reference, to the bit, on every level, between guard pages.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

struct Quant {
  f32 scale_x;
  f32 scale_y;
  s64 zero_y;
  f32 epsilon;
};

// Results within the codes, beyond them on both sides, no rounding at all, and no variance beside epsilon.
const Quant kQuants[] = {{0.1f, 0.02f, 128, 1e-5f},
                         {0.03f, 0.0009f, 3, 1e-5f},
                         {0.0625f, 0.5f, 0, 0.0f},
                         {2e-6f, 0.02f, 255, 1e-5f}};

Probe norm(const Tensor& x, const Quant& quant) {
  const s64 channels = x.shape()[1];
  Probe probe{.op = "QInstanceNormalization"};
  probe.inputs = {activation(x, Layout::nhwc), constant(random_f32({channels}, 2)),
                  constant(random_f32({channels}, 3))};
  probe.attrs.set("scales", std::vector<f32>{quant.scale_x, quant.scale_y});
  probe.attrs.set("input_zero_points", std::vector<s64>{119, 0, 0});
  probe.attrs.set("output_zero_point", quant.zero_y);
  probe.attrs.set("epsilon", quant.epsilon);
  return probe;
}

TEST(QInstanceNorm, ChannelsAndSizes) {
  for (s64 channels : {1, 2, 3, 16, 31, 32, 33, 48, 63, 64, 65, 130}) {
    for (const auto& [rows, columns] : {std::pair<s64, s64>{1, 1}, {1, 3}, {7, 6}, {9, 13}}) {
      for (const Quant& quant : kQuants) {
        const Tensor x = random_u8({2, channels, rows, columns}, 1);
        expect_exact(norm(x, quant), lower_q_instance_norm,
                     fmt::format("{} channels of {}x{}", channels, rows, columns));
      }
    }
  }
}

// More pixels than s32 sums of squares hold; five channels are not taken in groups.
TEST(QInstanceNorm, SumsBeyondOneChunk) {
  for (Codes codes : {Codes::highest, Codes::extremes}) {
    const Tensor x = random_u8({1, 5, 257, 260}, 1, codes);
    expect_exact(norm(x, kQuants[0]), lower_q_instance_norm, "large image");
  }
}

Probe norm_of_reals(const Shape& shape, const Quant& quant) {
  Probe probe = norm(random_u8(shape, 1), quant);
  probe.inputs[0] = activation(random_f32(shape, 5, 3.0f), Layout::nhwc);
  probe.attrs.set("input_zero_points", std::vector<s64>{0, 0, 0});
  return probe;
}

// Reals, of few channels (which are taken in groups of pixels) and of many; with pixels left over; with a Relu; and ties of rounding.
TEST(QInstanceNorm, OfReals) {
  for (s64 channels : {1, 2, 3, 8, 16, 31, 33, 48, 64, 65, 130}) {
    for (const auto& [rows, columns] : {std::pair<s64, s64>{1, 1}, {1, 3}, {7, 6}, {9, 13}}) {
      for (s64 lo : {0, 7}) {
        Probe probe = norm_of_reals({2, channels, rows, columns}, {1.0f, 0.0078125f, 7, 1e-5f});
        probe.attrs.set("lo", lo);
        expect_exact_above_none(probe, lower_q_instance_norm_reals,
                                fmt::format("{} channels of {}x{}", channels, rows, columns));
      }
    }
  }
}

TEST(QInstanceNorm, OfRealsThatAreNone) {
  constexpr f32 kInf = std::numeric_limits<f32>::infinity();
  Probe probe = norm_of_reals({1, 4, 3, 5}, kQuants[0]);
  const auto x = probe.inputs[0].tensor.mutable_as<f32>();
  std::fill_n(x.begin(), 15, 2.5f);  // no variance
  x[20] = kInf;
  x[40] = std::numeric_limits<f32>::quiet_NaN();
  expect_exact_above_none(probe, lower_q_instance_norm_reals, "odd reals");
}

TEST(QInstanceNorm, ClampsOfTheOutput) {
  Probe probe = norm(random_u8({1, 40, 9, 9}, 1), kQuants[0]);
  probe.attrs.set("lo", s64{128});
  probe.attrs.set("hi", s64{150});
  expect_exact(probe, lower_q_instance_norm, "clamped");
}

TEST(QInstanceNorm, NumbersThatAreNone) {
  Probe probe = norm(Tensor(Dtype::u8, {1, 4, 3, 5}), kQuants[2]);
  expect_exact(probe, lower_q_instance_norm, "0 / 0");
  for (f32 odd : {std::numeric_limits<f32>::infinity(), std::numeric_limits<f32>::quiet_NaN(),
                  std::numeric_limits<f32>::max()}) {
    probe = norm(random_u8({1, 4, 3, 5}, 1), kQuants[0]);
    probe.inputs[1].tensor.mutable_as<f32>()[2] = odd;
    probe.inputs[2].tensor.mutable_as<f32>()[3] = odd;
    expect_exact(probe, lower_q_instance_norm, "odd parameters");
  }
}

TEST(QInstanceNorm, SaysWhyNot) {
  Probe probe = norm(random_u8({1, 4, 3, 5}, 1), kQuants[0]);
  probe.inputs[1].constant = false;
  EXPECT_EQ(run_guarded(probe, lower_q_instance_norm, {}).reject, "scale or bias is not constant");
  probe = norm(random_u8({1, 4, 15}, 1), kQuants[0]);
  probe.inputs[0].layout = Layout::linear;
  EXPECT_EQ(run_guarded(probe, lower_q_instance_norm, {}).reject, "only images are normalized");
}

}  // namespace
}  // namespace octet
