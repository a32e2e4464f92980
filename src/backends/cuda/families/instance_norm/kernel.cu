// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization of codes (docs/numerics.md, section 5) in three launches: exact sums of pieces of each image, a line for each
// channel of each image, and the codes on it.
using namespace octet::cuda;
using namespace octet::cuda::instance_norm;

constexpr Spec s = Made::spec();
INSTANCE_NORM_RULES(OCTET_RULE_ASSERT)

constexpr s32 kVec = s.vec, kGroups = s.groups, kChunk = chunk(s), kChannelBlocks = channel_blocks(s);
constexpr s32 kLanes = kThreads / kGroups;  // pixels that a block reads at once

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
  at.channel = (blockIdx.x % kChannelBlocks * kGroups + threadIdx.x % kGroups) * kVec;
  const s32 chunk = blockIdx.x / kChannelBlocks % s.chunks;
  at.image = blockIdx.x / (kChannelBlocks * s.chunks);
  at.first = chunk * kChunk + threadIdx.x / kGroups;
  at.last = min(chunk * kChunk + kChunk, pixels(s));
  return at;
}

struct __align__(4) Codes {
  u8 at[kVec];
};

// s8 codes plus 128.
__device__ __forceinline__ Codes read(const u8* x, const Place& at, s32 pixel) {
  const u8* from = x + (s64)at.image * s.x.image + (s64)(pixel / s.width) * s.x.row + (s64)(pixel % s.width) * s.x.pixel + (s64)at.channel * s.x.channel;
  Codes codes;
  if constexpr (kVec == 4) {
    *(u32*)codes.at = *(const u32*)from ^ (s.x_signed ? 0x80808080u : 0);
  } else {
    codes.at[0] = *from ^ (s.x_signed ? 128 : 0);
  }
  return codes;
}

__device__ __forceinline__ void add_piece(const Params& p) {
  __shared__ u32 totals[2 * kVec][kThreads];
  const Place at = place_of();
  u32 sums[2 * kVec] = {};
  for (s32 pixel = at.first; pixel < at.last && at.channel < s.channels; pixel += kLanes) {
    const Codes codes = read(p.x, at, pixel);
#pragma unroll
    for (s32 v = 0; v < kVec; ++v) sums[2 * v] += codes.at[v], sums[2 * v + 1] += (u32)codes.at[v] * codes.at[v];
  }
#pragma unroll
  for (s32 v = 0; v < 2 * kVec; ++v) totals[v][threadIdx.x] = sums[v];
  for (s32 apart = kThreads / 2; apart >= kGroups; apart /= 2) {
    __syncthreads();
    if (threadIdx.x >= apart) continue;
#pragma unroll
    for (s32 v = 0; v < 2 * kVec; ++v) totals[v][threadIdx.x] += totals[v][threadIdx.x + apart];
  }
  if (threadIdx.x >= kGroups || at.channel >= s.channels) return;
  const s32 chunk = blockIdx.x / kChannelBlocks % s.chunks;
  u32* to = p.sums + (((s64)at.image * s.chunks + chunk) * s.channels + at.channel) * 2;
#pragma unroll
  for (s32 v = 0; v < 2 * kVec; ++v) to[v] = totals[v][threadIdx.x];
}

__device__ __forceinline__ void find_line(const Params& p) {
  const s32 i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= s.images * s.channels) return;
  const s64 count = pixels(s);
  s64 sum = 0, all_squares = 0;
  for (s32 chunk = 0; chunk < s.chunks; ++chunk) {
    const u32* from = p.sums + (((s64)(i / s.channels) * s.chunks + chunk) * s.channels + i % s.channels) * 2;
    sum += from[0], all_squares += from[1];
  }
  const s64 near = (sum + count / 2) / count;
  const f64 rest = (f64)(sum - count * near) / (f64)count;
  const s64 squares = all_squares - 2 * near * sum + count * near * near;
  const f64 variance = (f64)squares / (f64)count - rest * rest;
  const f64 scale_x = value_of(s.x_scale), scale_y = value_of(s.y_scale);
  const f64 deviation = f64_sqrt(scale_x * scale_x * variance + (f64)value_of(s.epsilon));
  const f32 slope = (f32)((f64)p.scale[i % s.channels] * scale_x / (deviation * scale_y));
  p.lines[2 * i] = slope;
  p.lines[2 * i + 1] = (f32)((f64)p.bias[i % s.channels] / scale_y - (f64)slope * ((f64)near + rest));
}

__device__ __forceinline__ void write_codes(const Params& p) {
  const Place at = place_of();
  if (at.channel >= s.channels) return;
  const f32* line = p.lines + ((s64)at.image * s.channels + at.channel) * 2;
  f32 slope[kVec], offset[kVec];
#pragma unroll
  for (s32 v = 0; v < kVec; ++v) slope[v] = line[2 * v], offset[v] = line[2 * v + 1];
  for (s32 pixel = at.first; pixel < at.last; pixel += kLanes) {
    Codes codes = read(p.x, at, pixel);
#pragma unroll
    for (s32 v = 0; v < kVec; ++v)
      codes.at[v] = (u8)requantize(f32_fma(f32_of(codes.at[v]), slope[v], offset[v]), s.zero_point, s.lo, s.hi);
    u8* to = p.y + (s64)at.image * s.y.image + (s64)(pixel / s.width) * s.y.row + (s64)(pixel % s.width) * s.y.pixel + (s64)at.channel * s.y.channel;
    if constexpr (kVec == 4) {
      *(u32*)to = *(const u32*)codes.at;
    } else {
      *to = codes.at[0];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  if constexpr (s.part == Part::sums) add_piece(p);
  if constexpr (s.part == Part::lines) find_line(p);
  if constexpr (s.part == Part::codes) write_codes(p);
}
