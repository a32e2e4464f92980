// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization of codes (docs/numerics.md, section 5) in three launches: exact sums of pieces of each image, a line for each
// channel of each image, and the codes on it.
//
// Constants:
//   PART                   0, 1, 2
//   N, C, H, W             with X_IMAGE, X_ROW, X_PIXEL, X_CHANNEL in bytes, and Y_... the same
//   VEC                    channels of a thread (1 or 4: then they lie together); GROUPS: threads along the channels of a block, a power
//                          of two; CHUNKS: pieces of an image, of CHUNK pixels each (65536 at most, so that sums of squares fit)
//   X_S8, X_SCALE, EPSILON, Y_SCALE, ZP_Y, LO, HI
#define THREADS 256
#define LANES (THREADS / GROUPS)  // pixels that a block reads at once
#define CHANNEL_BLOCKS ((C + GROUPS * VEC - 1) / (GROUPS * VEC))

#ifdef OCTET_EMULATED
static inline f64 f64_sqrt(f64 a) { return __builtin_sqrt(a); }
#else
__device__ __forceinline__ f64 f64_sqrt(f64 a) { return __dsqrt_rn(a); }
#endif

struct Place {
  s32 channel, image, first, last;  // pixels
};

__device__ __forceinline__ Place place_of() {
  Place at;
  at.channel = (blockIdx.x % CHANNEL_BLOCKS * GROUPS + threadIdx.x % GROUPS) * VEC;
  const s32 chunk = blockIdx.x / CHANNEL_BLOCKS % CHUNKS;
  at.image = blockIdx.x / (CHANNEL_BLOCKS * CHUNKS);
  at.first = chunk * CHUNK + threadIdx.x / GROUPS;
  at.last = min(chunk * CHUNK + CHUNK, H * W);
  return at;
}

struct __align__(4) Codes {
  u8 at[VEC];
};

// s8 codes plus 128.
__device__ __forceinline__ Codes read(const u8* x, const Place& at, s32 pixel) {
  const u8* from = x + (s64)at.image * X_IMAGE + (s64)(pixel / W) * X_ROW + (s64)(pixel % W) * X_PIXEL + (s64)at.channel * X_CHANNEL;
  Codes codes;
#if VEC == 4
  *(u32*)codes.at = *(const u32*)from ^ (X_S8 ? 0x80808080u : 0);
#else
  codes.at[0] = *from ^ (X_S8 ? 128 : 0);
#endif
  return codes;
}

#if PART == 0
__shared__ u32 totals[2 * VEC][THREADS];

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ InstanceNormParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const Place at = place_of();
  u32 sums[2 * VEC] = {};
  for (s32 pixel = at.first; pixel < at.last && at.channel < C; pixel += LANES) {
    const Codes codes = read(p.x, at, pixel);
#pragma unroll
    for (s32 v = 0; v < VEC; ++v) sums[2 * v] += codes.at[v], sums[2 * v + 1] += (u32)codes.at[v] * codes.at[v];
  }
#pragma unroll
  for (s32 v = 0; v < 2 * VEC; ++v) totals[v][threadIdx.x] = sums[v];
  for (s32 apart = THREADS / 2; apart >= GROUPS; apart /= 2) {
    __syncthreads();
    if (threadIdx.x >= apart) continue;
#pragma unroll
    for (s32 v = 0; v < 2 * VEC; ++v) totals[v][threadIdx.x] += totals[v][threadIdx.x + apart];
  }
  if (threadIdx.x >= GROUPS || at.channel >= C) return;
  const s32 chunk = blockIdx.x / CHANNEL_BLOCKS % CHUNKS;
  u32* to = p.sums + (((s64)at.image * CHUNKS + chunk) * C + at.channel) * 2;
#pragma unroll
  for (s32 v = 0; v < 2 * VEC; ++v) to[v] = totals[v][threadIdx.x];
}
#elif PART == 1
extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ InstanceNormParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= N * C) return;
  const s64 count = (s64)H * W;
  s64 sum = 0, all_squares = 0;
  for (s32 chunk = 0; chunk < CHUNKS; ++chunk) {
    const u32* from = p.sums + (((s64)(i / C) * CHUNKS + chunk) * C + i % C) * 2;
    sum += from[0], all_squares += from[1];
  }
  const s64 near = (sum + count / 2) / count;
  const f64 rest = (f64)(sum - count * near) / (f64)count;
  const s64 squares = all_squares - 2 * near * sum + count * near * near;
  const f64 variance = (f64)squares / (f64)count - rest * rest;
  const f64 scale_x = X_SCALE, scale_y = Y_SCALE;
  const f64 deviation = f64_sqrt(scale_x * scale_x * variance + (f64)EPSILON);
  const f32 slope = (f32)((f64)p.scale[i % C] * scale_x / (deviation * scale_y));
  p.lines[2 * i] = slope;
  p.lines[2 * i + 1] = (f32)((f64)p.bias[i % C] / scale_y - (f64)slope * ((f64)near + rest));
}
#else
extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ InstanceNormParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const Place at = place_of();
  if (at.channel >= C) return;
  const f32* line = p.lines + ((s64)at.image * C + at.channel) * 2;
  f32 slope[VEC], offset[VEC];
#pragma unroll
  for (s32 v = 0; v < VEC; ++v) slope[v] = line[2 * v], offset[v] = line[2 * v + 1];
  for (s32 pixel = at.first; pixel < at.last; pixel += LANES) {
    Codes codes = read(p.x, at, pixel);
#pragma unroll
    for (s32 v = 0; v < VEC; ++v)
      codes.at[v] = (u8)requantize(f32_fma(f32_of(codes.at[v]), slope[v], offset[v]), ZP_Y, LO, HI);
    u8* to = p.y + (s64)at.image * Y_IMAGE + (s64)(pixel / W) * Y_ROW + (s64)(pixel % W) * Y_PIXEL + (s64)at.channel * Y_CHANNEL;
#if VEC == 4
    *(u32*)to = *(const u32*)codes.at;
#else
    *to = codes.at[0];
#endif
  }
}
#endif
