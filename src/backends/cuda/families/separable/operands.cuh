// SPDX-License-Identifier: Apache-2.0
// What a block knows of its work, and how weights and pixels come into shared memory.
#pragma once

#include "backends/cuda/device/epilogue.cuh"
#include "backends/cuda/device/larger.cuh"

using namespace octet::cuda;
using namespace octet::cuda::separable;

constexpr Spec s = Made::spec();
SEPARABLE_RULES(OCTET_RULE_ASSERT)

using ExpandEnd = Epilogue<PartOf<Made, &Spec::expand_end>>;
using WindowEnd = Epilogue<PartOf<Made, &Spec::window_end>>;
using ProjectEnd = Epilogue<PartOf<Made, &Spec::project_end>>;

constexpr Sizes z = s.sizes;
constexpr Memory m = memory(s.sizes, s.tile);
constexpr bool kExpand = z.expand, kProject = z.project;
constexpr s32 kHeight = s.tile.height, kWidth = s.tile.width, kRows = s.tile.rows, kSlice = s.tile.slice;
constexpr s32 kWarpsM = s.tile.warps_m, kTilesM = s.tile.tiles_m, kTilesN = s.tile.tiles_n, kThreads = threads(s.tile), kWarps = kThreads / 32;
constexpr s32 kQuads = quads(s.tile), kPlaces = places(s.tile), kGroups = groups(s.tile), kOutputs = outputs(s.tile), kWordsS = tap_words(z);
constexpr s32 kColumnTiles = column_tiles(z, s.tile), kRowTiles = row_tiles(z, s.tile), kAllTiles = (s32)tiles(z, s.tile);
constexpr s32 kInQuads = (s32)m.in_quads, kInUnits = (s32)m.in_units, kRowQuads = (s32)m.row_quads, kSpan = (s32)m.span, kPlane = (s32)m.plane;
constexpr s32 kSlices = (s32)m.slices, kTaps = (s32)m.taps, kXWidth = kExpand ? z.x_channels : kSlice;  // channels of x that are loaded at once
constexpr s32 kKBytes = (s32)m.k_bytes, kKPitch = (s32)m.k_pitch, kXPitch = (s32)m.x_pitch, kABytes = (s32)m.a_bytes, kAPitch = (s32)m.a_pitch;
constexpr s32 kPPitch = (s32)m.p_pitch, kKept = (s32)m.kept;
constexpr s32 kOffExpand = 0, kOffExpandEnds = (s32)m.expand_ends, kOffTaps = (s32)m.taps_at, kOffScales = (s32)m.scales;
constexpr s32 kOffProject = (s32)m.project, kOffProjectEnds = (s32)m.project_ends, kOffTables = (s32)m.tables;
constexpr s32 kOffX = (s32)m.x, kOffInside = (s32)m.inside, kOffPlanes = (s32)m.planes, kOffA = (s32)m.a;
constexpr s32 kStoredWords = s.y_access < 4 ? 1 : s.y_access / 4;

extern __shared__ __align__(128) u8 shared_memory[];

__device__ __forceinline__ s32 dot4(u32 pixels, u32 taps, s32 sum) {
  return s.window_signed ? dot4_s8s8(pixels, taps, sum) : dot4_u8s8(pixels, taps, sum);
}
template <bool kSigned>
__device__ __forceinline__ void multiply_codes(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (kSigned) {
    mma_s8s8(d, a, b);
  } else {
    mma_u8s8(d, a, b);
  }
}

// A sum as a real. Where all are shorter than 23 bits biases begin with the bits of 1.5 * 2^23, so that those of a sum are a real's:
// conversions are slow, additions are not.
template <bool kShort>
__device__ __forceinline__ f32 sum_real(s32 acc) {
  return kShort ? f32_add(f32_bits((u32)acc), -0x1.8p+23f) : f32_of(acc);
}

// What a block has of y: its image, and its first pixel in y.
struct Area {
  s32 n, h, w;
  __device__ __forceinline__ explicit Area(s32 index)
      : n(index / (kRowTiles * kColumnTiles)), h(index / kColumnTiles % kRowTiles * kHeight), w(index % kColumnTiles * kWidth) {}
  // The first pixel of four in x, of a quad of the tile's input.
  __device__ __forceinline__ s32 row_of(s32 quad) const { return h * z.stride_h - z.pad_top + quad / kRowQuads; }
  __device__ __forceinline__ s32 column_of(s32 quad) const { return w * z.stride_w - z.pad_left + quad % kRowQuads * 4; }
};

__device__ __forceinline__ void load_kept(const u8* from) {
  for (s32 i = threadIdx.x * 16; i < kKept; i += kThreads * 16) copy_async16(shared_memory + i, from + i);
}

// For the window a pixel outside the image is the zero point. For each quad 255 in the bytes of pixels inside.
__device__ __forceinline__ void mark_inside(const Area& area) {
  for (s32 quad = threadIdx.x; quad < kInQuads; quad += kThreads) {
    const s32 h = area.row_of(quad), w = area.column_of(quad);
    u32 bytes = 0;
#pragma unroll
    for (s32 j = 0; j < 4; ++j)
      if ((u32)h < (u32)z.in_h && (u32)(w + j) < (u32)z.in_w) bytes |= 255u << (8 * j);
    ((u32*)(shared_memory + kOffInside))[quad] = bytes;
  }
}

// Of a pixel `h` rows and `w` columns further in a tile.
__device__ __forceinline__ s64 offset_in_tile(PixelStrides by, s32 h, s32 w) {
  if (by.row <= 0x7fffffff / 2 / kHeight && by.pixel <= 0x7fffffff / 2 / kWidth) return h * (s32)by.row + w * (s32)by.pixel;
  return h * by.row + w * by.pixel;
}

// What a slice begins with: of kExpand all channels of x, else those of the slice, the zero point outside the image. Row j * 8 * kInUnits + quad: pixel
// j of four.
__device__ __forceinline__ void load_x(const u8* x, const Area& area, s32 slice) {
  if constexpr (kExpand) mark_inside(area);
  const s32 first = kExpand ? 0 : slice * kSlice;
  const u8* image = x + (s64)area.n * s.x.image + first;
  for (s32 i = threadIdx.x; i < kInQuads * (kXWidth / s.x_access); i += kThreads) {
    const s32 c = i % (kXWidth / s.x_access) * s.x_access, quad = i / (kXWidth / s.x_access), h = area.row_of(quad), w = area.column_of(quad);
    if (!kExpand && first + c >= z.channels) continue;
    const u8* from = image + (s64)h * s.x.row + (s64)w * s.x.pixel + c;
    u8* to = shared_memory + kOffX + quad * kXPitch + c;
#pragma unroll
    for (s32 j = 0; j < 4; ++j, to += 8 * kInUnits * kXPitch) {
      if ((u32)h < (u32)z.in_h && (u32)(w + j) < (u32)z.in_w) {
        copy_async<s.x_access>(to, from + offset_in_tile(s.x, 0, j));
      } else if (!kExpand) {
#pragma unroll
        for (s32 v = 0; v < s.x_access; v += 4) *(u32*)(to + v) = (s.zero_point & 255) * 0x01010101u;
      }
    }
  }
}
