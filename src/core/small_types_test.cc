// SPDX-License-Identifier: Apache-2.0
// The small element types. Expected hashes are those of what ml_dtypes 0.6 (floats) and onnx 1.23 (e8m0) give for the same
// codes and probes.
#include "core/small_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace octet {
namespace {

constexpr f32 kInf = std::numeric_limits<f32>::infinity();

class Fnv {
 public:
  void add(u8 byte) { hash_ = (hash_ ^ byte) * 1099511628211u; }
  u64 value() const { return hash_; }

 private:
  u64 hash_ = 14695981039346656037u;
};

// Every upper half of an f32, which includes all values and all ties of the float8 and float4 types, exactly, just above,
// and well above.
template <class F>
u64 hash_of_probes(const F& code_of) {
  Fnv hash;
  for (u32 high = 0; high < 0x10000; ++high) {
    for (const u32 low : {0u, 1u, 0x8000u}) {
      const f32 probe = std::bit_cast<f32>((high << 16) | low);
      const int code = code_of(probe);
      if (code >= 0) hash.add(static_cast<u8>(code));
    }
  }
  return hash.value();
}

u64 hash_of_values(Dtype dtype) {
  Fnv hash;
  for (int code = 0; code < 1 << small_bits(dtype); ++code) {
    const f32 value = small_to_f32(dtype, static_cast<u8>(code));
    const u32 bits = std::isnan(value) ? 0x7fc00000u : std::bit_cast<u32>(value);
    for (u32 shift = 0; shift < 32; shift += 8) hash.add(static_cast<u8>(bits >> shift));
  }
  return hash.value();
}

struct Golden {
  Dtype dtype;
  u64 values, wrapping, saturating;
};
constexpr Golden kGolden[] = {
    {Dtype::e4m3fn, 0xdad1d9c50f749ca5, 0xfcc4275498107775, 0x989b5ab9e8ebdba5},
    {Dtype::e4m3fnuz, 0xf51851cb11c63018, 0x74e424eb96b55125, 0xbc0aff61e6d5ef65},
    {Dtype::e5m2, 0x6c1e56b6fb09c905, 0x13aacb2b415ba5a5, 0xcf6ea246e8ef7785},
    {Dtype::e5m2fnuz, 0x94ae6fc493d49818, 0x21bbbe66b1ac4725, 0xb720f4e5b82f9ce5},
    {Dtype::e2m1, 0x2403bb76b85dfea5, 0x50a247e8ef9a92e5, 0x50a247e8ef9a92e5},
};

TEST(SmallFloats, EveryValueAndRounding) {
  for (const Golden& golden : kGolden) {
    const Dtype dtype = golden.dtype;
    EXPECT_EQ(hash_of_values(dtype), golden.values) << dtype_name(dtype);
    for (const bool saturate : {false, true}) {
      const SmallRounding rounding{saturate, ScaleRounding::up};
      EXPECT_EQ(hash_of_probes([&](f32 x) { return small_from_f32(dtype, x, rounding); }),
                saturate ? golden.saturating : golden.wrapping)
          << dtype_name(dtype) << " saturate " << saturate;
    }
  }
}

TEST(SmallFloats, CodesRoundToThemselves) {
  for (const Golden& golden : kGolden) {
    for (int code = 0; code < 1 << small_bits(golden.dtype); ++code) {
      const f32 value = small_to_f32(golden.dtype, static_cast<u8>(code));
      if (std::isnan(value)) continue;
      EXPECT_EQ(small_from_f32(golden.dtype, value, {false, ScaleRounding::up}), code)
          << dtype_name(golden.dtype);
    }
  }
}

TEST(SmallFloats, Limits) {
  EXPECT_EQ(small_to_f32(Dtype::e4m3fn, small_from_f32(Dtype::e4m3fn, kInf)), 448.0f);
  EXPECT_EQ(small_to_f32(Dtype::e4m3fnuz, small_from_f32(Dtype::e4m3fnuz, -kInf)), -240.0f);
  EXPECT_EQ(small_to_f32(Dtype::e5m2, small_from_f32(Dtype::e5m2, 1e9f)), 57344.0f);
  EXPECT_EQ(small_to_f32(Dtype::e5m2, small_from_f32(Dtype::e5m2, 1e9f, {false, {}})), kInf);
  EXPECT_EQ(small_to_f32(Dtype::e2m1, small_from_f32(Dtype::e2m1, -kInf)), -6.0f);
  EXPECT_EQ(small_to_f32(Dtype::e2m1, 0xf2), 1.0f) << "bits above the type's are ignored";
}

TEST(SmallScale, ExponentsAndRounding) {
  struct Case {
    ScaleRounding scale;
    bool saturate;
    u64 hash;
  };
  for (const Case& c : {Case{ScaleRounding::up, true, 0xaa098608d5282bda},
                        Case{ScaleRounding::up, false, 0x4815311967613b5b},
                        Case{ScaleRounding::down, true, 0x46e944cdd943bea5},
                        Case{ScaleRounding::nearest, true, 0x978f214cb0da9fe5},
                        Case{ScaleRounding::nearest, false, 0xde2bb7017a89ef25}}) {
    const auto code_of = [&](f32 x) {
      const bool normal = !std::signbit(x) && std::isnormal(x);
      return normal ? small_from_f32(Dtype::e8m0, x, {c.saturate, c.scale}) : -1;
    };
    EXPECT_EQ(hash_of_probes(code_of), c.hash) << static_cast<int>(c.scale) << c.saturate;
  }
  EXPECT_EQ(hash_of_values(Dtype::e8m0), 0x6d2c8b41c3f0e5a5);
}

// ONNX's table for e8m0.
TEST(SmallScale, OutsideTheRange) {
  const auto code = [](f32 x, bool saturate, ScaleRounding scale) {
    return int{small_from_f32(Dtype::e8m0, x, {saturate, scale})};
  };
  const f32 nan = std::nanf("");
  for (const auto& [x, up, nearest] : {std::tuple{0.0f, 0, 255},
                                       {nan, 255, 255},
                                       {kInf, 254, 255},
                                       {0x1p-149f, 0, 255},
                                       {0x1.8p127f, 254, 255},
                                       {0x1p-127f, 0, 0},
                                       {0x1.8p-127f, 1, 1}}) {
    EXPECT_EQ(code(x, true, ScaleRounding::up), up) << x;
    EXPECT_EQ(code(x, false, ScaleRounding::nearest), nearest) << x;
  }
}

TEST(SmallIntegers, LowBitsTowardZero) {
  for (const Dtype dtype : {Dtype::s4, Dtype::u4, Dtype::s2, Dtype::u2}) {
    const SmallRange range = small_integer_range(dtype);
    const s32 count = range.highest - range.lowest + 1;
    EXPECT_EQ(count, 1 << small_bits(dtype));
    for (s32 v = -300; v <= 300; ++v) {
      const s32 expected = ((v - range.lowest) % count + count) % count + range.lowest;
      EXPECT_EQ(static_cast<s8>(small_from_integer(dtype, v)), expected) << v;
      const f32 real = static_cast<f32>(v);
      EXPECT_EQ(small_from_f32(dtype, real + (v < 0 ? -0.75f : 0.75f)),
                small_from_integer(dtype, v));
      EXPECT_EQ(small_to_f32(dtype, small_from_integer(dtype, v)), static_cast<f32>(expected));
    }
    EXPECT_EQ(small_from_f32(dtype, kInf), 0);
    EXPECT_EQ(small_from_f32(dtype, std::nanf("")), 0);
  }
}

TEST(SmallTensors, Unpack) {
  Tensor s4(Dtype::s4, Shape{3});
  EXPECT_EQ(packed_bytes(s4.type()), 2);
  unpack_small(std::vector<u8>{0x8f, 0xf7}, s4);
  const s8* values = reinterpret_cast<const s8*>(s4.data());
  EXPECT_THAT(std::vector<s8>(values, values + 3), ::testing::ElementsAre(-1, -8, 7));
  Tensor u2(Dtype::u2, Shape{5});
  EXPECT_EQ(packed_bytes(u2.type()), 2);
  unpack_small(std::vector<u8>{0b11100100, 0x02}, u2);
  const u8* codes = reinterpret_cast<const u8*>(u2.data());
  EXPECT_THAT(std::vector<u8>(codes, codes + 5), ::testing::ElementsAre(0, 1, 2, 3, 2));
  EXPECT_EQ(packed_bytes({Dtype::e5m2, Shape{5}}), 5);
  EXPECT_EQ(packed_bytes({Dtype::s4, Shape{0}}), 0);
}

}  // namespace
}  // namespace octet
