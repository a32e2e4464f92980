// SPDX-License-Identifier: Apache-2.0
// Rows that are normalized each on its own: Softmax, LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization; of
// reals or codes, to reals or codes. Sums and maxima run in 16 lanes (docs/numerics.md section 7), a thread for each.
#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/halves.cuh"
#include "backends/cuda/device/math.cuh"
#include "backends/cuda/device/shares.cuh"

using namespace octet::cuda;
using namespace octet::cuda::rows;

constexpr Spec s = Made::spec();
ROWS_RULES(OCTET_RULE_ASSERT)

constexpr RowValues v = s.values;
constexpr s32 kLanes = s.lanes, kBlockRows = s.block_rows, kThreads = threads(s), kKept = s.kept;
constexpr bool kCentered = s.operation == Operation::centered;

// Elements of this thread's lane by number.
template <class F>
__device__ __forceinline__ void each_own(s32 lane, const F& f) {
  if constexpr (kKept > 0) {
#pragma unroll
    for (s32 e = 0; e < kKept; ++e)
      if (lane + kLanes * e < s.count) f(e);
  } else {
    for (s32 e = 0; lane + kLanes * e < s.count; ++e) f(e);
  }
}

struct Add {
  __device__ __forceinline__ f32 operator()(f32 lane, f32 x) const { return f32_add(lane, x); }
};
struct Larger {
  __device__ __forceinline__ f32 operator()(f32 lane, f32 x) const { return x > lane ? x : lane; }
};

// Where rows are not of a warp: what each lane of each row has.
__shared__ f32 partial[16][kBlockRows];

// Of the lanes of a row, for all of its threads.
template <class Op>
__device__ __forceinline__ f32 combined(f32 own, const Op& op) {
  if constexpr (s.lanes_first) {
#pragma unroll
    for (s32 width = kLanes / 2; width > 0; width /= 2) own = op(own, __shfl_down_sync(~0u, own, width, kLanes));
    return __shfl_sync(~0u, own, 0, kLanes);
  } else {
    const s32 row = threadIdx.x % kBlockRows;
    __syncthreads();
    partial[threadIdx.x / kBlockRows][row] = own;
    __syncthreads();
    f32 lanes[8];
#pragma unroll
    for (s32 i = 0; i < 8; ++i) lanes[i] = op(partial[i][row], partial[i + 8][row]);
#pragma unroll
    for (s32 i = 0; i < 4; ++i) lanes[i] = op(lanes[i], lanes[i + 4]);
    return op(op(lanes[0], lanes[2]), op(lanes[1], lanes[3]));
  }
}

__device__ __forceinline__ f32 real_at(const RowsParams& p, s64 at) {
  if constexpr (v.x_codes) {
    const f32 code = v.x_signed ? centered((s8)p.x[at], v.x_zero_point) : centered(p.x[at], v.x_zero_point);
    return f32_mul(code, value_of(v.x_scale));
  } else if constexpr (v.sum.exists) {
    return rounded_real<v.sum.rounded>(f32_add(load_real<v.x_real>(p.x, at), load_real<v.sum.added>(p.added, at)));
  } else {
    return load_real<v.x_real>(p.x, at);
  }
}

__device__ __forceinline__ void store(const RowsParams& p, s64 at, f32 y) {
  if constexpr (v.y_codes) {
    p.y[at] = (u8)quantized(y, value_of(v.y.scale), value_of(v.y.reciprocal), v.y.zero_point, v.y.lo, v.y.hi);
  } else {
    store_real<v.y_real, v.rounded>(p.y, at, y);
    if constexpr (v.codes_too)
      p.codes[at] = (u8)quantized(rounded_real<v.y_real>(y), value_of(v.y.scale), value_of(v.y.reciprocal), v.y.zero_point, v.y.lo, v.y.hi);
  }
}

// The elements of this thread: one in kLanes of a row. Kept in registers, or read for each pass.
template <s32 kCount>
struct Own {
  const RowsParams& p;
  s64 first;
  f32 kept[kCount];
  __device__ __forceinline__ Own(const RowsParams& params, s64 row_first, s32 lane) : p(params), first(row_first + (s64)lane * s.inner) {
    each_own(lane, [&](s32 e) { kept[e] = real_at(p, place(e)); });
  }
  __device__ __forceinline__ f32 operator[](s32 e) const { return kept[e]; }
  // Results take the place of elements until all are there: a store between two loads would let the second wait.
  __device__ __forceinline__ void give(s32 e, f32 y) { kept[e] = y; }
  __device__ __forceinline__ void store_given(s32 lane) const {
    each_own(lane, [&](s32 e) { store(p, place(e), kept[e]); });
  }
  __device__ __forceinline__ s64 place(s32 e) const { return first + (s64)e * kLanes * s.inner; }
};
template <>
struct Own<0> {
  const RowsParams& p;
  s64 first;
  __device__ __forceinline__ Own(const RowsParams& params, s64 row_first, s32 lane) : p(params), first(row_first + (s64)lane * s.inner) {}
  __device__ __forceinline__ f32 operator[](s32 e) const { return real_at(p, place(e)); }
  __device__ __forceinline__ void give(s32 e, f32 y) const { store(p, place(e), y); }
  __device__ __forceinline__ void store_given(s32) const {}
  __device__ __forceinline__ s64 place(s32 e) const { return first + (s64)e * kLanes * s.inner; }
};

struct OwnShares {
  static constexpr Quantization spec() { return Made::spec().values.y; }
};

// Of an element that is kept, whose place the power has taken, or read.
__device__ __forceinline__ f32 power_of(f32 x, f32 most) { return kKept > 0 ? x : math_exp(f32_sub(x, most)); }

__device__ __forceinline__ void take_softmax(const RowsParams& p, Own<kKept>& own, s32 lane, bool present) {
  f32 most = -INFINITY_F32;
  each_own(lane, [&](s32 e) { most = Larger()(most, own[e]); });
  most = combined(most, Larger());
  f32 sum = 0.0f;
  each_own(lane, [&](s32 e) {
    if constexpr (kKept > 0) own.give(e, math_exp(f32_sub(own[e], most)));
    sum = f32_add(sum, power_of(own[e], most));
  });
  sum = combined(sum, Add());
  if (!present) return;
  if constexpr (v.y_codes) {
    const Shares<OwnShares> shares(sum);
    each_own(lane, [&](s32 e) { p.y[own.place(e)] = shares.code(power_of(own[e], most)); });
  } else {
    each_own(lane, [&](s32 e) { store(p, own.place(e), f32_div(power_of(own[e], most), sum)); });
  }
}

__device__ __forceinline__ f32 deviation(f32 x, f32 mean) { return kCentered ? f32_sub(x, mean) : x; }

__device__ __forceinline__ void normalize(const RowsParams& p, Own<kKept>& own, s64 row, s32 lane, bool present) {
  const f32 count = f32_of(s.count);
  f32 mean = 0.0f;
  if constexpr (kCentered) {
    f32 sum = 0.0f;
    each_own(lane, [&](s32 e) { sum = f32_add(sum, own[e]); });
    mean = f32_div(combined(sum, Add()), count);
  }
  f32 squares = 0.0f;
  each_own(lane, [&](s32 e) { squares = f32_add(squares, f32_mul(deviation(own[e], mean), deviation(own[e], mean))); });
  squares = combined(squares, Add());
  const f32 inverse = f32_div(1.0f, f32_sqrt(f32_add(f32_div(squares, count), value_of(s.epsilon))));
  if (!present) return;
  each_own(lane, [&](s32 e) {
    // Of scale and bias.
    const s64 parameter = s.channels > 0 ? row % groups(s) * s.group_channels + (lane + kLanes * e) / (s.count / s.group_channels)
                                         : lane + kLanes * e;
    f32 y = f32_mul(f32_mul(deviation(own[e], mean), inverse), p.scale[parameter]);
    if constexpr (s.bias) {
      y = f32_add(y, p.bias[parameter]);
    } else if constexpr (kCentered) {
      y = f32_add(y, 0.0f);
    }
    own.give(e, y);
  });
  own.store_given(lane);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ RowsParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 lane = s.lanes_first ? threadIdx.x % kLanes : threadIdx.x / kBlockRows;
  const s64 wanted = (s64)blockIdx.x * kBlockRows + (s.lanes_first ? threadIdx.x / kLanes : threadIdx.x % kBlockRows);
  // Threads beyond the last row take part in what their warp exchanges.
  const s64 row = wanted < s.rows ? wanted : s.rows - 1;
  Own<kKept> own(p, row / s.inner * s.count * s.inner + row % s.inner, lane);
  if constexpr (s.operation == Operation::softmax) {
    take_softmax(p, own, lane, wanted < s.rows);
  } else {
    normalize(p, own, row, lane, wanted < s.rows);
  }
}
