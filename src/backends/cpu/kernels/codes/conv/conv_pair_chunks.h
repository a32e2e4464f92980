// SPDX-License-Identifier: Apache-2.0
// What packing for the pair kernels (conv_pairs.h) asks of each chunk of eight channels: which variants are exact, which of
// them leaves the most room, and what adds up with what. Plain data only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/codes/conv/conv_args.h"
#include "core/types.h"

namespace octet {

inline constexpr s64 kPairings = 3, kPairFlips = 4;  // of a chunk's bytes: 01 23, 02 13, 03 12
inline constexpr s64 kPairChunk =
    kPairLanes * kConvChunk;  // bytes of a chunk of eight channels: [channel][byte]
inline constexpr u8 kNoVariant = 255;

// The best of `variants`, of which some bits are exact, or kNoVariant for each chunk, and the bytes in its order.
struct PairChoices {
  const s8* chunks;  // [count][kPairChunk]
  const u16*
      exact;  // [count], a bit for each variant: pairing * kPairFlips + which pairs have their second byte inverted
  s64 count;
  u16 variants;
  u8* chosen;    // [count]
  s8* steps;     // [count][kPairChunk]; of chunks without a variant nothing is written
  s32* flipped;  // [channel]: 255 times the weights that meet inverted bytes are added
};

// Steps of which two and two add up in s16: each takes the first that fits among the next ones.
struct PairMatches {
  const s8* steps;  // [count][kPairChunk]
  s64 count;
  u8* sums;    // room for [count][kPairChunk]
  s32* next;   // and for [count + 1]
  s32* order;  // [count]: the two of each match one behind the other, then those that are left
};

OCTET_X86_64(void, exact_pairs_avx2, const s8* chunks, s64 count, u16* exact);
OCTET_X86_64(void, choose_pairs_avx2, const PairChoices& job);
// Returns how many matches there are.
OCTET_X86_64(s64, match_pairs_avx2, const PairMatches& job);

}  // namespace octet
