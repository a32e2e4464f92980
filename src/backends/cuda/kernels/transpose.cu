// SPDX-License-Identifier: Apache-2.0
// out[a * A_OUT + b] = BODY(in[a + b * B_IN]) for all a, b and outer axes: a is the axis whose neighbours lie together in the input, b
// that of the output. Elements of one byte on either side go through tiles of shared memory as bytes.
// Constants:
//   IN, OUT            types of elements; MID: that of the tile, the smaller of both; BODY(a) makes OUT of IN
//   SIZE_A, A_OUT, SIZE_B, B_IN; FIRST_OUT, FIRST_A (of the input)
//   OUTER              X(size, stride in out, in in) for each other axis, fastest first; OUTERS: how many all together are
//   LOAD, STORE        elements of one access (1, 2, 4)
//   MODE               0: tiles of words of four bytes; 1: tiles of single elements; 2: SIZE_B is small, a thread takes four a;
//                      3: SIZE_A is small, a thread takes four b;  PACKED: there, small runs lie without gaps
//   TA, TB             of a tile
#define THREADS 256
typedef s64 Index;

// kEach elements at a time.
template <int kEach, class T, int kCount>
__device__ __forceinline__ void load(Values<T, kCount>& to, const T* from) {
  load_values<kEach * sizeof(T)>(to, from);
}
template <int kEach, class T, int kCount>
__device__ __forceinline__ void store(T* to, const Values<T, kCount>& from) {
  store_values<kEach * sizeof(T)>(to, from);
}

// The element as it goes into the tile, and as it comes out.
__device__ __forceinline__ MID before(IN a) {
#if BODY_FIRST
  return (MID)(BODY);
#else
  return a;
#endif
}
__device__ __forceinline__ OUT behind(MID a) {
#if BODY_FIRST
  return a;
#else
  return (OUT)(BODY);
#endif
}

__device__ __forceinline__ void outer_offsets(s32 outer, const IN*& in, OUT*& out) {
  s32 rest = outer;
#define X(size, out_stride, in_stride)   \
  out += (Index)(rest % size) * out_stride; \
  in += (Index)(rest % size) * in_stride;   \
  rest /= size;
  OUTER
#undef X
}

#define TILES_A ((SIZE_A + TA - 1) / TA)
#define TILES_B ((SIZE_B + TB - 1) / TB)

#if MODE == 0
// Rows of a, four neighbours of b in a word; odd, so that neither side meets a bank twice.
#define PITCH (TB / 4 + 1)
#define WARPS_A (TA / 32)
#define PARTS (TA / 32 * (TB / 16))
__shared__ u32 tile[TA * PITCH];

__device__ __forceinline__ void load_tile(const IN* in, s32 a0, s32 b0) {
  const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (s32 part = warp; part < PARTS; part += THREADS / 32) {
    const s32 a = part % WARPS_A * 32 + lane % 8 * 4, b = part / WARPS_A * 16 + lane / 8 * 4;
    u32 rows[4];
#pragma unroll
    for (s32 k = 0; k < 4; ++k) {
      rows[k] = 0;
      if (b0 + b + k >= SIZE_B) continue;
      const IN* from = in + (Index)(b0 + b + k) * B_IN + a0 + a;
      Values<IN, 4> values;
#if LOAD == 4
      if (a0 + a >= SIZE_A) continue;
      load<4>(values, from);
#else
#pragma unroll
      for (s32 e = 0; e < 4; ++e) values.at[e] = a0 + a + e < SIZE_A ? from[e] : IN(0);
#endif
#pragma unroll
      for (s32 e = 0; e < 4; ++e) rows[k] |= (u32)(u8)before(values.at[e]) << (8 * e);
    }
    const u32 even01 = __byte_perm(rows[0], rows[1], 0x5140), odd01 = __byte_perm(rows[0], rows[1], 0x7362);
    const u32 even23 = __byte_perm(rows[2], rows[3], 0x5140), odd23 = __byte_perm(rows[2], rows[3], 0x7362);
    u32* to = tile + a * PITCH + b / 4;
    to[0] = __byte_perm(even01, even23, 0x5410);
    to[PITCH] = __byte_perm(even01, even23, 0x7632);
    to[2 * PITCH] = __byte_perm(odd01, odd23, 0x5410);
    to[3 * PITCH] = __byte_perm(odd01, odd23, 0x7632);
  }
}

__device__ __forceinline__ void store_tile(OUT* out, s32 a0, s32 b0) {
#pragma unroll
  for (s32 i = threadIdx.x; i < TA * (TB / 4); i += THREADS) {
    const s32 a = i / (TB / 4), b = i % (TB / 4) * 4;
    if (a0 + a >= SIZE_A || b0 + b >= SIZE_B) continue;
    const u32 word = tile[a * PITCH + b / 4];
    OUT* to = out + (Index)(a0 + a) * A_OUT + b0 + b;
    Values<OUT, 4> values;
#pragma unroll
    for (s32 e = 0; e < 4; ++e) values.at[e] = behind((MID)(word >> (8 * e)));
    if (SIZE_B % 4 == 0 || b0 + b + 4 <= SIZE_B) {
      store<STORE>(to, values);
    } else {
#pragma unroll
      for (s32 e = 0; e < 4; ++e)
        if (b0 + b + e < SIZE_B) to[e] = values.at[e];
    }
  }
}
#elif MODE == 1
__shared__ MID tile[TA][TB + 1];

__device__ __forceinline__ void load_tile(const IN* in, s32 a0, s32 b0) {
#pragma unroll
  for (s32 i = threadIdx.x; i < TA * TB; i += THREADS) {
    const s32 a = i % TA, b = i / TA;
    if (a0 + a < SIZE_A && b0 + b < SIZE_B) tile[a][b] = before(in[(Index)(b0 + b) * B_IN + a0 + a]);
  }
}

__device__ __forceinline__ void store_tile(OUT* out, s32 a0, s32 b0) {
#pragma unroll
  for (s32 i = threadIdx.x; i < TA * TB; i += THREADS) {
    const s32 a = i / TB, b = i % TB;
    if (a0 + a < SIZE_A && b0 + b < SIZE_B) out[(Index)(a0 + a) * A_OUT + b0 + b] = behind(tile[a][b]);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS) octet_kernel(const __grid_constant__ MapParams p) {
  let_successor_begin();
  wait_for_predecessor();
  const IN* in = (const IN*)p.a + FIRST_A;
  OUT* out = (OUT*)p.out + FIRST_OUT;
#if MODE <= 1
  const s32 a0 = blockIdx.x / TILES_B % TILES_A * TA, b0 = blockIdx.x % TILES_B * TB;
  outer_offsets(blockIdx.x / (TILES_A * TILES_B), in, out);
  load_tile(in, a0, b0);
  __syncthreads();
  store_tile(out, a0, b0);
#elif MODE == 2
  const s64 i = (s64)blockIdx.x * THREADS + threadIdx.x;
  if (i >= (s64)TILES_A * OUTERS) return;
  const s32 a0 = (s32)(i % TILES_A) * 4;
  outer_offsets((s32)(i / TILES_A), in, out);
  Values<OUT, 4 * SIZE_B> values;
#pragma unroll
  for (s32 b = 0; b < SIZE_B; ++b) {
    Values<IN, 4> row;
#if LOAD == 4
    load<4>(row, in + (Index)b * B_IN + a0);
#else
#pragma unroll
    for (s32 e = 0; e < 4; ++e) row.at[e] = a0 + e < SIZE_A ? in[(Index)b * B_IN + a0 + e] : IN(0);
#endif
#pragma unroll
    for (s32 e = 0; e < 4; ++e) values.at[e * SIZE_B + b] = behind(before(row.at[e]));
  }
  OUT* to = out + (Index)a0 * A_OUT;
  if (PACKED && (SIZE_A % 4 == 0 || a0 + 4 <= SIZE_A)) {
    store<STORE>(to, values);
  } else {
#pragma unroll
    for (s32 e = 0; e < 4; ++e)
#pragma unroll
      for (s32 b = 0; b < SIZE_B; ++b)
        if (a0 + e < SIZE_A) to[(Index)e * A_OUT + b] = values.at[e * SIZE_B + b];
  }
#else
  const s64 i = (s64)blockIdx.x * THREADS + threadIdx.x;
  if (i >= (s64)TILES_B * OUTERS) return;
  const s32 b0 = (s32)(i % TILES_B) * 4;
  outer_offsets((s32)(i / TILES_B), in, out);
  Values<IN, 4 * SIZE_A> values;
  const IN* from = in + (Index)b0 * B_IN;
  if (PACKED && (SIZE_B % 4 == 0 || b0 + 4 <= SIZE_B)) {
    load<LOAD>(values, from);
  } else {
#pragma unroll
    for (s32 e = 0; e < 4; ++e)
#pragma unroll
      for (s32 a = 0; a < SIZE_A; ++a)
        values.at[e * SIZE_A + a] = b0 + e < SIZE_B ? from[(Index)e * B_IN + a] : IN(0);
  }
#pragma unroll
  for (s32 a = 0; a < SIZE_A; ++a) {
    OUT* to = out + (Index)a * A_OUT + b0;
    Values<OUT, 4> row;
#pragma unroll
    for (s32 e = 0; e < 4; ++e) row.at[e] = behind(before(values.at[e * SIZE_A + a]));
    if (STORE == 4 && (SIZE_B % 4 == 0 || b0 + 4 <= SIZE_B)) {
      store<4>(to, row);
    } else {
#pragma unroll
      for (s32 e = 0; e < 4; ++e)
        if (b0 + e < SIZE_B) to[e] = row.at[e];
    }
  }
#endif
}
