// SPDX-License-Identifier: Apache-2.0
// Sums are the reference's (docs/numerics.md, section 7): tap k goes into lane k % 16, and lanes are added 0 + 8, then 4, 2 and 1 apart.
#include "backends/cuda/device/half_pairs.cuh"
#include "backends/cuda/device/real_end.cuh"

using namespace octet::cuda;
using namespace octet::cuda::depthwise_real;

constexpr Spec s = Made::spec();
DEPTHWISE_REAL_RULES(OCTET_RULE_ASSERT)

using End = RealEnding<PartOf<Made, &Spec::end>, true>;

constexpr ConvWindow w = s.window;
constexpr s32 kTaps = taps(s), kLanes = 16, kUsed = kTaps < kLanes ? kTaps : kLanes, kChannels = s.channels, kXBytes = bytes_of(s.x);
constexpr s32 kPieces = w.groups / kChannels;
typedef Piece<kXBytes * kChannels> XPiece;

__device__ __forceinline__ f32 real_of_x(const XPiece& numbers, s32 e) {
  if constexpr (is_code(s.x)) {
    const u8 byte = code_at(numbers, e);
    const f32 code = s.x == Number::s8 ? centered((s8)byte, w.zero_point) : centered(byte, w.zero_point);
    return rounded_to<s.x_rounded>(f32_mul(code, value_of(s.end.x_scale)));
  } else {
    return real_at<s.x>(numbers, e);
  }
}

__device__ __forceinline__ f32 add_product(f32 sum, f32 x, f32 weight) {
  return s.exact ? f32_fma(x, weight, sum) : f32_add(sum, f32_mul(x, weight));
}

// What a thread keeps: a ring of rows of x as reals, from the pixel on that its first column of y begins with.
constexpr s32 kColumns = s.columns == 0 ? 1 : s.columns, kRead = read_columns(s), kRing = w.taps_h;
constexpr Strides along_h = strides_h(w), along_w = strides_w(w);
constexpr s32 kNew = along_h.move <= w.taps_h ? along_h.move : 1;  // rows of x from one row of y to the next
constexpr s32 kOld = kRing - kNew;  // rows that are read before the first row of y
struct Row {
  f32 at[kRead][kChannels];
};
struct RawRow {
  XPiece at[kRead];
};

struct Taps {
  f32 at[kTaps][kChannels];
};

// The sum of a window whose first row is row `top` of the ring. A lane that begins with a product and not with 0 + product, and lanes that no tap meets being left out, make a sum of -0 where the reference
// has 0; no other bit differs. Who adds the bias mends it.
struct WindowSum {
  const Row (&ring)[kRing];
  const Taps& taps;
  const s32 top, column, e;

  __device__ __forceinline__ f32 real(s32 tap) const { return ring[(top + tap / w.taps_w) % kRing].at[column * along_w.move + tap % w.taps_w][e]; }
  __device__ __forceinline__ f32 plus(f32 sum, s32 tap) const { return add_product(sum, real(tap), taps.at[tap][e]); }
  static constexpr bool is_tap(s32 lane) { return lane < kTaps; }
  static constexpr bool is_single(s32 lane) { return lane + kLanes >= kTaps; }
  template <s32 kLane>
  __device__ __forceinline__ f32 lane() const {
    f32 sum = f32_mul(real(kLane), taps.at[kLane][e]);
#pragma unroll
    for (s32 tap = kLane + kLanes; tap < kTaps; tap += kLanes) sum = plus(sum, tap);
    return sum;
  }
  // Lanes kLane and 8 further.
  template <s32 kLane>
  __device__ __forceinline__ f32 pair() const {
    const f32 sum = lane<kLane>();
    if constexpr (!is_tap(kLane + 8)) {
      return sum;
    } else if constexpr (is_single(kLane + 8)) {
      return plus(sum, kLane + 8);
    } else {
      return f32_add(sum, lane<kLane + 8>());
    }
  }
  template <s32 kLane>
  __device__ __forceinline__ f32 four() const {
    const f32 sum = pair<kLane>();
    if constexpr (!is_tap(kLane + 4)) {
      return sum;
    } else if constexpr (is_single(kLane + 4) && !is_tap(kLane + 12)) {
      return plus(sum, kLane + 4);
    } else {
      return f32_add(sum, pair<kLane + 4>());
    }
  }
  template <s32 kLane>
  __device__ __forceinline__ f32 eight() const {
    const f32 sum = four<kLane>();
    if constexpr (!is_tap(kLane + 2)) {
      return sum;
    } else {
      return f32_add(sum, four<kLane + 2>());
    }
  }
  __device__ __forceinline__ f32 all() const {
    if constexpr (kTaps == 1) {
      return eight<0>();
    } else {
      return f32_add(eight<0>(), eight<1>());
    }
  }
};

// Where a thread's part of y begins, and what of x it reads.
struct Strip {
  const u8* x;  // of the first row's first pixel, which may lie outside
  bool inside[kRead];
  s32 c, n, out_h, out_w;

  __device__ __forceinline__ Strip(const Params& p, s64 item) {
    constexpr s32 kTiles = column_tiles(s), kStrips = row_tiles(s);
    c = (s32)(item % kPieces) * kChannels;
    const s32 rest = (s32)(item / kPieces);
    out_w = first_of<along_w.apart>(rest % kTiles, kColumns);
    out_h = first_of<along_h.apart>(rest / kTiles % kStrips, s.rows);
    n = rest / (kTiles * kStrips);
    const s32 in_w = out_w * w.stride_w - w.pad_left;
    x = (const u8*)p.x + ((s64)n * s.at.x.image + (s64)(out_h * w.stride_h - w.pad_top) * s.at.x.row + (s64)in_w * s.at.x.pixel + c) * kXBytes;
#pragma unroll
    for (s32 i = 0; i < kRead; ++i) inside[i] = (u32)(in_w + i * w.dilation_w) < (u32)w.in_w;
  }
  // Where tile `tile` begins: of `kApart` neighbours each has the next row or column that the others leave out.
  template <s32 kApart>
  static __device__ __forceinline__ s32 first_of(s32 tile, s32 size) { return tile / kApart * (size * kApart) + tile % kApart; }
  // Row `i` from the first on. What lies outside is 0.
  __device__ __forceinline__ void read(RawRow& to, s32 i, bool wanted) const {
    const u8* from = x + (s64)i * (w.dilation_h * s.at.x.row * kXBytes);
    const bool row = wanted && (u32)(out_h * w.stride_h - w.pad_top + i * w.dilation_h) < (u32)w.in_h;
#pragma unroll
    for (s32 k = 0; k < kRead; ++k) {
      constexpr u32 kZero = is_code(s.x) ? (w.zero_point & 255) * 0x01010101u : 0u;
#pragma unroll
      for (s32 j = 0; j < (s32)(sizeof(XPiece) / sizeof(typename XPiece::Word)); ++j) to.at[k].words[j] = (typename XPiece::Word)kZero;
      if (row && inside[k]) to.at[k] = piece_at<kXBytes * kChannels>(from + k * (w.dilation_w * s.at.x.pixel * kXBytes));
    }
  }
};

__device__ __forceinline__ void widen(Row& to, const RawRow& from) {
#pragma unroll
  for (s32 k = 0; k < kRead; ++k)
#pragma unroll
    for (s32 e = 0; e < kChannels; ++e) to.at[k][e] = real_of_x(from.at[k], e);
}

// Row out_h of y, whose windows begin with row `top` of the ring.
__device__ __forceinline__ void end_row(const Params& p, const Row (&ring)[kRing], const Taps& taps, const f32 (&bias)[kChannels], const Strip& strip, s32 out_h, s32 top) {
#pragma unroll
  for (s32 column = 0; column < kColumns; ++column) {
    f32 sums[kChannels];
#pragma unroll
    for (s32 e = 0; e < kChannels; ++e) {
      const f32 sum = WindowSum{ring, taps, top, column, e}.all();
      sums[e] = s.end.bias ? sum : f32_add(sum, 0.0f);
    }
    const s32 out_w = strip.out_w + column * along_w.apart;
    const s64 y = (s64)strip.n * s.at.y.image + (s64)out_h * s.at.y.row + (s64)out_w * s.at.y.pixel + strip.c;
    const s64 residual = (s64)strip.n * s.at.residual.image + (s64)out_h * s.at.residual.row + (s64)out_w * s.at.residual.pixel + strip.c;
    if ((along_w.apart == 1 && w.out_w % kColumns == 0) || out_w < w.out_w) End::store_at<kChannels>(p.end, y, residual, sums, bias);
  }
}

// Rows of y from `first` on, until each row of x lies where that of the first one lay.
__device__ __forceinline__ void end_period(const Params& p, Row (&ring)[kRing], RawRow (&next)[kNew], const Taps& taps, const f32 (&bias)[kChannels], const Strip& strip, s32 first) {
#pragma unroll
  for (s32 step = 0; step < period(w); ++step) {
    const s32 row = first + step;
    const s32 out_h = strip.out_h + row * along_h.apart;
    if (row >= s.rows || out_h >= w.out_h) return;
#pragma unroll
    for (s32 i = 0; i < kNew; ++i) widen(ring[(step * kNew + kOld + i) % kRing], next[i]);
#pragma unroll
    for (s32 i = 0; i < kNew; ++i) strip.read(next[i], (row + 1) * kNew + kOld + i, row + 1 < s.rows);
    __syncwarp();  // compilers would move these loads down to where they are needed, and nothing would hide them
    end_row(p, ring, taps, bias, strip, out_h, step * kNew % kRing);
  }
}

// A thread goes down a strip of y and reads each row of x once.
__device__ __forceinline__ void go_down(const Params& p, s64 item) {
  const Strip strip(p, item);
  Row ring[kRing];
  RawRow old[kOld == 0 ? 1 : kOld], next[kNew];
#pragma unroll
  for (s32 i = 0; i < kOld; ++i) strip.read(old[i], i, true);
#pragma unroll
  for (s32 i = 0; i < kNew; ++i) strip.read(next[i], kOld + i, true);
  Taps taps;
#pragma unroll
  for (s32 tap = 0; tap < kTaps; ++tap) {
    const Piece<4 * kChannels> weights = piece_at<4 * kChannels>(p.weights + tap * w.groups + strip.c);
#pragma unroll
    for (s32 e = 0; e < kChannels; ++e) taps.at[tap][e] = real_at<Number::f32>(weights, e);
  }
  f32 bias[kChannels];
#pragma unroll
  for (s32 e = 0; e < kChannels; ++e) bias[e] = s.end.bias ? f32_add(0.0f, p.end.bias[strip.c + e]) : 0.0f;
#pragma unroll
  for (s32 i = 0; i < kOld; ++i) widen(ring[i], old[i]);
#pragma unroll 1
  for (s32 row = 0; row < s.rows; row += period(w)) end_period(p, ring, next, taps, bias, strip, row);
}

// The pixel that is read, and whether it is the tap's: loads that wait for no branch are under way together.
struct TapAxis {
  s32 at;
  bool inside;
  __device__ __forceinline__ TapAxis(s32 place, s32 size) : at(clamp_s32(place, 0, size - 1)), inside((u32)place < (u32)size) {}
};

// Lane `lane` of the 16, of which those that no tap meets are 0.
__device__ __forceinline__ f32 lane_of(const f32 (&lanes)[kUsed][kChannels], s32 lane, s32 e) { return lane < kUsed ? lanes[lane < kUsed ? lane : 0][e] : 0.0f; }

__device__ __forceinline__ f32 sum_of(const f32 (&lanes)[kUsed][kChannels], s32 e) {
  f32 four[4];
#pragma unroll
  for (s32 j = 0; j < 4; ++j)
    four[j] = f32_add(f32_add(lane_of(lanes, j, e), lane_of(lanes, j + 8, e)), f32_add(lane_of(lanes, j + 4, e), lane_of(lanes, j + 12, e)));
  return f32_add(f32_add(four[0], four[2]), f32_add(four[1], four[3]));
}

// A thread has one pixel of y.
__device__ __forceinline__ void end_pixel(const Params& p, s64 item) {
  const s32 m = (s32)(item / kPieces), c = (s32)(item % kPieces) * kChannels;
  const s32 n = m / (w.out_h * w.out_w), rest = m % (w.out_h * w.out_w), out_h = rest / w.out_w, out_w = rest % w.out_w;
  const s32 h0 = out_h * w.stride_h - w.pad_top, w0 = out_w * w.stride_w - w.pad_left;
  const u8* image = (const u8*)p.x + ((s64)n * s.at.x.image + c) * kXBytes;
  f32 lanes[kUsed][kChannels] = {};
#pragma unroll
  for (s32 tap = 0; tap < kTaps; ++tap) {
    const TapAxis h(h0 + tap / w.taps_w * w.dilation_h, w.in_h), x(w0 + tap % w.taps_w * w.dilation_w, w.in_w);
    const bool inside = h.inside && x.inside;
    const XPiece numbers = piece_at<kXBytes * kChannels>(image + ((s64)h.at * s.at.x.row + (s64)x.at * s.at.x.pixel) * kXBytes);
    const Piece<4 * kChannels> weights = piece_at<4 * kChannels>(p.weights + tap * w.groups + c);
#pragma unroll
    for (s32 e = 0; e < kChannels; ++e) {
      const f32 real = inside ? real_of_x(numbers, e) : 0.0f;
      lanes[tap % kLanes][e] = add_product(lanes[tap % kLanes][e], real, real_at<Number::f32>(weights, e));
    }
  }
  f32 sums[kChannels];
#pragma unroll
  for (s32 e = 0; e < kChannels; ++e) sums[e] = sum_of(lanes, e);
  const s64 y = (s64)n * s.at.y.image + (s64)out_h * s.at.y.row + (s64)out_w * s.at.y.pixel + c;
  const s64 residual = (s64)n * s.at.residual.image + (s64)out_h * s.at.residual.row + (s64)out_w * s.at.residual.pixel + c;
  End::store<kChannels>(p.end, c, y, residual, sums);
}

extern "C" __global__ void __launch_bounds__(threads(s)) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 item = (s64)blockIdx.x * threads(s) + threadIdx.x;
  if (item >= p.images * items(s)) return;
  if constexpr (s.columns == 0) {
    end_pixel(p, item);
  } else {
    go_down(p, item);
  }
}
