// SPDX-License-Identifier: Apache-2.0
// QConv and QMatMul whose codes are added to another value's in the same step, against the scalar reference.
#include <gtest/gtest.h>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

// The planner's order.
template <Offer (*kFirst)(const LowerRequest&), Offer (*kSecond)(const LowerRequest&)>
Offer either(const LowerRequest& request) {
  Offer first = kFirst(request);
  return std::holds_alternative<Candidate>(first) ? first : kSecond(request);
}
constexpr LowerFunction kConv = either<lower_q_conv_tiles, lower_q_conv>;
constexpr LowerFunction kDepthwise = either<lower_q_depthwise_flat, lower_q_depthwise>;
constexpr LowerFunction kLinear = either<lower_q_linear_tiles, lower_q_linear>;

constexpr s64 kOwnZero = 100;

f32 scale_for(s64 depth) { return 1.0f / (60.0f * std::sqrt(static_cast<f32>(depth))); }

// Adds input kProductAddend to a probe that has its first inputs.
void add_addend(Probe& probe, Layout layout, bool first = false, s64 zero_point = 77) {
  const Shape shape = probe.reference()[0].shape();
  probe.inputs.resize(6);
  probe.inputs.push_back(activation(random_u8(shape, 10), layout));
  std::vector<s64> zero_points = probe.attrs.ints("input_zero_points");
  zero_points.resize(6, 0);
  zero_points.push_back(zero_point);
  probe.attrs.set("input_zero_points", zero_points);
  probe.attrs.set("sum_multipliers", std::vector<f32>{0.71f, 0.47f});
  probe.attrs.set("sum_addend_first", s64{first ? 1 : 0});
  probe.attrs.set("sum_own_zero_point", kOwnZero);
  probe.attrs.set("sum_zero_point", s64{90});
  probe.attrs.set("sum_lo", s64{5});
  probe.attrs.set("sum_hi", s64{240});
}

void set_first_codes(Probe& probe) {
  probe.attrs.set("output_zero_point", kOwnZero);
  probe.attrs.set("lo", s64{3});
  probe.attrs.set("hi", s64{250});
}

// 3x3, padded; `groups` 1 or the channels.
Probe conv_probe(s64 channels, s64 outputs, s64 groups = 1) {
  const s64 depth = channels / groups * 9;
  Probe probe{.op = "QConv"};
  probe.inputs = {activation(random_u8({2, channels, 4, 7}, 1), Layout::nhwc),
                  constant(random_s8({outputs, channels / groups, 3, 3}, 2)),
                  constant(random_s32({outputs}, 3, 5000)),
                  constant(random_multipliers(outputs, 4, scale_for(depth)))};
  probe.attrs.set("pads", std::vector<s64>{1, 1, 1, 1});
  probe.attrs.set("group", groups);
  probe.attrs.set("input_zero_points", std::vector<s64>{128});
  set_first_codes(probe);
  return probe;
}

void make_leaky(Probe& probe) {
  probe.attrs.set("activation", std::string("leaky_relu"));
  probe.attrs.set("activation_alpha", 0.3f);
}

// Blocks of one to four tiles of channels, short windows and long ones.
TEST(QSum, Convolutions) {
  for (s64 outputs : {7, 20, 40, 64, 70, 128}) {
    for (s64 channels : {12, 80}) {
      for (bool first : {false, true}) {
        const std::string text = fmt::format("{} -> {}, {}", channels, outputs, first);
        Probe probe = conv_probe(channels, outputs);
        add_addend(probe, Layout::nhwc, first);
        expect_exact(probe, kConv, text);
        make_leaky(probe);
        expect_exact(probe, kConv, text + ", leaky");
        probe.inputs[5] = constant(random_u8({256}, 11));
        expect_exact(probe, kConv, text + ", leaky, table");
      }
    }
  }
}

TEST(QSum, AnotherZeroPointThanTheFirstCodes) {
  for (s64 outputs : {20, 64}) {
    Probe probe = conv_probe(32, outputs);
    add_addend(probe, Layout::nhwc);
    probe.attrs.set("sum_own_zero_point", s64{13});
    probe.attrs.set("sum_multipliers", std::vector<f32>{2.5f, -3.0f});
    expect_exact(probe, kConv, "another zero point");
  }
}

// Ties at both roundings, first codes at both of their bounds, sums far outside.
TEST(QSum, Edges) {
  for (f32 multiplier : {0.5f, 0.25f, 0.0009765625f, 1e9f, 0.0f}) {
    for (f32 own : {0.5f, 1.0f, 1e-30f, 1e30f}) {
      Probe probe = conv_probe(32, 64);
      for (f32& m : probe.inputs[3].tensor.mutable_as<f32>()) m = multiplier;
      add_addend(probe, Layout::nhwc, false, 255);
      probe.attrs.set("sum_multipliers", std::vector<f32>{own, 0.5f});
      expect_exact(probe, kConv, fmt::format("{} then {}", multiplier, own));
    }
  }
}

// Zero points 0 and the whole range of u8: the residual blocks of ResNet.
TEST(QSum, OfCodesThatWereNeverNegative) {
  for (s64 outputs : {7, 20, 40, 64, 70, 128}) {
    for (f32 residual : {0.47f, 0.5f, -0.31f, 1e-38f, 1e31f, 3e38f}) {
      Probe probe = conv_probe(32, outputs);
      add_addend(probe, Layout::nhwc, false, 0);
      probe.attrs.set("sum_multipliers", std::vector<f32>{0.71f, residual});
      probe.attrs.set("sum_zero_point", s64{0});
      probe.attrs.set("sum_lo", s64{0});
      probe.attrs.set("sum_hi", s64{255});
      expect_exact(probe, kConv, fmt::format("{} channels, {}", outputs, residual));
    }
  }
}

TEST(QSum, DepthwiseOnTheDenseKernels) {
  Probe probe = conv_probe(20, 20, 20);
  add_addend(probe, Layout::nhwc);
  EXPECT_EQ(run_guarded(probe, kDepthwise, {}).reject, "a sum with another value follows");
  expect_exact(probe, kConv, "depthwise");
}

TEST(QSum, ProductsByConstants) {
  for (const Shape& a : {Shape{24}, Shape{3, 5, 24}, Shape{2, 3, 2, 24}}) {
    for (s64 n : {33, 64}) {
      Probe probe{.op = "QMatMul"};
      probe.inputs = {activation(random_u8(a, 1)), constant(random_s8({24, n}, 2)),
                      constant(random_s32({n}, 3, 3000)),
                      constant(random_multipliers(n, 4, scale_for(24)))};
      probe.attrs.set("input_zero_points", std::vector<s64>{7});
      set_first_codes(probe);
      add_addend(probe, Layout::linear);
      expect_exact(probe, kLinear, to_string(a));
      probe.inputs[5] = constant(random_u8({256}, 6));
      expect_exact(probe, kLinear, to_string(a) + ", table");
    }
  }
}

// A bias with Q/DQ of its own: one row of codes.
TEST(QSum, ConstantRow) {
  for (const Shape& a : {Shape{24}, Shape{3, 5, 24}, Shape{37, 64}}) {
    for (s64 n : {7, 33, 64, 130}) {
      const s64 k = a[a.rank() - 1];
      for (bool first : {false, true}) {
        Probe probe{.op = "QMatMul"};
        probe.inputs = {activation(random_u8(a, 1)), constant(random_s8({k, n}, 2)),
                        constant(random_s32({n}, 3, 3000)),
                        constant(random_multipliers(n, 4, scale_for(k)))};
        probe.attrs.set("input_zero_points", std::vector<s64>{7});
        set_first_codes(probe);
        add_addend(probe, Layout::linear, first);
        probe.inputs[6] = constant(random_u8({n}, 10));
        expect_exact(probe, kLinear, fmt::format("{} by {}", to_string(a), n));
        probe.inputs[5] = constant(random_u8({256}, 6));
        expect_exact(probe, kLinear, fmt::format("{} by {}, table", to_string(a), n));
      }
    }
  }
}

TEST(QSum, ProductsOfTwoActivations) {
  Probe probe{.op = "QMatMul"};
  probe.inputs = {activation(random_u8({2, 7, 40}, 1)), activation(random_u8({2, 40, 70}, 2)),
                  omitted(), constant(random_multipliers(1, 4, scale_for(40)))};
  probe.attrs.set("input_zero_points", std::vector<s64>{3, 250});
  set_first_codes(probe);
  add_addend(probe, Layout::linear);
  expect_exact(probe, lower_q_matmul, "two activations");
}

TEST(QSum, TheInspectorIsTold) {
  Probe probe = conv_probe(32, 64);
  EXPECT_EQ(run_guarded(probe, kConv, {}).candidate.note, "");
  add_addend(probe, Layout::nhwc);
  const std::string note = run_guarded(probe, kConv, {}).candidate.note;
  EXPECT_TRUE(note.starts_with("then adds ")) << note;
}

TEST(QSum, RejectsWithReasons) {
  Probe probe = conv_probe(32, 64);
  add_addend(probe, Layout::nhwc);
  probe.inputs[4] = probe.inputs[6];
  EXPECT_EQ(run_guarded(probe, kConv, {}).reject, "it has a residual and an addend");
  probe.inputs[4] = omitted();
  probe.attrs.set("sum_dtype", std::string("s8"));
  probe.attrs.set("sum_zero_point", s64{-3});
  probe.attrs.set("sum_hi", s64{120});
  EXPECT_EQ(run_guarded(probe, kConv, {}).reject, "the output codes are s8");
}

}  // namespace
}  // namespace octet
