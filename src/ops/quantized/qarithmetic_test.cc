// SPDX-License-Identifier: Apache-2.0
// QAdd and QMul for all 65,536 pairs of codes, QAveragePool and QReduceMean against the formulas of docs/numerics.md
// section 5 written out literally.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::code;
using testing::OpCall;
using testing::Random;
using testing::tensor;

struct Output {
  std::string dtype;
  s64 zero_point, lo, hi;
};

void set_output(OpCall& call, const Output& out, std::vector<s64> zero_points) {
  call.attr("output_dtype", out.dtype).attr("output_zero_point", out.zero_point);
  call.attr("lo", out.lo).attr("hi", out.hi).ints("input_zero_points", std::move(zero_points));
}

s64 to_code(const Output& out, f32 t) {
  const f64 rounded = std::nearbyint(f64{t}) + static_cast<f64>(out.zero_point);
  return static_cast<s64>(std::clamp(rounded, static_cast<f64>(out.lo), static_cast<f64>(out.hi)));
}

Tensor all_codes(Dtype dtype, const Shape& shape) {
  Tensor t(dtype, shape);
  auto* bytes = reinterpret_cast<u8*>(t.mutable_data());
  for (s64 i = 0; i < 256; ++i) bytes[i] = static_cast<u8>(i);
  return t;
}

struct PairCase {
  Dtype a, b;
  s64 za, zb;
  Output out;
};
const PairCase kPairs[] = {{Dtype::u8, Dtype::u8, 0, 0, {"u8", 0, 0, 255}},
                           {Dtype::u8, Dtype::s8, 128, 0, {"s8", -5, -100, 100}},
                           {Dtype::s8, Dtype::s8, -128, 127, {"u8", 17, 17, 255}},
                           {Dtype::s8, Dtype::u8, 3, 255, {"s8", 0, -128, 127}}};

TEST(QAdd, AllPairsOfCodes) {
  for (const PairCase& c : kPairs) {
    for (const auto& [ra, rb] :
         {std::pair(0.7f, 0.3f), std::pair(1.0f, -0.5f), std::pair(2.5f, 1e-3f)}) {
      OpCall call("QAdd");
      const Tensor a = all_codes(c.a, Shape{256, 1}), b = all_codes(c.b, Shape{1, 256});
      set_output(call.in(a).in(b), c.out, {c.za, c.zb});
      const Tensor y = call.attr("multipliers", std::vector<f32>{ra, rb}).run();
      ASSERT_EQ(y.shape(), (Shape{256, 256}));
      for (s64 i = 0; i < 65536; ++i) {
        const f32 second = static_cast<f32>(code(b, i % 256) - c.zb) * rb;
        const f32 t = std::fma(static_cast<f32>(code(a, i / 256) - c.za), ra, second);
        ASSERT_EQ(code(y, i), to_code(c.out, t)) << i;
      }
    }
  }
}

TEST(QMul, AllPairsOfCodes) {
  for (const PairCase& c : kPairs) {
    for (f32 multiplier : {0.01f, 0.5f, 1e-5f}) {
      OpCall call("QMul");
      const Tensor a = all_codes(c.a, Shape{256, 1}), b = all_codes(c.b, Shape{1, 256});
      set_output(call.in(a).in(b), c.out, {c.za, c.zb});
      const Tensor y = call.attr("multiplier", multiplier).run();
      for (s64 i = 0; i < 65536; ++i) {
        const s64 product = (code(a, i / 256) - c.za) * (code(b, i % 256) - c.zb);
        ASSERT_EQ(code(y, i), to_code(c.out, static_cast<f32>(product) * multiplier)) << i;
      }
    }
  }
}

TEST(QAdd, BroadcastsScalarsAndChannels) {
  Random random(3);
  const Tensor a = random.codes<u8>(Shape{2, 3, 4}, 0, 255),
               b = random.codes<u8>(Shape{3, 1}, 0, 255);
  OpCall call("QAdd");
  const Output out{"u8", 7, 0, 255};
  set_output(call.in(a).in(b), out, {1, 2});
  const Tensor y = call.attr("multipliers", std::vector<f32>{0.4f, 0.6f}).run();
  for (s64 i = 0; i < 24; ++i) {
    const f32 second = static_cast<f32>(code(b, i / 4 % 3) - 2) * 0.6f;
    EXPECT_EQ(code(y, i), to_code(out, std::fma(static_cast<f32>(code(a, i) - 1), 0.4f, second)));
  }
}

TEST(QArithmeticErrors, AttributesAreChecked) {
  const Tensor a(Dtype::u8, Shape{4}), f(Dtype::f32, Shape{4});
  EXPECT_NE(OpCall("QAdd").in(a).in(a).error(), "");
  EXPECT_NE(OpCall("QAdd").in(a).in(f).attr("multipliers", std::vector<f32>{1, 1}).error(), "");
  EXPECT_NE(OpCall("QMul").in(a).in(a).error(), "");
  EXPECT_NE(OpCall("QMul")
                .in(a)
                .in(a)
                .attr("multiplier", 1.0f)
                .attr("output_dtype", std::string("f32"))
                .error(),
            "");
  EXPECT_NE(OpCall("QReduceMean").in(a).error(), "");
  EXPECT_NE(
      OpCall("QReduceMean").in(a).attr("scales", std::vector<f32>{1, 1}).ints("axes", {1}).error(),
      "");
}

struct PoolCase {
  bool include_pad, ceil;
  s64 kernel, stride, pad;
};

TEST(QAveragePool, CountsEachWindow) {
  for (const PoolCase& c : {PoolCase{false, false, 3, 2, 1}, PoolCase{true, false, 3, 1, 1},
                            PoolCase{false, true, 2, 2, 0}, PoolCase{true, true, 3, 2, 1},
                            PoolCase{false, false, 7, 1, 0}}) {
    Random random(9);
    const s64 size = 7, zp = 11;
    const Tensor x = random.codes<u8>(Shape{1, 2, size, size}, 0, 255);
    OpCall call("QAveragePool");
    const Output out{"s8", 4, -128, 127};
    set_output(call.in(x), out, {zp});
    const f32 sx = 0.37f, sy = 0.51f;
    call.ints("kernel_shape", {c.kernel, c.kernel}).ints("strides", {c.stride, c.stride});
    call.ints("pads", {c.pad, c.pad, c.pad, c.pad}).attr("scales", std::vector<f32>{sx, sy});
    const Tensor y =
        call.attr("count_include_pad", s64{c.include_pad}).attr("ceil_mode", s64{c.ceil}).run();
    const s64 o = y.shape()[2];
    for (s64 i = 0; i < y.elements(); ++i) {
      s64 sum = 0, inside = 0, padded = 0;
      for (s64 k = 0; k < c.kernel * c.kernel; ++k) {
        const s64 h = i / o % o * c.stride - c.pad + k / c.kernel,
                  w = i % o * c.stride - c.pad + k % c.kernel;
        padded += h < size + c.pad && w < size + c.pad ? 1 : 0;
        if (h < 0 || w < 0 || h >= size || w >= size) continue;
        ++inside;
        sum += code(x, (i / (o * o) * size + h) * size + w) - zp;
      }
      const f32 per_n = sx / static_cast<f32>(c.include_pad ? padded : inside);
      ASSERT_EQ(code(y, i), to_code(out, static_cast<f32>(sum) * (per_n / sy))) << i;
    }
  }
}

TEST(QReduceMean, AnyAxes) {
  Random random(5);
  const Tensor x = random.codes<s8>(Shape{2, 3, 5}, -128, 127);
  const Output out{"u8", 90, 0, 255};
  const f32 sx = 0.9f, sy = 0.07f;
  for (const bool keep : {false, true}) {
    OpCall call("QReduceMean");
    set_output(call.in(x), out, {-3});
    call.ints("axes", {0, 2}).attr("keepdims", s64{keep}).attr("scales", std::vector<f32>{sx, sy});
    const Tensor y = call.run();
    EXPECT_EQ(y.shape(), keep ? (Shape{1, 3, 1}) : (Shape{3}));
    for (s64 c = 0; c < 3; ++c) {
      s64 sum = 0;
      for (s64 i = 0; i < 10; ++i) sum += code(x, (i / 5 * 3 + c) * 5 + i % 5) + 3;
      const f32 multiplier = (sx / 10.0f) / sy;
      EXPECT_EQ(code(y, c), to_code(out, static_cast<f32>(sum) * multiplier));
    }
  }
}

}  // namespace
}  // namespace octet
