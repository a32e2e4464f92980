// SPDX-License-Identifier: Apache-2.0
#include "core/small_types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace octet {
namespace {

enum class Special : u8 { none, nan_only, nan_at_minus_zero, ieee };

// A sign, exponent and mantissa; `largest` is the code of the largest finite value.
struct FloatFormat {
  int bits;
  int mantissa;
  int bias;
  u8 largest;
  Special special;
};

struct SmallFacts {
  int bits = 0;
  bool integer = false;
  bool is_signed = false;
};

SmallFacts facts(Dtype dtype) {
  switch (dtype) {
    case Dtype::s4:
      return {4, true, true};
    case Dtype::u4:
      return {4, true, false};
    case Dtype::s2:
      return {2, true, true};
    case Dtype::u2:
      return {2, true, false};
    case Dtype::e2m1:
      return {4, false, true};
    case Dtype::e4m3fn:
    case Dtype::e4m3fnuz:
    case Dtype::e5m2:
    case Dtype::e5m2fnuz:
      return {8, false, true};
    case Dtype::e8m0:
      return {8, false, false};
    default:
      return {};
  }
}

FloatFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::e4m3fn:
      return {8, 3, 7, 0x7e, Special::nan_only};
    case Dtype::e4m3fnuz:
      return {8, 3, 8, 0x7f, Special::nan_at_minus_zero};
    case Dtype::e5m2:
      return {8, 2, 15, 0x7b, Special::ieee};
    case Dtype::e5m2fnuz:
      return {8, 2, 16, 0x7f, Special::nan_at_minus_zero};
    case Dtype::e2m1:
      return {4, 1, 1, 0x07, Special::none};
    default:
      check_failed("small float type", __FILE__, __LINE__);
  }
}

constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

f32 float_value(const FloatFormat& format, u8 byte) {
  const u8 sign_bit = static_cast<u8>(1 << (format.bits - 1));
  const bool negative = (byte & sign_bit) != 0;
  const u8 code = static_cast<u8>(byte & (sign_bit - 1));
  if (format.special == Special::nan_at_minus_zero && negative && code == 0) return kNan;
  f32 magnitude = 0;
  if (code > format.largest) {
    // e5m2 has an infinity before its NaNs.
    const bool infinite = format.special == Special::ieee && code == format.largest + 1;
    magnitude = infinite ? std::numeric_limits<f32>::infinity() : kNan;
  } else {
    const int exponent = code >> format.mantissa;
    const int fraction = code & ((1 << format.mantissa) - 1);
    const int whole = exponent == 0 ? fraction : fraction + (1 << format.mantissa);
    const int power = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa;
    magnitude = std::ldexp(static_cast<f32>(whole), power);
  }
  return negative ? -magnitude : magnitude;
}

// The code of NaN; e2m1 has none and takes a zero of the other sign.
u8 nan_code(const FloatFormat& format, u8 sign) {
  switch (format.special) {
    case Special::none:
      return sign != 0 ? 0 : 8;
    case Special::nan_only:
      return sign | 0x7f;
    case Special::ieee:
      return sign | 0x7e;
    case Special::nan_at_minus_zero:
      return 0x80;
  }
  return 0;
}

u8 overflow_code(const FloatFormat& format, u8 sign, bool saturate) {
  if (saturate || format.special == Special::none) return sign | format.largest;
  if (format.special == Special::ieee) return static_cast<u8>(sign | (format.largest + 1));
  return nan_code(format, sign);
}

u8 float_code(const FloatFormat& format, f32 value, bool saturate) {
  const u8 sign_bit = static_cast<u8>(1 << (format.bits - 1));
  const u8 sign = std::signbit(value) ? sign_bit : u8{0};
  if (std::isnan(value)) return nan_code(format, sign);
  const f32 magnitude = std::fabs(value);
  if (std::isinf(value)) return overflow_code(format, sign, saturate);
  if (magnitude == 0) return format.special == Special::nan_at_minus_zero ? u8{0} : sign;
  const int lowest = 1 - format.bias;
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  // Scaling by a power of two is exact; rounding up to the next power of two carries into the exponent. The double keeps the
  // smallest floats from being lost before they are rounded.
  const f64 steps = std::nearbyint(std::ldexp(f64{magnitude}, format.mantissa - exponent));
  const s64 code =
      (static_cast<s64>(exponent - lowest) << format.mantissa) + static_cast<s64>(steps);
  if (code > format.largest) return overflow_code(format, sign, saturate);
  if (code == 0 && format.special == Special::nan_at_minus_zero) return 0;
  return static_cast<u8>(sign | code);
}

constexpr u32 kScaleNan = 0xff;

// e8m0 is an f32's exponent alone, of at least 2^-127. The sign is dropped: of negative values ONNX leaves the result open.
u8 scale_code(f32 value, const SmallRounding& rounding) {
  const f32 magnitude = std::fabs(value);
  if (std::isnan(value)) return kScaleNan;
  if (std::isinf(value)) return rounding.saturate ? kScaleNan - 1 : kScaleNan;
  if (magnitude < 0x1p-127f) return rounding.saturate ? 0 : kScaleNan;
  const u32 bits = std::bit_cast<u32>(magnitude);
  const u32 exponent = bits >> 23;
  // Below 2^-126 an f32 has its first bit among those of the fraction.
  const u32 fraction = (exponent == 0 ? bits << 1 : bits) & 0x7fffffu;
  bool up = false;
  if (rounding.scale == ScaleRounding::up) up = fraction != 0;
  if (rounding.scale == ScaleRounding::nearest) up = fraction >= 0x400000u;  // ties go up in ONNX
  if (rounding.saturate && exponent == kScaleNan - 1) up = false;
  return static_cast<u8>(exponent + (up ? 1u : 0u));
}

f32 scale_value(u8 code) {
  return code == kScaleNan ? kNan : std::ldexp(1.0f, static_cast<int>(code) - 127);
}

}  // namespace

bool is_small_dtype(Dtype dtype) { return facts(dtype).bits != 0; }
bool is_small_integer(Dtype dtype) { return facts(dtype).integer; }
int small_bits(Dtype dtype) { return facts(dtype).bits; }

f32 small_to_f32(Dtype dtype, u8 byte) {
  if (is_small_integer(dtype)) {
    return static_cast<f32>(static_cast<s8>(small_from_integer(dtype, byte)));
  }
  return dtype == Dtype::e8m0 ? scale_value(byte) : float_value(format_of(dtype), byte);
}

u8 small_from_f32(Dtype dtype, f32 value, const SmallRounding& rounding) {
  if (dtype == Dtype::e8m0) return scale_code(value, rounding);
  if (!is_small_integer(dtype)) return float_code(format_of(dtype), value, rounding.saturate);
  if (!(std::fabs(value) < 0x1p63f)) return 0;  // NaN too; the low bits of anything so large are 0
  return small_from_integer(dtype, static_cast<s64>(value));
}

u8 small_from_integer(Dtype dtype, s64 value) {
  const SmallFacts of = facts(dtype);
  const u8 low = static_cast<u8>(static_cast<u64>(value) & ((1u << of.bits) - 1u));
  const u8 sign_bit = static_cast<u8>(1u << (of.bits - 1));
  return of.is_signed ? static_cast<u8>((low ^ sign_bit) - sign_bit) : low;
}

SmallRange small_integer_range(Dtype dtype) {
  const SmallFacts of = facts(dtype);
  if (!of.is_signed) return {0, (1 << of.bits) - 1};
  return {-(1 << (of.bits - 1)), (1 << (of.bits - 1)) - 1};
}

s64 packed_bytes(const TensorType& type) {
  const s64 per_byte = 8 / small_bits(type.dtype);
  const s64 elements = type.shape.elements();
  return elements / per_byte + (elements % per_byte != 0 ? 1 : 0);
}

void unpack_small(std::span<const u8> packed, Tensor& tensor) {
  const Dtype dtype = tensor.dtype();
  const size_t bits = static_cast<size_t>(small_bits(dtype));
  const size_t per_byte = 8 / bits;
  u8* dst = reinterpret_cast<u8*>(tensor.mutable_data());
  const u8 mask = static_cast<u8>((1u << bits) - 1u);
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    const u8 code = static_cast<u8>((packed[i / per_byte] >> (i % per_byte * bits)) & mask);
    dst[i] = is_small_integer(dtype) ? small_from_integer(dtype, code) : code;
  }
}

}  // namespace octet
