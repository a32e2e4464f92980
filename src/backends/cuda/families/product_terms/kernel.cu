// SPDX-License-Identifier: Apache-2.0
// Products of reals as sums of products of 16-bit terms: rows are output pixels, columns output channels, k goes over taps and, within a tap, over channels. A real of 24 bits is the sum of
// three bf16, each the upper bits of what is left (exactly, at any exponent); of the nine products of terms the three smallest lie below f32's last bit and are left out.
#include "backends/cuda/device/real_end.cuh"
#include "backends/cuda/device/terms.cuh"

using namespace octet::cuda;
using namespace octet::cuda::product_terms;

constexpr Spec s = Made::spec();
PRODUCT_TERMS_RULES(OCTET_RULE_ASSERT)

using End = RealEnding<PartOf<Made, &Spec::end>, true>;

constexpr ConvWindow w = s.window;
constexpr s32 kBm = bm(s), kBn = bn(s), kThreads = threads(s), kKTiles = k_tiles(s), kNTiles = n_tiles(s);
constexpr s32 kXBytes = bytes_of(s.x), kOfLoad = s.x_access / kXBytes;  // numbers
constexpr s32 kPerRow = kBk / kOfLoad;                                  // loads of a row
constexpr s32 kAEach = ceil_div_s32(kBm * kPerRow, kThreads);           // of a thread for one stage
constexpr s32 kRowStep = kThreads / kPerRow;                            // rows between two of them
constexpr s32 kBChunks = b_bytes(s) / 16;
constexpr s32 kStageBytes = stage_bytes(s);
static_assert(kThreads % kPerRow == 0, "loads of a thread are of one k");

struct Pixel {
  const u8* image;
  s32 h, w;  // of the first tap
};

__device__ __forceinline__ Pixel pixel_of(const u8* x, s32 m) {
  const s32 n = m / (w.out_h * w.out_w), rest = m % (w.out_h * w.out_w);
  Pixel pixel;
  pixel.image = x + (s64)n * s.at.x.image * kXBytes;
  pixel.h = rest / w.out_w * w.stride_h - w.pad_top;
  pixel.w = rest % w.out_w * w.stride_w - w.pad_left;
  return pixel;
}

// What lies outside the image.
constexpr u32 kPadding = is_code(s.x) ? (w.zero_point & 255) * 0x01010101u : 0;

__device__ __forceinline__ void load_a(u8* stage, const Pixel* pixels, s32 m0, s32 pixel_count, s32 k_tile) {
  const s32 first = threadIdx.x % kPerRow * kOfLoad, k = k_tile * kBk + first;
  const s32 tap = k / w.cin, c = k % w.cin;
  const s32 dh = tap / w.taps_w * w.dilation_h, dw = tap % w.taps_w * w.dilation_w;
#pragma unroll
  for (s32 i = 0; i < kAEach; ++i) {
    const s32 row = threadIdx.x / kPerRow + i * kRowStep;
    if (kBm % kRowStep != 0 && row >= kBm) break;
    const s32 h = pixels[i].h + dh, x = pixels[i].w + dw;
    u8* to = stage + step_place(row, first / kStep, s.x) + first % kStep * kXBytes;
    const bool inside = k < k_all(s) && m0 + row < pixel_count && (u32)h < (u32)w.in_h && (u32)x < (u32)w.in_w;
    const u8* from = pixels[i].image + ((s64)h * s.at.x.row + (s64)x * s.at.x.pixel + c) * kXBytes;
    if constexpr (s.x_access >= 4) {
      if (inside) {
        copy_async<s.x_access>(to, from);
      } else {
#pragma unroll
        for (s32 b = 0; b < s.x_access; b += 4) *(u32*)(to + b) = kPadding;
      }
    } else if constexpr (s.x_access == 2) {
      *(u16*)to = inside ? *(const u16*)from : (u16)kPadding;
    } else {
      *to = inside ? *from : (u8)kPadding;
    }
  }
}

__device__ __forceinline__ void load_b(u8* stage, const u8* weights, s32 k_tile) {
  const u8* from = weights + (s64)k_tile * b_bytes(s);
#pragma unroll
  for (s32 i = 0; i < ceil_div_s32(kBChunks, kThreads); ++i) {
    const s32 chunk = threadIdx.x + i * kThreads;
    if (kBChunks % kThreads == 0 || chunk < kBChunks) copy_async<16>(stage + chunk * 16, from + chunk * 16);
  }
}

// Four neighbours of k: words of terms. `odd` gets bits where one is infinite or NaN, whose terms are none.
struct Terms {
  u32 at[s.x_terms][2];
};

__device__ __forceinline__ void split(const f32 (&from)[4], Terms& to, u32& odd) {
  f32 left[4];
#pragma unroll
  for (s32 e = 0; e < 4; ++e) {
    left[e] = from[e];
    if (s.x_terms > 1 && has_no_terms(from[e])) odd = 1;
  }
#pragma unroll
  for (s32 t = 0; t < s.x_terms; ++t) {
    if constexpr (s.f16) {
      to.at[t][0] = pair_of_f16(left[0], left[1]);
      to.at[t][1] = pair_of_f16(left[2], left[3]);
    } else {
      to.at[t][0] = upper_halves(left[0], left[1]);
      to.at[t][1] = upper_halves(left[2], left[3]);
    }
    if (t + 1 < s.x_terms) {
#pragma unroll
      for (s32 e = 0; e < 4; ++e) left[e] = without_upper_half(left[e]);
    }
  }
}

// bf16 holds codes, and sums are scaled; of f16 the terms are what the layer reads, the real rounded.
__device__ __forceinline__ f32 code_real(u32 word, s32 e) {
  const u8 code = (u8)(word >> (8 * e));
  const f32 real = s.x == Number::s8 ? centered((s8)code, w.zero_point) : centered(code, w.zero_point);
  return s.f16 ? f32_mul(real, value_of(s.end.x_scale)) : real;
}

__device__ __forceinline__ void read_terms(const u8* a, s32 row, s32 step, s32 q, Terms& to, u32& odd) {
  const u8* from = a + step_place(row, step, s.x) + 4 * q * kXBytes;
  if constexpr (s.x == Number::f32) {
    const float4 four = *(const float4*)from;
    const f32 reals[4] = {four.x, four.y, four.z, four.w};
    split(reals, to, odd);
  } else if constexpr (is_code(s.x)) {
    const u32 word = *(const u32*)from;
    const f32 reals[4] = {code_real(word, 0), code_real(word, 1), code_real(word, 2), code_real(word, 3)};
    split(reals, to, odd);
  } else {
    const uint2 two = *(const uint2*)from;
    to.at[0][0] = two.x, to.at[0][1] = two.y;
  }
}

__device__ __forceinline__ void multiply(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (s.f16) {
    mma_f16(d, a, b);
  } else {
    mma_bf16(d, a, b);
  }
}

__device__ __forceinline__ void multiply_stage(f32 (&acc)[s.tiles_m][s.tiles_n][4], const u8* a, const u8* b, s32 warp_m, s32 warp_n, u32& odd) {
  const s32 lane = threadIdx.x % 32;
  constexpr s32 kLast = s.x_terms > s.w_terms ? s.x_terms - 1 : s.w_terms - 1;  // of the products of terms i and j, i + j
#pragma unroll
  for (s32 step = 0; step < kBk / kStep; ++step) {
    u32 fa[s.tiles_m][s.x_terms][4];
#pragma unroll
    for (s32 i = 0; i < s.tiles_m; ++i) {
#pragma unroll
      for (s32 half = 0; half < 2; ++half) {
        Terms terms;
        read_terms(a, (warp_m * s.tiles_m + i) * 16 + half * 8 + lane / 4, step, lane % 4, terms, odd);
#pragma unroll
        for (s32 t = 0; t < s.x_terms; ++t) fa[i][t][half] = terms.at[t][0], fa[i][t][half + 2] = terms.at[t][1];
      }
    }
#pragma unroll
    for (s32 j = 0; j < s.tiles_n; j += 2) {
      uint4 words[s.w_terms];
      const s32 pair = (warp_n * s.tiles_n + j) / 2;
#pragma unroll
      for (s32 t = 0; t < s.w_terms; ++t) words[t] = ((const uint4*)b)[((step * (kBn / 16) + pair) * s.w_terms + t) * 32 + lane];
      // The smallest products first.
#pragma unroll
      for (s32 sum = kLast; sum >= 0; --sum) {
#pragma unroll
        for (s32 t = 0; t < s.x_terms; ++t) {
          if (sum - t < 0 || sum - t >= s.w_terms) continue;
          const uint4 word = words[sum - t];
          const u32 left[2] = {word.x, word.y}, right[2] = {word.z, word.w};
#pragma unroll
          for (s32 i = 0; i < s.tiles_m; ++i) {
            multiply(acc[i][j], fa[i][t], left);
            multiply(acc[i][j + 1], fa[i][t], right);
          }
        }
      }
    }
  }
}

struct Place {
  s32 n, h, w;
  __device__ __forceinline__ s64 in(PixelStrides by) const { return (s64)n * by.image + (s64)h * by.row + (s64)w * by.pixel; }
};

struct PixelPlace {
  s64 y, residual;
  __device__ __forceinline__ explicit PixelPlace(s32 m) {
    const s32 n = m / (w.out_h * w.out_w), rest = m % (w.out_h * w.out_w);
    const Place place = {n, rest / w.out_w, rest % w.out_w};
    const s32 c0 = blockIdx.x / kNTiles % w.groups * w.cout;
    y = place.in(s.at.y) + c0, residual = place.in(s.at.residual) + c0;
  }
};

// `kCount` neighbouring channels of the group from `c` on.
template <s32 kCount>
__device__ __forceinline__ void store(const Params& p, const PixelPlace& at, s32 c, f32 (&sums)[kCount]) {
  if constexpr (is_code(s.x) && !s.f16) {
#pragma unroll
    for (s32 e = 0; e < kCount; ++e) sums[e] = f32_mul(sums[e], value_of(s.end.x_scale));
  }
  End::store<kCount>(p.end, blockIdx.x / kNTiles % w.groups * w.cout + c, at.y + c, at.residual + c, sums);
}

// A thread owns 2 * tiles_n neighbouring channels of a pixel: channel_of_column().
__device__ __forceinline__ void store_row(const Params& p, s32 m, s32 channel, const f32 (&acc)[s.tiles_m][s.tiles_n][4], s32 tile, s32 half) {
  const PixelPlace at(m);
#pragma unroll
  for (s32 v = 0; v < 2 * s.tiles_n; v += s.y_access) {
    if (channel + v >= w.cout) return;
    f32 sums[s.y_access];
#pragma unroll
    for (s32 e = 0; e < s.y_access; ++e) sums[e] = acc[tile][(v + e) / 2][2 * half + (v + e) % 2];
    store<s.y_access>(p, at, channel + v, sums);
  }
}

// A sum without terms.
__device__ __forceinline__ f32 serial_sum(const Params& p, s32 m, s32 group, s32 block, s32 column) {
  const Pixel pixel = pixel_of((const u8*)p.x, m);
  f32 sum = 0.0f;
#pragma unroll 1
  for (s32 k = 0; k < k_all(s); ++k) {
    const s32 tap = k / w.cin, c = group * w.cin + k % w.cin;
    const s32 h = pixel.h + tap / w.taps_w * w.dilation_h, x = pixel.w + tap % w.taps_w * w.dilation_w;
    const bool inside = (u32)h < (u32)w.in_h && (u32)x < (u32)w.in_w;
    const f32 own = inside ? ((const f32*)pixel.image)[(s64)h * s.at.x.row + (s64)x * s.at.x.pixel + c] : 0.0f;
    f32 weight = 0.0f;
    for (s32 t = s.w_terms - 1; t >= 0; --t) weight = f32_add(weight, real_of_bf16(p.weights[weight_place(s, {group, block, k, column, t})]));
    sum = f32_fma(own, weight, sum);
  }
  return sum;
}

// A block that meets an infinity or NaN in x, of which terms would make NaN: once more, from x itself.
__device__ __noinline__ void store_serial_sums(const Params& p, s32 m0, s32 group, s32 block) {
  for (s32 i = threadIdx.x; i < kBm * kBn; i += kThreads) {
    const s32 m = m0 + i / kBn, column = i % kBn, channel = block * kBn + channel_of_column(column, s.tiles_n);
    if (m >= p.pixels || channel >= w.cout) continue;
    f32 sum[1] = {serial_sum(p, m, group, block, column)};
    store<1>(p, PixelPlace(m), channel, sum);
  }
}

extern __shared__ __align__(128) u8 shared_memory[];

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const s32 warp_m = warp % s.warps_m, warp_n = warp / s.warps_m;
  const s32 block = blockIdx.x % kNTiles, group = blockIdx.x / kNTiles % w.groups;
  const s32 m0 = blockIdx.x / (kNTiles * w.groups) * kBm;
  const u8* weights = (const u8*)p.weights + (s64)(group * kNTiles + block) * kKTiles * b_bytes(s);
  const u8* x = (const u8*)p.x + group * w.cin * kXBytes;
  Pixel pixels[kAEach];
#pragma unroll
  for (s32 i = 0; i < kAEach; ++i) pixels[i] = pixel_of(x, m0 + threadIdx.x / kPerRow + i * kRowStep);
  f32 acc[s.tiles_m][s.tiles_n][4] = {};
  u32 odd = 0;
#pragma unroll
  for (s32 stage = 0; stage < s.stages - 1; ++stage) {
    if (stage < kKTiles) {
      load_a(shared_memory + stage * kStageBytes, pixels, m0, p.pixels, stage);
      load_b(shared_memory + stage * kStageBytes + a_bytes(s), weights, stage);
    }
    copy_async_commit();
  }
  for (s32 k_tile = 0; k_tile < kKTiles; ++k_tile) {
    copy_async_wait<s.stages - 2>();
    __syncthreads();
    const s32 next = k_tile + s.stages - 1;
    if (next < kKTiles) {
      u8* stage = shared_memory + next % s.stages * kStageBytes;
      load_a(stage, pixels, m0, p.pixels, next);
      load_b(stage + a_bytes(s), weights, next);
    }
    copy_async_commit();
    const u8* a = shared_memory + k_tile % s.stages * kStageBytes;
    if constexpr (is_promoted(s)) {
      f32 part[s.tiles_m][s.tiles_n][4] = {};
      multiply_stage(part, a, a + a_bytes(s), warp_m, warp_n, odd);
#pragma unroll
      for (s32 i = 0; i < s.tiles_m; ++i)
#pragma unroll
        for (s32 j = 0; j < s.tiles_n; ++j)
#pragma unroll
          for (s32 e = 0; e < 4; ++e) acc[i][j][e] = f32_add(acc[i][j][e], part[i][j][e]);
    } else {
      multiply_stage(acc, a, a + a_bytes(s), warp_m, warp_n, odd);
    }
  }
  const s32 column = warp_n * s.tiles_n * 8, channel = block * kBn + column + lane % 4 * 2 * s.tiles_n;
  if constexpr (s.x_terms > 1) {
    if (__syncthreads_or((s32)odd)) return store_serial_sums(p, m0, group, block);
  }
#pragma unroll
  for (s32 i = 0; i < s.tiles_m; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) {
      const s32 m = m0 + (warp_m * s.tiles_m + i) * 16 + half * 8 + lane / 4;
      if (m < p.pixels) store_row(p, m, channel, acc, i, half);
    }
}
