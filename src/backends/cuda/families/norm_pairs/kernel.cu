// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and RMSNormalization of rows of whole 16 elements: eight threads for a row, each with two
// of its 16 lanes, elements 16e + 2r and the next, which are loaded and stored together. Where rows are few a row has parts, each with such eights, which
// follow each other along the row: sums of lanes go from one to the next, all else is shared.
#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/halves.cuh"
#include "backends/cuda/device/math.cuh"

using namespace octet::cuda;
using namespace octet::cuda::norm_pairs;

constexpr Spec s = Made::spec();
NORM_PAIRS_RULES(OCTET_RULE_ASSERT)

constexpr RowValues v = s.values;
constexpr s32 kCount = s.count, kParts = s.parts, kSteps = steps(s), kRowThreads = row_threads(s), kThreads = threads(s);
constexpr s32 kAccesses = kCount / 16;            // of 16 codes
constexpr bool kStaged = v.x_codes && v.y_codes;  // codes pass through shared memory
constexpr bool kCodesStaged = stages_codes(v);  // those of results
constexpr s32 kZeroY = v.y.zero_point;

// Scale, then bias.
__shared__ __align__(16) f32 parameters[2][kCount];

__device__ __forceinline__ void load_parameters(const RowsParams& p) {
#pragma unroll 4
  for (s32 i = threadIdx.x; i < kCount / 4; i += kThreads) {
    ((float4*)parameters[0])[i] = ((const float4*)p.scale)[i];
    if (s.bias) ((float4*)parameters[1])[i] = ((const float4*)p.bias)[i];
  }
}

// The codes of this thread's row. Rows begin in banks of their own.
__device__ __forceinline__ u8* staged_row() {
  __shared__ __align__(16) u8 staged[s.block_rows][kCount + 16];
  return staged[threadIdx.x / kRowThreads];
}

// By the threads of the row, 16 codes at a time.
__device__ __forceinline__ void copy_row(u8* to, const u8* from) {
  constexpr s32 kEach = (kAccesses + kRowThreads - 1) / kRowThreads;
  uint4 codes[kEach];
#pragma unroll
  for (s32 i = 0; i < kEach; ++i) {
    const s32 at = kRowThreads * i + (s32)threadIdx.x % kRowThreads;
    if (at < kAccesses) codes[i] = ((const uint4*)from)[at];
  }
#pragma unroll
  for (s32 i = 0; i < kEach; ++i) {
    const s32 at = kRowThreads * i + (s32)threadIdx.x % kRowThreads;
    if (at < kAccesses) ((uint4*)to)[at] = codes[i];
  }
}

typedef RealPair Pair;  // of a step

__device__ __forceinline__ Pair real_pair(const u8* x, const u8* added, s64 at) {
  if constexpr (v.x_codes) {
    const u32 codes = *(const u16*)(x + at) ^ (v.x_signed ? 0x8080u : 0);
    const s32 zero_point = v.x_signed ? v.x_zero_point + 128 : v.x_zero_point;
    return {f32_mul(centered((u8)codes, zero_point), value_of(v.x_scale)), f32_mul(centered((u8)(codes >> 8), zero_point), value_of(v.x_scale))};
  } else {
    const Pair pair = load_pair<v.x_real>(x, at);
    if constexpr (!v.sum.exists) return pair;
    const Pair other = load_pair<v.sum.added>(added, at);
    return {rounded_real<v.sum.rounded>(f32_add(pair.even, other.even)), rounded_real<v.sum.rounded>(f32_add(pair.odd, other.odd))};
  }
}

// Sums of what `element` makes of each pair, along the row: a part begins with what the part before it has. Of all threads the last part's is
// the sum.
template <class F>
__device__ __forceinline__ Pair sums_along_row(const Pair (&x)[kSteps], const F& element) {
  Pair sums = {0.0f, 0.0f};
#pragma unroll
  for (s32 part = 0; part < kParts; ++part) {
    if (part != 0) sums = {__shfl_up_sync(~0u, sums.even, 8), __shfl_up_sync(~0u, sums.odd, 8)};
#pragma unroll
    for (s32 e = 0; e < kSteps; ++e) sums = {f32_add(sums.even, element(x[e].even)), f32_add(sums.odd, element(x[e].odd))};
  }
  return sums;
}

// Lanes 8 apart, then 4, 2, 1: of the last part's eight threads, in all of the row.
__device__ __forceinline__ f32 sum_of_lanes(Pair lanes) {
#pragma unroll
  for (s32 threads = 4; threads > 0; threads /= 2) {
    lanes.even = f32_add(lanes.even, __shfl_xor_sync(~0u, lanes.even, threads));
    lanes.odd = f32_add(lanes.odd, __shfl_xor_sync(~0u, lanes.odd, threads));
  }
  const f32 sum = f32_add(lanes.even, lanes.odd);
  return kParts == 1 ? sum : __shfl_sync(~0u, sum, kRowThreads - 1, kRowThreads);
}

constexpr s32 kGroup = 4;  // steps whose codes are looked at together
__device__ __forceinline__ u32 exact_code(f32 y) {
  return (u32)(quantized(y, value_of(v.y.scale), value_of(v.y.reciprocal), kZeroY, v.y.lo, v.y.hi) & 255);
}
__device__ __noinline__ u32 exact_codes(f32 even, f32 odd) { return exact_code(even) | exact_code(odd) << 8; }

// 2^23 + 2^22 and a multiple of y, rounded to an integer.
__device__ __forceinline__ f32 shifted(f32 y, f32 factor) { return f32_fma(y, factor, 0x1.8p+23f); }
__device__ __forceinline__ u32 code(f32 shifted) {
  const f32 magic = 0x1.8p+23f;
  return bits_of(fminf(fmaxf(shifted, magic + (f32)(v.y.lo - kZeroY)), magic + (f32)(v.y.hi - kZeroY))) + kZeroY;
}

// Codes of a little less and of a little more than the quotient: where both are one code it is the quotient's.
__device__ __forceinline__ void store_all(u8* to, const Pair (&y)[kSteps]) {
  const f32 low = value_of(v.y.reciprocal) * (1.0f - 0x1p-21f), high = value_of(v.y.reciprocal) * (1.0f + 0x1p-21f);
#pragma unroll
  for (s32 first = 0; first < kSteps; first += kGroup) {
    u32 codes[kGroup] = {};
    bool differ = value_of(v.y.reciprocal) == 0.0f;
#pragma unroll
    for (s32 i = 0; i < kGroup && first + i < kSteps; ++i) {
      const Pair& own = y[first + i];
      const f32 even = shifted(own.even, low), odd = shifted(own.odd, low);
      differ |= even != shifted(own.even, high), differ |= odd != shifted(own.odd, high);  // NaN does
      codes[i] = __byte_perm(code(even), code(odd), 0x0040);
    }
    if (differ) {
#pragma unroll
      for (s32 i = 0; i < kGroup && first + i < kSteps; ++i) codes[i] = exact_codes(y[first + i].even, y[first + i].odd);
    }
#pragma unroll
    for (s32 i = 0; i < kGroup && first + i < kSteps; ++i) *(u16*)(to + 16 * (first + i)) = (u16)codes[i];
  }
}

__device__ __forceinline__ f32 ended(f32 deviation, f32 inverse, f32 scale, f32 bias) {
  const f32 y = f32_mul(f32_mul(deviation, inverse), scale);
  return s.bias ? f32_add(y, bias) : s.centered ? f32_add(y, 0.0f) : y;
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ RowsParams p) {
  let_successor_begin();
  if (s.constant_parameters) load_parameters(p);
  wait_for_predecessor();
  if (!s.constant_parameters) load_parameters(p);
  const s64 wanted = (s64)blockIdx.x * s.block_rows + threadIdx.x / kRowThreads;
  // Threads beyond the last row take part in what their warp exchanges.
  const s64 row = wanted < s.rows ? wanted : s.rows - 1;
  const s32 own = threadIdx.x % kRowThreads / 8 * kSteps * 16 + threadIdx.x % 8 * 2;
  u8* codes = nullptr;
  if constexpr (kCodesStaged) codes = staged_row();
  if constexpr (kStaged) copy_row(codes, p.x + row * kCount);
  Pair x[kSteps];
  if constexpr (!kStaged) {
#pragma unroll
    for (s32 e = 0; e < kSteps; ++e) x[e] = real_pair(p.x, p.added, row * kCount + 16 * e + own);
  }
  __syncthreads();
  if constexpr (kStaged) {
#pragma unroll
    for (s32 e = 0; e < kSteps; ++e) x[e] = real_pair(codes, nullptr, 16 * e + own);
  }
  const f32 count = f32_of(kCount);
  if constexpr (s.centered) {
    const f32 mean = f32_div(sum_of_lanes(sums_along_row(x, [](f32 own) { return own; })), count);
#pragma unroll
    for (s32 e = 0; e < kSteps; ++e) x[e] = {f32_sub(x[e].even, mean), f32_sub(x[e].odd, mean)};
  }
  const f32 squares = sum_of_lanes(sums_along_row(x, [](f32 own) { return f32_mul(own, own); }));
  const f32 inverse = f32_div(1.0f, f32_sqrt(f32_add(f32_div(squares, count), value_of(s.epsilon))));
#pragma unroll
  for (s32 e = 0; e < kSteps; ++e) {
    const float2 scale = *(const float2*)(parameters[0] + 16 * e + own);
    const float2 bias = s.bias ? *(const float2*)(parameters[1] + 16 * e + own) : float2{0.0f, 0.0f};
    x[e] = {ended(x[e].even, inverse, scale.x, bias.x), ended(x[e].odd, inverse, scale.y, bias.y)};
  }
  if constexpr (v.codes_too) {
#pragma unroll
    for (s32 e = 0; e < kSteps; ++e) x[e] = {rounded_real<v.y_real>(x[e].even), rounded_real<v.y_real>(x[e].odd)};
  }
  if constexpr (kCodesStaged) {
    store_all(codes + own, x);
    __syncwarp();
  }
  if (wanted >= s.rows) return;
  if constexpr (kStaged) {
    copy_row(p.y + row * kCount, codes);
  } else if constexpr (v.y_codes) {
    store_all(p.y + row * kCount + own, x);
  } else {
#pragma unroll
    for (s32 e = 0; e < kSteps; ++e) store_pair<v.y_real, v.rounded>(p.y, row * kCount + 16 * e + own, x[e]);
    if constexpr (v.codes_too) copy_row(p.codes + row * kCount, codes);
  }
}
