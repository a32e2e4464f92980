// SPDX-License-Identifier: Apache-2.0
#include "inspect/compare/top_indices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

namespace octet {
namespace {

s64 row_length(const Shape& shape) {
  for (int i = shape.rank(); i-- > 0;) {
    if (shape[i] != 1) return shape[i];
  }
  return 1;
}

std::vector<s64> largest(std::span<const f64> row, s64 count) {
  const auto key = [&](s64 i) {
    const f64 value = row[static_cast<size_t>(i)];
    return std::isnan(value) ? -std::numeric_limits<f64>::infinity() : value;
  };
  std::vector<s64> indices(row.size());
  std::iota(indices.begin(), indices.end(), s64{0});
  std::partial_sort(indices.begin(), indices.begin() + count, indices.end(), [&](s64 a, s64 b) {
    const f64 x = key(a), y = key(b);
    return x == y ? a < b : x > y;
  });
  indices.resize(static_cast<size_t>(count));
  return indices;
}

}  // namespace

double TopIndices::share() const {
  return rows == 0 ? 1 : static_cast<double>(same) / static_cast<double>(rows);
}

void add_to_top(const Shape& shape, std::span<const f64> reference, std::span<const f64> tested,
                const ComparisonOptions& options, TopIndices& top) {
  const s64 length = row_length(shape);
  if (reference.empty()) return;
  const s64 count = std::min(options.top, length);
  const s64 within = options.index_tolerance;
  const s64 looked_at = within < length - count ? count + within : length;
  top.count = std::max(top.count, count);
  for (size_t at = 0; at < reference.size(); at += static_cast<size_t>(length)) {
    const auto wanted = largest(reference.subspan(at, static_cast<size_t>(length)), count);
    const auto found = largest(tested.subspan(at, static_cast<size_t>(length)), looked_at);
    std::vector<s64> places(static_cast<size_t>(length), -1);
    for (size_t i = 0; i < found.size(); ++i)
      places[static_cast<size_t>(found[i])] = static_cast<s64>(i);
    bool same = true;
    for (s64 i = 0; i < count && same; ++i) {
      const s64 place = places[static_cast<size_t>(wanted[static_cast<size_t>(i)])];
      same = place >= 0 && std::abs(place - i) <= within;
    }
    ++top.rows;
    top.same += same ? 1 : 0;
  }
}

}  // namespace octet
