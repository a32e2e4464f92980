// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/matmul/tile_matmul.h"

#include <algorithm>

#include "backends/cpu/kernels/codes/epilogue_bounds.h"
#include "core/divide.h"

namespace octet {
namespace {

constexpr s64 kBlockColumns = kProductBlock * kProductColumns;

s64 padded(s64 n) { return ceil_div(n, kProductColumns) * kProductColumns; }

// The column of the matrix at a packed position; beyond n for none.
s64 column_at(s64 position, s64 n) {
  const s64 first = position / kBlockColumns * kBlockColumns;
  if (padded(n) - first < kBlockColumns) return position;
  const s64 tile = position % kBlockColumns / kProductColumns, c = position % kProductColumns;
  return first + c / 4 * kProductColumns + 4 * tile + c % 4;
}

}  // namespace

const char* tile_matmul_reject(const MatMulViews& views, Isa isa) {
  if (!isa.has(Isa::amx)) return "the instruction set has no matrix tiles";
  if (views.b_k != 1 && views.b_n != 1) return "neither rows nor columns of b are dense";
  return matmul_reject(views);
}

TileMatmul::TileMatmul(const TileProductKernel& kernel, const MatmulSpec& spec)
    : kernel_(kernel),
      views_(spec.views),
      zero_a_(spec.zero_a),
      zero_b_(spec.zero_b),
      epilogue_(spec.epilogue),
      bounded_(epilogue_bounded(spec.multiplier, spec.epilogue)) {
  const MatMulGeometry& g = geometry();
  tiles_ = ceil_div(g.m, kProductRows);
  rows_ = tiles_ == 0 ? 0 : ceil_div(g.m, tiles_);
  bias_.resize(static_cast<size_t>(padded(g.n)));
  multiplier_.resize(bias_.size());
  for (size_t i = 0; i < bias_.size(); ++i) {
    const s64 column = column_at(static_cast<s64>(i), g.n);
    if (column >= g.n) continue;
    const auto c = static_cast<size_t>(column);
    bias_[i] = spec.bias.empty() ? 0 : spec.bias[c];
    multiplier_[i] = spec.multiplier[spec.multiplier.size() == 1 ? 0 : c];
  }
  const s64 steps = ceil_div(g.k, kProductStep);
  packed_bytes_ = steps * padded(g.n) * kProductStep;
  column_bytes_ = padded(g.n) * 4;
  thread_bytes_ = packed_bytes_ + column_bytes_ + kProductSumBytes +
                  (g.k % kProductStep == 0 ? 0 : kProductRows * steps * kProductStep);
}

void TileMatmul::run(const Call& call) const noexcept {
  // Each call packs the matrix that its first tile meets.
  const s64 tiles = geometry().batches() * tiles_;
  call.pool.parallel_for(
      tiles, [&](s64 begin, s64 end, int thread) { run_tiles(call, begin, end, thread); }, tiles);
}

void TileMatmul::run_tiles(const Call& call, s64 first, s64 last, int thread) const noexcept {
  const s64 m = geometry().m, k = geometry().k, n = geometry().n;
  u8* packed = reinterpret_cast<u8*>(call.workspace + thread * thread_bytes_);
  s32* columns = reinterpret_cast<s32*>(packed + packed_bytes_);
  s32* sums = columns + column_bytes_ / 4;
  ProductJob job{};
  const s64 element = epilogue_.real ? 4 : 1;
  job.a_row = views_.a_row;
  job.y_row = views_.y_row * element;
  job.m = m;
  job.k = k;
  job.n = n;
  job.rows = rows_;
  job.packed = packed;
  job.columns = columns;
  job.multiplier = multiplier_.data();
  job.zero_b = zero_b_;
  job.bounded = bounded_;
  job.rows_copy = reinterpret_cast<u8*>(sums) + kProductSumBytes;
  job.sums = sums;
  job.epilogue = &epilogue_;
  s64 matrix = -1;
  while (first < last) {
    const s64 batch = first / tiles_;
    if (const s64 wanted = views_.b_first(batch); wanted != matrix) {
      kernel_.pack({call.b + wanted, views_.b_k, views_.b_n, k, n, packed, columns, bias_.data(),
                    zero_a_, zero_b_, false});
      matrix = wanted;
    }
    job.a = call.a + views_.a_first(batch);
    job.y = call.y + views_.y_first(batch) * element;
    job.first_tile = first % tiles_;
    job.last_tile = std::min(tiles_, job.first_tile + last - first);
    kernel_.run(job);
    first += job.last_tile - job.first_tile;
  }
}

}  // namespace octet
