// SPDX-License-Identifier: Apache-2.0
// A ResNet bottleneck of codes by mma.sync: 1x1 to at most 64 channels (reduce), 3x3 (spatial), 1x1 (expand) and what is added to it: x, or a 1x1 projection of x,
// or nothing. What passes between them stays in shared memory and registers.
//
// A block walks strips of rows down the images. The reduced rows of a strip, with one above and one below, lie in a ring in shared memory, of which the next
// strip needs two again. A warp multiplies 16 or 32 pixels of the strip by 64 channels at a time. Pixels come from memory as a thread owns their channels, and
// spatial ones are requantised in registers: both are first operands as they lie.
#include "backends/cuda/device/epilogue.cuh"

using namespace octet::cuda;
using namespace octet::cuda::bottleneck_mma;

constexpr Spec s = Made::spec();
BOTTLENECK_MMA_RULES(OCTET_RULE_ASSERT)

constexpr bool kProjects = s.shortcut == Shortcut::projection, kAddsX = s.shortcut == Shortcut::identity;
constexpr s32 kWidth = s.width, kHeight = s.height, kChunks = s.chunks, kGroups = groups(s), kStrip = s.strip, kM = s.tiles_m;
constexpr s32 kWarps = s.warps, kThreads = threads(s), kUnit = unit(s), kRingRows = ring_rows(s), kRingWidth = ring_width(s);
constexpr s32 kOffRing = memory(s).ring, kOffScales = memory(s).scales, kOffBiases = memory(s).biases;
constexpr s32 kSpatialTile = weight_tiles(s).spatial, kExpandTile = weight_tiles(s).expand, kProjectTile = weight_tiles(s).project;
constexpr s32 kStripsOfImage = strips_of_image(s), kStrips = strips(s);
constexpr u32 kBorder = (u32)(s.border & 255) * 0x01010101u;

extern __shared__ __align__(128) u8 shared_memory[];

using OwnReduce = PartOf<Made, &Spec::reduce>;
using OwnSpatial = PartOf<Made, &Spec::spatial>;
using OwnExpand = PartOf<Made, &Spec::expand>;
using OwnProject = PartOf<Made, &Spec::project>;

// Sums of a warp's pixels by 64 channels: of tile i, channels 16q + 2j and 16q + 2j + 1 (q = lane % 4) of pixels lane / 4 and 8 further.
typedef s32 Sums[kM][8][4];
// Codes of the same channels: words p are channels 16q + 4p to 16q + 4p + 3 of pixel `half`.
typedef u32 Codes[kM][2][4];

__device__ __forceinline__ s32 lane() { return threadIdx.x % 32; }

// Of 64 channels of an end.
__device__ __forceinline__ const uint4* of_end(s32 offset, s32 end) { return (const uint4*)(shared_memory + offset + end * 4 * kChannels) + lane() % 4; }

__device__ __forceinline__ void begin_sums(Sums& acc, s32 end) {
#pragma unroll
  for (s32 p = 0; p < 4; ++p) {
    const uint4 bias = of_end(kOffBiases, end)[4 * p];
#pragma unroll
    for (s32 i = 0; i < kM; ++i) {
      acc[i][2 * p][0] = acc[i][2 * p][2] = (s32)bias.x, acc[i][2 * p][1] = acc[i][2 * p][3] = (s32)bias.y;
      acc[i][2 * p + 1][0] = acc[i][2 * p + 1][2] = (s32)bias.z, acc[i][2 * p + 1][1] = acc[i][2 * p + 1][3] = (s32)bias.w;
    }
  }
}

template <bool kSigned>
__device__ __forceinline__ void multiply_codes(s32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (kSigned) {
    mma_s8s8(d, a, b);
  } else {
    mma_u8s8(d, a, b);
  }
}

// 32 bytes of k, the first or the second of a tile of weights.
template <bool kSigned>
__device__ __forceinline__ void multiply_step(Sums& acc, const u32 (&a)[kM][4], s32 tile, s32 kk) {
  const s32 row = lane() / 16 * 8 + lane() % 8, piece = 2 * kk + lane() / 8 % 2;
  const u8* b = shared_memory + tile * kTileBytes + row * kChannels + ((piece ^ (row / 2 % 4)) << 4);
#pragma unroll
  for (s32 j = 0; j < 8; j += 2) {
    u32 four[4];
    ldmatrix4(four, b + j * 8 * kChannels);
    const u32 fb[2][2] = {{four[0], four[1]}, {four[2], four[3]}};
#pragma unroll
    for (s32 i = 0; i < kM; ++i) {
      multiply_codes<kSigned>(acc[i][j], a[i], fb[0]);
      multiply_codes<kSigned>(acc[i][j + 1], a[i], fb[1]);
    }
  }
}
// 64 bytes of k from registers.
template <bool kSigned>
__device__ __forceinline__ void multiply(Sums& acc, const Codes& codes, s32 tile) {
#pragma unroll
  for (s32 kk = 0; kk < 2; ++kk) {
    u32 a[kM][4];
#pragma unroll
    for (s32 i = 0; i < kM; ++i)
      a[i][0] = codes[i][0][2 * kk], a[i][1] = codes[i][1][2 * kk], a[i][2] = codes[i][0][2 * kk + 1], a[i][3] = codes[i][1][2 * kk + 1];
    multiply_step<kSigned>(acc, a, tile, kk);
  }
}

template <bool kShort>
__device__ __forceinline__ f32 sum_real(s32 acc) {
  return kShort ? f32_add(f32_bits((u32)acc), -0x1.8p+23f) : f32_of(acc);
}

template <class Own, bool kShort>
__device__ __forceinline__ void finish(Codes& codes, const Sums& acc, s32 end, const Codes& shortcut) {
  using End = Epilogue<Own>;
#pragma unroll
  for (s32 p = 0; p < 4; ++p) {
    const uint4 scales = of_end(kOffScales, end)[4 * p];
    const u32 scale[4] = {scales.x, scales.y, scales.z, scales.w};
#pragma unroll
    for (s32 i = 0; i < kM; ++i)
#pragma unroll
      for (s32 half = 0; half < 2; ++half) {
        const u32 added = shortcut[i][half][p];
        f32 t[4];
#pragma unroll
        for (s32 e = 0; e < 4; ++e)
          t[e] = End::scaled_real(sum_real<kShort>(acc[i][2 * p + e / 2][2 * half + e % 2]), f32_bits(scale[e]), End::residual_real(added, e));
        codes[i][half][p] = End::product_codes(t, nullptr, (const u8*)&added);
      }
  }
}

// One of the two pixels of a tile that a thread has sums of.
struct Pixel {
  s32 row, column;  // of an image
  bool exists;
};
// Pixel `index` of `count` from the first of row `first`.
__device__ __forceinline__ Pixel pixel_of(s32 first, s32 index, s32 count) {
  Pixel pixel;
  pixel.row = first + index / kWidth, pixel.column = index % kWidth;
  pixel.exists = index < count && (u32)pixel.row < (u32)kHeight;
  return pixel;
}

// Channels 64 chunk + 16q to 64 chunk + 16q + 15 of a pixel of x, zeros where there are none.
__device__ __forceinline__ void load_pixel(u32 (&to)[4], const u8* image, const Pixel& pixel, s32 chunk) {
  const s32 channel = chunk * kChannels + lane() % 4 * 16;
  uint4 v = {0, 0, 0, 0};
  if (pixel.exists && (s.cin % kChannels == 0 || channel < s.cin))
    v = *(const uint4*)(image + pixel.row * s.x.row + pixel.column * s.x.pixel + channel);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_pixels(Codes& to, const u8* image, const Pixel (&pixels)[kM][2], s32 chunk) {
#pragma unroll
  for (s32 i = 0; i < kM; ++i)
#pragma unroll
    for (s32 half = 0; half < 2; ++half) load_pixel(to[i][half], image, pixels[i][half], chunk);
}

// The place of a reduced pixel in the ring: of row -1 to kHeight, of column -1 to kWidth.
__device__ __forceinline__ s32 place_of(s32 row, s32 column) { return (row + 1) % kRingRows * kRingWidth + column + 1; }
// Of 16 of its channels. Eight neighbouring pixels that are read at once meet no bank twice.
__device__ __forceinline__ u8* ring_at(s32 place, s32 piece) {
  return shared_memory + kOffRing + place * kChannels + ((piece ^ (place / 2 % 4)) << 4);
}

// `rows` reduced rows from `first` on; those outside the image are zero points.
__device__ __forceinline__ void reduce_rows(const u8* image, s32 first, s32 rows) {
  const s32 count = rows * kWidth;
#pragma unroll 1
  for (s32 unit = threadIdx.x / 32; unit * kUnit < count; unit += kWarps) {
    Pixel pixels[kM][2];
#pragma unroll
    for (s32 i = 0; i < 2 * kM; ++i) pixels[i / 2][i % 2] = pixel_of(first, unit * kUnit + i * 8 + lane() / 4, count);
    Codes x[2];
    load_pixels(x[0], image, pixels, 0);
    Sums acc;
    begin_sums(acc, 0);
#pragma unroll
    for (s32 c = 0; c < kChunks; ++c) {
      if (c + 1 < kChunks) load_pixels(x[(c + 1) % 2], image, pixels, c + 1);
      multiply<s.x_signed>(acc, x[c % 2], c);
    }
    Codes codes;
    finish<OwnReduce, s.short_reduce>(codes, acc, 0, Codes{});
#pragma unroll
    for (s32 i = 0; i < 2 * kM; ++i) {
      const Pixel& pixel = pixels[i / 2][i % 2];
      if (unit * kUnit + i * 8 + lane() / 4 >= count) continue;
      const u32(&own)[4] = codes[i / 2][i % 2];
      const uint4 border = {kBorder, kBorder, kBorder, kBorder}, inside = {own[0], own[1], own[2], own[3]};
      *(uint4*)ring_at(place_of(pixel.row, pixel.column), lane() % 4) = pixel.exists ? inside : border;
    }
  }
}

// The window's products of the pixels from `index` on, of a strip whose first row is `first`.
__device__ __forceinline__ void multiply_window(Sums& acc, s32 first, s32 index) {
  s32 places[kM][kTaps];  // of this lane's row of the first operand, of the window's left column
#pragma unroll
  for (s32 i = 0; i < kM; ++i) {
    const s32 asked = index + i * 16 + lane() % 16, own = asked < kStrip * kWidth ? asked : kStrip * kWidth - 1;
#pragma unroll
    for (s32 r = 0; r < kTaps; ++r) places[i][r] = place_of(first + own / kWidth + r - 1, own % kWidth - 1);
  }
#pragma unroll
  for (s32 tap = 0; tap < kTaps * kTaps; ++tap)
#pragma unroll
    for (s32 kk = 0; kk < 2; ++kk) {
      u32 a[kM][4];
#pragma unroll
      for (s32 i = 0; i < kM; ++i) ldmatrix4(a[i], ring_at(places[i][tap / kTaps] + tap % kTaps, 2 * kk + lane() / 16));
      multiply_step<s.reduced_signed>(acc, a, kSpatialTile + tap, kk);
    }
}

__device__ __forceinline__ void store_pixel(u8* to, const u32 (&codes)[4], s32 channel) {
#pragma unroll
  for (s32 v = 0; v < 16; v += s.y_access)
    if (s.cout % kChannels == 0 || channel + v < s.cout) store_codes<s.y_access>(to + channel + v, (const u8*)codes + v);
}

// y of the strip whose first row is `first`.
__device__ __forceinline__ void expand_rows(u8* out, const u8* image, s32 first) {
  constexpr s32 kCount = kStrip * kWidth;
#pragma unroll 1
  for (s32 unit = threadIdx.x / 32; unit * kUnit < kCount; unit += kWarps) {
    Sums acc;
    begin_sums(acc, 1);
    multiply_window(acc, first, unit * kUnit);
    Codes row;
    finish<OwnSpatial, s.short_spatial>(row, acc, 1, Codes{});
    Pixel pixels[kM][2];
#pragma unroll
    for (s32 i = 0; i < 2 * kM; ++i) pixels[i / 2][i % 2] = pixel_of(first, unit * kUnit + i * 8 + lane() / 4, kCount);
    Codes x[kProjects ? kChunks : 1];
    if constexpr (kProjects) {
#pragma unroll
      for (s32 c = 0; c < kChunks; ++c) load_pixels(x[c], image, pixels, c);
    }
#pragma unroll
    for (s32 g = 0; g < kGroups; ++g) {
      Codes shortcut = {}, y;
      if constexpr (kAddsX) load_pixels(shortcut, image, pixels, g);
      if constexpr (kProjects) {
        begin_sums(acc, 2 + kGroups + g);
#pragma unroll
        for (s32 c = 0; c < kChunks; ++c) multiply<s.x_signed>(acc, x[c], kProjectTile + g * kChunks + c);
        finish<OwnProject, s.short_project>(shortcut, acc, 2 + kGroups + g, Codes{});
      }
      begin_sums(acc, 2 + g);
      multiply<s.spatial_signed>(acc, row, kExpandTile + g);
      finish<OwnExpand, s.short_expand>(y, acc, 2 + g, shortcut);
#pragma unroll
      for (s32 i = 0; i < 2 * kM; ++i) {
        const Pixel& pixel = pixels[i / 2][i % 2];
        if (pixel.exists) store_pixel(out + pixel.row * s.y.row + pixel.column * s.y.pixel, y[i / 2][i % 2], g * kChannels + lane() % 4 * 16);
      }
    }
  }
}

// Weights, what ends need, and the border of the ring: all that depends on no predecessor.
__device__ __forceinline__ void prepare_block(const Params& p) {
  for (s32 i = threadIdx.x; i < kOffRing / 16; i += kThreads) copy_async16(shared_memory + 16 * i, p.weights + 16 * i);
  copy_async_commit();
  for (s32 i = threadIdx.x; i < ends(s) * kChannels; i += kThreads) {
    ((f32*)(shared_memory + kOffScales))[i] = p.scales[i];
    ((s32*)(shared_memory + kOffBiases))[i] = p.biases[i];
  }
  for (s32 i = threadIdx.x; i < kRingRows * 8; i += kThreads)
    *(uint4*)ring_at(i / 8 * kRingWidth + i / 4 % 2 * (kRingWidth - 1), i % 4) = uint4{kBorder, kBorder, kBorder, kBorder};
  copy_async_wait<0>();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  prepare_block(p);
  wait_for_predecessor();
  __syncthreads();
  const s32 begin = (s32)((s64)blockIdx.x * kStrips / gridDim.x), end = (s32)((s64)(blockIdx.x + 1) * kStrips / gridDim.x);
#pragma unroll 1
  for (s32 strip = begin; strip < end; ++strip) {
    const s32 n = strip / kStripsOfImage, first = strip % kStripsOfImage * kStrip;
    const u8* image = p.x + n * s.x.image;
    // Two rows are there from the strip above.
    const s32 kept = strip == begin || first == 0 ? 0 : kTaps - 1;
    reduce_rows(image, first - 1 + kept, kRingRows - kept);
    __syncthreads();
    expand_rows(p.out + n * s.y.image, image, first);
    __syncthreads();
  }
}
