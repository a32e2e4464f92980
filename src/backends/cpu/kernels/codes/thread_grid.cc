// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/thread_grid.h"

#include <algorithm>

#include "core/divide.h"

namespace octet {
namespace {

// Bytes a cycle: weights come from the cache that all cores share, other threads' pixels from the caches of their cores
// (27 and 13 GB/s for each of 16 threads that read at the same time: bench/results/2026-11.md).
constexpr f64 kWeightRate = 9;
constexpr f64 kForeignRate = 4;

f64 slowest_thread(const GridWork& work, const ThreadGrid& grid) {
  const auto rows = static_cast<f64>(ceil_div(work.rows, grid.rows));
  const auto columns = static_cast<f64>(ceil_div(work.columns, grid.columns));
  const auto parts = static_cast<f64>(grid.columns);
  // Of the pixels that a thread reads it wrote one part itself.
  const f64 foreign = static_cast<f64>(work.row_bytes) / static_cast<f64>(grid.rows) * (parts - 1) /
                      parts / kForeignRate;
  const f64 weights =
      static_cast<f64>(work.column_bytes) * columns / static_cast<f64>(work.columns) / kWeightRate;
  return rows * columns * work.cycles + foreign + weights;
}

}  // namespace

ThreadGrid choose_thread_grid(const GridWork& work, s64 threads) {
  ThreadGrid best{std::min(threads, work.rows), 1};
  if (threads == 1) return best;
  f64 least = slowest_thread(work, best);
  for (s64 columns = 2; columns <= std::min(threads, work.columns); ++columns) {
    if (threads % columns != 0) continue;
    const ThreadGrid grid{std::min(threads / columns, work.rows), columns};
    const f64 cycles = slowest_thread(work, grid);
    if (cycles >= least) continue;
    least = cycles;
    best = grid;
  }
  return best;
}

}  // namespace octet
