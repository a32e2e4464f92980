// SPDX-License-Identifier: Apache-2.0
// Tiles of a product on Hopper: products of warpgroups whose operands the tensor memory accelerator brings. Rows are output pixels, columns output channels. One warp loads, the warpgroups
// multiply: together on one tile, or each on its own (pingpong). A kernel names its window and memory, and then what its sums become:
//   struct OwnWindow { static constexpr TiledWindow spec(); static constexpr TiledMemory memory(); };
//   using Tiles = WindowTiles<OwnWindow>;
//   struct OwnEnd {
//     typedef s32 Sum;
//     multiply(Sum (&d)[n], u64 a, u64 b, s32 sum);                    // one product: device/hopper.cuh
//     prepare(const Params&, u8* shared, s32 first, s32 columns);      // constants of channels, by all threads
//     struct Ahead { read(params, pixels, channel); next(); came(u8*); };  // what a tile's end reads: asked for before its products, or where the loading warp brought it
//     finish(params, sums, pixels, channel, shared, Ahead&, n_tile, g);  // the first group of the sums, which is number g of its tile
//   };
// and calls Tiles::run<OwnEnd>(params).
#pragma once

#include "backends/cuda/device/hopper.cuh"
#include "backends/cuda/device/tiled_window.h"

namespace octet::cuda {

extern __shared__ u8 shared_memory[];

// A row of a tile as a pixel of y; `m`: of all, where tiles are rows of pixels.
struct TilePixel {
  s32 m, n, h, w;
  bool exists;
};

template <class Own>
struct WindowTiles {
  static constexpr TiledWindow s = Own::spec();
  static constexpr TiledMemory kMemory = Own::memory();
  static constexpr ConvWindow kWindow = s.window;
  static constexpr s32 kCout = kWindow.cout, kOutH = kWindow.out_h, kOutW = kWindow.out_w;
  static constexpr XMode kMode = s.tile.mode;
  static constexpr bool kHalo = kMode == XMode::halo, kPingpong = s.tile.pingpong, kResident = s.tile.resident;
  static constexpr s32 kBm = bm(s.tile), kBn = s.tile.bn, kKBytes = s.tile.k_bytes, kSub = s.tile.sub, kStages = s.tile.stages;
  static constexpr s32 kWarpgroups = s.tile.warpgroups, kThreads = threads(s);
  static constexpr s32 kTaps = taps(s), kChunks = chunks(s), kPieces = pieces(s);
  static constexpr s32 kSteps = kHalo ? kChunks : ceil_div_s32(kPieces, kSub);
  static constexpr s32 kNTiles = n_tiles(s), kPaddedChannels = padded_channels(s), kTiles = (s32)tiles(s), kTilesOfImage = kHalo ? tiles_of_image(s) : 1;
  static constexpr s32 kXBlock = x_block(s), kWeightsBlock = weights_block(s), kWeightsRow = weights_row(s), kBoxes = boxes_of_weights(s);
  static constexpr s32 kOffWeights = (s32)kMemory.weights, kOffEnd = (s32)kMemory.end, kOffTable = (s32)kMemory.table;
  static constexpr s32 kOffBarriers = (s32)kMemory.barriers, kEndBytes = (s32)kMemory.end_bytes;
  static constexpr s32 kResiduals = s.tile.residuals, kOffResiduals = (s32)kMemory.residuals, kResidualBlock = residual_block(s);
  static constexpr s32 kGroup = s.tile.group, kGroups = kBn / kGroup, kChannels = own_channels(s.tile);
  static constexpr s32 kTall = s.tile.bm_wg / 64, kRows = 2 * kTall;  // products of a warpgroup, rows of a thread

  // One of kCount places that are used in turn.
  template <s32 kCount>
  struct Turn {
    s32 index;
    u32 phase;
    __device__ __forceinline__ void next() {
      if (++index == kCount) index = 0, phase ^= 1;
    }
    __device__ __forceinline__ void skip(s32 count) {
      const s32 skipped = index + count;
      index = skipped % kCount;
      phase ^= skipped / kCount & 1;
    }
    static __device__ __forceinline__ Turn after(s32 count) { return {count % kCount, (u32)(count / kCount & 1)}; }
  };
  typedef Turn<kStages> Stage;
  typedef Turn<kResiduals == 0 ? 1 : kResiduals> Residual;

  // Barriers in shared memory.
  struct Barriers {
    u32 full, empty, resident, residual_full, residual_empty;
    explicit __device__ __forceinline__ Barriers(u32 memory)
        : full(memory + kOffBarriers),
          empty(full + 8 * kStages),
          resident(empty + 8 * kStages),
          residual_full(resident + 8),
          residual_empty(residual_full + 8 * kResiduals) {}
    __device__ __forceinline__ void init() const {
      constexpr s32 kWarps = 4 * (kPingpong ? 1 : kWarpgroups);
      for (s32 i = 0; i < kStages; ++i) barrier_init(full + 8 * i, 1), barrier_init(empty + 8 * i, kWarps);
      barrier_init(resident, 1);
      for (s32 i = 0; i < kResiduals; ++i) barrier_init(residual_full + 8 * i, 1), barrier_init(residual_empty + 8 * i, kWarps);
      barriers_are_ready();
    }
  };

  // Pieces of k in step `it`.
  static __device__ __forceinline__ s32 pieces_of(s32 it) {
    return kPieces % kSub == 0 || kPieces - it * kSub >= kSub ? kSub : kPieces - it * kSub;
  }

  template <class Params>
  static __device__ __forceinline__ void load_weights(const Params& p, u32 to, u32 barrier, s32 piece, s32 n_tile) {
#pragma unroll
    for (s32 i = 0; i < kBoxes; ++i) load_box2(to + i * kBn * kWeightsRow, &p.weights, barrier, (piece * kBoxes + i) * kWeightsRow, n_tile * kBn);
  }

  template <class Params>
  static __device__ __forceinline__ void load_pieces(const Params& p, u32 memory, u32 full, s32 stage, s32 tile, s32 it, bool weights_given) {
    const s32 m_tile = tile / kNTiles;
    if constexpr (kHalo) {
      barrier_expect(full, (s.tile.halo_rows + kWindow.taps_h - 1) * s.tile.halo_width * kKBytes);
      load_box4(memory + stage * kXBlock, &p.x, full, it * kKBytes, -kWindow.pad_left,
                m_tile % kTilesOfImage * s.tile.halo_rows - kWindow.pad_top, m_tile / kTilesOfImage);
    } else {
      const s32 m0 = m_tile * kBm, count = pieces_of(it);
      if (!weights_given) barrier_expect(full, count * (kXBlock + (kResident ? 0 : kWeightsBlock)));
      const s32 image = m0 / (kOutH * kOutW), rest = m0 % (kOutH * kOutW);
      const s32 h = rest / kOutW * kWindow.stride_h - kWindow.pad_top, w = rest % kOutW * kWindow.stride_w - kWindow.pad_left;
#pragma unroll
      for (s32 j = 0; j < kSub; ++j) {
        if (j >= count) break;
        const s32 piece = it * kSub + j;
        const u32 to = memory + (stage * kSub + j) * kXBlock;
        if constexpr (kMode == XMode::im2col) {
          const s32 tap = piece / kChunks;
          load_im2col(to, &p.x, full, piece % kChunks * kKBytes, w, h, image, (u16)(tap % kWindow.taps_w * kWindow.dilation_w),
                      (u16)(tap / kWindow.taps_w * kWindow.dilation_h));
        } else {
          load_box2(to, &p.x, full, piece * kKBytes, m0);
        }
        if (!kResident && !weights_given)
          load_weights(p, memory + kOffWeights + (stage * kSub + j) * kWeightsBlock, full, piece, tile % kNTiles);
      }
    }
  }

  template <class Params>
  static __device__ __forceinline__ void load_residual(const Params& p, u32 to, u32 full, s32 tile) {
    barrier_expect(full, kResidualBlock);
#pragma unroll 1
    for (s32 g = 0; g < kGroups; ++g)
      load_box2(to + g * residual_box(s), &p.residual, full, (tile % kNTiles * kGroups + g) * residual_row(s), tile / kNTiles * kBm);
  }

  // What one thread of the loading warp does. Weights depend on no predecessor: the first are asked for before the wait.
  template <class Params>
  static __device__ __forceinline__ void load_all(const Params& p, u32 memory, const Barriers& barriers) {
    const u32 full = barriers.full, empty = barriers.empty, resident = barriers.resident;
    const s32 first = blockIdx.x;
    s32 given = 0;
    if (first < kTiles) {
      if constexpr (kResident) {
        barrier_expect(resident, kPieces * kWeightsBlock);
        for (s32 k = 0; k < kPieces; ++k) load_weights(p, memory + kOffWeights + k * kWeightsBlock, resident, k, first % kNTiles);
      } else {
        given = kSteps < kStages ? kSteps : kStages;
        for (s32 it = 0; it < given; ++it) {
          const s32 count = pieces_of(it);
          barrier_expect(full + 8 * it, count * (kXBlock + kWeightsBlock));
          for (s32 j = 0; j < count; ++j)
            load_weights(p, memory + kOffWeights + (it * kSub + j) * kWeightsBlock, full + 8 * it, it * kSub + j, first % kNTiles);
        }
      }
    }
    wait_for_predecessor();
    Stage stage = {0, 1};
    Residual residual = {0, 1};
    for (s32 tile = first; tile < kTiles; tile += gridDim.x) {
      if constexpr (kResiduals > 0) {
        barrier_wait(barriers.residual_empty + 8 * residual.index, residual.phase);
        load_residual(p, memory + kOffResiduals + residual.index * kResidualBlock, barriers.residual_full + 8 * residual.index, tile);
        residual.next();
      }
      for (s32 it = 0; it < kSteps; ++it) {
        const bool weights_given = tile == first && it < given;
        if (!weights_given) barrier_wait(empty + 8 * stage.index, stage.phase);
        load_pieces(p, memory, full + 8 * stage.index, stage.index, tile, it, weights_given);
        stage.next();
      }
    }
  }

  // Products of one stage into acc.
  template <class End>
  static __device__ __forceinline__ void multiply(typename End::Sum (&acc)[kTall][kBn / 2], u32 memory, s32 stage, s32 it, s32 first_row) {
    if constexpr (kHalo) {
#pragma unroll
      for (s32 tap = 0; tap < kTaps; ++tap)
#pragma unroll
        for (s32 kk = 0; kk < kKBytes / 32; ++kk)
#pragma unroll
          for (s32 m = 0; m < kTall; ++m) {
            const s32 row = first_row + m * 64 + tap / kWindow.taps_w * kWindow.dilation_h * s.tile.halo_width + tap % kWindow.taps_w * kWindow.dilation_w;
            End::multiply(acc[m], operand<kKBytes>(memory + stage * kXBlock + row * kKBytes) + kk * 2,
                          operand<kKBytes>(memory + kOffWeights + (tap * kChunks + it) * kWeightsBlock) + kk * 2, (it | tap | kk) != 0);
          }
    } else {
      const s32 count = pieces_of(it);
#pragma unroll
      for (s32 j = 0; j < kSub; ++j)
        if (j < count) {
          const u64 a = operand<kKBytes>(memory + (stage * kSub + j) * kXBlock + first_row * kKBytes);
          const u64 b = operand<kKBytes>(memory + kOffWeights + (kResident ? it * kSub + j : stage * kSub + j) * kWeightsBlock);
#pragma unroll
          for (s32 kk = 0; kk < kKBytes / 32; ++kk)
#pragma unroll
            for (s32 m = 0; m < kTall; ++m) End::multiply(acc[m], a + (m * 64 * kKBytes >> 4) + kk * 2, b + kk * 2, (it | j | kk) != 0);
        }
    }
  }

  static __device__ __forceinline__ TilePixel pixel_of(s32 m_tile, s32 row) {
    TilePixel pixel;
    pixel.m = m_tile * kBm + row;
    if constexpr (kHalo) {
      const s32 y = row / s.tile.halo_width;
      pixel.n = m_tile / kTilesOfImage, pixel.h = m_tile % kTilesOfImage * s.tile.halo_rows + y, pixel.w = row % s.tile.halo_width;
      pixel.exists = y < s.tile.halo_rows && pixel.h < kOutH && pixel.w < kOutW;
    } else {
      const s32 rest = pixel.m % (kOutH * kOutW);
      pixel.n = pixel.m / (kOutH * kOutW), pixel.h = rest / kOutW, pixel.w = rest % kOutW;
      pixel.exists = pixel.m < kWindow.pixels;
    }
    return pixel;
  }
  // Pixels that lie one after another need no division.
  static __device__ __forceinline__ s64 place(const TilePixel& at, const PixelStrides& by) {
    if (!kHalo && (kOutH == 1 || by.row == kOutW * by.pixel) && (kOutH * kOutW == kWindow.pixels || by.image == (s64)(kOutH * kOutW) * by.pixel))
      return at.m * by.pixel;
    return at.n * by.image + at.h * by.row + at.w * by.pixel;
  }

  // The sums of the next group of channels become those of the first.
  template <class Sum>
  static __device__ __forceinline__ void next_group(Sum (&acc)[kTall][kBn / 2]) {
#pragma unroll
    for (s32 m = 0; m < kTall; ++m)
#pragma unroll
      for (s32 i = 0; i < kBn / 2 - kGroup / 2; ++i) acc[m][i] = acc[m][i + kGroup / 2];
  }

  template <class End, class Params>
  static __device__ __forceinline__ void run(const Params& p) {
    const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
    u8* base = shared_memory + (memory - shared_address(shared_memory));
    const Barriers barriers(memory);
    const u32 full = barriers.full, empty = barriers.empty;
    const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (threadIdx.x == 0) barriers.init();
    // A block whose tiles are all of one column needs no other channels' constants.
    const bool one_column = kResident || gridDim.x >= kTiles;
    End::prepare(p, base, one_column ? blockIdx.x % kNTiles * kBn : 0, one_column ? kBn : kNTiles * kBn);
    __syncthreads();
    let_successor_begin();
    if (warp == 4 * kWarpgroups) {
      if (lane == 0) load_all(p, memory, barriers);
      return;
    }
    wait_for_predecessor();
    if constexpr (kResident) {
      if (blockIdx.x < kTiles) barrier_wait(barriers.resident, 0);
    }
    const s32 wg = warp / 4, own = kPingpong ? wg : 0, step = kPingpong ? kWarpgroups : 1;
    const s32 first_row = kPingpong ? 0 : wg * s.tile.bm_wg;
    const s32 row_in_wg = (warp & 3) * 16 + lane / 4;
    if constexpr (kPingpong) {
      // Main loops take turns (named barriers 3, 4): a wait for a parity cannot tell a phase from the one two before it.
      if (wg == 1) threads_arrive<256>(3);
    }
    typename End::Sum acc[kTall][kBn / 2];
    Stage stage = Stage::after(own * kSteps);
    Residual residual = Residual::after(own);
    for (s32 tile = blockIdx.x + own * gridDim.x; tile < kTiles; tile += step * gridDim.x) {
      const s32 m_tile = tile / kNTiles, n_tile = tile % kNTiles;
      const s32 first_channel = n_tile * kBn + lane % 4 * kChannels;
      TilePixel at[kRows];
#pragma unroll
      for (s32 row = 0; row < kRows; ++row) at[row] = pixel_of(m_tile, first_row + row / 2 * 64 + row_in_wg + row % 2 * 8);
      typename End::Ahead ahead = {};
      ahead.read(p, at, first_channel);
      if constexpr (kPingpong) threads_meet<256>(3 + wg);
      s32 last = 0;
      for (s32 it = 0; it < kSteps; ++it) {
        barrier_wait(full + 8 * stage.index, stage.phase);
        products_begin();
        multiply<End>(acc, memory, stage.index, it, first_row);
        products_end();
        if (it > 0) {
          products_wait<1>();
          if (lane == 0) barrier_arrive(empty + 8 * last);
        }
        last = stage.index;
        stage.next();
      }
      if constexpr (kPingpong) threads_arrive<256>(4 - wg);
      products_wait<0>();
      if (lane == 0) barrier_arrive(empty + 8 * last);
      if (kPingpong) stage.skip(kSteps * (kWarpgroups - 1));
      if constexpr (kResiduals > 0) {
        barrier_wait(barriers.residual_full + 8 * residual.index, residual.phase);
        ahead.came(base + kOffResiduals + residual.index * kResidualBlock);
      }
#pragma unroll (s.tile.rolled ? 1 : kGroups)
      for (s32 g = 0; g < kGroups; ++g) {
        End::finish(p, acc, at, first_channel + g * kGroup, base, ahead, n_tile, g);
        next_group(acc);
        ahead.next();
      }
      if constexpr (kResiduals > 0) {
        __syncwarp();
        if (lane == 0) barrier_arrive(barriers.residual_empty + 8 * residual.index);
        residual.skip(step);
      }
    }
  }
};

}  // namespace octet::cuda
