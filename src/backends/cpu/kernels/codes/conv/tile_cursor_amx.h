// SPDX-License-Identifier: Apache-2.0
// Where the tiles of a convolution lie: what each reads, and where its results go. Included by tile_finish_amx.h alone.
#pragma once

#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "backends/cpu/kernels/codes/simd_vnni.h"

namespace octet {
namespace {

constexpr s64 kMaxTiles = 4;  // of pixels in a block
constexpr s64 kTileSums = kTileRows * kTileColumns;

// What a tile of pixels reads.
struct TileWindows {
  const u8* src;
  s64 stride;
  const s64* offsets;
};

// Where the results of its first position go, from the job's `dst` and `residual`.
struct TilePlace {
  s64 dst;  // bytes
  s64 residual;
  s64 column;  // in the run of pixels
};

// Runs through the tiles of a job.
class TileCursor {
 public:
  TileCursor(const TileJob& job, s64 index)
      : job_(job),
        image_(index / (job.grid.tiles * job.grid.lines)),
        line_(index / job.grid.tiles % job.grid.lines),
        tile_(index % job.grid.tiles) {
    first_ = column_ = first_of(tile_);
    wrap();
  }

  void next() {
    if (++tile_ == job_.grid.tiles) {
      tile_ = first_ = column_ = row_ = 0;
      if (++line_ == job_.grid.lines) {
        line_ = 0;
        ++image_;
      }
      return;
    }
    const s64 first = first_of(tile_);
    column_ += first - first_;
    first_ = first;
    wrap();
  }

  TileWindows windows() const {
    const u8* src =
        job_.src + image_ * job_.in.image + line_ * job_.in.line + first_ * job_.in.pixel;
    return {src, job_.in.pixel, job_.offsets};
  }

  TilePlace place() const {
    const auto at = [&](const TileStrides& s) {
      return image_ * s.image + line_ * s.line + row_ * s.row + column_ * s.pixel;
    };
    return {at(job_.out), at(job_.residual_strides), column_};
  }

 private:
  s64 first_of(s64 tile) const {
    const s64 last = job_.grid.line - job_.grid.rows;
    return tile * job_.grid.rows < last ? tile * job_.grid.rows : last;
  }
  void wrap() {
    for (; column_ >= job_.grid.pitch; ++row_) column_ -= job_.grid.pitch;
  }

  const TileJob& job_;
  s64 image_, line_, tile_;
  s64 first_;    // position in the line
  s64 row_ = 0;  // of the padded image, where a line runs over several
  s64 column_;
};

// Where each row of a block's tiles goes and what is added to it, tile after tile. Rows that are no pixels go nowhere: they
// have a place of their own.
struct RowPointers {
  alignas(64) u8* dst[kMaxTiles * kTileRows + kTileRows];
  alignas(64) const u8* residual[kMaxTiles * kTileRows + kTileRows];
};

// Fills in 16 rows of pointers for a tile: those of its pixels, and of no others.
class RowWriter {
 public:
  explicit RowWriter(const TileJob& job)
      : job_(job),
        element_(job.epilogue->real ? 4 : 1),
        nowhere_(reinterpret_cast<u8*>(job.sums) + kTileSumBytes - kNowhereBytes) {
    for (int h = 0; h < 2; ++h) {
      lane_[h] =
          _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(8 * h));
      dst_[h] = _mm512_mullo_epi64(lane_[h], _mm512_set1_epi64(job.out.pixel));
      residual_[h] = _mm512_mullo_epi64(lane_[h], _mm512_set1_epi64(job.residual_strides.pixel));
    }
  }

  // `channel`: the first of the block. `at`: of the tile's first row in the list.
  void write(const TilePlace& p, s64 channel, s64 at, RowPointers& rows) const {
    const s64 dst = address(job_.dst) + p.dst + channel * element_;
    const s64 residual = address(job_.residual) + p.residual + channel;  // which may be null
    const __m512i nowhere = _mm512_set1_epi64(address(nowhere_));
    for (int h = 0; h < 2; ++h) {
      __m512i to = _mm512_add_epi64(dst_[h], _mm512_set1_epi64(dst));
      __m512i from = _mm512_add_epi64(residual_[h], _mm512_set1_epi64(residual));
      __m512i column = _mm512_add_epi64(lane_[h], _mm512_set1_epi64(p.column));
      turn(column, to, from);
      const __mmask8 pixels = _mm512_cmplt_epi64_mask(column, _mm512_set1_epi64(job_.grid.run)) &
                              _mm512_cmplt_epi64_mask(lane_[h], _mm512_set1_epi64(job_.grid.rows));
      to = _mm512_mask_mov_epi64(nowhere, pixels, to);
      from = _mm512_mask_mov_epi64(nowhere, pixels, from);
      _mm512_storeu_si512(rows.dst + at + 8 * h, to);
      _mm512_storeu_si512(rows.residual + at + 8 * h, from);
    }
  }

 private:
  static s64 address(const u8* p) { return reinterpret_cast<s64>(p); }

  // Positions behind the image's row go to its next ones.
  void turn(__m512i& column, __m512i& to, __m512i& from) const {
    const s64 pitch = job_.grid.pitch;
    const s64 out = job_.out.row - pitch * job_.out.pixel;
    const s64 in = job_.residual_strides.row - pitch * job_.residual_strides.pixel;
    for (;;) {
      const __mmask8 behind = _mm512_cmpge_epi64_mask(column, _mm512_set1_epi64(pitch));
      if (behind == 0) return;
      column = _mm512_mask_sub_epi64(column, behind, column, _mm512_set1_epi64(pitch));
      to = _mm512_mask_add_epi64(to, behind, to, _mm512_set1_epi64(out));
      from = _mm512_mask_add_epi64(from, behind, from, _mm512_set1_epi64(in));
    }
  }

  const TileJob& job_;
  s64 element_;
  u8* nowhere_;
  __m512i lane_[2], dst_[2], residual_[2];
};

[[gnu::noinline]] void copy_windows(const TileJob& job, TileWindows& t, u8* dst) {
  u8* at = dst;
  for (s64 r = 0; r < job.grid.rows; ++r) {
    for (s64 s = 0; s < job.steps; ++s, at += kTileStep) {
      const u8* from = t.src + r * t.stride + job.offsets[s];
      const s64 inside = job.src_end - from;
      const __mmask64 mask = first_lanes64(inside < 0 ? 0 : inside);
      _mm512_storeu_si512(at, _mm512_maskz_loadu_epi8(mask, from));
    }
  }
  t = {dst, job.steps * kTileStep, job.copied_offsets};
}

// A window's last step may reach past the value's end: such a tile is copied, byte by byte up to that end.
inline void keep_inside(const TileJob& job, TileWindows& t, u8* dst) {
  const u8* last = t.src + (job.grid.rows - 1) * t.stride + job.offsets[job.steps - 1];
  if (last + kTileStep > job.src_end) copy_windows(job, t, dst);
}

}  // namespace
}  // namespace octet
