// SPDX-License-Identifier: Apache-2.0
// Convolution of codes on Hopper: products of warpgroups whose operands the tensor memory accelerator brings. Rows are output pixels, columns
// output channels. One warp loads, the warpgroups multiply: together on one tile, or each on its own (pingpong).
#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/hopper.cuh"

using namespace octet::cuda;
using namespace octet::cuda::conv_wgmma;

constexpr Spec s = Made::spec();
CONV_WGMMA_RULES(OCTET_RULE_ASSERT)

struct OwnEnd {
  static constexpr EpilogueSpec spec() { return Made::spec().end; }
};
using End = Epilogue<OwnEnd>;

constexpr ConvWindow kWindow = s.window;
constexpr s32 kCout = kWindow.cout, kOutH = kWindow.out_h, kOutW = kWindow.out_w;
constexpr XMode kMode = s.tile.mode;
constexpr bool kHalo = kMode == XMode::halo, kPingpong = s.tile.pingpong, kResident = s.tile.resident;
constexpr s32 kBm = bm(s.tile), kBn = s.tile.bn, kKBytes = s.tile.k_bytes, kSub = s.tile.sub, kStages = s.tile.stages;
constexpr s32 kWarpgroups = s.tile.warpgroups, kThreads = threads(s);
constexpr s32 kTaps = taps(s), kChunks = chunks(s), kPieces = pieces(s);
constexpr s32 kSteps = kHalo ? kChunks : ceil_div_s32(kPieces, kSub);
constexpr s32 kNTiles = n_tiles(s), kPaddedChannels = padded_channels(s), kTiles = (s32)tiles(s), kTilesOfImage = kHalo ? tiles_of_image(s) : 1;
constexpr s32 kXBlock = x_block(s), kWeightsBlock = weights_block(s);
constexpr s32 kOffWeights = (s32)memory(s).weights, kOffEnd = (s32)memory(s).end, kOffTable = (s32)memory(s).table;
constexpr s32 kOffBarriers = (s32)memory(s).barriers, kEndBytes = (s32)memory(s).end_bytes;
constexpr s32 kGroup = columns_of_group(s.tile), kGroups = kBn / kGroup, kChannels = own_channels(s.tile);
constexpr s32 kTall = s.tile.bm_wg / 64, kRows = 2 * kTall;  // products of a warpgroup, rows of a thread
constexpr s32 kTop = s.edges.top, kBottom = s.edges.bottom, kLeft = s.edges.left, kRight = s.edges.right;
constexpr bool kReadsAhead = s.end.residual || s.end.sum;    // the residual, or the addend where there is no residual
constexpr bool kAddendAhead = s.end.sum && !s.end.residual;

extern __shared__ u8 shared_memory[];

struct Stage {
  s32 index;
  u32 phase;
  __device__ __forceinline__ void next() {
    if (++index == kStages) index = 0, phase ^= 1;
  }
};

// Pieces of k in step `it`.
__device__ __forceinline__ s32 pieces_of(s32 it) {
  return kPieces % kSub == 0 || kPieces - it * kSub >= kSub ? kSub : kPieces - it * kSub;
}

__device__ __forceinline__ void load_weights(const Params& p, u32 to, u32 barrier, s32 piece, s32 n_tile) {
  load_box2(to, &p.weights, barrier, piece * kKBytes, n_tile * kBn);
}

__device__ __forceinline__ void load_pieces(const Params& p, u32 memory, u32 full, s32 stage, s32 tile, s32 it, bool weights_given) {
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

// What one thread of the loading warp does. Weights depend on no predecessor: the first are asked for before the wait.
__device__ __forceinline__ void load_all(const Params& p, u32 memory, u32 full, u32 empty, u32 resident) {
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
  for (s32 tile = first; tile < kTiles; tile += gridDim.x) {
    for (s32 it = 0; it < kSteps; ++it) {
      const bool weights_given = tile == first && it < given;
      if (!weights_given) barrier_wait(empty + 8 * stage.index, stage.phase);
      load_pieces(p, memory, full + 8 * stage.index, stage.index, tile, it, weights_given);
      stage.next();
    }
  }
}

// Products of one stage into acc.
__device__ __forceinline__ void multiply(s32 (&acc)[kTall][kBn / 2], u32 memory, s32 stage, s32 it, s32 first_row) {
  if constexpr (kHalo) {
#pragma unroll
    for (s32 tap = 0; tap < kTaps; ++tap)
#pragma unroll
      for (s32 kk = 0; kk < kKBytes / 32; ++kk)
#pragma unroll
        for (s32 m = 0; m < kTall; ++m) {
          const s32 row = first_row + m * 64 + tap / kWindow.taps_w * kWindow.dilation_h * s.tile.halo_width + tap % kWindow.taps_w * kWindow.dilation_w;
          product<kWindow.x_signed>(acc[m], operand<kKBytes>(memory + stage * kXBlock + row * kKBytes) + kk * 2,
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
          for (s32 m = 0; m < kTall; ++m)
            product<kWindow.x_signed>(acc[m], a + (m * 64 * kKBytes >> 4) + kk * 2, b + kk * 2, (it | j | kk) != 0);
      }
  }
}

// A row of a tile as a pixel of y; `m`: of all, where tiles are rows of pixels.
struct Pixel {
  s32 m, n, h, w;
  bool exists;
};
__device__ __forceinline__ Pixel pixel_of(s32 m_tile, s32 row) {
  Pixel pixel;
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
__device__ __forceinline__ s64 place(const Pixel& at, const PixelStrides& by) {
  if (!kHalo && (kOutH == 1 || by.row == kOutW * by.pixel) && (kOutH * kOutW == kWindow.pixels || by.image == (s64)(kOutH * kOutW) * by.pixel))
    return at.m * by.pixel;
  return at.n * by.image + at.h * by.row + at.w * by.pixel;
}

// 0 inside; rows of the table of borders are classes.
__device__ __forceinline__ s32 edge_class(const Pixel& at) {
  const s32 v = at.h < kTop ? 1 + at.h : at.h >= kOutH - kBottom ? 1 + kTop + at.h - (kOutH - kBottom) : 0;
  const s32 u = at.w < kLeft ? 1 + at.w : at.w >= kOutW - kRight ? 1 + kLeft + at.w - (kOutW - kRight) : 0;
  return v * (1 + kLeft + kRight) + u;
}

// Of codes of a part.
__device__ __forceinline__ s32 zero_point_of(s32 part) {
  constexpr Parts all = s.parts;
  if (all.count == 1) return s.end.zero_point;
  return part < 1 ? all.zero_point0 : part < 2 ? all.zero_point1 : all.zero_point2;
}

// kChannels neighbouring channels of a pixel, as far as they exist.
__device__ __forceinline__ void load_operand(u8 (&to)[kChannels], const u8* from, s32 channel) {
#pragma unroll
  for (s32 v = 0; v < kChannels; v += s.y_access)
    if (channel + v < kCout) load_codes<s.y_access>(to + v, from + channel + v);
}

// The sums and operands of the next group of channels become those of the first.
template <s32 kOperands>
__device__ __forceinline__ void next_group(s32 (&acc)[kTall][kBn / 2], u8 (&operands)[kOperands][kRows][kChannels]) {
#pragma unroll
  for (s32 m = 0; m < kTall; ++m)
#pragma unroll
    for (s32 i = 0; i < kBn / 2 - kGroup / 2; ++i) acc[m][i] = acc[m][i + kGroup / 2];
#pragma unroll
  for (s32 g = 1; g < kOperands; ++g)
#pragma unroll
    for (s32 row = 0; row < kRows; ++row)
#pragma unroll
      for (s32 c = 0; c < kChannels; ++c) operands[g - 1][row][c] = operands[g][row][c];
}

// The first group of channels of a thread's rows: what is known of a channel is read once for all of them.
__device__ __forceinline__ void finish(const Params& p, const s32 (&acc)[kTall][kBn / 2], const Pixel (&at)[kRows], s32 channel,
                                       const u8* end, const u8* table, const u8 (&residual)[kRows][kChannels], s32 part) {
  u8 own_addend[kRows][kChannels] = {};
  if constexpr (s.end.sum && !kAddendAhead) {
#pragma unroll
    for (s32 row = 0; row < kRows; ++row)
      if (at[row].exists) load_operand(own_addend[row], p.end.addend + place(at[row], s.at.addend), channel);
  }
  const s32 q = threadIdx.x % 4;
  u32 words[kRows][kChannels / 4];
#pragma unroll
  for (s32 w = 0; w < kChannels / 4; ++w) {
    const u8* four = end + (w * 16 + q * 4) * 4;
    const uint4 f = *(const uint4*)four;
    const int4 b = *(const int4*)(four + kEndBytes);
    const f32 scales[4] = {f32_bits(f.x), f32_bits(f.y), f32_bits(f.z), f32_bits(f.w)};
#pragma unroll
    for (s32 row = 0; row < kRows; ++row) {
      const s32* own = acc[row / 2] + 8 * w + row % 2 * 2;
      s32 sums[4] = {own[0] + b.x, own[1] + b.y, own[4] + b.z, own[5] + b.w};
      const s32 edge = s.edges.exist ? edge_class(at[row]) : 0;
      if (at[row].exists && edge != 0 && channel + 4 * w < kCout) {
        const int4 e = *(const int4*)(p.border + (s64)edge * kPaddedChannels + channel + 4 * w);
        sums[0] += e.x, sums[1] += e.y, sums[2] += e.z, sums[3] += e.w;
      }
      f32 t[4];
#pragma unroll
      for (s32 e = 0; e < 4; ++e) t[e] = End::product_real(sums[e], scales[e], End::residual_real(((const u32*)residual[row])[w], e));
      if constexpr (s.end.real) {
#pragma unroll
        for (s32 e = 0; e < 4; ++e)
          if (at[row].exists && channel + 4 * w + e < kCout) ((f32*)p.end.out)[place(at[row], s.at.y) + channel + 4 * w + e] = t[e];
      } else {
        const u8* addend = (kAddendAhead ? residual[row] : own_addend[row]) + 4 * w;
        words[row][w] = End::product_codes(t, table, addend, zero_point_of(part));
      }
    }
  }
  if constexpr (!s.end.real) {
#pragma unroll
    for (s32 row = 0; row < kRows; ++row) {
      u8* to = p.end.out + place(at[row], s.at.y) + channel + part * (s.parts.bytes - kCout / s.parts.count);
#pragma unroll
      for (s32 v = 0; v < kChannels; v += s.y_access)
        if (at[row].exists && channel + v < kCout) store_codes<s.y_access>(to + v, (const u8*)words[row] + v);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, s.tile.blocks) octet_kernel(const __grid_constant__ Params p) {
  const u32 memory = (shared_address(shared_memory) + 1023) & ~1023u;
  u8* base = shared_memory + (memory - shared_address(shared_memory));
  const u32 full = memory + kOffBarriers, empty = full + 8 * kStages, resident = empty + 8 * kStages;
  const s32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (s32 i = 0; i < kStages; ++i) {
      barrier_init(full + 8 * i, 1);
      barrier_init(empty + 8 * i, 4 * (kPingpong ? 1 : kWarpgroups));
    }
    barrier_init(resident, 1);
    barriers_are_ready();
  }
  // Multipliers and biases: within a kGroup channel kChannels * q + 4w + e lies at 16w + 4q + e, so that four threads read 64 bytes. A block
  // whose tiles are all of one column needs no others.
  const bool one_column = kResident || gridDim.x >= kTiles;
  const s32 of_block = one_column ? blockIdx.x % kNTiles * kBn : 0, columns = one_column ? kBn : kNTiles * kBn;
#pragma unroll 4
  for (s32 i = of_block + threadIdx.x; i < of_block + columns; i += kThreads) {
    const s32 in = i % kGroup, q = in / kChannels, w = in % kChannels / 4, e = in % 4;
    f32* to = (f32*)(base + kOffEnd) + (i - in + 16 * w + 4 * q + e);
    *to = i < kCout ? p.end.multiplier[i] : 0.0f;
    *(s32*)((u8*)to + kEndBytes) = i < kCout ? p.end.bias[i] : 0;
  }
  if constexpr (s.end.table) End::copy_table(base + kOffTable, p.end.table, threadIdx.x, kThreads);
  __syncthreads();
  let_successor_begin();
  if (warp == 4 * kWarpgroups) {
    if (lane == 0) load_all(p, memory, full, empty, resident);
    return;
  }
  wait_for_predecessor();
  if constexpr (kResident) {
    if (blockIdx.x < kTiles) barrier_wait(resident, 0);
  }
  const s32 wg = warp / 4, own = kPingpong ? wg : 0, step = kPingpong ? kWarpgroups : 1;
  const s32 first_row = kPingpong ? 0 : wg * s.tile.bm_wg;
  const s32 row_in_wg = (warp & 3) * 16 + lane / 4;
  if constexpr (kPingpong) {
    // Main loops take turns (named barriers 3, 4): a wait for a parity cannot tell a phase from the one two before it.
    if (wg == 1) threads_arrive<256>(3);
  }
  s32 acc[kTall][kBn / 2];
  Stage stage = {own * kSteps % kStages, (u32)(own * kSteps / kStages & 1)};
  for (s32 tile = blockIdx.x + own * gridDim.x; tile < kTiles; tile += step * gridDim.x) {
    const s32 m_tile = tile / kNTiles, n_tile = tile % kNTiles;
    const s32 first_channel = n_tile * kBn + lane % 4 * kChannels;
    Pixel at[kRows];
#pragma unroll
    for (s32 row = 0; row < kRows; ++row) at[row] = pixel_of(m_tile, first_row + row / 2 * 64 + row_in_wg + row % 2 * 8);
    // Asked for before the products.
    u8 ahead[kReadsAhead ? kGroups : 1][kRows][kChannels] = {};
    if constexpr (kReadsAhead) {
#pragma unroll
      for (s32 row = 0; row < kRows; ++row) {
        const u8* from = s.end.residual ? p.end.residual + place(at[row], s.at.residual) : p.end.addend + place(at[row], s.at.addend);
#pragma unroll
        for (s32 g = 0; g < kGroups; ++g)
          if (at[row].exists) load_operand(ahead[g][row], from, first_channel + g * kGroup);
      }
    }
    if constexpr (kPingpong) threads_meet<256>(3 + wg);
    s32 last = 0;
    for (s32 it = 0; it < kSteps; ++it) {
      barrier_wait(full + 8 * stage.index, stage.phase);
      products_begin();
      multiply(acc, memory, stage.index, it, first_row);
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
    if (kPingpong) {
      const s32 skipped = stage.index + kSteps * (kWarpgroups - 1);
      stage.index = skipped % kStages;
      stage.phase ^= skipped / kStages & 1;
    }
#pragma unroll (s.rolled ? 1 : kGroups)
    for (s32 g = 0; g < kGroups; ++g) {
      finish(p, acc, at, first_channel + g * kGroup, base + kOffEnd + (n_tile * kBn + g * kGroup) * 4, base + kOffTable, ahead[0],
             s.parts.count > 1 ? n_tile * kBn / (kCout / s.parts.count) : 0);
      next_group(acc, ahead);
    }
  }
}
