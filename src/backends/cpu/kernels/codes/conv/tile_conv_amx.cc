// SPDX-License-Identifier: Apache-2.0
// Convolution with AMX tiles. A block is 4 accumulator tiles: 1 of pixels x 4 of channels, 2 x 2, or 4 x 1. While a block
// is multiplied, the sums of the one before it become codes: both units of the core are busy.
#include "backends/cpu/kernels/codes/amx_tiles.h"
#include "backends/cpu/kernels/codes/conv/tile_args.h"
#include "backends/cpu/kernels/codes/conv/tile_finish_amx.h"

namespace octet {
namespace {

// Late layers read each weight from beyond L2 once: the next channels' weights are asked for while these are multiplied.
struct Prefetch {
  const s8* at;
  const s8* end;
  s64 by_step;  // bytes, so that they come evenly

  void step() {
    if (at >= end) return;
    for (const s8* stop = at + by_step; at < stop; at += 64)
      _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1);
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

  // The sums of weights `kTile`.
  template <int kTile>
  static void store_column(s32* sums) {
    amx_store<kTile>(sums + kTile * kTileSums, kTileColumns * 4);
    if constexpr (kPixelTiles > 1)
      amx_store<kTiles + kTile>(sums + (kTiles + kTile) * kTileSums, kTileColumns * 4);
  }

  template <int kTile = 0>
  static void load_pixels(const TileWindows* t, s64 step) {
    if constexpr (kTile < kPixelTiles) {
      amx_load<4 + kTile>(t[kTile].src + t[kTile].offsets[step], t[kTile].stride);
      load_pixels<kTile + 1>(t, step);
    }
  }

  // One or two tiles of pixels stay in registers while the weights pass by; behind each, `by_tile` quads become codes. In the
  // last step a tile's sums are stored behind the next one's multiplication.
  template <bool kLast, int kTile = 0, class Quads>
  [[gnu::always_inline]] static void pass_weights(const s8* w, s64 stride, Quads& waiting,
                                                  s64 by_tile, s32* sums) {
    if constexpr (kTile < kTiles) {
      amx_load<6 + kTile % 2>(w + kTile * stride, 64);
      amx_dot_us<kTile, 4, 6 + kTile % 2>();
      if constexpr (kPixelTiles > 1) amx_dot_us<kTiles + kTile, 5, 6 + kTile % 2>();
      if constexpr (kLast && kTile > 0) store_column<kTile - 1>(sums);
      waiting.finish(by_tile);
      pass_weights<kLast, kTile + 1>(w, stride, waiting, by_tile, sums);
    } else if constexpr (kLast) {
      store_column<kTiles - 1>(sums);
    }
  }

  // Two tiles of pixels times two of weights. Each register is filled for the next step as soon as its last multiplication is
  // on its way: a load that shares its register with a multiplication before it waits for that one.
  template <bool kLast, class Quads>
  [[gnu::always_inline]] static void pass_square(const s8* w, s64 stride, const TileWindows* t,
                                                 s64 step, Quads& waiting, s64 by_tile, s32* sums) {
    const auto pixels = [&](int m) { return t[m].src + t[m].offsets[step + 1]; };
    amx_dot_us<0, 4, 6>();
    amx_dot_us<2, 5, 6>();
    if constexpr (!kLast) amx_load<6>(w + kTileWeights, 64);
    waiting.finish(by_tile);
    amx_dot_us<1, 4, 7>();
    if constexpr (!kLast) amx_load<4>(pixels(0), t[0].stride);
    amx_dot_us<3, 5, 7>();
    if constexpr (kLast) {
      store_column<0>(sums);
    } else {
      amx_load<7>(w + stride + kTileWeights, 64);
      amx_load<5>(pixels(1), t[1].stride);
    }
    waiting.finish(by_tile);
    if constexpr (kLast) store_column<1>(sums);
  }

  // One tile of weights stays while the pixels pass by.
  template <int kTile = 0>
  static void pass_pixels(const TileWindows* t, s64 step) {
    if constexpr (kTile < kPixelTiles) {
      amx_load<4 + kTile % 2>(t[kTile].src + t[kTile].offsets[step], t[kTile].stride);
      amx_dot_us<kTile, 4 + kTile % 2, 6>();
      pass_pixels<kTile + 1>(t, step);
    }
  }

  // While the quads of the block before become codes.
  template <class Quads>
  static void multiply(const TileJob& job, const s8* w, const TileWindows* t, s32* sums,
                       const Waiting& block, Prefetch& next) {
    const s64 steps = job.steps, stride = steps * kTileWeights;
    const s64 left = block.tiles * block.quads_of_tile;
    Quads waiting(block);
    clear();
    if constexpr (kPixelTiles > 2) {
      const s64 by_step = (left + steps - 1) / steps;
      for (s64 step = 0; step < steps; ++step, w += kTileWeights) {
        amx_load<6>(w, 64);
        pass_pixels(t, step);
        waiting.finish(by_step);
        next.step();
      }
      store(sums);
    } else {
      // Few steps: some quads behind each tile of weights, else behind each step and, in the last, each tile.
      const bool few = steps < 3;
      const s64 by_step = few ? 0 : (left + steps - 1) / steps;
      const s64 pieces = few ? steps * kTiles : kTiles;
      const s64 by_tile = ((few ? left : by_step) + pieces - 1) / pieces;
      constexpr bool kSquare = kPixelTiles == 2 && kTiles == 2;
      if constexpr (kSquare) {
        load_pixels(t, 0);
        amx_load<6>(w, 64);
        amx_load<7>(w + stride, 64);
      }
      for (s64 step = 0; step < steps - 1; ++step, w += kTileWeights) {
        if constexpr (kSquare) {
          pass_square<false>(w, stride, t, step, waiting, few ? by_tile : 0, sums);
        } else {
          load_pixels(t, step);
          pass_weights<false>(w, stride, waiting, few ? by_tile : 0, sums);
        }
        waiting.finish(by_step);
        next.step();
      }
      next.step();
      if constexpr (kSquare) {
        pass_square<true>(w, stride, t, steps - 1, waiting, by_tile, sums);
      } else {
        load_pixels(t, steps - 1);
        pass_weights<true>(w, stride, waiting, by_tile, sums);
      }
    }
  }
};

// Tiles [first, first + count) times one block of channels, `kPixelTiles` at a time.
template <int kTiles, Finish kKind>
struct Channels {
  static constexpr int kPixelTiles = 4 / kTiles;

  const TileJob& job;
  Waiting& waiting;
  s64& parity;
  Prefetch next;

  template <int kCount>
  void block(s64 channel, s64 channels, TileCursor& at) {
    TileWindows t[kMaxTiles];
    TilePlace places[kMaxTiles];
#pragma GCC unroll 4
    for (int m = 0; m < kCount; ++m, at.next()) {
      t[m] = at.windows();
      places[m] = at.place();
      keep_inside(job, t[m], job.windows + m * kTileRows * job.steps * kTileStep);
    }
    s32* sums = job.sums + parity * kMaxTiles * kTileSums;
    parity ^= 1;
    const s8* w = job.weights + channel / kTileColumns * job.steps * kTileWeights;
    const auto multiply =
        waiting.channels == kTiles * kTileColumns
            ? Block<kCount, kTiles>::template multiply<Quads<kTiles, kKind, true>>
            : Block<kCount, kTiles>::template multiply<Quads<kTiles, kKind, false>>;
    multiply(job, w, t, sums, waiting, next);
    waiting.width = kTiles;
    constexpr s64 kQuadRows = Quad<kTiles, true>::kRows;
    waiting.quads_of_tile = (job.grid.rows + kQuadRows - 1) / kQuadRows;
    waiting.tiles = kCount;
    waiting.sums = sums;
    waiting.bias = job.bias + channel;
    waiting.multiplier = job.multiplier + channel;
    waiting.channels = channels;
    for (int m = 0; m < kCount; ++m)
      waiting.writer.write(places[m], channel, m * waiting.quads_of_tile * kQuadRows, waiting.rows);
  }

  void run(s64 channel, s64 channels, s64 first, s64 last) {
    if (waiting.width != kTiles) {
      finish_all<kKind>(waiting);
      waiting.bias = job.bias + channel;  // as long as this width reads, though nothing waits
      waiting.multiplier = job.multiplier + channel;
    }
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

template <Finish kKind>
void run(const TileJob& job) {
  Waiting waiting(job, kKind);
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
      const s64 blocks = ((last - first) * tiles + 3) / 4;
      const Prefetch next{behind, behind + more * tile_bytes,
                          (more * kTileWeights / blocks + 63) / 64 * 64};
      const s64 channels = (end_channel < job.last_channel ? end_channel : job.last_channel) - c;
      if (tiles == 4) {
        Channels<4, kKind>{job, waiting, parity, next}.run(c, channels, first, last);
      } else if (tiles == 3) {
        Channels<3, kKind>{job, waiting, parity, next}.run(c, channels, first, last);
      } else if (tiles == 2) {
        Channels<2, kKind>{job, waiting, parity, next}.run(c, channels, first, last);
      } else {
        Channels<1, kKind>{job, waiting, parity, next}.run(c, channels, first, last);
      }
      c = end_channel;
    }
  }
  finish_all<kKind>(waiting);
}

}  // namespace

void conv_u8s8_tiles_amx(const TileJob& job) {
  amx_configure(job.grid.rows);  // 0-3 accumulate, 4 and 5 hold pixels, 6 and 7 weights
  const Finish kind = kind_of(job);
  if (kind == Finish::saturate) run<Finish::saturate>(job);
  if (kind == Finish::bound) run<Finish::bound>(job);
  if (kind == Finish::table) run<Finish::table>(job);
  if (kind == Finish::fine) run<Finish::fine>(job);
  if (kind == Finish::sum) run<Finish::sum>(job);
  if (kind == Finish::relu_sum) run<Finish::relu_sum>(job);
  if (kind == Finish::coded_sum) run<Finish::coded_sum>(job);
  if (kind == Finish::general) run<Finish::general>(job);
  _tile_release();
}

}  // namespace octet
