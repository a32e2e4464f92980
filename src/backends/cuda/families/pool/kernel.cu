// SPDX-License-Identifier: Apache-2.0
// Largest value or average of each window of an nhwc image: a thread takes `vector` channels of one pixel of the output.
#include "backends/cuda/device/code_end.cuh"
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::pool;

constexpr Spec s = Made::spec();
POOL_RULES(OCTET_RULE_ASSERT)

using End = CodeEnd<PartOf<Made, &Spec::end>>;

typedef Element<s.in> In;
typedef Element<s.out> Out;
typedef Element<s.rounded> Rounded;
constexpr PoolWindow w = s.window;
constexpr s32 kVector = s.vector, kVectors = vectors(s), kPixels = pixels(s);
constexpr s32 kOutAccess = s.access * (s32)sizeof(Out) / (s32)sizeof(In) < 16 ? s.access * (s32)sizeof(Out) / (s32)sizeof(In) : 16;
constexpr bool kSigned = s.in == ElementType::s8;
// Codes are taken four to a word.
constexpr bool kWords = sizeof(In) == 1 && kVector % 4 == 0;
// Sums of up to 257 bytes fit 16 bits.
constexpr bool kPairSums = kWords && (s64)w.taps_h * w.taps_w <= 257;

// Pairs of 16 bits. The high bytes decide, so a code's neighbour below it does not matter.
__device__ __forceinline__ u32 max_pairs(u32 a, u32 b) {
#ifdef OCTET_EMULATED
  u32 result = 0;
  for (int i = 0; i < 32; i += 16) {
    const u16 x = (u16)(a >> i), y = (u16)(b >> i);
    const bool first = kSigned ? (s16)x > (s16)y : x > y;
    result |= (u32)(first ? x : y) << i;
  }
  return result;
#else
  if constexpr (kSigned) {
    return __vmaxs2(a, b);
  } else {
    return __vmaxu2(a, b);
  }
#endif
}

// What the largest of none is.
template <class T>
__device__ __forceinline__ T lowest() {
  if constexpr (is_real(s.in)) {
    return (T)f32_bits(0xff800000u);
  } else {
    return s.in == ElementType::s8 ? -128 : s.in == ElementType::s32 ? -2147483647 - 1 : 0;
  }
}

// Words of codes.
template <s32 kWordCount>
struct LargestCodes {
  u32 even[kWordCount], odd[kWordCount];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < kWordCount; ++i) even[i] = odd[i] = kSigned ? 0x80808080u : 0;
  }
  __device__ __forceinline__ void add(const Values<In, kVector>& x) {
#pragma unroll
    for (s32 i = 0; i < kWordCount; ++i) {
      const u32 word = ((const u32*)x.at)[i];
      even[i] = max_pairs(even[i], word << 8);
      odd[i] = max_pairs(odd[i], word);
    }
  }
  __device__ __forceinline__ void end(Values<Out, kVector>& y, s32, f32) const {
#pragma unroll
    for (s32 i = 0; i < kWordCount; ++i) ((u32*)y.at)[i] = __byte_perm(even[i], odd[i], 0x7351);
  }
};

template <class T, bool kIsReal>
struct ComparedAs { typedef T Type; };
template <class T>
struct ComparedAs<T, true> { typedef f32 Type; };
struct Largest {
  typedef typename ComparedAs<In, is_real(s.in)>::Type Compared;  // halves as f32
  Compared best[kVector];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) best[i] = lowest<Compared>();
  }
  __device__ __forceinline__ void add(const Values<In, kVector>& x) {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) {
      const Compared value = x.at[i];
      best[i] = value > best[i] || value != value ? value : best[i];  // NaN wins
    }
  }
  __device__ __forceinline__ void end(Values<Out, kVector>& y, s32, f32) const {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) y.at[i] = (Out)best[i];
  }
};

// Signed codes are summed with 128 added.
template <s32 kWordCount>
struct PairSums {
  u32 even[kWordCount], odd[kWordCount];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < kWordCount; ++i) even[i] = odd[i] = 0;
  }
  __device__ __forceinline__ void add(const Values<In, kVector>& x) {
#pragma unroll
    for (s32 i = 0; i < kWordCount; ++i) {
      const u32 word = ((const u32*)x.at)[i] ^ (kSigned ? 0x80808080u : 0);
      even[i] += word & 0x00ff00ffu;
      odd[i] += word >> 8 & 0x00ff00ffu;
    }
  }
  __device__ __forceinline__ void end(Values<Out, kVector>& y, s32 taps, f32 multiplier) const {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) {
      const u32 pair = i % 2 == 0 ? even[i / 4] : odd[i / 4];
      const s32 sum = (s32)(i % 4 < 2 ? pair & 0xffff : pair >> 16) - taps * (s.zero_point + (kSigned ? 128 : 0));
      y.at[i] = (Out)End::code(f32_mul(f32_of(sum), multiplier));
    }
  }
};

struct CodeSums {
  s32 sum[kVector];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) sum[i] = 0;
  }
  __device__ __forceinline__ void add(const Values<In, kVector>& x) {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) sum[i] += x.at[i];
  }
  __device__ __forceinline__ void end(Values<Out, kVector>& y, s32 taps, f32 multiplier) const {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) y.at[i] = (Out)End::code(f32_mul(f32_of(sum[i] - taps * s.zero_point), multiplier));
  }
};

struct RealSums {
  f32 sum[kVector];
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) sum[i] = 0.0f;
  }
  __device__ __forceinline__ void add(const Values<In, kVector>& x) {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) sum[i] = f32_add(sum[i], x.at[i]);
  }
  __device__ __forceinline__ void end(Values<Out, kVector>& y, s32, f32 divisor) const {
#pragma unroll
    for (s32 i = 0; i < kVector; ++i) y.at[i] = (Out)(f32)(Rounded)(divisor == 0.0f ? 0.0f : f32_div(sum[i], divisor));
  }
};

template <Kind kKind, bool kPacked, bool kPairs>
struct WindowOf { typedef RealSums Type; };
template <bool kPairs>
struct WindowOf<Kind::largest, true, kPairs> { typedef LargestCodes<kVector / 4> Type; };
template <bool kPairs>
struct WindowOf<Kind::largest, false, kPairs> { typedef Largest Type; };
template <bool kPacked>
struct WindowOf<Kind::average_codes, kPacked, true> { typedef PairSums<kVector / 4> Type; };
template <bool kPacked>
struct WindowOf<Kind::average_codes, kPacked, false> { typedef CodeSums Type; };
typedef WindowOf<s.kind, kWords, kPairSums>::Type Window;

__device__ __forceinline__ f32 multiplier_of(const Params& p, s32 pixel) {
  if constexpr (s.multiplier_varies) {
    return p.multipliers[pixel];
  } else {
    return value_of(s.multiplier);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 at = (s64)blockIdx.x * kThreads + threadIdx.x; at < count(s); at += step) {
    const s32 c = (s32)(at % kVectors) * kVector;
    const s32 pixel = (s32)(at / kVectors % kPixels);
    const s64 image = at / ((s64)kVectors * kPixels);
    const s32 h0 = pixel / w.out_w * w.stride_h - w.pad_top, w0 = pixel % w.out_w * w.stride_w - w.pad_left;
    const In* x = (const In*)p.x + image * s.x.image + c;
    Window window;
    window.begin();
    s32 taps = 0;
#pragma unroll unrolled_rows(s)
    for (s32 tap_h = 0; tap_h < w.taps_h; ++tap_h) {
      const s32 in_h = h0 + tap_h * w.dilation_h;
      if ((u32)in_h >= (u32)w.in_h) continue;
#pragma unroll unrolled_columns(s)
      for (s32 tap_w = 0; tap_w < w.taps_w; ++tap_w) {
        const s32 in_w = w0 + tap_w * w.dilation_w;
        if ((u32)in_w >= (u32)w.in_w) continue;
        Values<In, kVector> values;
        load_values<s.access>(values, x + (s64)in_h * s.x.row + (s64)in_w * s.x.pixel);
        window.add(values);
        ++taps;
      }
    }
    Values<Out, kVector> y;
    window.end(y, taps, multiplier_of(p, pixel));
    store_values<kOutAccess>((Out*)p.y + image * s.y.image + (s64)(pixel / w.out_w) * s.y.row + (s64)(pixel % w.out_w) * s.y.pixel + c, y);
  }
}
