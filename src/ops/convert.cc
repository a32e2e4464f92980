// SPDX-License-Identifier: Apache-2.0
#include "ops/convert.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ops/dtypes.h"

namespace octet {
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
  if (x != x) return To{0};
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

}  // namespace

void convert_elements(const ConstView& src, const MutableView& dst) {
  visit_dtype(src.dtype, [&]<class From>() {
    visit_dtype(dst.dtype, [&]<class To>() {
      const auto from = src.as<From>();
      const auto to = dst.as<To>();
      for (size_t i = 0; i < to.size(); ++i) to[i] = convert<To>(from[i]);
    });
  });
}

}  // namespace octet
