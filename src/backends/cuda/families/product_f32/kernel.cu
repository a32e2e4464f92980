// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul of reals. A product of matrices whose rows are output pixels (of MatMul: rows, as pixels of a 1x1
// convolution) and whose columns are output channels; or, direct, a thread for each output in the reference's own order of additions,
// for groups of few channels.
#include "backends/cuda/device/window.cuh"

using namespace octet::cuda;
using namespace octet::cuda::product_f32;

constexpr Spec s = Made::spec();
PRODUCT_F32_RULES(OCTET_RULE_ASSERT)

using Windows = WindowOf<PartOf<Made, &Spec::window>, PartOf<Made, &Spec::x>>;
using OwnY = PartOf<Made, &Spec::y>;
using OwnResidual = PartOf<Made, &Spec::residual_at>;

constexpr s32 kTaps = taps(s.window), kDepth = depth(s), kM = s.pixels, kCin = s.cin, kCout = s.cout, kRowsEach = s.rows_each;
constexpr s32 kBm = bm(s), kNTiles = n_tiles(s), kMTiles = m_tiles(s);
constexpr bool kTransposed = s.window.transposed;

// Whether the tap meets the image, and what lies there.
__device__ __forceinline__ bool read(const f32* x, const Pixel& pixel, s32 c, s32 tap, f32& value) {
  s64 place;
  const bool inside = Windows::tap_place(pixel, tap, place);
  value = inside ? x[place + (s64)c * s.x.c] : 0.0f;
  return inside;
}

__device__ __forceinline__ f32 ended(f32 sum, const Params& p, s32 channel, s64 residual) {
  if constexpr (s.bias && !(s.direct && kTransposed)) sum = f32_add(sum, p.bias[channel]);
  if constexpr (s.residual) sum = f32_add(sum, p.residual[residual]);
  if constexpr (s.leaky) {
    sum = sum < 0.0f ? f32_mul(sum, value_of(s.alpha)) : sum;
  } else if constexpr (s.clamp) {
    sum = bounded(sum, value_of(s.clamp_lo), value_of(s.clamp_hi));
  }
  return sum;
}

__device__ __forceinline__ void store(const Params& p, f32* y, const f32* residual, const Pixel& pixel, s32 channel, f32 sum) {
  Params own = p;
  own.residual = residual;
  const s64 at = s.residual ? offset_of<OwnResidual>(pixel) + (s64)channel * s.residual_at.c : 0;
  y[offset_of<OwnY>(pixel) + (s64)channel * s.y.c] = ended(sum, own, channel, at);
}

// Of all channels of y: from one k to the next among weights.
constexpr s64 kChannels = (s64)s.groups * kCout;

// One after the other.
__device__ __forceinline__ f32 transposed_sum(const Params& p, const f32* x, const Pixel& pixel, s32 channel) {
  f32 sum = s.bias ? p.bias[channel] : 0.0f;
  for (s32 k = 0; k < kDepth; ++k) {
    f32 value;
    if (read(x, pixel, k / kTaps, k % kTaps, value)) sum = f32_add(sum, f32_mul(p.weights[k * kChannels + channel], value));
  }
  return sum;
}

// In 16 lanes.
__device__ __forceinline__ f32 lanes_sum(const Params& p, const f32* x, const Pixel& pixel, s32 channel) {
  f32 lanes[16] = {};
#pragma unroll 1
  for (s32 k0 = 0; k0 < kDepth; k0 += 16) {
#pragma unroll
    for (s32 j = 0; j < 16; ++j) {
      const s32 k = k0 + j;
      f32 value;
      if (k < kDepth) {
        read(x, pixel, k / kTaps, k % kTaps, value);
        lanes[j] = f32_add(lanes[j], f32_mul(value, p.weights[k * kChannels + channel]));
      }
    }
  }
  f32 four[4];
#pragma unroll
  for (s32 j = 0; j < 4; ++j) four[j] = f32_add(f32_add(lanes[j], lanes[j + 8]), f32_add(lanes[j + 4], lanes[j + 12]));
  return f32_add(f32_add(four[0], four[2]), f32_add(four[1], four[3]));
}

__device__ __forceinline__ void compute_outputs(const Params& p) {
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 i = (s64)blockIdx.x * kThreads + threadIdx.x; i < kChannels * kM; i += step) {
    // Neighbouring threads have neighbouring outputs in memory.
    const s32 channel = (s32)(s.y.c == 1 ? i % kChannels : i / kM % kChannels);
    const Pixel pixel = Windows::pixel_of((s32)(s.y.c == 1 ? i / kChannels : i % kM));
    const f32* x = p.x + (s64)(channel / kCout) * kCin * s.x.c;
    const f32 sum = kTransposed ? transposed_sum(p, x, pixel, channel) : lanes_sum(p, x, pixel, channel);
    store(p, p.y, p.residual, pixel, channel, sum);
  }
}

constexpr s32 kAEach = kBm * kBk / kThreads, kBEach = kBn * kBk / kThreads;

__shared__ f32 tile_a[kBk][kBm + 4], tile_b[kBk][kBn + 4];

struct Loaded {
  f32 a[kAEach], b[kBEach];
};

// Of A, a thread reads one k of several rows, or one row at several k. Written out where it is used: as functions they compile to other code.
constexpr s32 kRowStep = s.along_k ? kThreads / kBk : 0, kStepStep = s.along_k ? 0 : kThreads / kBm;

__device__ __forceinline__ void load(Loaded& to, const f32* x, const f32* weights, const Pixel* pixels, s32 m0, s32 n0, s32 k0) {
#pragma unroll
  for (s32 i = 0; i < kAEach; ++i) {
    const u32 row = (s.along_k ? threadIdx.x / kBk : threadIdx.x % kBm) + i * kRowStep;
    const s32 k = k0 + (s.along_k ? threadIdx.x % kBk : threadIdx.x / kBm) + i * kStepStep;
    to.a[i] = 0.0f;
    if (k < kDepth && m0 + row < kM) read(x, pixels[s.along_k ? i : 0], k % kCin, k / kCin, to.a[i]);
  }
#pragma unroll
  for (s32 i = 0; i < kBEach; ++i) {
    const s32 k = k0 + threadIdx.x / kBn + i * (kThreads / kBn), n = n0 + threadIdx.x % kBn;
    to.b[i] = k < kDepth && n < kCout ? weights[(s64)k * kCout + n] : 0.0f;
  }
}

__device__ __forceinline__ void keep(const Loaded& from) {
#pragma unroll
  for (s32 i = 0; i < kAEach; ++i) {
    const u32 row = (s.along_k ? threadIdx.x / kBk : threadIdx.x % kBm) + i * kRowStep;
    const u32 step = (s.along_k ? threadIdx.x % kBk : threadIdx.x / kBm) + i * kStepStep;
    tile_a[step][row] = from.a[i];
  }
#pragma unroll
  for (s32 i = 0; i < kBEach; ++i) tile_b[threadIdx.x / kBn + i * (kThreads / kBn)][threadIdx.x % kBn] = from.b[i];
}

__device__ __forceinline__ void multiply(f32 (&acc)[kRowsEach][4]) {
  const s32 row = threadIdx.x / 16 * kRowsEach, column = threadIdx.x % 16 * 4;
#pragma unroll
  for (s32 k = 0; k < kBk; ++k) {
    f32 a[kRowsEach];
#pragma unroll
    for (s32 i = 0; i < kRowsEach; i += 4) *(float4*)(a + i) = *(const float4*)&tile_a[k][row + i];
    const float4 b = *(const float4*)&tile_b[k][column];
#pragma unroll
    for (s32 i = 0; i < kRowsEach; ++i) {
      acc[i][0] = f32_fma(a[i], b.x, acc[i][0]);
      acc[i][1] = f32_fma(a[i], b.y, acc[i][1]);
      acc[i][2] = f32_fma(a[i], b.z, acc[i][2]);
      acc[i][3] = f32_fma(a[i], b.w, acc[i][3]);
    }
  }
}

// Axes of the batch from kFrom on, of which `batch` counts the matrices.
template <s32 kFrom>
__device__ __forceinline__ void add_batch_offsets(s64 batch, const f32*& x, const f32*& weights, f32*& y, const f32*& residual) {
  if constexpr (kFrom < s.batches.count) {
    constexpr BatchAxis axis = s.batches.at[kFrom];
    x += batch % axis.size * axis.x;
    weights += batch % axis.size * axis.weights;
    y += batch % axis.size * axis.y;
    if constexpr (s.residual) residual += batch % axis.size * axis.y;
    add_batch_offsets<kFrom + 1>(batch / axis.size, x, weights, y, residual);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  if constexpr (s.direct) {
    compute_outputs(p);
    return;
  }
  const s32 n0 = blockIdx.x % kNTiles * kBn, group = blockIdx.x / kNTiles % s.groups;
  const s32 m0 = blockIdx.x / (kNTiles * s.groups) % kMTiles * kBm;
  const f32 *x = p.x + (s64)group * kCin * s.x.c, *weights = p.weights + (s64)group * kDepth * kCout, *residual = p.residual;
  f32* y = p.y;
  const s64 batch = blockIdx.x / (kNTiles * s.groups * kMTiles);
  add_batch_offsets<0>(batch, x, weights, y, residual);
  Pixel pixels[s.along_k ? kAEach : 1];
#pragma unroll
  for (s32 i = 0; i < (s.along_k ? kAEach : 1); ++i) pixels[i] = Windows::pixel_of(m0 + (s.along_k ? threadIdx.x / kBk : threadIdx.x % kBm) + i * kRowStep);
  f32 acc[kRowsEach][4] = {};
  Loaded loaded;
  load(loaded, x, weights, pixels, m0, n0, 0);
  for (s32 k0 = 0; k0 < kDepth; k0 += kBk) {
    __syncthreads();
    keep(loaded);
    __syncthreads();
    if (k0 + kBk < kDepth) load(loaded, x, weights, pixels, m0, n0, k0 + kBk);
    multiply(acc);
  }
#pragma unroll
  for (s32 i = 0; i < kRowsEach; ++i) {
    const s32 m = m0 + threadIdx.x / 16 * kRowsEach + i;
    if (m >= kM) continue;
    const Pixel pixel = Windows::pixel_of(m);
#pragma unroll
    for (s32 j = 0; j < 4; ++j) {
      const s32 n = n0 + threadIdx.x % 16 * 4 + j;
      if (n < kCout) store(p, y, residual, pixel, group * kCout + n, acc[i][j]);
    }
  }
}
