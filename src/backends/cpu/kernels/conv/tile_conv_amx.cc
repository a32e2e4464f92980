// SPDX-License-Identifier: Apache-2.0
// Convolution with AMX tiles. A block is 4 accumulator tiles: 1 of pixels x 4 of channels, 2 x 2, or 4 x 1. While a block
// is multiplied, the sums of the one before it become codes: both units of the core are busy.
#include "backends/cpu/kernels/amx_tiles.h"
#include "backends/cpu/kernels/conv/tile_args.h"
#include "backends/cpu/kernels/conv/tile_finish_amx.h"

namespace octet {
namespace {

// Runs through the tiles of a job.
struct TileCursor {
  s64 line, tile;

  TileCursor(const TileJob& job, s64 index)
      : line(index / job.grid.tiles), tile(index % job.grid.tiles) {}

  void next(const TileJob& job) {
    if (++tile < job.grid.tiles) return;
    tile = 0;
    ++line;
  }

  PixelTile at(const TileJob& job) const {
    const TileGrid& g = job.grid;
    const s64 last = g.line - g.rows;
    const s64 first = tile * g.rows < last ? tile * g.rows : last;
    s64 row = 0, column = first;
    if (g.pitch < g.line) {
      row = first / g.pitch;
      column = first % g.pitch;
    }
    const auto place = [&](const TileStrides& s) {
      return line * s.line + row * s.row + column * s.pixel;
    };
    PixelTile p;
    p.src = job.src + line * job.in.line + first * job.in.pixel;
    p.stride = job.in.pixel;
    p.offsets = job.offsets;
    p.dst = place(job.out);
    p.residual = place(job.residual_strides);
    p.column = column;
    return p;
  }
};

// A window's last step may reach past the value's end: such a tile is copied, byte by byte up to that end.
void keep_inside(const TileJob& job, PixelTile& p, u8* dst) {
  const s64 rows = job.grid.rows;
  const u8* last = p.src + (rows - 1) * p.stride + job.offsets[job.steps - 1];
  if (last + kTileStep <= job.src_end) return;
  p.offsets = job.copied_offsets;
  u8* at = dst;
  for (s64 r = 0; r < rows; ++r) {
    for (s64 s = 0; s < job.steps; ++s, at += kTileStep) {
      const u8* from = p.src + r * p.stride + job.offsets[s];
      const s64 inside = job.src_end - from;
      const __mmask64 mask = first_lanes64(inside < 0 ? 0 : inside);
      _mm512_storeu_si512(at, _mm512_maskz_loadu_epi8(mask, from));
    }
  }
  p.src = dst;
  p.stride = job.steps * kTileStep;
}

// Late layers read each weight from beyond L2 once: the next channels' weights are asked for while these are multiplied.
struct Prefetch {
  const s8* at;
  const s8* end;

  void step() {
    if (at >= end) return;
    for (s64 line = 0; line < kTileWeights; line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(at + line), _MM_HINT_T1);
    }
    at += kTileWeights;
  }
};

// A block of kPixelTiles x kTiles accumulators.
template <int kPixelTiles, int kTiles>
struct Block {
  static_assert(kPixelTiles * kTiles <= 4);

  // The bias is added to the finished sums: loading it into four tiles would take as long as loading four of weights.
  template <int kSum = 0>
  static void clear() {
    if constexpr (kSum < kPixelTiles * kTiles) {
      amx_zero<kSum>();
      clear<kSum + 1>();
    }
  }

  template <int kSum = 0>
  static void store(s32* sums) {
    if constexpr (kSum < kPixelTiles * kTiles) {
      amx_store<kSum>(sums + kSum * kTileSums, kTileColumns * 4);
      store<kSum + 1>(sums);
    }
  }

  template <int kTile = 0>
  static void load_pixels(const PixelTile* p, s64 step) {
    if constexpr (kTile < kPixelTiles) {
      amx_load<4 + kTile>(p[kTile].src + p[kTile].offsets[step], p[kTile].stride);
      load_pixels<kTile + 1>(p, step);
    }
  }

  // One or two tiles of pixels stay in registers while the weights pass by; behind each, `by_tile` quads become codes.
  template <int kTile = 0>
  static void pass_weights(const s8* w, s64 stride, Finisher& waiting, s64 by_tile) {
    if constexpr (kTile < kTiles) {
      amx_load<6 + kTile % 2>(w + kTile * stride, 64);
      amx_dot_us<kTile, 4, 6 + kTile % 2>();
      if constexpr (kPixelTiles > 1) amx_dot_us<kTiles + kTile, 5, 6 + kTile % 2>();
      if (by_tile > 0) finish<kTiles>(waiting, by_tile);
      pass_weights<kTile + 1>(w, stride, waiting, by_tile);
    }
  }

  // One tile of weights stays while the pixels pass by.
  template <int kTile = 0>
  static void pass_pixels(const PixelTile* p, s64 step) {
    if constexpr (kTile < kPixelTiles) {
      amx_load<4 + kTile % 2>(p[kTile].src + p[kTile].offsets[step], p[kTile].stride);
      amx_dot_us<kTile, 4 + kTile % 2, 6>();
      pass_pixels<kTile + 1>(p, step);
    }
  }

  static void multiply(const TileJob& job, s64 channel, const PixelTile* p, s32* sums,
                       Finisher& waiting, Prefetch& next) {
    const s64 stride = job.steps * kTileWeights;
    const s8* w = job.weights + channel / kTileColumns * stride;
    // Few steps: some quads behind each tile of weights, else behind each step.
    const bool few = kPixelTiles <= 2 && job.steps < 3;
    const s64 pieces = few ? job.steps * kTiles : job.steps;
    const s64 some = (waiting.left() + pieces - 1) / pieces;
    const s64 by_tile = few ? some : 0, by_step = few ? 0 : some;
    clear();
    for (s64 step = 0; step < job.steps; ++step, w += kTileWeights) {
      if constexpr (kPixelTiles > 2) {
        amx_load<6>(w, 64);
        pass_pixels(p, step);
      } else {
        load_pixels(p, step);
        pass_weights(w, stride, waiting, by_tile);
      }
      finish<kTiles>(waiting, by_step);
      next.step();
    }
    store(sums);
  }
};

// Tiles [first, first + count) times one block of channels, `kPixelTiles` at a time.
template <int kTiles>
struct Channels {
  static constexpr int kPixelTiles = 4 / kTiles;

  const TileJob& job;
  Finisher& waiting;
  s64& parity;
  Prefetch next;

  template <int kCount>
  void block(s64 channel, s64 channels, TileCursor& at) {
    PixelTile p[kMaxTiles];
#pragma GCC unroll 4
    for (int m = 0; m < kCount; ++m, at.next(job)) {
      p[m] = at.at(job);
      keep_inside(job, p[m], job.windows + m * kTileRows * job.steps * kTileStep);
    }
    s32* sums = job.sums + parity * kMaxTiles * kTileSums;
    parity ^= 1;
    Block<kCount, kTiles>::multiply(job, channel, p, sums, waiting, next);
    waiting.width = kTiles;
    constexpr s64 kQuadRows = Quad<kTiles, true>::kRows;
    waiting.quads_of_tile = (job.grid.rows + kQuadRows - 1) / kQuadRows;
    waiting.tiles = kCount;
    waiting.tile = waiting.quad = 0;
    waiting.sums = sums;
    waiting.bias = job.bias + channel;
    waiting.multiplier = job.multiplier + channel;
    waiting.position = channel;
    waiting.channels = channels;
    const s64 rows = job.grid.rows;
    waiting.whole = channels == kTiles * 16 && rows % kQuadRows == 0;
    for (int m = 0; m < kCount; ++m) {
      waiting.pixels[m] = p[m];
      waiting.whole &= p[m].column + rows <= job.grid.run;
    }
  }

  void run(s64 channel, s64 channels, s64 first, s64 last) {
    if (waiting.width != kTiles) finish_all(waiting);
    TileCursor at(job, first);
    s64 left = last - first;
    for (; left >= kPixelTiles; left -= kPixelTiles) block<kPixelTiles>(channel, channels, at);
    if constexpr (kPixelTiles == 4) {
      if (left == 3) block<3>(channel, channels, at);
      if (left == 2) block<2>(channel, channels, at);
    }
    if constexpr (kPixelTiles > 1) {
      if (left == 1) block<1>(channel, channels, at);
    }
  }
};

}  // namespace

void conv_u8s8_tiles_amx(const TileJob& job) {
  amx_configure(job.grid.rows);  // 0-3 accumulate, 4 and 5 hold pixels, 6 and 7 weights
  Finisher waiting(job);
  s64 parity = 0;
  for (s64 first = job.first_tile; first < job.last_tile; first += job.chunk_tiles) {
    const s64 end = first + job.chunk_tiles;
    const s64 last = end < job.last_tile ? end : job.last_tile;
    for (s64 c = job.first_channel; c < job.last_channel;) {
      const s64 left = (job.last_channel - c + kTileColumns - 1) / kTileColumns;
      const s64 tiles = left < job.widest ? left : job.widest;
      const s64 end_channel = c + tiles * kTileColumns;
      const s64 tile_bytes = job.steps * kTileWeights;
      const s64 more = left - tiles < tiles ? left - tiles : tiles;
      const s8* behind = job.weights + end_channel / kTileColumns * tile_bytes;
      const Prefetch next{behind, behind + more * tile_bytes};
      const s64 channels = (end_channel < job.last_channel ? end_channel : job.last_channel) - c;
      if (tiles == 4) {
        Channels<4>{job, waiting, parity, next}.run(c, channels, first, last);
      } else if (tiles == 3) {
        Channels<3>{job, waiting, parity, next}.run(c, channels, first, last);
      } else if (tiles == 2) {
        Channels<2>{job, waiting, parity, next}.run(c, channels, first, last);
      } else {
        Channels<1>{job, waiting, parity, next}.run(c, channels, first, last);
      }
      c = end_channel;
    }
  }
  finish_all(waiting);
  _tile_release();
}

}  // namespace octet
