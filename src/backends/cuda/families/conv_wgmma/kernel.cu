// SPDX-License-Identifier: Apache-2.0
// Convolution of codes on Hopper: the end of its tiles, which device/tiled_window.cuh multiplies.
#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/real_end.cuh"
#include "backends/cuda/device/tiled_window.cuh"

using namespace octet::cuda;
using namespace octet::cuda::conv_wgmma;

constexpr Spec s = Made::spec();
CONV_WGMMA_RULES(OCTET_RULE_ASSERT)

using End = Epilogue<PartOf<Made, &Spec::end>>;
struct OwnWindow {
  static constexpr TiledWindow spec() { return Made::spec().main; }
  static constexpr TiledMemory memory() { return conv_wgmma::memory(Made::spec()); }
};
using Tiles = WindowTiles<OwnWindow>;

constexpr ConvWindow kWindow = s.main.window;
constexpr s32 kCout = kWindow.cout, kOutH = kWindow.out_h, kOutW = kWindow.out_w, kBn = s.main.tile.bn;
constexpr s32 kNTiles = Tiles::kNTiles, kPaddedChannels = Tiles::kPaddedChannels, kThreads = Tiles::kThreads;
constexpr s32 kOffEnd = Tiles::kOffEnd, kOffTable = Tiles::kOffTable, kEndBytes = Tiles::kEndBytes;
constexpr s32 kGroup = Tiles::kGroup, kGroups = Tiles::kGroups, kChannels = Tiles::kChannels, kTall = Tiles::kTall, kRows = Tiles::kRows;
constexpr s32 kTop = s.edges.top, kBottom = s.edges.bottom, kLeft = s.edges.left, kRight = s.edges.right;
constexpr bool kReadsAhead = s.end.residual || s.end.sum;    // the residual, or the addend where there is no residual
constexpr bool kAddendAhead = s.end.sum && !s.end.residual;

// 0 inside; rows of the table of borders are classes.
__device__ __forceinline__ s32 edge_class(const TilePixel& at) {
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

// Four neighbouring channels of a pixel, as far as they exist.
__device__ __forceinline__ void store_reals(const Params& p, const TilePixel& at, s32 channel, const f32 (&t)[4]) {
  constexpr s32 kAccess = s.y_access < 4 ? s.y_access : 4;
  u8* to = p.end.out + (Tiles::place(at, s.at.y) + channel) * bytes_of(s.real_type);
#pragma unroll
  for (s32 v = 0; v < 4; v += kAccess) {
    f32 own[kAccess];
#pragma unroll
    for (s32 e = 0; e < kAccess; ++e) own[e] = t[v + e];
    if (at.exists && channel + v < kCout) *(Piece<kAccess * bytes_of(s.real_type)>*)(to + v * bytes_of(s.real_type)) = packed_reals<s.real_type>(own);
  }
}

// The first group of channels of a thread's rows: what is known of a channel is read once for all of them.
__device__ __forceinline__ void finish(const Params& p, const s32 (&acc)[kTall][kBn / 2], const TilePixel (&at)[kRows], s32 channel,
                                       const u8* end, const u8* table, const u8 (&residual)[kRows][kChannels], s32 part) {
  u8 own_addend[kRows][kChannels] = {};
  if constexpr (s.end.sum && !kAddendAhead) {
#pragma unroll
    for (s32 row = 0; row < kRows; ++row)
      if (at[row].exists) load_operand(own_addend[row], p.end.addend + Tiles::place(at[row], s.at.addend), channel);
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
        store_reals(p, at[row], channel + 4 * w, t);
      } else {
        const u8* addend = (kAddendAhead ? residual[row] : own_addend[row]) + 4 * w;
        words[row][w] = End::product_codes(t, table, addend, zero_point_of(part));
      }
    }
  }
  if constexpr (!s.end.real) {
#pragma unroll
    for (s32 row = 0; row < kRows; ++row) {
      u8* to = p.end.out + Tiles::place(at[row], s.at.y) + channel + part * (s.parts.bytes - kCout / s.parts.count);
#pragma unroll
      for (s32 v = 0; v < kChannels; v += s.y_access)
        if (at[row].exists && channel + v < kCout) store_codes<s.y_access>(to + v, (const u8*)words[row] + v);
    }
  }
}

struct OwnEnd {
  typedef s32 Sum;

  static __device__ __forceinline__ void multiply(s32 (&d)[kBn / 2], u64 a, u64 b, s32 sum) { product<kWindow.x_signed>(d, a, b, sum); }

  // Multipliers and biases: within a kGroup channel kChannels * q + 4w + e lies at 16w + 4q + e, so that four threads read 64 bytes.
  static __device__ __forceinline__ void prepare(const Params& p, u8* base, s32 of_block, s32 columns) {
#pragma unroll 4
    for (s32 i = of_block + threadIdx.x; i < of_block + columns; i += kThreads) {
      const s32 in = i % kGroup, q = in / kChannels, w = in % kChannels / 4, e = in % 4;
      f32* to = (f32*)(base + kOffEnd) + (i - in + 16 * w + 4 * q + e);
      *to = i < kCout ? p.end.multiplier[i] : 0.0f;
      *(s32*)((u8*)to + kEndBytes) = i < kCout ? p.end.bias[i] : 0;
    }
    if constexpr (s.end.table) End::copy_table(base + kOffTable, p.end.table, threadIdx.x, kThreads);
  }

  struct Ahead {
    u8 operands[kReadsAhead ? kGroups : 1][kRows][kChannels];

    __device__ __forceinline__ void read(const Params& p, const TilePixel (&at)[kRows], s32 first_channel) {
      if constexpr (kReadsAhead) {
#pragma unroll
        for (s32 row = 0; row < kRows; ++row) {
          const u8* from = s.end.residual ? p.end.residual + Tiles::place(at[row], s.at.residual) : p.end.addend + Tiles::place(at[row], s.at.addend);
#pragma unroll
          for (s32 g = 0; g < kGroups; ++g)
            if (at[row].exists) load_operand(operands[g][row], from, first_channel + g * kGroup);
        }
      }
    }
    __device__ __forceinline__ void next() {
#pragma unroll
      for (s32 g = 1; g < (kReadsAhead ? kGroups : 1); ++g)
#pragma unroll
        for (s32 row = 0; row < kRows; ++row)
#pragma unroll
          for (s32 c = 0; c < kChannels; ++c) operands[g - 1][row][c] = operands[g][row][c];
    }
  };

  static __device__ __forceinline__ void finish(const Params& p, const s32 (&acc)[kTall][kBn / 2], const TilePixel (&at)[kRows], s32 channel, u8* base,
                                                const Ahead& ahead, s32 n_tile, s32 g) {
    ::finish(p, acc, at, channel, base + kOffEnd + (n_tile * kBn + g * kGroup) * 4, base + kOffTable, ahead.operands[0],
             s.parts.count > 1 ? n_tile * kBn / (kCout / s.parts.count) : 0);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, s.main.tile.blocks) octet_kernel(const __grid_constant__ Params p) { Tiles::run<OwnEnd>(p); }
