// SPDX-License-Identifier: Apache-2.0
// A chunk of eight channels fills a register: channel after channel, four bytes each.
#include <immintrin.h>

#include "backends/cpu/kernels/codes/conv/conv_pair_chunks.h"

namespace octet {
namespace {

constexpr s16 kMost = 128;   // of weights of one sign in a pair: 255 * 128 is a s16
constexpr s16 kSmooth = 40;  // sums that find a partner anyhow; measured
constexpr s32 kNone = 1 << 30;

__m256i load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
void store(void* at, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(at), x); }

__m256i of_words(u32 word) { return _mm256_set1_epi32(static_cast<s32>(word)); }

// For vpshufb: the bytes of each channel in a pairing's order.
__m256i order_of(s64 pairing) {
  constexpr u32 kOrders[] = {0x03020100, 0x03010200, 0x02010300};
  const __m128i channels = _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c);
  const __m128i order = _mm_add_epi8(channels, _mm_set1_epi32(static_cast<s32>(kOrders[pairing])));
  return _mm256_broadcastsi128_si256(order);
}

// For vpsignb and as a mask: the second byte of the first pair, of the second pair, or both.
u32 seconds(s64 flips) { return (flips & 1 ? 0x0000ff00u : 0u) | (flips & 2 ? 0xff000000u : 0u); }
__m256i sign_of(s64 flips) {
  return _mm256_or_si256(of_words(seconds(flips)), of_words(0x01010101));
}

// Sums of neighbouring bytes.
__m256i pair_sums(__m256i bytes) { return _mm256_maddubs_epi16(of_words(0x01010101), bytes); }
__m256i pair_sums_u8(__m256i bytes) { return _mm256_maddubs_epi16(bytes, of_words(0x01010101)); }

// A bit for each of the pairing's flips. The opposite of -128 is no s8.
u32 exact_flips(__m256i x) {
  const __m256i most = _mm256_set1_epi16(kMost);
  const __m256i sum = _mm256_abs_epi16(pair_sums(x));
  const __m256i difference = _mm256_abs_epi16(pair_sums(_mm256_sign_epi8(x, sign_of(3))));
  const __m256i least =
      _mm256_and_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8(-128)), of_words(0xff00ff00));
  const __m256i beyond = _mm256_packs_epi16(
      _mm256_cmpgt_epi16(sum, most),
      _mm256_or_si256(_mm256_cmpgt_epi16(difference, most), _mm256_srai_epi16(least, 8)));
  const auto bits = static_cast<u32>(_mm256_movemask_epi8(beyond));
  // Of eight bytes the even ones are first pairs; eight of sums, then eight of differences.
  const u32 first = ((bits & 0x00550055) == 0 ? 1u : 0u) | ((bits & 0x55005500) == 0 ? 2u : 0u);
  return ((bits & 0x00aa00aa) == 0 ? first : 0u) | ((bits & 0xaa00aa00) == 0 ? first << 2 : 0u);
}

struct Signs {
  __m256i positive, negative;  // how far the bytes are above and below 0

  explicit Signs(__m256i x)
      : positive(_mm256_max_epi8(x, _mm256_setzero_si256())),
        negative(_mm256_sub_epi8(_mm256_abs_epi8(x), positive)) {}

  void flip() {
    const __m256i odd = of_words(0xff00ff00);
    const __m256i other = _mm256_blendv_epi8(positive, negative, odd);
    negative = _mm256_blendv_epi8(negative, positive, odd);
    positive = other;
  }

  // What the pairs have of one sign above what fits anyhow.
  __m256i beyond() const {
    const __m256i most = _mm256_max_epi16(pair_sums_u8(positive), pair_sums_u8(negative));
    return _mm256_subs_epu16(most, _mm256_set1_epi16(kSmooth));
  }
};

__m256i first_squares(__m256i x) {
  return _mm256_madd_epi16(x, _mm256_and_si256(x, of_words(0xffff)));
}
__m256i second_squares(__m256i x) {
  return _mm256_madd_epi16(x, _mm256_and_si256(x, of_words(0xffff0000)));
}

// How little room the four flips of a pairing leave for other steps in the same s16.
__m128i roughness(__m256i x) {
  Signs signs(x);
  const __m256i plain = signs.beyond();
  signs.flip();
  const __m256i flipped = signs.beyond();
  const __m256i sums =
      _mm256_hadd_epi32(_mm256_hadd_epi32(first_squares(plain), first_squares(flipped)),
                        _mm256_hadd_epi32(second_squares(plain), second_squares(flipped)));
  const __m128i all =
      _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return _mm_add_epi32(_mm_shuffle_epi32(all, 0x44), _mm_shuffle_epi32(all, 0xfa));
}

// The roughness of a pairing's flips above their numbers; kNone for those that may not be taken.
__m128i candidates(__m256i x, u32 allowed, s64 pairing) {
  const __m128i bits = _mm_setr_epi32(1, 2, 4, 8);
  const auto first = static_cast<s32>(pairing * kPairFlips);
  const __m128i numbers = _mm_add_epi32(_mm_setr_epi32(0, 1, 2, 3), _mm_set1_epi32(first));
  const __m128i own = _mm_set1_epi32(static_cast<s32>(allowed >> first));
  const __m128i may = _mm_cmpeq_epi32(_mm_and_si128(own, bits), bits);
  const __m128i rough = _mm_or_si128(_mm_slli_epi32(roughness(x), 4), numbers);
  return _mm_blendv_epi8(_mm_set1_epi32(kNone), rough, may);
}

// Of several variants; the first of equals.
s64 smoothest(__m256i x, const __m256i orders[kPairings], u32 allowed) {
  constexpr u32 kOwn = (1 << kPairFlips) - 1;
  __m128i best = _mm_set1_epi32(kNone);
  for (s64 pairing = 0; pairing < kPairings; ++pairing) {
    if ((allowed >> (pairing * kPairFlips) & kOwn) == 0) continue;  // as in the whole layer, mostly
    const __m256i ordered = _mm256_shuffle_epi8(x, orders[pairing]);
    best = _mm_min_epi32(best, candidates(ordered, allowed, pairing));
  }
  best = _mm_min_epi32(best, _mm_shuffle_epi32(best, 0x4e));
  best = _mm_min_epi32(best, _mm_shuffle_epi32(best, 0xb1));
  return _mm_cvtsi128_si32(best) & 15;
}

// How much each pair of a step has of each sign, at most 128.
__m256i sums_of(__m256i step) {
  const Signs signs(step);
  const __m256i negative = _mm256_slli_epi16(pair_sums_u8(signs.negative), 8);
  return _mm256_or_si256(pair_sums_u8(signs.positive), negative);
}

bool fit(__m256i a, const u8* b) {
  const __m256i half = _mm256_avg_epu8(a, load(b));  // rounded up: both together may be 256
  const __m256i beyond = _mm256_subs_epu8(half, _mm256_set1_epi8(64));
  return _mm256_testz_si256(beyond, beyond) != 0;
}

}  // namespace

void exact_pairs_avx2(const s8* chunks, s64 count, u16* exact) {
  const __m256i second = order_of(1), third = order_of(2);
  for (s64 k = 0; k < count; ++k) {
    const __m256i x = load(chunks + k * kPairChunk);
    exact[k] = static_cast<u16>(exact_flips(x) | exact_flips(_mm256_shuffle_epi8(x, second)) << 4 |
                                exact_flips(_mm256_shuffle_epi8(x, third)) << 8);
  }
}

void choose_pairs_avx2(const PairChoices& job) {
  const __m256i orders[kPairings] = {order_of(0), order_of(1), order_of(2)};
  __m256i flipped = load(job.flipped);
  for (s64 k = 0; k < job.count; ++k) {
    const u32 allowed = static_cast<u32>(job.exact[k] & job.variants);
    job.chosen[k] = kNoVariant;
    if (allowed == 0) continue;
    const __m256i x = load(job.chunks + k * kPairChunk);
    const s64 variant =
        (allowed & (allowed - 1)) == 0 ? __builtin_ctz(allowed) : smoothest(x, orders, allowed);
    const s64 flips = variant % kPairFlips;
    const __m256i step =
        _mm256_sign_epi8(_mm256_shuffle_epi8(x, orders[variant / kPairFlips]), sign_of(flips));
    job.chosen[k] = static_cast<u8>(variant);
    store(job.steps + k * kPairChunk, step);
    const __m256i inverted = _mm256_and_si256(of_words(seconds(flips)), of_words(0x01010101));
    const __m256i weights = _mm256_maddubs_epi16(inverted, step);  // negated
    flipped = _mm256_add_epi32(flipped, _mm256_madd_epi16(weights, _mm256_set1_epi16(-255)));
  }
  store(job.flipped, flipped);
}

s64 match_pairs_avx2(const PairMatches& job) {
  constexpr s32 kWindow = 96;
  const auto count = static_cast<s32>(job.count);
  for (s32 i = 0; i < count; ++i) {
    store(job.sums + i * kPairChunk, sums_of(load(job.steps + i * kPairChunk)));
    job.next[i] = i + 1;
  }
  s32 matched = 0, left = count;  // written from both ends
  for (s32 i = 0; i < count; i = job.next[i]) {
    const __m256i sums = load(job.sums + i * kPairChunk);
    const s32 end = count - i < kWindow ? count : i + kWindow;
    s32 before = i, j = job.next[i];
    for (; j < end && !fit(sums, job.sums + j * kPairChunk); j = job.next[j]) before = j;
    if (j >= end) {
      job.order[--left] = i;
      continue;
    }
    job.next[before] = job.next[j];
    job.order[matched++] = i;
    job.order[matched++] = j;
  }
  for (s32 last = count - 1; left < last; ++left, --last) {
    const s32 other = job.order[left];
    job.order[left] = job.order[last];
    job.order[last] = other;
  }
  return matched / 2;
}

}  // namespace octet
