// SPDX-License-Identifier: Apache-2.0
// Passes over observed values, eight at a time. SSE2 has no maximum of 32-bit integers, so the baseline takes four times as long.
#include <immintrin.h>

#include "calibrate/stream_args.h"

namespace octet {
namespace {

constexpr size_t kLanes = 8;

struct Lanes {
  __m256i magnitude, low, high, zeros;
};

inline Lanes splat(const BlockFacts& facts) {
  return {_mm256_set1_epi32(facts.max_magnitude), _mm256_set1_epi32(facts.min_key),
          _mm256_set1_epi32(facts.max_key), _mm256_setzero_si256()};
}

inline void take(Lanes& lanes, __m256i bits) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  const __m256i magnitude = _mm256_and_si256(bits, mask);
  const __m256i flip = _mm256_and_si256(_mm256_srai_epi32(bits, 31), mask);
  const __m256i key = _mm256_xor_si256(bits, flip);
  lanes.magnitude = _mm256_max_epi32(lanes.magnitude, magnitude);
  lanes.low = _mm256_min_epi32(lanes.low, key);
  lanes.high = _mm256_max_epi32(lanes.high, key);
  lanes.zeros =
      _mm256_sub_epi32(lanes.zeros, _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256()));
}

}  // namespace

void examine_avx2(const f32* values, size_t count, BlockFacts& facts) {
  Lanes lanes = splat(facts);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    take(lanes, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i)));
  s32 zeros = 0;
  if (i < count) {
    // A repeated value changes no extreme; only its zeros count too often.
    alignas(32) f32 rest[kLanes];
    for (size_t lane = 0; lane < kLanes; ++lane)
      rest[lane] = values[i + lane < count ? i + lane : i];
    if (values[i] == 0) zeros -= static_cast<s32>(kLanes - (count - i));
    take(lanes, _mm256_load_si256(reinterpret_cast<const __m256i*>(rest)));
  }
  alignas(32) s32 each[4][kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(each[0]), lanes.magnitude);
  _mm256_store_si256(reinterpret_cast<__m256i*>(each[1]), lanes.low);
  _mm256_store_si256(reinterpret_cast<__m256i*>(each[2]), lanes.high);
  _mm256_store_si256(reinterpret_cast<__m256i*>(each[3]), lanes.zeros);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (each[0][lane] > facts.max_magnitude) facts.max_magnitude = each[0][lane];
    if (each[1][lane] < facts.min_key) facts.min_key = each[1][lane];
    if (each[2][lane] > facts.max_key) facts.max_key = each[2][lane];
    zeros += each[3][lane];
  }
  facts.zeros += zeros;
}

void find_bins_avx2(const f32* values, size_t count, f32 scale, s32* bins) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256 factor = _mm256_set1_ps(scale);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 x = _mm256_and_ps(_mm256_loadu_ps(values + i), magnitude);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bins + i),
                        _mm256_cvttps_epi32(_mm256_mul_ps(x, factor)));
  }
  for (; i < count; ++i) {
    const f32 x = values[i] < 0 ? -values[i] : values[i];
    bins[i] = static_cast<s32>(x * scale);
  }
}

void add_moments_avx2(const f32* values, size_t count, MomentLanes& lanes) {
  __m256d squares[2] = {_mm256_loadu_pd(lanes.squares), _mm256_loadu_pd(lanes.squares + 4)};
  __m256d sums[2] = {_mm256_loadu_pd(lanes.values), _mm256_loadu_pd(lanes.values + 4)};
  for (size_t i = 0; i + kMomentLanes <= count; i += kMomentLanes) {
    for (size_t half = 0; half < 2; ++half) {
      const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(values + i + 4 * half));
      squares[half] = _mm256_add_pd(squares[half], _mm256_mul_pd(x, x));
      sums[half] = _mm256_add_pd(sums[half], x);
    }
  }
  for (size_t half = 0; half < 2; ++half) {
    _mm256_storeu_pd(lanes.squares + 4 * half, squares[half]);
    _mm256_storeu_pd(lanes.values + 4 * half, sums[half]);
  }
}

}  // namespace octet
