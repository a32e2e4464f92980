// SPDX-License-Identifier: Apache-2.0
#include "octet/error_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/small_types.h"
#include "core/visit.h"

namespace octet {

void ErrorStats::add(std::span<const f32> reference, std::span<const f32> tested) {
  if (reference.size() != tested.size()) {
    fail(Error::Code::invalid_argument, "{} elements cannot be compared with {}", tested.size(),
         reference.size());
  }
  for (size_t i = 0; i < reference.size(); ++i) {
    const f64 r = reference[i];
    const f64 t = tested[i];
    // Equal infinities differ by zero, not by NaN; a NaN on one side alone is as wrong as can be.
    f64 difference = r == t || (std::isnan(r) && std::isnan(t)) ? 0 : std::abs(r - t);
    if (std::isnan(difference)) difference = std::numeric_limits<f64>::infinity();
    max_abs_ = std::max(max_abs_, difference);
    difference_squares_ += difference * difference;
    if (!std::isfinite(r) || !std::isfinite(t)) continue;
    reference_squares_ += r * r;
    tested_squares_ += t * t;
    products_ += r * t;
  }
  elements_ += static_cast<s64>(reference.size());
}

f64 ErrorStats::sqnr_db() const {
  if (difference_squares_ == 0) return std::numeric_limits<f64>::infinity();
  if (!std::isfinite(difference_squares_)) return -std::numeric_limits<f64>::infinity();
  return 10 * std::log10(reference_squares_ / difference_squares_);
}

f64 ErrorStats::cosine() const {
  const f64 norms = std::sqrt(reference_squares_) * std::sqrt(tested_squares_);
  if (norms > 0) return products_ / norms;
  return reference_squares_ == tested_squares_ ? 1 : 0;
}

std::vector<float> to_floats(const Tensor& tensor) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(tensor.elements()));
  if (is_small_dtype(tensor.dtype())) {
    const std::span codes(reinterpret_cast<const u8*>(tensor.data()), tensor.bytes());
    for (const u8 code : codes) values.push_back(small_to_f32(tensor.dtype(), code));
    return values;
  }
  visit_dtype(tensor.dtype(), [&]<class T>() {
    for (const auto element : tensor.as<T>()) values.push_back(static_cast<float>(element));
  });
  return values;
}

}  // namespace octet
