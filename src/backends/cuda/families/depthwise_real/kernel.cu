// SPDX-License-Identifier: Apache-2.0
// A thread computes neighbouring channels of a pixel. Sums are the reference's (docs/numerics.md, section 7): tap k goes into lane k % 16, and lanes are added 0 + 8, then 4, 2 and 1 apart.
#include "backends/cuda/device/real_end.cuh"

using namespace octet::cuda;
using namespace octet::cuda::depthwise_real;

constexpr Spec s = Made::spec();
DEPTHWISE_REAL_RULES(OCTET_RULE_ASSERT)

struct OwnEnd {
  static constexpr RealEnd spec() { return Made::spec().end; }
};
using End = RealEnding<OwnEnd>;

constexpr ConvWindow w = s.window;
constexpr s32 kTaps = taps(s), kLanes = 16, kUsed = kTaps < kLanes ? kTaps : kLanes, kChannels = s.channels;

// The pixel that is read, and whether it is the tap's: loads that wait for no branch are under way together.
struct TapAxis {
  s32 at;
  bool inside;
  __device__ __forceinline__ TapAxis(s32 place, s32 size) : at(clamp_s32(place, 0, size - 1)), inside((u32)place < (u32)size) {}
};

__device__ __forceinline__ f32 real_of_x(const Piece<bytes_of(s.x) * kChannels>& numbers, s32 e) {
  if constexpr (is_code(s.x)) {
    const u8 byte = code_at(numbers, e);
    const f32 code = s.x == Number::s8 ? centered((s8)byte, w.zero_point) : centered(byte, w.zero_point);
    return rounded_to<s.x_rounded>(f32_mul(code, value_of(s.end.x_scale)));
  } else {
    return real_at<s.x>(numbers, e);
  }
}

// Lane `lane` of the 16, of which those that no tap meets are 0.
__device__ __forceinline__ f32 lane_of(const f32 (&lanes)[kUsed][kChannels], s32 lane, s32 e) { return lane < kUsed ? lanes[lane < kUsed ? lane : 0][e] : 0.0f; }

__device__ __forceinline__ f32 sum_of(const f32 (&lanes)[kUsed][kChannels], s32 e) {
  f32 four[4];
#pragma unroll
  for (s32 j = 0; j < 4; ++j)
    four[j] = f32_add(f32_add(lane_of(lanes, j, e), lane_of(lanes, j + 8, e)), f32_add(lane_of(lanes, j + 4, e), lane_of(lanes, j + 12, e)));
  return f32_add(f32_add(four[0], four[2]), f32_add(four[1], four[3]));
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  constexpr s32 kPieces = w.groups / kChannels, kXBytes = bytes_of(s.x);
  const s64 step = (s64)gridDim.x * kThreads, count = (s64)p.pixels * kPieces;
  for (s64 i = (s64)blockIdx.x * kThreads + threadIdx.x; i < count; i += step) {
    const s32 m = (s32)(i / kPieces), c = (s32)(i % kPieces) * kChannels;
    const s32 n = m / (w.out_h * w.out_w), rest = m % (w.out_h * w.out_w), out_h = rest / w.out_w, out_w = rest % w.out_w;
    const s32 h0 = out_h * w.stride_h - w.pad_top, w0 = out_w * w.stride_w - w.pad_left;
    const u8* image = (const u8*)p.x + ((s64)n * s.at.x.image + c) * kXBytes;
    f32 lanes[kUsed][kChannels] = {};
#pragma unroll
    for (s32 tap = 0; tap < kTaps; ++tap) {
      const TapAxis h(h0 + tap / w.taps_w * w.dilation_h, w.in_h), x(w0 + tap % w.taps_w * w.dilation_w, w.in_w);
      const bool inside = h.inside && x.inside;
      const Piece<kXBytes * kChannels> numbers = piece_at<kXBytes * kChannels>(image + ((s64)h.at * s.at.x.row + (s64)x.at * s.at.x.pixel) * kXBytes);
      const Piece<4 * kChannels> weights = piece_at<4 * kChannels>(p.weights + tap * w.groups + c);
#pragma unroll
      for (s32 e = 0; e < kChannels; ++e) {
        const f32 real = inside ? real_of_x(numbers, e) : 0.0f;
        lanes[tap % kLanes][e] = f32_add(lanes[tap % kLanes][e], f32_mul(real, real_at<Number::f32>(weights, e)));
      }
    }
    f32 sums[kChannels];
#pragma unroll
    for (s32 e = 0; e < kChannels; ++e) sums[e] = sum_of(lanes, e);
    const s64 y = (s64)n * s.at.y.image + (s64)out_h * s.at.y.row + (s64)out_w * s.at.y.pixel + c;
    const s64 residual = (s64)n * s.at.residual.image + (s64)out_h * s.at.residual.row + (s64)out_w * s.at.residual.pixel + c;
    End::store<kChannels>(p.end, c, y, residual, sums);
  }
}
