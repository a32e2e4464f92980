// SPDX-License-Identifier: Apache-2.0
// Convolution of codes as a product of matrices that are never written out: rows are output pixels, columns output channels, k goes
// over taps and, within a tap, over channels. Bytes outside the image are the input's zero point.
#include "backends/cuda/device/epilogue.cuh"

using namespace octet::cuda;
using namespace octet::cuda::conv_mma;

constexpr Spec s = Made::spec();
CONV_MMA_RULES(OCTET_RULE_ASSERT)

using End = Epilogue<PartOf<Made, &Spec::end>>;

constexpr ConvWindow w = s.window;
constexpr s32 kBm = bm(s), kBn = bn(s), kBk = s.bk, kThreads = threads(s), kKTiles = k_tiles(s), kNTiles = n_tiles(s);
constexpr s32 kChunks = kBk / 16;                       // of 16 bytes in a row of shared memory
constexpr s32 kPiece = piece(s);
constexpr s32 kAEach = ceil_div_s32(kBm * kBk / kPiece, kThreads);  // pieces of a thread for one stage
constexpr s32 kBChunks = kBn * kChunks;
constexpr s32 kAPerRow = kBk / kPiece;
constexpr s32 kRowStep = kThreads / kAPerRow;  // rows between two pieces of a thread
constexpr s32 kStageBytes = stage_bytes(s);

// Chunk `c` of row `r` lies where eight rows that ldmatrix reads at once meet no bank twice.
__device__ __forceinline__ u32 swizzled(u32 r, u32 c) {
  return r * kBk + ((c ^ (kBk == 128 ? r & 7 : (r >> 1) & 3)) << 4);
}

// One row of A of this thread: an output pixel.
struct Pixel {
  const u8* image;
  s32 h, w;  // of the first tap
};

__device__ __forceinline__ Pixel pixel_of(const u8* x, s32 m) {
  const s32 n = m / (w.out_h * w.out_w), rest = m % (w.out_h * w.out_w);
  Pixel pixel;
  pixel.image = x + (s64)n * s.at.x.image;
  pixel.h = rest / w.out_w * w.stride_h - w.pad_top;
  pixel.w = rest % w.out_w * w.stride_w - w.pad_left;
  return pixel;
}

// Where the bytes of x from `k` on lie, for all pixels: loads do not cross into another tap.
struct Tap {
  s32 dh, dw, channel;
  bool exists;
};

__device__ __forceinline__ Tap tap_of(s32 k) {
  const s32 tap = k / w.cin;
  return {tap / w.taps_w * w.dilation_h, tap % w.taps_w * w.dilation_w, k % w.cin, k < k_all(s)};
}

// Null outside of the image.
__device__ __forceinline__ const u8* source(const Pixel& pixel, const Tap& tap, bool in_tile) {
  const s32 h = pixel.h + tap.dh, x = pixel.w + tap.dw;
  if (!in_tile || !tap.exists || (u32)h >= (u32)w.in_h || (u32)x >= (u32)w.in_w) return nullptr;
  return pixel.image + (s64)h * s.at.x.row + (s64)x * s.at.x.pixel + tap.channel;
}

__device__ __forceinline__ void load_a(u8* stage, const Pixel* pixels, s32 m0, s32 k_tile) {
  constexpr s32 kLoads = kPiece / s.x_access;
  constexpr u32 kOutside = (w.zero_point & 255) * 0x01010101u;
  const s32 column = threadIdx.x % kAPerRow * kPiece;
  Tap taps[kLoads];
#pragma unroll
  for (s32 l = 0; l < kLoads; ++l) taps[l] = tap_of(k_tile * kBk + column + l * s.x_access);
#pragma unroll
  for (s32 i = 0; i < kAEach; ++i) {
    const s32 row = threadIdx.x / kAPerRow + i * kRowStep;
    const bool in_tile = m0 + row < w.pixels;
    u8* to = stage + swizzled(row, column / 16) + column % 16;
    if constexpr (kLoads == 1) {
      if (const u8* from = source(pixels[i], taps[0], in_tile)) {
        copy_async<kPiece>(to, from);
      } else {
#pragma unroll
        for (s32 b = 0; b < kPiece; b += 4) *(u32*)(to + b) = kOutside;
      }
    } else {
      u32 word = 0;
#pragma unroll
      for (s32 l = 0; l < kLoads; ++l) {
        u32 bits = kOutside & (s.x_access == 1 ? 0xffu : 0xffffu);
        if (const u8* from = source(pixels[i], taps[l], in_tile)) bits = s.x_access == 1 ? *from : *(const u16*)from;
        word |= bits << 8 * l * s.x_access;
      }
      *(u32*)to = word;
    }
  }
}

__device__ __forceinline__ void load_b(u8* stage, const s8* weights, s32 k_tile) {
  const s8* from = weights + (s64)k_tile * kBn * kBk;
#pragma unroll
  for (s32 i = 0; i < (kBChunks + kThreads - 1) / kThreads; ++i) {
    const s32 chunk = threadIdx.x + i * kThreads;
    if (kBChunks % kThreads == 0 || chunk < kBChunks)
      copy_async<16>(stage + swizzled(chunk / kChunks, chunk % kChunks), from + chunk * 16);
  }
}

extern __shared__ __align__(128) u8 shared_memory[];

struct Place {
  s32 n, h, w;
  __device__ __forceinline__ s64 in(PixelStrides by) const { return (s64)n * by.image + (s64)h * by.row + (s64)w * by.pixel; }
};

// A thread owns so many neighbouring channels of a pixel: channel_of_row().
constexpr s32 kOwn = 2 * s.tiles_n, kStoredWords = s.y_access < 4 ? 1 : s.y_access / 4;

// What sums begin with: the biases. Where all sums are short with the bits of 1.5 * 2^23, so that those of a sum are a real's: conversions
// are slow, additions are not.
__device__ __forceinline__ void begin_sums(s32 (&acc)[s.tiles_m][s.tiles_n][4], const s32* biases, s32 channel) {
#pragma unroll
  for (s32 v = 0; v < kOwn; ++v) {
    const s32 bias = (channel + v < w.cout ? biases[v] : 0) + (s.short_sums ? 0x4B400000 : 0);
#pragma unroll
    for (s32 i = 0; i < s.tiles_m; ++i) acc[i][v / 2][v % 2] = acc[i][v / 2][2 + v % 2] = bias;
  }
}
__device__ __forceinline__ f32 sum_real(s32 acc) {
  return s.short_sums ? f32_add(f32_bits((u32)acc), -0x1.8p+23f) : f32_of(acc);
}

__device__ __forceinline__ void store_row(const EpilogueParams& p, const u8* table, s32 m, s32 channel, const s32 (&acc)[s.tiles_n][4], s32 half,
                                          const f32 (&multipliers)[kOwn]) {
  const s32 n = m / (w.out_h * w.out_w), rest = m % (w.out_h * w.out_w);
  const Place place = {n, rest / w.out_w, rest % w.out_w};
  const s32 c0 = blockIdx.x / kNTiles % w.groups * w.cout;
  const s64 at = place.in(s.at.y) + c0;
  const s64 res_at = place.in(s.at.residual) + c0, add_at = place.in(s.at.addend) + c0;
#pragma unroll
  for (s32 v = 0; v < kOwn; v += s.y_access) {
    const s32 c = channel + v;
    if (c >= w.cout) return;
    u32 residual[kStoredWords] = {}, codes[kStoredWords] = {};
    u8 addend[4 * kStoredWords] = {};
    if constexpr (s.end.residual) load_codes<s.y_access>((u8*)residual, p.residual + res_at + c);
    if constexpr (s.end.sum) load_codes<s.y_access>(addend, p.addend + add_at + c);
#pragma unroll
    for (s32 e = 0; e < s.y_access; e += 4) {
      f32 t[4] = {};
#pragma unroll
      for (s32 i = e; i < e + 4 && i < s.y_access; ++i)
        t[i - e] = End::scaled_real(sum_real(acc[(v + i) / 2][2 * half + (v + i) % 2]), multipliers[v + i], End::residual_real(residual[e / 4], i - e));
      if constexpr (s.end.real) {
#pragma unroll
        for (s32 i = e; i < e + 4 && i < s.y_access; ++i) ((f32*)p.out)[at + c + i] = t[i - e];
      } else {
        codes[e / 4] = End::product_codes(t, table, addend + e);
      }
    }
    if constexpr (!s.end.real) store_codes<s.y_access>(p.out + at + c, (const u8*)codes);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, blocks_at_once(s)) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const s32 warp_m = warp % s.warps_m, warp_n = warp / s.warps_m;
  const s32 n_tile = blockIdx.x % kNTiles, group = blockIdx.x / kNTiles % w.groups;
  const s32 m0 = blockIdx.x / (kNTiles * w.groups) * kBm;
  const s8* weights = p.weights + (s64)(group * kNTiles + n_tile) * kKTiles * kBn * kBk;
  const u8* x = p.x + group * w.cin;
  Pixel pixels[kAEach];
#pragma unroll
  for (s32 i = 0; i < kAEach; ++i)
    pixels[i] = pixel_of(x, m0 + threadIdx.x / kAPerRow + i * kRowStep);
  const u8* table = nullptr;
  if constexpr (s.end.table) {
    u8* copy = shared_memory + s.stages * kStageBytes;
    End::copy_table(copy, p.end.table, threadIdx.x, kThreads);
    table = copy;
  }
#pragma unroll
  for (s32 stage = 0; stage < s.stages - 1; ++stage) {
    if (stage < kKTiles) {
      load_a(shared_memory + stage * kStageBytes, pixels, m0, stage);
      load_b(shared_memory + stage * kStageBytes + kBm * kBk, weights, stage);
    }
    copy_async_commit();
  }
  const s32 channel = n_tile * kBn + warp_n * s.tiles_n * 8 + lane % 4 * kOwn;
  s32 acc[s.tiles_m][s.tiles_n][4];
  begin_sums(acc, p.end.bias + group * w.cout + channel, channel);
  for (s32 k_tile = 0; k_tile < kKTiles; ++k_tile) {
    copy_async_wait<s.stages - 2>();
    __syncthreads();
    const s32 next = k_tile + s.stages - 1;
    if (next < kKTiles) {
      u8* stage = shared_memory + next % s.stages * kStageBytes;
      load_a(stage, pixels, m0, next);
      load_b(stage + kBm * kBk, weights, next);
    }
    copy_async_commit();
    const u8* a = shared_memory + k_tile % s.stages * kStageBytes;
    const u8* b = a + kBm * kBk;
#pragma unroll
    for (s32 kk = 0; kk < kBk / 32; ++kk) {
      u32 fa[s.tiles_m][4], fb[s.tiles_n][2];
#pragma unroll
      for (s32 i = 0; i < s.tiles_m; ++i)
        ldmatrix4(fa[i], a + swizzled((warp_m * s.tiles_m + i) * 16 + lane % 16, 2 * kk + lane / 16));
#pragma unroll
      for (s32 j = 0; j < s.tiles_n; j += 2) {
        u32 four[4];
        ldmatrix4(four, b + swizzled((warp_n * s.tiles_n + j) * 8 + lane / 16 * 8 + lane % 8, 2 * kk + lane / 8 % 2));
        fb[j][0] = four[0], fb[j][1] = four[1], fb[j + 1][0] = four[2], fb[j + 1][1] = four[3];
      }
#pragma unroll
      for (s32 i = 0; i < s.tiles_m; ++i)
#pragma unroll
        for (s32 j = 0; j < s.tiles_n; ++j) {
          if constexpr (w.x_signed) {
            mma_s8s8(acc[i][j], fa[i], fb[j]);
          } else {
            mma_u8s8(acc[i][j], fa[i], fb[j]);
          }
        }
    }
  }
  if constexpr (s.end.table) __syncthreads();
  f32 multipliers[kOwn];
#pragma unroll
  for (s32 v = 0; v < kOwn; ++v) multipliers[v] = channel + v < w.cout ? p.end.multiplier[group * w.cout + channel + v] : 0.0f;
#pragma unroll
  for (s32 i = 0; i < s.tiles_m; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 m = m0 + (warp_m * s.tiles_m + i) * 16 + half * 8 + lane / 4;
      if (m < w.pixels) store_row(p.end, table, m, channel, acc[i], half, multipliers);
    }
}
