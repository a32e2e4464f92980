// SPDX-License-Identifier: Apache-2.0
// QConv and QMatMul against docs/numerics.md written out literally in 64-bit integers and single float operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/fine_table.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::code;
using testing::OpCall;
using testing::Random;

struct Finish {
  bool has_bias, has_residual, has_table, leaky;
  bool has_segments;  // of the table: finer codes before it
  s64 fine_zero_point;
  std::string output;  // "u8", "s8", "f32"
  s64 zero_point, lo, hi, residual_zero_point;
  f32 residual_multiplier, alpha;
  bool sums, addend_first;  // instead of the residual: a second rounding
  f32 own_multiplier;
  std::string sum_output;
  s64 own_zero_point, sum_zero_point, sum_lo, sum_hi;
};

Finish random_finish(Random& random) {
  Finish f{};
  f.has_bias = random.coin();
  f.has_residual = random.coin();
  f.leaky = random.coin();
  const char* outputs[] = {"u8", "s8", "f32"};
  f.output = outputs[random.integer(0, 2)];
  f.has_table = f.output != "f32" && random.coin();
  const s64 lowest = f.output == "u8" ? 0 : -128;
  f.zero_point = lowest + random.integer(0, 255);
  f.lo = lowest + random.integer(0, 127);
  f.hi = std::max(f.lo, lowest + random.integer(128, 255));
  f.residual_zero_point = random.integer(-128, 127);
  f.residual_multiplier = random.real(0.01f, 2.0f);
  f.alpha = random.real(0.01f, 0.5f);
  f.sums = f.has_residual && f.output == "u8" && random.coin();
  f.addend_first = random.coin();
  f.own_multiplier = random.real(0.01f, 2.0f);
  f.sum_output = outputs[random.integer(0, 1)];
  const s64 lowest_sum = f.sum_output == "u8" ? 0 : -128;
  f.own_zero_point = random.integer(0, 255);
  f.sum_zero_point = lowest_sum + random.integer(0, 255);
  f.sum_lo = lowest_sum + random.integer(0, 127);
  f.sum_hi = std::max(f.sum_lo, lowest_sum + random.integer(128, 255));
  f.has_segments = f.has_table && random.coin();
  f.fine_zero_point = random.integer(0, 65535);
  return f;
}

// Sections 3 and 4 for one accumulator; r is the residual's code.
f32 real_result(const Finish& f, s64 acc, f32 multiplier, s64 r) {
  f32 t = static_cast<f32>(static_cast<s32>(acc)) * multiplier;
  if (f.has_residual && !f.sums) {
    t = std::fma(static_cast<f32>(r - f.residual_zero_point), f.residual_multiplier, t);
  }
  if (f.leaky && t < 0.0f) t = t * f.alpha;
  return t;
}

// Section 5 for finer codes, with real divisions.
s64 segments_result(const Finish& f, f32 t, const Tensor& table) {
  const f64 rounded = std::nearbyint(f64{t}) + static_cast<f64>(f.fine_zero_point);
  const auto u = static_cast<s64>(std::clamp(rounded, 0.0, 65535.0));
  const s64 entry = table.as<s32>()[static_cast<size_t>(u / 1024)];
  const s64 slope = static_cast<s64>(std::floor(static_cast<f64>(entry) / 65536.0));
  const s64 low = entry - slope * 65536;
  const s64 base = low < 32768 ? low : low - 65536;
  const f64 grown = std::floor(static_cast<f64>(slope * (u % 1024)) / 1024.0 + 0.5);
  const f64 y = std::clamp(static_cast<f64>(base) + grown, -32768.0, 32767.0);
  return std::clamp(static_cast<s64>(std::floor(y / 64.0 + 0.5)), f.lo, f.hi);
}

s64 code_result(const Finish& f, f32 t) {
  const f64 rounded = std::nearbyint(f64{t}) + static_cast<f64>(f.zero_point);
  return static_cast<s64>(std::clamp(rounded, static_cast<f64>(f.lo), static_cast<f64>(f.hi)));
}

// The sum of the first code and the addend's, rounded a second time.
s64 sum_result(const Finish& f, s64 own, s64 r) {
  const auto a = static_cast<f32>(own - f.own_zero_point);
  const auto b = static_cast<f32>(r - f.residual_zero_point);
  const f32 left = a * f.own_multiplier, right = b * f.residual_multiplier;
  const f32 t = f.addend_first ? std::fma(b, f.residual_multiplier, left)
                               : std::fma(a, f.own_multiplier, right);
  const f64 rounded = std::nearbyint(f64{t}) + static_cast<f64>(f.sum_zero_point);
  return static_cast<s64>(
      std::clamp(rounded, static_cast<f64>(f.sum_lo), static_cast<f64>(f.sum_hi)));
}

struct Product {
  Tensor x, w, bias, multiplier, residual, table;
  s64 x_zero_point, w_zero_point;
};

void sum_attributes(OpCall& call, const Finish& f) {
  call.attr("sum_multipliers", std::vector<f32>{f.own_multiplier, f.residual_multiplier})
      .attr("sum_addend_first", s64{f.addend_first ? 1 : 0})
      .attr("sum_own_zero_point", f.own_zero_point)
      .attr("sum_dtype", f.sum_output)
      .attr("sum_zero_point", f.sum_zero_point)
      .attr("sum_lo", f.sum_lo)
      .attr("sum_hi", f.sum_hi);
}

void finish_call(OpCall& call, const Finish& f, const Product& p) {
  call.in(p.x).in(p.w);
  f.has_bias ? call.in(p.bias) : call.omit();
  call.in(p.multiplier);
  f.has_residual && !f.sums ? call.in(p.residual) : call.omit();
  f.has_table ? call.in(p.table) : call.omit();
  const s64 zero_point = f.has_residual ? f.residual_zero_point : 0;
  call.ints("input_zero_points", {p.x_zero_point, p.w_zero_point, 0, 0, f.sums ? 0 : zero_point, 0,
                                  f.sums ? zero_point : 0});
  if (f.sums) sum_attributes(call.in(p.residual), f);
  if (f.has_segments) call.attr("fine_zero_point", f.fine_zero_point);
  call.attr("output_dtype", f.output).attr("residual_multiplier", f.residual_multiplier);
  if (f.output != "f32") {
    call.attr("output_zero_point", f.zero_point).attr("lo", f.lo).attr("hi", f.hi);
  }
  if (f.leaky) {
    call.attr("activation", std::string("leaky_relu")).attr("activation_alpha", f.alpha);
  }
}

void expect_element(const Tensor& y, s64 i, const Finish& f, const Product& p, s64 channel,
                    s64 acc) {
  const auto m = p.multiplier.as<f32>();
  if (f.has_bias) acc += p.bias.as<s32>()[static_cast<size_t>(channel)];
  const f32 t = real_result(f, acc, m[m.size() == 1 ? 0 : static_cast<size_t>(channel)],
                            f.has_residual ? code(p.residual, i) : 0);
  if (f.output == "f32") {
    ASSERT_EQ(y.as<f32>()[static_cast<size_t>(i)], t) << i;
    return;
  }
  s64 expected = code_result(f, t);
  if (f.has_segments)
    expected = segments_result(f, t, p.table);
  else if (f.has_table)
    expected = code(p.table, f.output == "s8" ? expected + 128 : expected);
  if (f.sums) expected = sum_result(f, expected, code(p.residual, i));
  ASSERT_EQ(code(y, i), expected) << i;
}

Tensor random_segments(Random& random) {
  Tensor table(Dtype::s32, Shape{kFineSegments});
  for (s32& segment : table.mutable_as<s32>()) {
    const s64 most = random.coin() ? kFineBase : 300 * 64;
    segment = fine_segment(static_cast<s32>(random.integer(-most, most)),
                           static_cast<s32>(random.integer(-32768, 32767)));
  }
  return table;
}

Product random_product(Random& random, const Finish& f, s64 channels) {
  Product p{};
  p.bias = Tensor(Dtype::s32, Shape{channels});
  for (s32& b : p.bias.mutable_as<s32>()) b = static_cast<s32>(random.integer(-20000, 20000));
  const f32 most = f.has_segments ? 5.0f : 0.02f;
  p.multiplier = random.reals(random.coin() ? Shape{channels} : Shape{1}, 0.0001f, most);
  p.table = f.has_segments
                ? random_segments(random)
                : random.codes(f.sums || random.coin() ? Dtype::u8 : Dtype::s8, Shape{256});
  return p;
}

TEST(QConv, RandomCasesEqualTheDefinition) {
  for (u32 seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Finish f = random_finish(random);
    const s64 groups = random.integer(1, 3), cg = random.integer(1, 9), og = random.integer(1, 3);
    const s64 h = random.integer(3, 7), w = random.integer(3, 7);
    const s64 kh = random.integer(1, 3), kw = random.integer(1, 3);
    const s64 sh = random.integer(1, 2), sw = random.integer(1, 2);
    const s64 pt = random.integer(0, 2), pl = random.integer(0, 2), pb = random.integer(0, 2);
    const s64 oh = (h + pt + pb - kh) / sh + 1, ow = (w + pl - kw) / sw + 1;
    Product p = random_product(random, f, groups * og);
    p.x = random.codes(random.coin() ? Dtype::u8 : Dtype::s8, Shape{2, groups * cg, h, w});
    p.x_zero_point = p.x.dtype() == Dtype::u8 ? random.integer(0, 255) : random.integer(-128, 127);
    p.w = random.codes<s8>(Shape{groups * og, cg, kh, kw}, -127, 127);
    p.residual = random.codes(f.residual_zero_point < 0 ? Dtype::s8 : Dtype::u8,
                              Shape{2, groups * og, oh, ow});
    OpCall call("QConv");
    finish_call(call, f, p);
    const Tensor y =
        call.attr("group", groups).ints("strides", {sh, sw}).ints("pads", {pt, pl, pb, 0}).run();
    ASSERT_EQ(y.shape(), (Shape{2, groups * og, oh, ow}));
    for (s64 i = 0; i < y.elements(); ++i) {
      const s64 n = i / (groups * og * oh * ow), o = i / (oh * ow) % (groups * og);
      s64 acc = 0;
      for (s64 tap = 0; tap < cg * kh * kw; ++tap) {
        const s64 c = o / og * cg + tap / (kh * kw);
        const s64 ih = i / ow % oh * sh - pt + tap / kw % kh, iw = i % ow * sw - pl + tap % kw;
        if (ih < 0 || iw < 0 || ih >= h || iw >= w) continue;
        acc += code(p.w, o * cg * kh * kw + tap) *
               (code(p.x, ((n * groups * cg + c) * h + ih) * w + iw) - p.x_zero_point);
      }
      expect_element(y, i, f, p, o, acc);
    }
  }
}

TEST(QMatMul, RandomCasesEqualTheDefinition) {
  for (u32 seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Finish f = random_finish(random);
    const s64 batch = random.integer(1, 3), m = random.integer(1, 5), k = random.integer(1, 70),
              n = random.integer(1, 5);
    Product p = random_product(random, f, n);
    p.x = random.codes(random.coin() ? Dtype::u8 : Dtype::s8, Shape{batch, m, k});
    p.x_zero_point = p.x.dtype() == Dtype::u8 ? random.integer(0, 255) : random.integer(-128, 127);
    const bool activation = random.coin();
    p.w = random.codes(activation ? Dtype::u8 : Dtype::s8,
                       activation ? Shape{batch, k, n} : Shape{k, n});
    p.w_zero_point = activation ? random.integer(0, 255) : 0;
    p.residual =
        random.codes(f.residual_zero_point < 0 ? Dtype::s8 : Dtype::u8, Shape{batch, m, n});
    OpCall call("QMatMul");
    finish_call(call, f, p);
    const Tensor y = call.run();
    for (s64 i = 0; i < y.elements(); ++i) {
      const s64 b = i / (m * n), row = i / n, column = i % n;
      s64 acc = 0;
      for (s64 j = 0; j < k; ++j) {
        const s64 wi = (activation ? b * k + j : j) * n + column;
        acc += (code(p.x, row * k + j) - p.x_zero_point) * (code(p.w, wi) - p.w_zero_point);
      }
      expect_element(y, i, f, p, column, acc);
    }
  }
}

// s32 accumulators over their whole range through one multiplier: rounding, ties and saturation.
TEST(QMatMul, AccumulatorSweepThroughTheBias) {
  const s64 step = 0x9e37;
  std::vector<s32> bias;
  for (s64 acc = INT32_MIN; acc <= INT32_MAX; acc += step) bias.push_back(static_cast<s32>(acc));
  for (s32 acc = -100000; acc < 100000; ++acc) bias.push_back(acc);
  const s64 n = std::ssize(bias);
  for (f32 multiplier : {0.5f, 0.001f, 3.0e-7f, 1.0f, 1.0e6f}) {
    Finish f{};
    f.has_bias = true;
    f.output = "s8";
    f.zero_point = 3;
    f.lo = -128;
    f.hi = 127;
    Product p{};
    p.x = Tensor(Dtype::u8, Shape{1, 1});
    p.w = Tensor(Dtype::s8, Shape{1, n});
    p.bias = Tensor::of<s32>(Shape{n}, bias);
    p.multiplier = Tensor::of<f32>(Shape{1}, {&multiplier, 1});
    OpCall call("QMatMul");
    finish_call(call, f, p);
    const Tensor y = call.run();
    for (s64 i = 0; i < n; ++i) expect_element(y, i, f, p, i, 0);
  }
}

TEST(QProductErrors, EveryInputIsChecked) {
  const Tensor x(Dtype::u8, Shape{2, 3}), w(Dtype::s8, Shape{3, 4});
  const Tensor m(Dtype::f32, Shape{1}), bias(Dtype::s32, Shape{4});
  EXPECT_EQ(OpCall("QMatMul").in(x).in(w).in(bias).in(m).error(), "");
  EXPECT_NE(OpCall("QMatMul").in(x).in(w).in(bias).error(), "");  // no multiplier
  EXPECT_NE(OpCall("QMatMul").in(x).in(w).in(Tensor(Dtype::s32, Shape{3})).in(m).error(), "");
  EXPECT_NE(OpCall("QMatMul").in(x).in(w).in(bias).in(Tensor(Dtype::f32, Shape{3})).error(), "");
  EXPECT_NE(OpCall("QMatMul").in(Tensor(Dtype::f32, Shape{2, 3})).in(w).in(bias).in(m).error(), "");
  const auto with = [&](const char* name, AttrValue value) {
    return OpCall("QMatMul").in(x).in(w).in(bias).in(m).attr(name, std::move(value)).error();
  };
  EXPECT_NE(with("output_dtype", std::string("s32")), "");
  EXPECT_NE(with("output_zero_point", s64{256}), "");
  EXPECT_NE(with("lo", s64{-1}), "");
  EXPECT_NE(with("input_zero_points", std::vector<s64>{-1}), "");
  EXPECT_NE(with("input_zero_points", std::vector<s64>{0, 128}), "");
  EXPECT_NE(with("activation", std::string("relu")), "");  // belongs into lo and hi
  EXPECT_NE(with("activation", std::string("swish")), "");
  const auto table = [&](Tensor t) {
    return OpCall("QMatMul").in(x).in(w).omit().in(m).omit().in(std::move(t)).error();
  };
  EXPECT_EQ(table(Tensor(Dtype::u8, Shape{256})), "");
  EXPECT_NE(table(Tensor(Dtype::u8, Shape{255})), "");
  EXPECT_NE(table(Tensor(Dtype::f32, Shape{256})), "");
  EXPECT_NE(table(Tensor(Dtype::s32, Shape{64})), "");  // nothing says what it is
}

TEST(QProductErrors, SegmentsAreChecked) {
  const Tensor x(Dtype::u8, Shape{2, 3}), w(Dtype::s8, Shape{3, 4}), m(Dtype::f32, Shape{1});
  const auto segments = [&](Tensor table, s64 zero_point, const char* output) {
    OpCall call("QMatMul");
    call.in(x).in(w).omit().in(m).omit();
    if (table) call.in(std::move(table));
    return call.attr("fine_zero_point", zero_point)
        .attr("output_dtype", std::string(output))
        .error();
  };
  const Tensor table(Dtype::s32, Shape{64});
  EXPECT_EQ(segments(table, 0, "u8"), "");
  EXPECT_EQ(segments(table, 65535, "s8"), "");
  EXPECT_NE(segments(table, -1, "u8"), "");
  EXPECT_NE(segments(table, 65536, "u8"), "");
  EXPECT_NE(segments(table, 0, "f32"), "");
  EXPECT_NE(segments({}, 0, "u8"), "");
  EXPECT_NE(segments(Tensor(Dtype::s32, Shape{63}), 0, "u8"), "");
  EXPECT_NE(segments(Tensor(Dtype::s32, Shape{1, 64}), 0, "u8"), "");
  EXPECT_NE(segments(Tensor(Dtype::u8, Shape{256}), 0, "u8"), "");
  Tensor far(Dtype::s32, Shape{64});
  far.mutable_as<s32>()[63] = fine_segment(kFineBase, -32768);
  EXPECT_EQ(segments(far, 0, "u8"), "");
  far.mutable_as<s32>()[63] = fine_segment(kFineBase + 1, 0);
  EXPECT_NE(segments(far, 0, "u8"), "");
  far.mutable_as<s32>()[63] = fine_segment(-kFineBase - 1, 0);
  EXPECT_NE(segments(far, 0, "u8"), "");
}

TEST(QProductErrors, TheAddendIsChecked) {
  const Tensor x(Dtype::u8, Shape{2, 3}), w(Dtype::s8, Shape{3, 4}), m(Dtype::f32, Shape{1});
  const auto sum = [&](Tensor addend, const char* name, AttrValue value) {
    OpCall call("QMatMul");
    call.in(x).in(w).omit().in(m).omit().omit().in(std::move(addend));
    call.attr("sum_multipliers", std::vector<f32>{1.0f, 0.5f}).attr(name, std::move(value));
    return call.error();
  };
  const Tensor addend(Dtype::s8, Shape{2, 4});
  EXPECT_EQ(sum(addend, "sum_lo", s64{7}), "");
  EXPECT_NE(sum(Tensor(Dtype::u8, Shape{1, 4}), "sum_lo", s64{0}), "");
  EXPECT_NE(sum(Tensor(Dtype::f32, Shape{2, 4}), "sum_lo", s64{0}), "");
  EXPECT_NE(sum(addend, "sum_multipliers", std::vector<f32>{1.0f}), "");
  EXPECT_NE(sum(addend, "sum_dtype", std::string("f32")), "");
  EXPECT_NE(sum(addend, "sum_own_zero_point", s64{-1}), "");
  EXPECT_NE(sum(addend, "sum_zero_point", s64{256}), "");
  EXPECT_NE(sum(addend, "sum_hi", s64{256}), "");
  EXPECT_NE(sum(addend, "output_dtype", std::string("s8")), "");  // its own codes are u8
  EXPECT_NE(sum(addend, "output_dtype", std::string("f32")), "");
  EXPECT_NE(sum(addend, "input_zero_points", std::vector<s64>{0, 0, 0, 0, 0, 0, 200}), "");
}

}  // namespace
}  // namespace octet
