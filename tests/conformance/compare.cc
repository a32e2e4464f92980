// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "core/small_types.h"
#include "core/visit.h"

namespace octet {
namespace {

constexpr double kRelative = 1e-3;

template <class T>
double real(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
bool close(T got, T expected, double absolute) {
  if constexpr (std::is_integral_v<T>) {
    return got == expected;
  } else {
    const double g = real(got);
    const double e = real(expected);
    if (std::isnan(g) || std::isnan(e)) return std::isnan(g) && std::isnan(e);
    if (std::isinf(g) || std::isinf(e)) return g == e;
    return std::abs(g - e) <= absolute + kRelative * std::abs(e);
  }
}

// By value: NaN equals NaN, and a zero a zero of the other sign.
std::string small_difference(const Tensor& got, const Tensor& expected) {
  const u8* g = reinterpret_cast<const u8*>(got.data());
  const u8* e = reinterpret_cast<const u8*>(expected.data());
  for (size_t i = 0; i < got.bytes(); ++i) {
    const f32 a = small_to_f32(got.dtype(), g[i]), b = small_to_f32(got.dtype(), e[i]);
    if (!close(a, b, 0)) return fmt::format("element {} is {}, expected {}", i, a, b);
  }
  return {};
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& expected, double absolute) {
  if (got.type() != expected.type()) {
    return fmt::format("type {}, expected {}", to_string(got.type()), to_string(expected.type()));
  }
  if (is_small_dtype(got.dtype())) return small_difference(got, expected);
  return visit_dtype(got.dtype(), [&]<class T>() -> std::string {
    const auto g = got.as<T>();
    const auto e = expected.as<T>();
    size_t wrong = 0;
    std::string first;
    for (size_t i = 0; i < g.size(); ++i) {
      if (close(g[i], e[i], absolute)) continue;
      if (wrong++ == 0)
        first = fmt::format("element {} is {}, expected {}", i, real(g[i]), real(e[i]));
    }
    return wrong == 0 ? "" : fmt::format("{} ({} of {} differ)", first, wrong, g.size());
  });
}

}  // namespace octet
