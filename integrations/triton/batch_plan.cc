// SPDX-License-Identifier: Apache-2.0
#include "batch_plan.h"

#include <algorithm>
#include <limits>

namespace octet::triton {

BatchPlan::BatchPlan(std::span<const BatchCost> costs) {
  const auto largest = static_cast<size_t>(costs.back().size);
  std::vector<double> total(largest + 1, std::numeric_limits<double>::infinity());
  total[0] = 0;
  next_.assign(largest + 1, costs.back().size);
  for (size_t rows = 1; rows <= largest; ++rows) {
    // Larger sizes first, so that equals take fewer runs.
    for (size_t i = costs.size(); i-- > 0;) {
      const auto size = static_cast<size_t>(costs[i].size);
      const double seconds = costs[i].seconds + total[size >= rows ? 0 : rows - size];
      if (seconds >= total[rows]) continue;
      total[rows] = seconds;
      next_[rows] = costs[i].size;
    }
  }
}

std::vector<int64_t> BatchPlan::runs(int64_t rows) const {
  const auto largest = static_cast<int64_t>(next_.size()) - 1;
  std::vector<int64_t> sizes;
  while (rows > 0) {
    sizes.push_back(next_[static_cast<size_t>(std::min(rows, largest))]);
    rows -= sizes.back();
  }
  return sizes;
}

std::vector<int64_t> usual_batches(int64_t max, int64_t fixed) {
  if (fixed > 0) return {fixed};
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < max; size *= 2) sizes.push_back(size);
  sizes.push_back(max);
  return sizes;
}

}  // namespace octet::triton
