// SPDX-License-Identifier: Apache-2.0
// Rows that are normalized each on its own: Softmax, LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization; of
// reals or codes, to reals or codes. Sums and maxima run in 16 lanes (docs/numerics.md section 7), a thread for each.
//
// Constants:
//   ROWS, COUNT, INNER    COUNT elements of a row lie INNER apart; row r begins at r / INNER * COUNT * INNER + r % INNER
//   SOFTMAX, CENTERED     one of Softmax, of normalizations that subtract the mean, of those that do not
//   CHANNELS              0: scale and bias by element; else so many for the rows of an image, ROW_CHANNELS of them for each
//   EPSILON, BIAS         BIAS: there is one (reals add 0 where a centered norm has none)
//   X_CODES: X_S8, X_SCALE, ZP_X;  Y_CODES: Y_SCALE, Y_RECIPROCAL (reciprocal_of()), ZP_Y, LO, HI
//   LANES                 of a row that have an element: 16, or fewer where the others add nothing
//   BLOCK_ROWS            rows of a block of LANES * BLOCK_ROWS threads
//   LANES_FIRST           neighbouring threads are lanes of a row, else rows
//   KEPT                  elements that a thread keeps in registers, all of its lane; 0: they are read for each pass
#if KEPT
#define EACH_OWN(e) _Pragma("unroll") for (s32 e = 0; e < KEPT; ++e) if (lane + LANES * e < COUNT)
#else
#define EACH_OWN(e) for (s32 e = 0; lane + LANES * e < COUNT; ++e)
#endif

struct Add {
  __device__ __forceinline__ f32 operator()(f32 lane, f32 x) const { return f32_add(lane, x); }
};
struct Larger {
  __device__ __forceinline__ f32 operator()(f32 lane, f32 x) const { return x > lane ? x : lane; }
};

// Of the lanes of a row, for all of its threads.
#if LANES_FIRST
template <class Op>
__device__ __forceinline__ f32 combined(f32 own, const Op& op) {
#pragma unroll
  for (s32 width = LANES / 2; width > 0; width /= 2) own = op(own, __shfl_down_sync(~0u, own, width, LANES));
  return __shfl_sync(~0u, own, 0, LANES);
}
#else
__shared__ f32 partial[16][BLOCK_ROWS];

template <class Op>
__device__ __forceinline__ f32 combined(f32 own, const Op& op) {
  const s32 row = threadIdx.x % BLOCK_ROWS;
  __syncthreads();
  partial[threadIdx.x / BLOCK_ROWS][row] = own;
  __syncthreads();
  f32 lanes[8];
#pragma unroll
  for (s32 i = 0; i < 8; ++i) lanes[i] = op(partial[i][row], partial[i + 8][row]);
#pragma unroll
  for (s32 i = 0; i < 4; ++i) lanes[i] = op(lanes[i], lanes[i + 4]);
  return op(op(lanes[0], lanes[2]), op(lanes[1], lanes[3]));
}
#endif

__device__ __forceinline__ f32 real_at(const RowsParams& p, s64 at) {
#if X_CODES
  return f32_mul(X_S8 ? centered((s8)p.x[at], ZP_X) : centered(p.x[at], ZP_X), X_SCALE);
#else
  return ((const f32*)p.x)[at];
#endif
}

__device__ __forceinline__ void store(const RowsParams& p, s64 at, f32 y) {
#if Y_CODES
  p.y[at] = (u8)quantized(y, Y_SCALE, Y_RECIPROCAL, ZP_Y, LO, HI);
#else
  ((f32*)p.y)[at] = y;
#endif
}

// The elements of this thread: one in LANES of a row.
struct Own {
  const RowsParams& p;
  s64 first;
#if KEPT
  f32 kept[KEPT];
  __device__ __forceinline__ Own(const RowsParams& params, s64 row_first, s32 lane) : p(params), first(row_first + (s64)lane * INNER) {
    EACH_OWN(e) kept[e] = real_at(p, place(e));
  }
  __device__ __forceinline__ f32 operator[](s32 e) const { return kept[e]; }
  // Results take the place of elements until all are there: a store between two loads would let the second wait.
  __device__ __forceinline__ void give(s32 e, f32 y) { kept[e] = y; }
  __device__ __forceinline__ void store_given(s32 lane) const { EACH_OWN(e) store(p, place(e), kept[e]); }
#else
  __device__ __forceinline__ Own(const RowsParams& params, s64 row_first, s32 lane) : p(params), first(row_first + (s64)lane * INNER) {}
  __device__ __forceinline__ f32 operator[](s32 e) const { return real_at(p, place(e)); }
  __device__ __forceinline__ void give(s32 e, f32 y) const { store(p, place(e), y); }
  __device__ __forceinline__ void store_given(s32) const {}
#endif
  __device__ __forceinline__ s64 place(s32 e) const { return first + (s64)e * LANES * INNER; }
};

#if SOFTMAX
__device__ __forceinline__ void normalize(const RowsParams& p, Own& own, s64 row, s32 lane, bool present) {
  f32 most = -INFINITY_F32;
  EACH_OWN(e) most = Larger()(most, own[e]);
  most = combined(most, Larger());
  f32 sum = 0.0f;
#if KEPT
  EACH_OWN(e) {
    own.kept[e] = math_exp(f32_sub(own[e], most));
    sum = f32_add(sum, own[e]);
  }
#define POWER(e) own[e]
#else
#define POWER(e) math_exp(f32_sub(own[e], most))
  EACH_OWN(e) sum = f32_add(sum, POWER(e));
#endif
  sum = combined(sum, Add());
  if (!present) return;
#if Y_CODES
  const Shares shares(sum);
  EACH_OWN(e) p.y[own.place(e)] = shares.code(POWER(e));
#else
  EACH_OWN(e) store(p, own.place(e), f32_div(POWER(e), sum));
#endif
}
#else
__device__ __forceinline__ void normalize(const RowsParams& p, Own& own, s64 row, s32 lane, bool present) {
  const f32 count = f32_of(COUNT);
#if CENTERED
  f32 sum = 0.0f;
  EACH_OWN(e) sum = f32_add(sum, own[e]);
  const f32 mean = f32_div(combined(sum, Add()), count);
#define DEVIATION(e) f32_sub(own[e], mean)
#else
#define DEVIATION(e) own[e]
#endif
  f32 squares = 0.0f;
  EACH_OWN(e) squares = f32_add(squares, f32_mul(DEVIATION(e), DEVIATION(e)));
  squares = combined(squares, Add());
  const f32 inverse = f32_div(1.0f, f32_sqrt(f32_add(f32_div(squares, count), EPSILON)));
  if (!present) return;
  EACH_OWN(e) {
#if CHANNELS
    const s64 parameter = row % (CHANNELS / ROW_CHANNELS) * ROW_CHANNELS + (lane + LANES * e) / (COUNT / ROW_CHANNELS);
#else
    const s64 parameter = lane + LANES * e;
#endif
    f32 y = f32_mul(f32_mul(DEVIATION(e), inverse), p.scale[parameter]);
#if BIAS
    y = f32_add(y, p.bias[parameter]);
#elif CENTERED
    y = f32_add(y, 0.0f);
#endif
    own.give(e, y);
  }
  own.store_given(lane);
}
#endif

extern "C" __global__ void __launch_bounds__(LANES * BLOCK_ROWS) octet_kernel(const __grid_constant__ RowsParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const s32 lane = LANES_FIRST ? threadIdx.x % LANES : threadIdx.x / BLOCK_ROWS;
  const s64 wanted = (s64)blockIdx.x * BLOCK_ROWS + (LANES_FIRST ? threadIdx.x / LANES : threadIdx.x % BLOCK_ROWS);
  // Threads beyond the last row take part in what their warp exchanges.
  const s64 row = wanted < ROWS ? wanted : (s64)ROWS - 1;
  Own own(p, row / INNER * COUNT * INNER + row % INNER, lane);
  normalize(p, own, row, lane, wanted < ROWS);
}
