// SPDX-License-Identifier: Apache-2.0
// Weighted sums of neighbours: docs/numerics.md, section 5. A thread makes `vector` of `inner`, of one row of y or of several.
#include "backends/cuda/device/code_end.cuh"
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::interpolate;

constexpr Spec s = Made::spec();
INTERPOLATE_RULES(OCTET_RULE_ASSERT)

using End = CodeEnd<PartOf<Made, &Spec::end>>;

typedef Element<s.in> In;
typedef Element<s.out> Out;
constexpr s32 kVector = s.vector, kVectors = vectors(s), kPixels = pixels(s);

struct Sum {
  f32 at[kVector];
};

template <class T>
__device__ __forceinline__ f32 real_of(T value) {
  if constexpr (s.codes) {
    return centered(value, s.zero_point);
  } else {
    return value;
  }
}
__device__ __forceinline__ Out finished(f32 v) {
  if constexpr (s.codes) {
    return (Out)End::code(f32_mul(v, value_of(s.multiplier)));
  } else {
    return v;
  }
}

__device__ __forceinline__ Sum pixel_at(const In* x, s32 h, s32 w) {
  Values<In, kVector> values;
  load_values<kVector * sizeof(In)>(values, x + (s64)h * s.x.row + (s64)w * s.x.pixel);
  Sum sum;
#pragma unroll
  for (s32 e = 0; e < kVector; ++e) sum.at[e] = real_of(values.at[e]);
  return sum;
}

__device__ __forceinline__ void add(Sum& to, f32 weight, const Sum& from) {
#pragma unroll
  for (s32 e = 0; e < kVector; ++e) to.at[e] = f32_add(to.at[e], f32_mul(weight, from.at[e]));
}

__device__ __forceinline__ Sum nothing() {
  Sum sum;
#pragma unroll
  for (s32 e = 0; e < kVector; ++e) sum.at[e] = 0.0f;
  return sum;
}

// Of one column of the input: rows come first.
__device__ __forceinline__ Sum column_at(const Params& p, const In* x, s32 oh, s32 w) {
  if constexpr (s.row_taps == 0) {
    return pixel_at(x, oh, w);
  } else {
    Sum sum = nothing();
#pragma unroll unrolled(s)
    for (s32 k = 0; k < s.row_taps; ++k)
      add(sum, p.row_weights[oh * s.row_taps + k], pixel_at(x, p.rows[oh * s.row_taps + k], w));
    return sum;
  }
}

__device__ __forceinline__ Sum sum_at(const Params& p, const In* x, s32 oh, s32 ow) {
  if constexpr (s.column_taps == 0) {
    return column_at(p, x, oh, ow);
  } else {
    Sum sum = nothing();
#pragma unroll unrolled(s)
    for (s32 k = 0; k < s.column_taps; ++k)
      add(sum, p.column_weights[ow * s.column_taps + k], column_at(p, x, oh, p.columns[ow * s.column_taps + k]));
    return sum;
  }
}

__device__ __forceinline__ void store(Out* y, const Sum& sum) {
  Values<Out, kVector> values;
#pragma unroll
  for (s32 e = 0; e < kVector; ++e) values.at[e] = finished(sum.at[e]);
  store_values<kVector * sizeof(Out)>(y, values);
}

// Rows of y from `first` on, in column ow. Pixels of x are kept until a row of y has others: of an image that is made much larger most rows have the same.
__device__ __forceinline__ void go_down(const Params& p, const In* x, Out* y, s32 first, s32 ow) {
  constexpr s32 kRowTaps = s.row_taps < 1 ? 1 : s.row_taps, kColumnTaps = s.column_taps < 1 ? 1 : s.column_taps;
  s32 columns[kColumnTaps], rows[kRowTaps];
  f32 weights[kColumnTaps];
  Sum kept[kRowTaps][kColumnTaps];
#pragma unroll
  for (s32 k = 0; k < kColumnTaps; ++k) columns[k] = p.columns[ow * kColumnTaps + k], weights[k] = p.column_weights[ow * kColumnTaps + k];
#pragma unroll
  for (s32 k = 0; k < kRowTaps; ++k) rows[k] = -1;
#pragma unroll 1
  for (s32 oh = first; oh < s.out_h && oh < first + s.rows; ++oh) {
    f32 row_weights[kRowTaps];
#pragma unroll
    for (s32 k = 0; k < kRowTaps; ++k) {
      const s32 row = p.rows[oh * kRowTaps + k];
      row_weights[k] = p.row_weights[oh * kRowTaps + k];
      if (row == rows[k]) continue;
      rows[k] = row;
#pragma unroll
      for (s32 c = 0; c < kColumnTaps; ++c) kept[k][c] = pixel_at(x, row, columns[c]);
    }
    Sum sum = nothing();
#pragma unroll
    for (s32 c = 0; c < kColumnTaps; ++c) {
      Sum column = nothing();
#pragma unroll
      for (s32 k = 0; k < kRowTaps; ++k) add(column, row_weights[k], kept[k][c]);
      add(sum, weights[c], column);
    }
    store(y + (s64)oh * s.y.row + (s64)ow * s.y.pixel, sum);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const s64 step = (s64)gridDim.x * kThreads;
  for (s64 at = (s64)blockIdx.x * kThreads + threadIdx.x; at < count(s); at += step) {
    const s32 c = (s32)(at % kVectors) * kVector, pixel = (s32)(at / kVectors % kPixels);
    const s64 image = at / ((s64)kVectors * kPixels);
    const s32 oh = pixel / s.out_w * s.rows, ow = pixel % s.out_w;
    const In* x = (const In*)p.x + image * s.x.image + c;
    Out* y = (Out*)p.y + image * s.y.image + c;
    if constexpr (s.rows > 1) {
      go_down(p, x, y, oh, ow);
    } else {
      store(y + (s64)oh * s.y.row + (s64)ow * s.y.pixel, sum_at(p, x, oh, ow));
    }
  }
}
