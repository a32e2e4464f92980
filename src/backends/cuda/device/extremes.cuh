// SPDX-License-Identifier: Apache-2.0
// The order of numbers in a row as keys. The greatest is that of the extreme: the element's rank above its place in the row, or above what that
// leaves of 2^32 - 1 where the first of equals counts. Zeros of both signs are equal; so are NaNs, of which the first counts unless it is
// said otherwise.
#pragma once

__device__ __forceinline__ u32 rising(f32 x) {
  const u32 bits = bits_of(x == 0.0f ? 0.0f : x);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ u32 rising(s32 x) { return (u32)x ^ 0x80000000u; }
__device__ __forceinline__ u32 rising(u32 x) { return x; }
template <class T>
__device__ __forceinline__ u64 extreme_key(T x, s32 i, bool largest, bool nan_wins, bool last, bool last_nan = false) {
  const bool nan = x != x;
  const u32 rank = nan ? (nan_wins ? ~0u : 0u) : largest ? rising(x) : ~rising(x);
  return (u64)rank << 32 | ((nan ? last_nan : last) ? (u32)i : ~(u32)i);
}
// Of reals.
__device__ __forceinline__ s32 extreme_place(u64 key, bool nan_wins, bool last, bool last_nan = false) {
  const bool nan = (u32)(key >> 32) == (nan_wins ? ~0u : 0u);
  return (s32)((nan ? last_nan : last) ? (u32)key : ~(u32)key);
}

// The same of integers of 64 bits, whose rank leaves no room for a place beside it.
struct Ranked {
  u64 rank;
  u32 place;
  Ranked() = default;
  __device__ __forceinline__ Ranked(u64 rank, u32 place) : rank(rank), place(place) {}
  __device__ __forceinline__ bool operator>(const Ranked& other) const {
    return rank > other.rank || (rank == other.rank && place > other.place);
  }
};
__device__ __forceinline__ u64 rising64(s64 x) { return (u64)x ^ 1ull << 63; }
__device__ __forceinline__ u64 rising64(u64 x) { return x; }
template <class T>
__device__ __forceinline__ Ranked extreme_ranked(T x, s32 i, bool largest, bool last) {
  const u64 rank = rising64(x);
  return Ranked(largest ? rank : ~rank, last ? (u32)i : ~(u32)i);
}
// What another lane has.
template <class T>
__device__ __forceinline__ T of_lane_beside(T value, s32 apart) { return __shfl_xor_sync(0xffffffffu, value, apart); }
__device__ __forceinline__ Ranked of_lane_beside(Ranked value, s32 apart) {
  return Ranked(of_lane_beside(value.rank, apart), of_lane_beside(value.place, apart));
}
