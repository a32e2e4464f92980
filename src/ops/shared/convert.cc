// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/convert.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/dtypes.h"

namespace octet {

constexpr auto attribute_words(ScaleRounding) {
  return std::to_array<AttributeWord<ScaleRounding>>({{"up", ScaleRounding::up},
                                                      {"down", ScaleRounding::down},
                                                      {"nearest", ScaleRounding::nearest}});
}

namespace {

// The nearest f32 but with an odd last bit when inexact: rounding it once more to 16 bits then gives the nearest of x.
f32 round_to_odd(f64 x) {
  f32 y = static_cast<f32>(x);
  if (static_cast<f64>(y) == x || !std::isfinite(x)) return y;
  if (std::fabs(static_cast<f64>(y)) > std::fabs(x)) y = std::nextafterf(y, 0.0f);
  return std::bit_cast<f32>(std::bit_cast<u32>(y) | 1u);
}

template <class To, class From>
To real_to_integer(From x) {
  // 2^digits is exact in every float type, the largest integer is not.
  const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (std::isnan(x)) return To{0};
  if (x >= limit) return std::numeric_limits<To>::max();
  const From lowest = std::is_signed_v<To> ? -limit : From{0};
  return x <= lowest ? std::numeric_limits<To>::min() : static_cast<To>(x);
}

template <class To, class From>
To convert(From raw) {
  if constexpr (std::is_same_v<To, From>) {
    return raw;
  } else if constexpr (kIsHalf<From>) {
    return convert<To, f32>(static_cast<f32>(raw));
  } else if constexpr (std::is_same_v<To, bool>) {
    return raw != From{};
  } else if constexpr (kIsHalf<To> && sizeof(From) > sizeof(s16) && !std::is_same_v<From, f32>) {
    return static_cast<To>(round_to_odd(static_cast<f64>(raw)));
  } else if constexpr (kIsHalf<To>) {
    return static_cast<To>(static_cast<f32>(raw));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return real_to_integer<To>(raw);
  } else {
    return static_cast<To>(raw);
  }
}

std::span<const u8> small_bytes(const ConstView& view) {
  return {static_cast<const u8*>(view.data), static_cast<size_t>(view.shape.elements())};
}

template <class From>
u8 small_from(From value, Dtype dtype, const SmallRounding& rounding) {
  if constexpr (std::is_integral_v<From>) {
    if (is_small_integer(dtype)) return small_from_integer(dtype, static_cast<s64>(value));
  }
  if constexpr (sizeof(From) > sizeof(s16) && !std::is_same_v<From, f32>) {
    // ONNX defines e8m0 by way of the nearest f32; the others are the nearest of the value itself.
    const f64 wide = static_cast<f64>(value);
    const f32 narrow = dtype == Dtype::e8m0 ? static_cast<f32>(wide) : round_to_odd(wide);
    return small_from_f32(dtype, narrow, rounding);
  } else {
    return small_from_f32(dtype, static_cast<f32>(value), rounding);
  }
}

void to_small(const ConstView& src, const MutableView& dst, const SmallRounding& rounding) {
  const std::span<u8> to{static_cast<u8*>(dst.data), static_cast<size_t>(dst.shape.elements())};
  if (is_small_dtype(src.dtype)) {
    const auto from = small_bytes(src);
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = small_from_f32(dst.dtype, small_to_f32(src.dtype, from[i]), rounding);
    }
    return;
  }
  visit_dtype(src.dtype, [&]<class From>() {
    const auto from = src.as<From>();
    for (size_t i = 0; i < to.size(); ++i) to[i] = small_from(from[i], dst.dtype, rounding);
  });
}

void from_small(const ConstView& src, const MutableView& dst) {
  const auto from = small_bytes(src);
  visit_dtype(dst.dtype, [&]<class To>() {
    const auto to = dst.as<To>();
    for (size_t i = 0; i < to.size(); ++i) to[i] = convert<To>(small_to_f32(src.dtype, from[i]));
  });
}

struct SmallRoundingAttributes {
  bool saturate = true;
  ScaleRounding round_mode = ScaleRounding::up;

  OCTET_ATTRIBUTES(saturate, round_mode)
};

}  // namespace

void parse_small_rounding(Attrs& attrs) {
  const auto given = attributes_of<SmallRoundingAttributes>(attrs);
  if (given.saturate) erase_attribute<&SmallRoundingAttributes::saturate>(attrs);
  if (given.round_mode == ScaleRounding::up)
    erase_attribute<&SmallRoundingAttributes::round_mode>(attrs);
}

SmallRounding small_rounding(const Attrs& attrs) {
  const auto given = attributes_of<SmallRoundingAttributes>(attrs);
  SmallRounding rounding;
  rounding.saturate = given.saturate;
  rounding.scale = given.round_mode;
  return rounding;
}

void convert_elements(const ConstView& src, const MutableView& dst, const SmallRounding& rounding) {
  if (is_small_dtype(dst.dtype)) return to_small(src, dst, rounding);
  if (is_small_dtype(src.dtype)) return from_small(src, dst);
  visit_dtype(src.dtype, [&]<class From>() {
    visit_dtype(dst.dtype, [&]<class To>() {
      const auto from = src.as<From>();
      const auto to = dst.as<To>();
      for (size_t i = 0; i < to.size(); ++i) to[i] = convert<To>(from[i]);
    });
  });
}

}  // namespace octet
