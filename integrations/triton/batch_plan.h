// SPDX-License-Identifier: Apache-2.0
// In which batches so many rows run: of the sizes that are prepared, those that take the least time together, the last one padded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet::triton {

struct BatchCost {
  int64_t size = 1;
  double seconds = 0;
};

class BatchPlan {
 public:
  BatchPlan() = default;
  // At least one size, ascending.
  explicit BatchPlan(std::span<const BatchCost> costs);

  // Sizes of the runs for so many rows, one after another; together at least `rows`.
  std::vector<int64_t> runs(int64_t rows) const;

 private:
  std::vector<int64_t>
      next_;  // of each number of rows up to the largest size: the size to run first
};

// 1, 2, 4, ... and `max`; `fixed`: the only one.
std::vector<int64_t> usual_batches(int64_t max, int64_t fixed);

}  // namespace octet::triton
