// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and RMSNormalization of rows of whole 16 elements, by kernels/rows.cu's constants: eight threads for a row, each with two
// of its 16 lanes, elements 16e + 2r and the next, which are loaded and stored together. Where rows are few a row has PARTS such eights, which
// follow each other along the row: sums of lanes go from one to the next, all else is shared.
//
// Constants: as in kernels/rows.cu, INNER 1, CHANNELS 0; PARTS (1, 2 or 4; divides COUNT / 16); BLOCK_ROWS rows of a block of
// 8 * PARTS * BLOCK_ROWS threads; CONSTANTS: scale and bias depend on no predecessor
#define STEPS (COUNT / 16 / PARTS)  // of a thread
#define ROW_THREADS (8 * PARTS)
#define THREADS (ROW_THREADS * BLOCK_ROWS)
#define ACCESSES (COUNT / 16)  // of 16 codes
#define STAGED (X_CODES && Y_CODES)  // codes pass through shared memory

// Scale, then bias.
__shared__ __align__(16) f32 parameters[2][COUNT];

__device__ __forceinline__ void load_parameters(const RowsParams& p) {
#pragma unroll 4
  for (s32 i = threadIdx.x; i < COUNT / 4; i += THREADS) {
    ((float4*)parameters[0])[i] = ((const float4*)p.scale)[i];
    if (BIAS) ((float4*)parameters[1])[i] = ((const float4*)p.bias)[i];
  }
}

#if STAGED
// Rows begin in banks of their own.
__shared__ __align__(16) u8 staged[BLOCK_ROWS][COUNT + 16];

// By the threads of the row, 16 codes at a time.
__device__ __forceinline__ void copy_row(u8* to, const u8* from) {
  constexpr s32 kEach = (ACCESSES + ROW_THREADS - 1) / ROW_THREADS;
  uint4 codes[kEach];
#pragma unroll
  for (s32 i = 0; i < kEach; ++i) {
    const s32 at = ROW_THREADS * i + (s32)threadIdx.x % ROW_THREADS;
    if (at < ACCESSES) codes[i] = ((const uint4*)from)[at];
  }
#pragma unroll
  for (s32 i = 0; i < kEach; ++i) {
    const s32 at = ROW_THREADS * i + (s32)threadIdx.x % ROW_THREADS;
    if (at < ACCESSES) ((uint4*)to)[at] = codes[i];
  }
}
#endif

// Of both elements of a step.
struct Pair {
  f32 even, odd;
};

__device__ __forceinline__ Pair real_pair(const u8* x, s64 at) {
#if X_CODES
  const u32 codes = *(const u16*)(x + at) ^ (X_S8 ? 0x8080u : 0);
  const s32 zero_point = X_S8 ? ZP_X + 128 : ZP_X;
  return {f32_mul(centered((u8)codes, zero_point), X_SCALE), f32_mul(centered((u8)(codes >> 8), zero_point), X_SCALE)};
#else
  const float2 pair = *(const float2*)((const f32*)x + at);
  return {pair.x, pair.y};
#endif
}

// Sums of what `element` makes of each pair, along the row: a part begins with what the part before it has. Of all threads the last part's is
// the sum.
template <class F>
__device__ __forceinline__ Pair sums_along_row(const Pair (&x)[STEPS], const F& element) {
  Pair sums = {0.0f, 0.0f};
#pragma unroll
  for (s32 part = 0; part < PARTS; ++part) {
    if (part != 0) sums = {__shfl_up_sync(~0u, sums.even, 8), __shfl_up_sync(~0u, sums.odd, 8)};
#pragma unroll
    for (s32 e = 0; e < STEPS; ++e) sums = {f32_add(sums.even, element(x[e].even)), f32_add(sums.odd, element(x[e].odd))};
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
  return PARTS == 1 ? sum : __shfl_sync(~0u, sum, ROW_THREADS - 1, ROW_THREADS);
}

#if Y_CODES
#define GROUP 4  // steps whose codes are looked at together
__device__ __noinline__ u32 exact_codes(f32 even, f32 odd) {
  return (u32)(quantized(even, Y_SCALE, Y_RECIPROCAL, ZP_Y, LO, HI) & 255) | (u32)(quantized(odd, Y_SCALE, Y_RECIPROCAL, ZP_Y, LO, HI) & 255) << 8;
}

// 2^23 + 2^22 and a multiple of y, rounded to an integer.
__device__ __forceinline__ f32 shifted(f32 y, f32 factor) { return f32_fma(y, factor, 0x1.8p+23f); }
__device__ __forceinline__ u32 code(f32 shifted) {
  const f32 magic = 0x1.8p+23f;
  return bits_of(fminf(fmaxf(shifted, magic + (f32)(LO - ZP_Y)), magic + (f32)(HI - ZP_Y))) + ZP_Y;
}

// Codes of a little less and of a little more than the quotient: where both are one code it is the quotient's.
__device__ __forceinline__ void store_all(u8* to, const Pair (&y)[STEPS]) {
  const f32 low = Y_RECIPROCAL * (1.0f - 0x1p-21f), high = Y_RECIPROCAL * (1.0f + 0x1p-21f);
#pragma unroll
  for (s32 first = 0; first < STEPS; first += GROUP) {
    u32 codes[GROUP] = {};
    bool differ = Y_RECIPROCAL == 0.0f;
#pragma unroll
    for (s32 i = 0; i < GROUP && first + i < STEPS; ++i) {
      const Pair& own = y[first + i];
      const f32 even = shifted(own.even, low), odd = shifted(own.odd, low);
      differ |= even != shifted(own.even, high), differ |= odd != shifted(own.odd, high);  // NaN does
      codes[i] = __byte_perm(code(even), code(odd), 0x0040);
    }
    if (differ) {
#pragma unroll
      for (s32 i = 0; i < GROUP && first + i < STEPS; ++i) codes[i] = exact_codes(y[first + i].even, y[first + i].odd);
    }
#pragma unroll
    for (s32 i = 0; i < GROUP && first + i < STEPS; ++i) *(u16*)(to + 16 * (first + i)) = (u16)codes[i];
  }
}
#endif

__device__ __forceinline__ f32 ended(f32 deviation, f32 inverse, f32 scale, f32 bias) {
  const f32 y = f32_mul(f32_mul(deviation, inverse), scale);
  return BIAS ? f32_add(y, bias) : CENTERED ? f32_add(y, 0.0f) : y;
}

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ RowsParams p) {
  let_successor_begin();
  if (CONSTANTS) load_parameters(p);
  wait_for_predecessor();
  if (!CONSTANTS) load_parameters(p);
  const s64 wanted = (s64)blockIdx.x * BLOCK_ROWS + threadIdx.x / ROW_THREADS;
  // Threads beyond the last row take part in what their warp exchanges.
  const s64 row = wanted < ROWS ? wanted : (s64)ROWS - 1;
  const s32 own = threadIdx.x % ROW_THREADS / 8 * STEPS * 16 + threadIdx.x % 8 * 2;
#if STAGED
  u8* const codes = staged[threadIdx.x / ROW_THREADS];
  copy_row(codes, p.x + row * COUNT);
#endif
  Pair x[STEPS];
#if !STAGED
#pragma unroll
  for (s32 e = 0; e < STEPS; ++e) x[e] = real_pair(p.x, row * COUNT + 16 * e + own);
#endif
  __syncthreads();
#if STAGED
#pragma unroll
  for (s32 e = 0; e < STEPS; ++e) x[e] = real_pair(codes, 16 * e + own);
#endif
  const f32 count = f32_of(COUNT);
#if CENTERED
  const f32 mean = f32_div(sum_of_lanes(sums_along_row(x, [](f32 own) { return own; })), count);
#pragma unroll
  for (s32 e = 0; e < STEPS; ++e) x[e] = {f32_sub(x[e].even, mean), f32_sub(x[e].odd, mean)};
#endif
  const f32 squares = sum_of_lanes(sums_along_row(x, [](f32 own) { return f32_mul(own, own); }));
  const f32 inverse = f32_div(1.0f, f32_sqrt(f32_add(f32_div(squares, count), EPSILON)));
#pragma unroll
  for (s32 e = 0; e < STEPS; ++e) {
    const float2 scale = *(const float2*)(parameters[0] + 16 * e + own);
    const float2 bias = BIAS ? *(const float2*)(parameters[1] + 16 * e + own) : float2{0.0f, 0.0f};
    x[e] = {ended(x[e].even, inverse, scale.x, bias.x), ended(x[e].odd, inverse, scale.y, bias.y)};
  }
#if STAGED
  store_all(codes + own, x);
  __syncwarp();
#endif
  if (wanted >= ROWS) return;
#if STAGED
  copy_row(p.y + row * COUNT, codes);
#elif Y_CODES
  store_all(p.y + row * COUNT + own, x);
#else
#pragma unroll
  for (s32 e = 0; e < STEPS; ++e) *(float2*)((f32*)p.y + row * COUNT + 16 * e + own) = float2{x[e].even, x[e].odd};
#endif
}
