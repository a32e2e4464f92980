// SPDX-License-Identifier: Apache-2.0
#include "data/convert.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/visit.h"

namespace octet {
namespace {

bool holds_reals(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

Tensor to_f32(const Tensor& array) {
  if (array.dtype() == Dtype::f32) return array.clone();  // the caller scales it in place
  Tensor result(Dtype::f32, array.shape());
  const std::span<f32> dst = result.mutable_as<f32>();
  visit_dtype(array.dtype(), [&]<class T>() {
    const std::span<const T> src = array.as<T>();
    for (size_t i = 0; i < dst.size(); ++i) dst[i] = static_cast<f32>(src[i]);
  });
  return result;
}

Tensor from_f32(const Tensor& array, Dtype dtype, const std::string& what) {
  if (dtype == Dtype::f32) return array;
  Tensor result(dtype, array.shape());
  const std::span<const f32> src = array.as<f32>();
  const auto fill = [&]<class T>() {
    const std::span<T> dst = result.mutable_as<T>();
    for (size_t i = 0; i < dst.size(); ++i) {
      dst[i] = static_cast<T>(src[i]);
      if (!std::isfinite(static_cast<f32>(dst[i]))) {
        fail(Error::Code::invalid_argument, "{}: value {} at element {} does not fit {}", what,
             src[i], i, dtype_name(dtype));
      }
    }
  };
  if (dtype == Dtype::f64) fill.operator()<f64>();
  if (dtype == Dtype::f16) fill.operator()<f16>();
  if (dtype == Dtype::bf16) fill.operator()<bf16>();
  return result;
}

template <class T>
void to_integers(std::span<const s64> values, Tensor* result, const std::string& what) {
  const std::span<T> dst = result->mutable_as<T>();
  // u64 holds every s64 that is not negative, so its upper end is no limit here.
  constexpr s64 kHighest = std::same_as<T, u64> ? std::numeric_limits<s64>::max()
                                                : static_cast<s64>(std::numeric_limits<T>::max());
  constexpr auto kLowest = static_cast<s64>(std::numeric_limits<T>::min());
  for (size_t i = 0; i < dst.size(); ++i) {
    const bool fits = values[i] >= kLowest && values[i] <= kHighest;
    if (!fits) {
      fail(Error::Code::invalid_argument, "{}: value {} at element {} does not fit {}", what,
           values[i], i, dtype_name(result->dtype()));
    }
    dst[i] = static_cast<T>(values[i]);
  }
}

Tensor from_integers(std::span<const s64> values, const TensorType& type, const std::string& what) {
  Tensor result(type.dtype, type.shape);
  visit_dtype(type.dtype, [&]<class T>() {
    if constexpr (std::integral<T>) to_integers<T>(values, &result, what);
  });
  return result;
}

template <std::integral T>
s64 integer_of(T value, const std::string& what) {
  if constexpr (std::same_as<T, u64>) {
    if (value > static_cast<u64>(std::numeric_limits<s64>::max()))
      fail(Error::Code::invalid_argument, "{}: value {} is out of range", what, value);
  }
  return static_cast<s64>(value);
}

std::vector<s64> integers_of(const Tensor& array, const std::string& what) {
  std::vector<s64> values(static_cast<size_t>(array.elements()));
  visit_dtype(array.dtype(), [&]<class T>() {
    if constexpr (std::integral<T>) {
      const std::span<const T> src = array.as<T>();
      std::ranges::transform(src, values.begin(), [&](T value) { return integer_of(value, what); });
    }
  });
  return values;
}

}  // namespace

void check_finite(const Tensor& array, const std::string& what) {
  const std::span<const f32> values = array.as<f32>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    fail(Error::Code::invalid_argument, "{}: {} at element {}; values must be finite", what,
         std::isnan(values[i]) ? "NaN" : "Inf", i);
  }
}

Tensor convert_array(const Tensor& array, Dtype dtype, const std::string& what) {
  if (holds_reals(dtype)) {
    const Tensor values = to_f32(array);
    check_finite(values, what);
    return from_f32(values, dtype, what);
  }
  if (holds_reals(array.dtype())) {
    fail(Error::Code::invalid_argument, "{}: holds {}, the input needs {}", what,
         dtype_name(array.dtype()), dtype_name(dtype));
  }
  return from_integers(integers_of(array, what), {dtype, array.shape()}, what);
}

Tensor convert_pixels(const Tensor& pixels, Dtype dtype, const std::string& what) {
  check_finite(pixels, what);
  if (holds_reals(dtype)) return from_f32(pixels, dtype, what);
  const std::span<const f32> src = pixels.as<f32>();
  std::vector<s64> values(src.size());
  for (size_t i = 0; i < src.size(); ++i) {
    // Beyond 2^31 no integer input type of images can hold it; the clamp keeps the conversion defined.
    values[i] = std::llrint(std::fmin(std::fmax(src[i], -0x1p31f), 0x1p31f));
  }
  return from_integers(values, {dtype, pixels.shape()}, what);
}

}  // namespace octet
