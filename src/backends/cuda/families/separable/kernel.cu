// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution of codes with the 1x1 convolution before it (expand), the one behind it (project), or both; or, behind it, a maximum of
// 2x2 pixels. What passes between the nodes stays in shared memory.
//
// In front of the window channels lie apart, four neighbouring pixels of one in a word, so that a word meets four taps in one
// instruction and a thread's products of four pixels (two fragments) are such words. Behind it a pixel's channels lie together, as
// mma.sync wants them.
#include "backends/cuda/families/separable/operands.cuh"

constexpr s32 kKSteps = kKBytes / kStep;
constexpr bool kKeepsWeights = kKSteps * kGroups <= 4;  // in registers, for all quads

// Of 16 * kGroups channels from one on: weights of a step of k, and of a lane's channels biases and multipliers.
__device__ __forceinline__ void load_weights(u32 (&weights)[kGroups][4], s32 channel, s32 step) {
  const s32 lane = threadIdx.x % 32;
  const u8* from = shared_memory + kOffExpand + (channel + lane / 16 * 8 + lane % 8) * kKPitch + lane / 8 % 2 * 16 + step * 32;
#pragma unroll
  for (s32 g = 0; g < kGroups; ++g) ldmatrix4(weights[g], from + g * 16 * kKPitch);
}

struct ExpandEnds {
  s32 bias[kGroups][4];
  f32 multiplier[kGroups][4];
  __device__ __forceinline__ explicit ExpandEnds(s32 channel) {
    const uint4* from = (const uint4*)(shared_memory + kOffExpandEnds) + channel / 2 + threadIdx.x % 4 * 2;
#pragma unroll
    for (s32 g = 0; g < kGroups; ++g) {
      *(uint4*)bias[g] = from[8 * g];
      *(uint4*)multiplier[g] = from[8 * g + 1];
    }
  }
};

// Eight quads by 16 * kGroups channels.
__device__ __forceinline__ void multiply_x(s32 (&acc)[2][2 * kGroups][4], const u32 (&kept)[kKeepsWeights ? kKSteps : 1][kGroups][4], s32 unit, s32 channel) {
  const s32 lane = threadIdx.x % 32;
  const u8* a = shared_memory + kOffX + (lane / 8 % 2 * 8 * kInUnits + unit * 8 + lane % 8) * kKPitch + lane / 16 * 16;
#pragma unroll
  for (s32 k = 0; k < kKSteps; ++k) {
    u32 fa[2][4], loaded[kGroups][4];
    ldmatrix4(fa[0], a + k * 32);
    ldmatrix4(fa[1], a + 16 * kInUnits * kKPitch + k * 32);
    if (!kKeepsWeights) load_weights(loaded, channel, k);
#pragma unroll
    for (s32 i = 0; i < 4 * kGroups; ++i) {
      const u32* four = kKeepsWeights ? kept[kKeepsWeights ? k : 0][i / 4] : loaded[i / 4];
      const u32 fb[2] = {four[i % 2 * 2], four[i % 2 * 2 + 1]};
      multiply_codes<s.x_signed>(acc[i / 2 % 2][i / 4 * 2 + i % 2], fa[i / 2 % 2], fb);
    }
  }
}

__device__ __forceinline__ void store_planes(u32* planes, s32 quad, const s32 (&acc)[2][2 * kGroups][4], const ExpandEnds& ends) {
  const u8 nothing[4] = {};
  if (quad >= kInQuads) return;
  const u32 bytes = ((const u32*)(shared_memory + kOffInside))[quad], outside = (s.zero_point & 255) * 0x01010101u & ~bytes;
#pragma unroll
  for (s32 i = 0; i < 4 * kGroups; ++i) {
    const s32 g = i / 4, e = i % 4;
    f32 t[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) t[j] = ExpandEnd::scaled_real(sum_real<s.short_expand>(acc[j / 2][2 * g + e / 2][j % 2 * 2 + e % 2]), ends.multiplier[g][e], 0.0f);
    planes[(16 * g + e) * kPlane + quad] = (ExpandEnd::product_codes(t, shared_memory + kOffTables, nothing) & bytes) | outside;
  }
}

// A warp's share of all units of eight quads and of 16 * kGroups channels, in this order.
__device__ __forceinline__ void expand_slice(s32 slice) {
  const s32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  s32 unit = warp;
#pragma unroll 1
  for (s32 first = 0; first < kSlice && slice * kSlice + first < z.channels; first += 16 * kGroups, unit -= kInUnits) {
    const s32 channel = slice * kSlice + first;
    const ExpandEnds ends(channel);
    u32 kept[kKeepsWeights ? kKSteps : 1][kGroups][4];
    if (kKeepsWeights) {
#pragma unroll
      for (s32 k = 0; k < kKSteps; ++k) load_weights(kept[kKeepsWeights ? k : 0], channel, k);
    }
    u32* planes = (u32*)(shared_memory + kOffPlanes) + (first + lane % 4 * 4) * kPlane;
    for (; unit < kInUnits; unit += kWarps) {
      s32 acc[2][2 * kGroups][4];
#pragma unroll
      for (s32 i = 0; i < 16 * kGroups; ++i)
        acc[i / (8 * kGroups)][i / 4 % (2 * kGroups)][i % 4] = ends.bias[i / 8 % kGroups][i / 4 % 2 * 2 + i % 2];
      multiply_x(acc, kept, unit, channel);
      store_planes(planes, unit * 8 + lane / 4, acc, ends);
    }
  }
}

// Sixteen channels of four neighbouring pixels at a time.
__device__ __forceinline__ void turn_slice(s32 slice) {
  for (s32 i = threadIdx.x; i < kInQuads * (kSlice / 16); i += kThreads) {
    const s32 quad = i % kInQuads, c = i / kInQuads * 16;
    if (slice * kSlice + c >= z.channels) break;
    const u8* from = shared_memory + kOffX + quad * kXPitch + c;
    u32* to = (u32*)(shared_memory + kOffPlanes) + c * kPlane + quad;
    u32 codes[4][4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) *(uint4*)codes[j] = *(const uint4*)(from + j * 8 * kInUnits * kXPitch);
#pragma unroll
    for (s32 v = 0; v < 4; ++v) {
      u32 turned[4];
      turn_bytes(turned, codes[0][v], codes[1][v], codes[2][v], codes[3][v]);
#pragma unroll
      for (s32 e = 0; e < 4; ++e) to[(4 * v + e) * kPlane] = turned[e];
    }
  }
}

// Four bytes from byte `at` of neighbouring words on.
__device__ __forceinline__ u32 bytes_at(const u32 (&words)[kSpan], s32 at) {
  return at % 4 == 0 ? words[at / 4] : __byte_perm(words[at / 4], words[at / 4 + 1], 0x3210u + at % 4 * 0x1111u);
}

// Codes of four neighbouring pixels in each of kRows rows. `plane`: of one channel, from the first pixel's window on.
__device__ __forceinline__ void window_of(u32 (&codes)[kRows], const u32* plane, s32 channel) {
  const u8 nothing[4] = {};
  const u32* taps = (const u32*)(shared_memory + kOffTaps) + channel * kTaps;
  u32 tap[kTaps];
#pragma unroll
  for (s32 i = 0; i < kTaps; i += 4) *(uint4*)(tap + i) = *(const uint4*)(taps + i);
  s32 acc[kRows][4];
#pragma unroll
  for (s32 i = 0; i < 4 * kRows; ++i) acc[i / 4][i % 4] = (s32)tap[z.taps_h * kWordsS];
#pragma unroll
  for (s32 i = 0; i < (kRows - 1) * z.stride_h + z.taps_h; ++i) {
    u32 words[kSpan];
#pragma unroll
    for (s32 k = 0; k < kSpan; ++k) words[k] = plane[i * kRowQuads + k];
#pragma unroll
    for (s32 j = 0; j < 4 * kWordsS; ++j) {
      const u32 pixels = bytes_at(words, j % 4 * z.stride_w + j / 4 * 4);
#pragma unroll
      for (s32 r = 0; r < z.taps_h; ++r) {
        const s32 from = i - r, row = from / z.stride_h;
        if (from < 0 || from % z.stride_h != 0 || row >= kRows) continue;
        acc[row][j % 4] = dot4(pixels, tap[r * kWordsS + j / 4], acc[row][j % 4]);
      }
    }
  }
  const f32 scale = ((const f32*)(shared_memory + kOffScales))[channel];
#pragma unroll
  for (s32 row = 0; row < kRows; ++row) {
    f32 t[4];
#pragma unroll
    for (s32 j = 0; j < 4; ++j) t[j] = WindowEnd::scaled_real(sum_real<s.short_window>(acc[row][j]), scale, 0.0f);
    codes[row] = WindowEnd::product_codes(t, shared_memory + kOffTables + s.sizes.table_bytes, nothing);
  }
}

// Row (4 * i + j) * kPlaces + place of the result: pixel j of row i of a thread's.
__device__ __forceinline__ void window_slice(s32 slice) {
  const u32* planes = (const u32*)(shared_memory + kOffPlanes);
  for (s32 i = threadIdx.x; i < kPlaces * (kSlice / 4); i += kThreads) {
    const s32 place = i / 4 % kPlaces, c = (i / (4 * kPlaces) * 4 + i % 4) * 4;
    if (slice * kSlice + c >= z.channels) break;
    const u32* plane = planes + c * kPlane + place / kQuads * kRows * z.stride_h * kRowQuads + place % kQuads * z.stride_w;
    u32 codes[4][kRows];
#pragma unroll
    for (s32 e = 0; e < 4; ++e) window_of(codes[e], plane + e * kPlane, slice * kSlice + c + e);
    u8* to = shared_memory + kOffA + place * kAPitch + c;
#pragma unroll
    for (s32 row = 0; row < kRows; ++row) {
      u32 turned[4];
      turn_bytes(turned, codes[0][row], codes[1][row], codes[2][row], codes[3][row]);
#pragma unroll
      for (s32 j = 0; j < 4; ++j) *(u32*)(to + (4 * row + j) * kPlaces * kAPitch) = turned[j];
    }
  }
}

// The first of a thread's 2 * kTilesN neighbouring channels.
__device__ __forceinline__ s32 own_channel() { return (threadIdx.x / 32 / kWarpsM * kTilesN * 4 + threadIdx.x % 4 * kTilesN) * 2; }

__device__ __forceinline__ void begin_with_biases(s32 (&acc)[kTilesM][kTilesN][4]) {
  const s32* biases = (const s32*)(shared_memory + kOffProjectEnds) + own_channel();
#pragma unroll
  for (s32 i = 0; i < kTilesM * kTilesN * 4; ++i) acc[i / 4 / kTilesN][i / 4 % kTilesN][i % 4] = biases[i / 4 % kTilesN * 2 + i % 2];
}

__device__ __forceinline__ void multiply_slice(s32 (&acc)[kTilesM][kTilesN][4], s32 slice) {
  const s32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u8* a = shared_memory + kOffA + (warp % kWarpsM * kTilesM * 16 + lane % 16) * kAPitch + lane / 16 * 16;
  const u8* b = shared_memory + kOffProject + (warp / kWarpsM * kTilesN * 8 + lane / 16 * 8 + lane % 8) * kPPitch +
                slice * kABytes + lane / 8 % 2 * 16;
#pragma unroll
  for (s32 k = 0; k < kABytes; k += 32) {
    u32 fa[kTilesM][4];
#pragma unroll
    for (s32 i = 0; i < kTilesM; ++i) ldmatrix4(fa[i], a + i * 16 * kAPitch + k);
#pragma unroll
    for (s32 j = 0; j < kTilesN; j += 2) {
      u32 four[4];
      ldmatrix4(four, b + j * 8 * kPPitch + k);
      const u32 fb[2][2] = {{four[0], four[1]}, {four[2], four[3]}};
#pragma unroll
      for (s32 i = 0; i < 2 * kTilesM; ++i) multiply_codes<s.result_signed>(acc[i / 2][j + i % 2], fa[i / 2], fb[i % 2]);
    }
  }
}

constexpr s32 kOwnRows = 2 * kTilesM;  // of the result, of a thread
constexpr bool kWholeTiles = z.out_h % kHeight == 0 && z.out_w % kWidth == 0 && 16 * kTilesM * kWarpsM == kHeight * kWidth;

__device__ __forceinline__ s64 offset_of(PixelStrides by, const Area& area) {
  return (s64)area.n * by.image + (s64)area.h * by.row + (s64)area.w * by.pixel;
}

// Rows and columns of a thread's pixels in the tile, in the halves of a word; those of no pixel lie outside every image.
__device__ __forceinline__ void find_places(u32 (&places)[kOwnRows]) {
  const s32 first = threadIdx.x / 32 % kWarpsM * kTilesM * 16 + threadIdx.x % 32 / 4;
#pragma unroll
  for (s32 i = 0; i < kOwnRows; ++i) {
    const s32 m = first + i * 8, place = m % kPlaces, h = place / kQuads * kRows + m / (4 * kPlaces), w = place % kQuads * 4 + m / kPlaces % 4;
    places[i] = m < kHeight * kWidth ? (u32)h << 16 | w : 0x7fff0000u;
  }
}

// A thread's channels of one pixel, which lies `h` rows and `w` columns from the tile's first.
__device__ __forceinline__ void finish_row(const EpilogueParams& p, const Area& area, s32 h, s32 w, const s32 (&acc)[kTilesN][4], s32 half) {
  const s32 channel = own_channel();
  const f32* multiplier = (const f32*)(shared_memory + kOffProjectEnds) + kOutputs;
  u8* to = p.out + offset_of(s.y, area) + offset_in_tile(s.y, h, w);
#pragma unroll
  for (s32 v = 0; v < 2 * kTilesN; v += s.y_access) {
    const s32 c = channel + v;
    if (kOutputs != z.y_channels && c >= z.y_channels) return;
    u32 residual[kStoredWords] = {};
    u8 addend[4 * kStoredWords] = {};
    if constexpr (s.project_end.residual)
      load_codes<s.y_access>((u8*)residual, p.residual + offset_of(s.residual, area) + offset_in_tile(s.residual, h, w) + c);
    if constexpr (s.project_end.sum)
      load_codes<s.y_access>(addend, p.addend + offset_of(s.addend, area) + offset_in_tile(s.addend, h, w) + c);
    u32 codes[kStoredWords];
#pragma unroll
    for (s32 e = 0; e < s.y_access; e += 4) {
      f32 t[4] = {};
#pragma unroll
      for (s32 i = e; i < e + 4 && i < s.y_access; ++i)
        t[i - e] = ProjectEnd::scaled_real(sum_real<s.short_project>(acc[(v + i) / 2][2 * half + (v + i) % 2]), multiplier[c + i],
                                        ProjectEnd::residual_real(residual[e / 4], i - e));
      codes[e / 4] = ProjectEnd::product_codes(t, shared_memory + kOffTables + 2 * s.sizes.table_bytes, addend + e);
    }
    store_codes<s.y_access>(to + c, (const u8*)codes);
  }
}

__device__ __forceinline__ void finish(const EpilogueParams& p, const Area& area, const u32 (&places)[kOwnRows], const s32 (&acc)[kTilesM][kTilesN][4]) {
#pragma unroll
  for (s32 i = 0; i < kOwnRows; ++i) {
    const s32 h = (s32)(places[i] >> 16), w = (s32)(places[i] & 0xffff);
    if (kWholeTiles || (area.h + h < z.out_h && area.w + w < z.out_w)) finish_row(p, area, h, w, acc[i / 2], i % 2);
  }
}

__device__ __forceinline__ void result_at(u32 (&codes)[kStoredWords], s32 row, s32 column, s32 c) {
  const s32 m = (row % kRows * 4 + column % 4) * kPlaces + row / kRows * kQuads + column / 4;
  load_codes<s.y_access>((u8*)codes, shared_memory + kOffA + m * kAPitch + c);
}

__device__ __forceinline__ void store_slice(const EpilogueParams& p, const Area& area, s32 slice) {
  for (s32 i = threadIdx.x; i < kHeight / z.pool * (kWidth / z.pool) * (kSlice / s.y_access); i += kThreads) {
    const s32 c = i % (kSlice / s.y_access) * s.y_access, pixel = i / (kSlice / s.y_access);
    const s32 row = pixel / (kWidth / z.pool), column = pixel % (kWidth / z.pool);
    const s32 h = area.h / z.pool + row, w = area.w / z.pool + column;
    if (slice * kSlice + c >= z.channels || h >= z.out_h / z.pool || w >= z.out_w / z.pool) continue;
    u32 codes[kStoredWords] = {};
    result_at(codes, z.pool * row, z.pool * column, c);
#pragma unroll
    for (s32 other = 1; other < z.pool * z.pool; ++other) {
      u32 more[kStoredWords] = {};
      result_at(more, z.pool * row + other / z.pool, z.pool * column + other % z.pool, c);
#pragma unroll
      for (s32 v = 0; v < kStoredWords; ++v) codes[v] = larger_codes<s.result_signed>(codes[v], more[v]);
    }
    store_codes<s.y_access>(p.out + (s64)area.n * s.y.image + (s64)h * s.y.row + (s64)w * s.y.pixel + slice * kSlice + c, (const u8*)codes);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, s.tile.blocks) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  load_kept(p.kept);
  wait_for_predecessor();
  load_x(p.x, Area(blockIdx.x), 0);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
  u32 places[kOwnRows];
  if constexpr (kProject) find_places(places);
  for (s32 index = blockIdx.x; index < kAllTiles; index += gridDim.x) {
    const Area area(index);
    s32 acc[kTilesM][kTilesN][4];
    if constexpr (kProject) begin_with_biases(acc);
#pragma unroll 1
    for (s32 slice = 0; slice < kSlices; ++slice) {
      if constexpr (kExpand) {
        expand_slice(slice);
      } else {
        turn_slice(slice);
      }
      __syncthreads();
      // What is filled from next arrives behind the window's products.
      const bool last = slice + 1 == kSlices;
      if (last ? index + gridDim.x < kAllTiles : !kExpand) load_x(p.x, Area(last ? index + gridDim.x : index), last ? 0 : slice + 1);
      copy_async_commit();
      window_slice(slice);
      copy_async_wait<0>();
      __syncthreads();
      if constexpr (kProject) {
        multiply_slice(acc, slice);
      } else {
        store_slice(p.end, area, slice);
      }
    }
    if constexpr (kProject) finish(p.end, area, places, acc);
  }
}
