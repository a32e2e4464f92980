// SPDX-License-Identifier: Apache-2.0
// out[a * a_out + b] = element(in[a + b * b_in]) for all a, b and outer axes. Elements of one byte on either side go through tiles of shared
// memory as bytes, those of two as pairs.
#include "backends/cuda/device/element_type.cuh"
#include "backends/cuda/device/vectors.cuh"

using namespace octet::cuda;
using namespace octet::cuda::transpose;

constexpr Spec s = Made::spec();
TRANSPOSE_RULES(OCTET_RULE_ASSERT)

typedef Element<s.in> In;
typedef Element<s.out> Out;
// What a tile holds: the smaller of both.
constexpr bool kElementFirst = sizeof(In) >= sizeof(Out);
typedef Element<kElementFirst ? s.out : s.in> Mid;
constexpr s32 kTilesA = tiles_a(s), kTilesB = tiles_b(s);

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
__device__ __forceinline__ Mid before(In a) {
  if constexpr (kElementFirst) {
    return Made::element(a, 0, 0, nullptr);
  } else {
    return a;
  }
}
__device__ __forceinline__ Out behind(Mid a) {
  if constexpr (kElementFirst) {
    return a;
  } else {
    return Made::element(a, 0, 0, nullptr);
  }
}

template <s32 d = 0>
__device__ __forceinline__ void add_outer(s32 rest, const In*& in, Out*& out) {
  if constexpr (d < s.outer.count) {
    constexpr Axis axis = s.outer.at[d];
    out += (s64)(rest % axis.size) * axis.out;
    in += (s64)(rest % axis.size) * axis.in;
    add_outer<d + 1>(rest / axis.size, in, out);
  }
}

// Rows of a, four neighbours of b in a word; odd, so that neither side meets a bank twice.
template <s32 kA, s32 kB>
struct ByteTile {
  static constexpr s32 kPitch = kB / 4 + 1, kWarpsA = kA / 32, kParts = kWarpsA * (kB / 16);

  static __device__ __forceinline__ void load_from(u32* tile, const In* in, s32 a0, s32 b0) {
    const s32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (s32 part = warp; part < kParts; part += kThreads / 32) {
      const s32 a = part % kWarpsA * 32 + lane % 8 * 4, b = part / kWarpsA * 16 + lane / 8 * 4;
      u32 rows[4];
#pragma unroll
      for (s32 k = 0; k < 4; ++k) {
        rows[k] = 0;
        if (b0 + b + k >= s.size_b) continue;
        const In* from = in + (s64)(b0 + b + k) * s.b_in + a0 + a;
        Values<In, 4> values;
        if constexpr (s.load == 4) {
          if (a0 + a >= s.size_a) continue;
          load<4>(values, from);
        } else {
#pragma unroll
          for (s32 e = 0; e < 4; ++e) values.at[e] = a0 + a + e < s.size_a ? from[e] : In(0);
        }
#pragma unroll
        for (s32 e = 0; e < 4; ++e) rows[k] |= (u32)(u8)before(values.at[e]) << (8 * e);
      }
      const u32 even01 = __byte_perm(rows[0], rows[1], 0x5140), odd01 = __byte_perm(rows[0], rows[1], 0x7362);
      const u32 even23 = __byte_perm(rows[2], rows[3], 0x5140), odd23 = __byte_perm(rows[2], rows[3], 0x7362);
      u32* to = tile + a * kPitch + b / 4;
      to[0] = __byte_perm(even01, even23, 0x5410);
      to[kPitch] = __byte_perm(even01, even23, 0x7632);
      to[2 * kPitch] = __byte_perm(odd01, odd23, 0x5410);
      to[3 * kPitch] = __byte_perm(odd01, odd23, 0x7632);
    }
  }

  static __device__ __forceinline__ void store_to(const u32* tile, Out* out, s32 a0, s32 b0) {
#pragma unroll
    for (s32 i = threadIdx.x; i < kA * (kB / 4); i += kThreads) {
      const s32 a = i / (kB / 4), b = i % (kB / 4) * 4;
      if (a0 + a >= s.size_a || b0 + b >= s.size_b) continue;
      const u32 word = tile[a * kPitch + b / 4];
      Out* to = out + (s64)(a0 + a) * s.a_out + b0 + b;
      Values<Out, 4> values;
#pragma unroll
      for (s32 e = 0; e < 4; ++e) values.at[e] = behind((Mid)(word >> (8 * e)));
      if (s.size_b % 4 == 0 || b0 + b + 4 <= s.size_b) {
        store<s.store>(to, values);
      } else {
#pragma unroll
        for (s32 e = 0; e < 4; ++e)
          if (b0 + b + e < s.size_b) to[e] = values.at[e];
      }
    }
  }

  static __device__ __forceinline__ void move(const In* in, Out* out, s32 a0, s32 b0) {
    __shared__ u32 tile[kA * kPitch];
    load_from(tile, in, a0, b0);
    __syncthreads();
    store_to(tile, out, a0, b0);
  }
};

// Rows of a, two neighbours of b in a word; odd as well.
template <s32 kA, s32 kB>
struct PairTile {
  static constexpr s32 kPitch = kB / 2 + 1;

  static __device__ __forceinline__ u32 bits_of_half(const Mid& value) { return *(const u16*)&value; }
  static __device__ __forceinline__ Mid half_of(u32 bits) {
    const u16 half = (u16)bits;
    return *(const Mid*)&half;
  }

  static __device__ __forceinline__ void load_from(u32* tile, const In* in, s32 a0, s32 b0) {
#pragma unroll
    for (s32 i = threadIdx.x; i < kA / 4 * (kB / 2); i += kThreads) {
      const s32 a = i % (kA / 4) * 4, b = i / (kA / 4) * 2;
      if (a0 + a >= s.size_a) continue;
      Values<In, 4> rows[2];
#pragma unroll
      for (s32 k = 0; k < 2; ++k) {
        const bool exists = b0 + b + k < s.size_b;
        const In* from = in + (s64)(b0 + b + k) * s.b_in + a0 + a;
        if (s.load == 4 && exists) {
          load<4>(rows[k], from);
        } else {
#pragma unroll
          for (s32 e = 0; e < 4; ++e) rows[k].at[e] = exists && a0 + a + e < s.size_a ? from[e] : In(0);
        }
      }
#pragma unroll
      for (s32 e = 0; e < 4; ++e)
        tile[(a + e) * kPitch + b / 2] = bits_of_half(before(rows[0].at[e])) | bits_of_half(before(rows[1].at[e])) << 16;
    }
  }

  static __device__ __forceinline__ void store_to(const u32* tile, Out* out, s32 a0, s32 b0) {
#pragma unroll
    for (s32 i = threadIdx.x; i < kA * (kB / 4); i += kThreads) {
      const s32 a = i / (kB / 4), b = i % (kB / 4) * 4;
      if (a0 + a >= s.size_a || b0 + b >= s.size_b) continue;
      Out* to = out + (s64)(a0 + a) * s.a_out + b0 + b;
      Values<Out, 4> values;
#pragma unroll
      for (s32 e = 0; e < 4; ++e) values.at[e] = behind(half_of(tile[a * kPitch + (b + e) / 2] >> (e % 2 * 16)));
      if (s.size_b % 4 == 0 || b0 + b + 4 <= s.size_b) {
        store<s.store>(to, values);
      } else {
#pragma unroll
        for (s32 e = 0; e < 4; ++e)
          if (b0 + b + e < s.size_b) to[e] = values.at[e];
      }
    }
  }

  static __device__ __forceinline__ void move(const In* in, Out* out, s32 a0, s32 b0) {
    __shared__ u32 tile[kA * kPitch];
    load_from(tile, in, a0, b0);
    __syncthreads();
    store_to(tile, out, a0, b0);
  }
};

template <s32 kA, s32 kB>
struct Tile {
  static __device__ __forceinline__ void move(const In* in, Out* out, s32 a0, s32 b0) {
    __shared__ Mid tile[kA][kB + 1];
#pragma unroll
    for (s32 i = threadIdx.x; i < kA * kB; i += kThreads) {
      const s32 a = i % kA, b = i / kA;
      if (a0 + a < s.size_a && b0 + b < s.size_b) tile[a][b] = before(in[(s64)(b0 + b) * s.b_in + a0 + a]);
    }
    __syncthreads();
#pragma unroll
    for (s32 i = threadIdx.x; i < kA * kB; i += kThreads) {
      const s32 a = i / kB, b = i % kB;
      if (a0 + a < s.size_a && b0 + b < s.size_b) out[(s64)(a0 + a) * s.a_out + b0 + b] = behind(tile[a][b]);
    }
  }
};

// The few indices of few_a and few_b.
constexpr s32 kFewA = s.mode == Mode::few_a ? s.size_a : 1, kFewB = s.mode == Mode::few_b ? s.size_b : 1;

extern "C" __global__ void __launch_bounds__(kThreads) octet_kernel(const __grid_constant__ Params p) {
  let_successor_begin();
  wait_for_predecessor();
  const In* in = (const In*)p.a + s.first_in;
  Out* out = (Out*)p.out + s.first_out;
  if constexpr (has_tiles(s)) {
    const s32 a0 = blockIdx.x / kTilesB % kTilesA * s.tile_a, b0 = blockIdx.x % kTilesB * s.tile_b;
    add_outer(blockIdx.x / (kTilesA * kTilesB), in, out);
    if constexpr (s.mode == Mode::byte_tiles) {
      ByteTile<s.tile_a, s.tile_b>::move(in, out, a0, b0);
    } else if constexpr (s.mode == Mode::pair_tiles) {
      PairTile<s.tile_a, s.tile_b>::move(in, out, a0, b0);
    } else {
      Tile<s.tile_a, s.tile_b>::move(in, out, a0, b0);
    }
  } else {
    constexpr s32 kTiles = s.mode == Mode::few_b ? kTilesA : kTilesB;
    const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
    if (i >= kTiles * outers(s)) return;
    const s32 first = (s32)(i % kTiles) * 4;
    add_outer((s32)(i / kTiles), in, out);
    if constexpr (s.mode == Mode::few_b) {  // four of a, all of b
      Values<Out, 4 * kFewB> values;
#pragma unroll
      for (s32 b = 0; b < kFewB; ++b) {
        Values<In, 4> row;
        if constexpr (s.load == 4) {
          load<4>(row, in + (s64)b * s.b_in + first);
        } else {
#pragma unroll
          for (s32 e = 0; e < 4; ++e) row.at[e] = first + e < s.size_a ? in[(s64)b * s.b_in + first + e] : In(0);
        }
#pragma unroll
        for (s32 e = 0; e < 4; ++e) values.at[e * kFewB + b] = behind(before(row.at[e]));
      }
      Out* to = out + (s64)first * s.a_out;
      if (s.packed && (s.size_a % 4 == 0 || first + 4 <= s.size_a)) {
        store<s.store>(to, values);
      } else {
#pragma unroll
        for (s32 e = 0; e < 4; ++e)
#pragma unroll
          for (s32 b = 0; b < kFewB; ++b)
            if (first + e < s.size_a) to[(s64)e * s.a_out + b] = values.at[e * kFewB + b];
      }
    } else {  // all of a, four of b
      Values<In, 4 * kFewA> values;
      const In* from = in + (s64)first * s.b_in;
      if (s.packed && (s.size_b % 4 == 0 || first + 4 <= s.size_b)) {
        load<s.load>(values, from);
      } else {
#pragma unroll
        for (s32 e = 0; e < 4; ++e)
#pragma unroll
          for (s32 a = 0; a < kFewA; ++a)
            values.at[e * kFewA + a] = first + e < s.size_b ? from[(s64)e * s.b_in + a] : In(0);
      }
#pragma unroll
      for (s32 a = 0; a < kFewA; ++a) {
        Out* to = out + (s64)a * s.a_out + first;
        Values<Out, 4> row;
#pragma unroll
        for (s32 e = 0; e < 4; ++e) row.at[e] = behind(before(values.at[e * kFewA + a]));
        if (s.store == 4 && (s.size_b % 4 == 0 || first + 4 <= s.size_b)) {
          store<4>(to, row);
        } else {
#pragma unroll
          for (s32 e = 0; e < 4; ++e)
            if (first + e < s.size_b) to[e] = row.at[e];
        }
      }
    }
  }
}
