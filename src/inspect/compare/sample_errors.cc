// SPDX-License-Identifier: Apache-2.0
#include "inspect/compare/sample_errors.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numeric>

#include "core/small_types.h"
#include "core/visit.h"
#include "octet/error_stats.h"

namespace octet {
namespace {

// In place of a reference of 0.
constexpr f64 kLeastDivisor = std::numeric_limits<f64>::epsilon();

std::vector<f64> values_of(const Tensor& tensor) {
  std::vector<f64> values;
  values.reserve(static_cast<size_t>(tensor.elements()));
  if (is_small_dtype(tensor.dtype())) {
    for (const float value : to_floats(tensor)) values.push_back(value);
    return values;
  }
  visit_dtype(tensor.dtype(), [&]<class T>() {
    for (const T element : tensor.as<T>()) {
      if constexpr (std::same_as<T, f16> || std::same_as<T, bf16>) {
        values.push_back(static_cast<float>(element));
      } else {
        values.push_back(static_cast<f64>(element));
      }
    }
  });
  return values;
}

f64 real_difference(f64 reference, f64 tested, bool equal_infinities) {
  if (equal_infinities && std::isinf(reference) && reference == tested) return 0;
  return std::abs(tested - reference);
}

// Integers of 64 bits have more digits than f64.
template <class T>
void add_exact(const Tensor& reference, const Tensor& tested, std::vector<f64>& errors) {
  const std::span<const T> r = reference.as<T>(), t = tested.as<T>();
  for (size_t i = 0; i < r.size(); ++i) {
    const u64 difference = r[i] > t[i] ? static_cast<u64>(r[i]) - static_cast<u64>(t[i])
                                       : static_cast<u64>(t[i]) - static_cast<u64>(r[i]);
    errors.push_back(static_cast<f64>(difference));
  }
}

// Between the two nearest of the sorted errors. Moves them about.
f64 quantile_of(std::vector<f64>& errors, f64 quantile) {
  const f64 place = static_cast<f64>(errors.size() - 1) * quantile;
  const auto below = static_cast<ptrdiff_t>(place);
  const auto at = errors.begin() + below;
  std::nth_element(errors.begin(), at, errors.end());
  const f64 part = place - static_cast<f64>(below);
  if (part == 0) return *at;
  const f64 above = *std::min_element(at + 1, errors.end());
  if (above == *at) return above;
  return part < 0.5 ? *at + (above - *at) * part : above - (above - *at) * (1 - part);
}

}  // namespace

SampleErrors sample_errors(const Tensor& reference, const Tensor& tested, bool equal_infinities) {
  SampleErrors errors{values_of(tested), values_of(reference), {}, {}};
  const size_t count = errors.reference.size();
  errors.absolute.reserve(count);
  if (reference.dtype() == tested.dtype() && reference.dtype() == Dtype::s64) {
    add_exact<s64>(reference, tested, errors.absolute);
  } else if (reference.dtype() == tested.dtype() && reference.dtype() == Dtype::u64) {
    add_exact<u64>(reference, tested, errors.absolute);
  } else {
    for (size_t i = 0; i < count; ++i)
      errors.absolute.push_back(
          real_difference(errors.reference[i], errors.tested[i], equal_infinities));
  }
  errors.relative.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const f64 size = std::abs(errors.reference[i]);
    const bool none = errors.absolute[i] == 0 && std::isinf(size);
    errors.relative.push_back(none ? 0 : errors.absolute[i] / (size == 0 ? kLeastDivisor : size));
  }
  return errors;
}

ErrorSpread spread_of(const std::vector<f64>& errors, f64 quantile) {
  if (errors.empty()) return {};
  if (std::ranges::any_of(errors, [](f64 error) { return std::isnan(error); })) {
    constexpr f64 kNan = std::numeric_limits<f64>::quiet_NaN();
    return {kNan, kNan, kNan, kNan};
  }
  std::vector<f64> sorted = errors;
  ErrorSpread spread;
  spread.max = *std::max_element(errors.begin(), errors.end());
  spread.mean =
      std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<f64>(errors.size());
  spread.median = quantile_of(sorted, 0.5);
  spread.quantile = quantile_of(sorted, quantile);
  return spread;
}

}  // namespace octet
