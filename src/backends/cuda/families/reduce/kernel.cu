// SPDX-License-Identifier: Apache-2.0
// Sums, products and extremes over some axes. A row is what makes one output: its elements in the order of the reduced axes, of which
// lane l of 16 takes l, l + 16, ...; lanes are combined pairwise, 8 apart, then 4, 2, 1, so sums of reals have the bits of docs/numerics.md,
// section 7. Of integers any order has the same bits: lanes are as many as keep the chip busy.
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/elements.cuh"
#include "backends/cuda/device/extremes.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::reduce;

constexpr Spec s = Made::spec();
REDUCE_RULES(OCTET_RULE_ASSERT)

constexpr s32 kThreads = threads(s), kLanes = s.lanes, kVec = s.vec, kVectors = vectors(s), kInnerBlocks = inner_blocks(s);
constexpr s64 kRows = rows(s);
constexpr s32 kUnroll = s.has_inner && has_any_order(s.element) ? 8 : 4;  // loads that a lane has under way where it waits for them
constexpr s32 kLoads = s.loads, kTurns = turns(s);
constexpr s32 kVectorBytes = (s32)sizeof(Element<s.element>) * kVec;
constexpr Operation kOperation = s.operation;

typedef Element<s.element> Number;
typedef Element<s.out> Out;
typedef Element<s.rounded> Rounded;

// How an extreme is found: a key of rank and place (`kKeyed`), one that is wider than 64 bits, or, of integers alone, the number itself.
constexpr bool kReal = is_real(s.element), kPlace = is_place(kOperation);
constexpr bool kRanked = kPlace && !kReal && sizeof(Number) == 8;
constexpr bool kKeyed = (kPlace || (kReal && is_extreme(kOperation))) && !kRanked;
constexpr bool kLargest = kOperation == Operation::largest || kOperation == Operation::place_of_largest;
constexpr bool kLast = kPlace ? s.last : true;  // an extreme alone is that of any of its places
constexpr bool kLastNan = kPlace && s.last;

// Reduced axes from kFrom on, of which `rest` counts the elements.
template <s32 kFrom>
__device__ __forceinline__ void add_element_offset(s32 rest, s64& at) {
  if constexpr (kFrom < s.reduced.count) {
    constexpr ReducedAxis axis = s.reduced.at[kFrom];
    constexpr bool kLastAxis = kFrom + 1 == s.reduced.count;
    at += (s64)(kLastAxis ? rest : rest % axis.size) * axis.x;
    if constexpr (!kLastAxis) add_element_offset<kFrom + 1>(rest / axis.size, at);
  }
}

__device__ __forceinline__ s64 element_at(s32 index) {
  s64 at = 0;
  __builtin_assume(index >= 0);
  add_element_offset<0>(index, at);
  return at;
}

template <s32 kFrom = 0>
__device__ __forceinline__ void add_row_offsets(s64 rest, s64& x, s64& y) {
  if constexpr (kFrom < s.kept.count) {
    constexpr KeptAxis axis = s.kept.at[kFrom];
    x += rest % axis.size * axis.x;
    y += rest % axis.size * axis.y;
    add_row_offsets<kFrom + 1>(rest / axis.size, x, y);
  }
}

// What a lane begins with, whose type is that of what is combined.
template <class T>
__device__ __forceinline__ auto first_sum() {
  constexpr u64 kSign = 1ull << (8 * sizeof(T) - 1);
  constexpr bool kSigned = is_signed_integer(s.element);
  if constexpr (kRanked) return Ranked(0, 0);
  else if constexpr (kKeyed) return (u64)0;
  else if constexpr (kReal) return kOperation == Operation::product ? 1.0f : 0.0f;
  else if constexpr (kOperation == Operation::largest) return (T)(kSigned ? kSign : 0);
  else if constexpr (kOperation == Operation::smallest) return (T)(kSigned ? kSign - 1 : ~0ull);
  else if constexpr (kOperation == Operation::mean_codes) return (s32)0;
  else return (Wrapping<T>)(kOperation == Operation::product ? 1 : 0);
}
typedef decltype(first_sum<Number>()) Sum;
static_assert(sizeof(Sum) <= sum_bytes(s.element, s.operation), "the host counts on it");

// What element x, number i of its row, brings.
template <class T>
__device__ __forceinline__ auto term_of(T x, s32 i) {
  if constexpr (kRanked) {
    return extreme_ranked(x, i, kLargest, s.last);
  } else if constexpr (kKeyed && kReal) {
    return extreme_key((f32)x, i, kLargest, true, kLast, kLastNan);
  } else if constexpr (kKeyed) {
    if constexpr (s.element == ElementType::u32) return extreme_key((u32)x, i, kLargest, false, s.last);
    else return extreme_key((s32)x, i, kLargest, false, s.last);
  } else if constexpr (kOperation == Operation::sum_of_magnitudes) {
    return fabsf((f32)x);
  } else if constexpr (kOperation == Operation::sum_of_squares || kOperation == Operation::norm) {
    return f32_mul((f32)x, (f32)x);
  } else {
    return (Sum)x;
  }
}

// `b` came later.
template <class T>
__device__ __forceinline__ T combined(T a, T b) {
  if constexpr (kRanked || kKeyed || kOperation == Operation::largest) return a > b ? a : b;
  else if constexpr (kOperation == Operation::smallest) return a < b ? a : b;
  else if constexpr (kReal) return kOperation == Operation::product ? f32_mul(a, b) : f32_add(a, b);
  else if constexpr (kOperation == Operation::product) return a * b;
  else return a + b;
}

// The output, of what a row has come to; row[element_at(i)] is its element i.
template <class T>
__device__ __forceinline__ Out finished(T sum, const Number* row) {
  if constexpr (kRanked) {
    return (Out)(s.last ? sum.place : ~sum.place);
  } else if constexpr (kKeyed && kReal) {
    const s32 place = extreme_place(sum, true, kLast, kLastNan);
    if constexpr (kPlace) return (Out)place;
    else return (Out)(f32)row[element_at(place)];
  } else if constexpr (kKeyed) {
    return (Out)(s.last ? (u32)sum : ~(u32)sum);
  } else if constexpr (kOperation == Operation::mean) {
    return (Out)(Rounded)f32_div(sum, (f32)s.count);
  } else if constexpr (kOperation == Operation::norm) {
    return (Out)(Rounded)f32_sqrt(sum);
  } else if constexpr (kOperation == Operation::mean_codes) {
    const f32 real = f32_mul(f32_of(sum - s.mean.zero), value_of(s.mean.multiplier));
    return (Out)code_of_real(s.mean.leaky ? leaky(real, value_of(s.mean.alpha)) : real, s.mean.zero_point, s.mean.lo, s.mean.hi);
  } else if constexpr (kReal) {
    return (Out)(Rounded)sum;
  } else {
    return (Out)sum;
  }
}

typedef Values<Sum, kVec> Sums;

__device__ __forceinline__ Sums first_sums() {
  Sums sums;
#pragma unroll
  for (s32 e = 0; e < kVec; ++e) sums.at[e] = first_sum<Number>();
  return sums;
}

// Vector `from`, of which a lane's sums take element i of their rows.
__device__ __forceinline__ void join(Sums& sums, const Number* from, s32 i) {
  Values<Number, kVec> values;
  load_values<kVectorBytes>(values, from);
#pragma unroll
  for (s32 e = 0; e < kVec; ++e) sums.at[e] = combined(sums.at[e], (Sum)term_of(values.at[e], i));
}

// Places of a block's vectors while they come. A thread reads none but its own, so it waits for nobody else.
struct Staged {
  typename Access<kVectorBytes>::Type at[kStages][kLoads == 0 ? 1 : kLoads][kThreads];

  static __device__ __forceinline__ s32 element(s32 turn, s32 load, s32 lane) { return (turn * kLoads + load) * kLanes + lane; }
  static __device__ __forceinline__ bool exists(s32 i) { return kTurns * kLoads * kLanes == s.count || i < s.count; }

  // Along one axis the elements of a turn lie as far apart as constants say.
  __device__ __forceinline__ void ask(const Number* row, s32 turn, s32 lane) {
    constexpr bool kOneAxis = s.reduced.count == 1;
    constexpr s64 kApart = kOneAxis ? s.reduced.at[0].x * kLanes : 0;
    const Number* first = row + (kOneAxis ? element_at(element(turn, 0, lane)) : 0);
#pragma unroll
    for (s32 l = 0; l < kLoads; ++l) {
      const s32 i = element(turn, l, lane);
      const Number* from = kOneAxis ? first + l * kApart : row + element_at(i);
      if (exists(i)) copy_async<kVectorBytes>(&at[turn % kStages][l][threadIdx.x], from);
    }
  }

  __device__ __forceinline__ void join_all(Sums& sums, s32 turn, s32 lane) const {
#pragma unroll
    for (s32 l = 0; l < kLoads; ++l) {
      const s32 i = element(turn, l, lane);
      if (exists(i)) join(sums, (const Number*)&at[turn % kStages][l][threadIdx.x], i);
    }
  }

  // Turns beyond the last one ask for nothing, and are waited for all the same.
  __device__ __forceinline__ Sums sums_of(const Number* row, s32 lane) {
    Sums sums = first_sums();
#pragma unroll
    for (s32 turn = 0; turn < kStages - 1; ++turn) {
      if (turn < kTurns) ask(row, turn, lane);
      copy_async_commit();
    }
#pragma unroll 1
    for (s32 turn = 0; turn < kTurns; ++turn) {
      if (turn + kStages - 1 < kTurns) ask(row, turn + kStages - 1, lane);
      copy_async_commit();
      copy_async_wait<kStages - 1>();
      join_all(sums, turn, lane);
    }
    return sums;
  }
};

// Of a row and its neighbours, the elements lane, lane + kLanes, ..., in order.
__device__ __forceinline__ Sums sums_of_lane(const Number* row, s32 lane) {
  Sums sums = first_sums();
#pragma unroll kUnroll
  for (s32 i = lane; i < s.count; i += kLanes) join(sums, row + element_at(i), i);
  return sums;
}

// What a block has in shared memory: vectors as they come, then sums.
union Shared {
  Staged staged;
  Sums sums[kLanes][s.columns];
  __device__ Shared() {}
};

__device__ __forceinline__ void reduce_columns(const Params& p) {
  __shared__ Shared shared;
  s64 x_at = 0, y_at = 0;
  const s32 column = threadIdx.x % s.columns, lane = threadIdx.x / s.columns;
  const s32 vector = blockIdx.x % kInnerBlocks * s.columns + column;
  add_row_offsets(blockIdx.x / kInnerBlocks, x_at, y_at);
  // Threads beyond the last vector do as its own does, and keep nothing.
  const Number* x = (const Number*)p.x + x_at + (s64)min(vector, kVectors - 1) * kVec;
  Sums mine;
  if constexpr (kLoads > 0) {
    mine = shared.staged.sums_of(x, lane);
    __syncthreads();
  } else {
    mine = sums_of_lane(x, lane);
  }
  shared.sums[lane][column] = mine;
#pragma unroll
  for (s32 half = kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
#pragma unroll
      for (s32 e = 0; e < kVec; ++e) {
        mine.at[e] = combined(mine.at[e], shared.sums[lane + half][column].at[e]);
        shared.sums[lane][column].at[e] = mine.at[e];
      }
    }
  }
  if (lane != 0 || vector >= kVectors) return;
#pragma unroll
  for (s32 e = 0; e < kVec; ++e) ((Out*)p.y)[y_at + ((s64)vector * kVec + e) * s.y_inner] = finished(mine.at[e], x + e);
}

__device__ __forceinline__ void reduce_rows(const Params& p) {
  s64 x_at = 0, y_at = 0;
  const s64 row = ((s64)blockIdx.x * kThreads + threadIdx.x) / kLanes;
  const s32 lane = threadIdx.x % kLanes;
  // Threads beyond the last row do as its own do, and keep nothing.
  add_row_offsets(row < kRows ? row : kRows - 1, x_at, y_at);
  const Number* x = (const Number*)p.x + x_at;
  Sum sum = sums_of_lane(x, lane).at[0];
#pragma unroll
  for (s32 half = kLanes / 2; half > 0; half /= 2) sum = combined(sum, of_lane_beside(sum, half));
  if (row < kRows && lane == 0) ((Out*)p.y)[y_at] = finished(sum, x);
}

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  if constexpr (s.has_inner) {
    reduce_columns(p);
  } else {
    reduce_rows(p);
  }
}
