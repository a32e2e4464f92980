// SPDX-License-Identifier: Apache-2.0
// Cast against the definition, to the bit: every f16, f32 around every rounding point, NaN payloads, odd lengths, other types.
#include "backends/cpu/kernels/float/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

void expect_same_bits(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type(), want.type());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.bytes()), 0);
}

void check(const Tensor& x, const std::string& to, const std::string& kernel) {
  Probe probe{.op = "Cast", .inputs = {{x}}};
  probe.attrs.set("to", to);
  const Tensor want = probe.reference()[0];
  for (const Isa isa : simd_levels()) {
    probe.isa = isa;
    probe.threads = 2;
    const ProbeResult result = run_probe(probe, lower_cast);
    const std::string level = isa.has(Isa::neon) ? "_neon" : "_avx2";
    EXPECT_EQ(result.candidate.kernel, kernel == "cast" ? kernel : kernel + level);
    // A signalling NaN becomes a quiet one in the instruction.
    if (to == "f32") {
      expect_same_f32(result.outputs[0], want, kernel);
    } else {
      expect_same_bits(result.outputs[0], want);
    }
  }
}

TEST(Cast, EveryF16) {
  Tensor x(Dtype::f16, Shape{65536 + 3});
  for (size_t i = 0; i < x.as<f16>().size(); ++i) x.mutable_as<f16>()[i].bits = static_cast<u16>(i);
  check(x, "f32", "cast_f16");
}

TEST(Cast, F32AroundEveryF16) {
  Tensor x(Dtype::f32, Shape{65536 * 5 + 1});
  auto values = x.mutable_as<f32>();
  for (u32 i = 0; i < 65536; ++i) {
    f16 half;
    half.bits = static_cast<u16>(i);
    const u32 bits = std::bit_cast<u32>(static_cast<f32>(half));
    // The value, its neighbours, and the middle to the next f16 with a neighbour.
    const u32 around[] = {bits, bits + 1, bits - 1, bits + 0x1000, bits + 0x0fff};
    for (size_t k = 0; k < 5; ++k) values[i * 5 + k] = std::bit_cast<f32>(around[k]);
  }
  check(x, "f16", "cast_f16");
}

TEST(Cast, ToBf16) { check(random_f32(Shape{4099}, 2), "bf16", "cast_bf16"); }

// What bf16 products do to their input: no rounding is left, so the bits are those of the conversion.
TEST(Cast, NarrowsValuesOfBf16) {
  OCTET_NEEDS_ISA(Isa::vnni);
  for (const s64 count : {1, 15, 16, 17, 65536}) {
    std::vector<f32> wide(static_cast<size_t>(count));
    std::vector<u16> got(wide.size() + 1, 0xabcd);
    for (size_t i = 0; i < wide.size(); ++i)
      wide[i] = std::bit_cast<f32>(static_cast<u32>(i) << 16);
    const CastArgs args{wide.data(), got.data(), count};
    narrow_to_bf16_vnni(&args);
    for (size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(got[i], i);
    EXPECT_EQ(got.back(), 0xabcd);  // nothing is written behind them
  }
}

TEST(Cast, OtherTypesByTheDefinition) {
  check(random_f32(Shape{3, 5, 4001}, 1, 300.0f), "s8", "cast");
  const s64 numbers[] = {-5, 0, 7};
  check(Tensor::of<s64>(Shape{3}, numbers), "f32", "cast");
}

}  // namespace
}  // namespace octet
