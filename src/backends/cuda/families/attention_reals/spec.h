// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/number.h"
#include "backends/cuda/device/quantization.h"

namespace octet::cuda::attention_reals {

// Of queries, of keys or of values: 16-bit floats, or codes, which are multiplied less their zero point.
#define ATTENTION_REALS_OPERAND_FIELDS(FIELD)   \
  FIELD(Number, type)                           \
  FIELD(s32, zero_point)                        \
  FIELD(s64, row)    /* from one to the next */ \
  FIELD(s32, access) /* bytes of one: 16, 8, 4; of floats 2, of codes 1 */
OCTET_SPEC(Operand, ATTENTION_REALS_OPERAND_FIELDS)

// An axis of the batch: its size, and the elements from one index to the next.
#define ATTENTION_REALS_AXIS_FIELDS(FIELD) \
  FIELD(s64, size)                         \
  FIELD(s64, queries)                      \
  FIELD(s64, keys)                         \
  FIELD(s64, values)                       \
  FIELD(s64, mask)                         \
  FIELD(s64, y)
OCTET_SPEC(BatchAxis, ATTENTION_REALS_AXIS_FIELDS)
using BatchAxes = List<BatchAxis, 6>;  // the last one first

// What is added to the scores; or bytes, and where they are zero or not a number takes a score's place.
#define ATTENTION_REALS_MASK_FIELDS(FIELD)                                  \
  FIELD(bool, exists)                                                       \
  FIELD(Number, type)    /* f32, f16 or bf16; u8: it chooses */             \
  FIELD(F32Bits, scale)  /* to units of log2; positive */                   \
  FIELD(F32Bits, hidden) /* what takes a score's place, in units of log2 */ \
  FIELD(bool, hides)     /* where a byte is not zero */                     \
  FIELD(s64, row)        /* strides */                                      \
  FIELD(s64, key)
OCTET_SPEC(Mask, ATTENTION_REALS_MASK_FIELDS)

#define ATTENTION_REALS_TILE_FIELDS(FIELD)                             \
  FIELD(s32, warps)   /* one behind another along queries */           \
  FIELD(s32, tiles_m) /* of 16 queries, of a warp */                   \
  FIELD(s32, split)   /* groups of such warps, which share the keys */ \
  FIELD(s32, keys)    /* of a group, that are loaded at once */        \
  FIELD(s32, stages)  /* loads that are on their way, and what is multiplied */
OCTET_SPEC(Tile, ATTENTION_REALS_TILE_FIELDS)

#define ATTENTION_REALS_FIELDS(FIELD)                                                  \
  FIELD(s32, queries)                                                                  \
  FIELD(s32, keys)                                                                     \
  FIELD(s32, head)                                                                     \
  FIELD(bool, f16) /* operands, and what multiplies values; else bf16 */               \
  FIELD(Operand, q)                                                                    \
  FIELD(Operand, k)                                                                    \
  FIELD(Operand, v)                                                                    \
  FIELD(BatchAxes, batches)                                                            \
  FIELD(F32Bits, scale)       /* of queries by keys, to units of log2; positive */     \
  FIELD(F32Bits, value_scale) /* of values; 1 where they are floats */                 \
  FIELD(Mask, mask)                                                                    \
  FIELD(bool, guarded) /* rows of shares that are NaN are 0 */                         \
  FIELD(Number, y)                                                                     \
  FIELD(Number, rounded)     /* results are rounded to this type; f32: they are not */ \
  FIELD(Quantization, codes) /* of y, where it has codes */                            \
  FIELD(s64, y_row)                                                                    \
  FIELD(s32, y_access) /* bytes that are stored at once */                             \
  FIELD(Tile, tile)
OCTET_SPEC(Spec, ATTENTION_REALS_FIELDS)

constexpr s32 kMostHead = 256, kMostAxes = 6;
constexpr s32 kMostHeld = 32;  // words of queries that a thread keeps in registers

constexpr s32 threads(const Spec& s) { return 32 * s.tile.warps * s.tile.split; }
constexpr s32 rows(const Spec& s) { return 16 * s.tile.tiles_m * s.tile.warps; }  // of a block
constexpr s32 q_tiles(const Spec& s) { return ceil_div_s32(s.queries, rows(s)); }
constexpr s32 stage_keys(const Spec& s) { return s.tile.keys * s.tile.split; }
constexpr s32 key_tiles(const Spec& s) { return ceil_div_s32(s.keys, stage_keys(s)); }
constexpr s32 depths(const Spec& s) { return ceil_div_s32(s.head, 16); }  // steps of 16 of a head
// Bytes of a row in shared memory: an odd number of 16, so that eight rows lie in all banks.
constexpr s32 pitch(const Spec& s) { return depths(s) * 32 + 16; }
constexpr bool holds_queries(const Spec& s) { return 4 * depths(s) * s.tile.tiles_m <= kMostHeld; }
// Codes lie one behind another until they become floats.
constexpr s32 loaded_pitch(const Spec& s, const Operand& o) {
  return is_code(o.type) ? depths(s) * 16 : pitch(s);
}
constexpr s32 key_bytes(const Spec& s) { return stage_keys(s) * loaded_pitch(s, s.k); }
constexpr s32 stage_bytes(const Spec& s) {
  return key_bytes(s) + stage_keys(s) * loaded_pitch(s, s.v);  // keys, then values
}
// Where keys, then values, of one stage are that were codes.
constexpr s32 made_bytes(const Spec& s, const Operand& o) {
  return is_code(o.type) ? stage_keys(s) * pitch(s) : 0;
}
// What a thread of a group tells the first one's: for 16 queries sums of values, its largest scores and sums of powers.
constexpr s32 told_words(const Spec& s) { return 8 * depths(s) + 4; }
constexpr s32 told_bytes(const Spec& s) {
  return (s.tile.split - 1) * s.tile.warps * s.tile.tiles_m * told_words(s) * 128;
}
constexpr s32 larger_of(s32 a, s32 b) { return a > b ? a : b; }
constexpr s32 shared_bytes(const Spec& s) {
  const s32 passing = is_code(s.q.type) ? rows(s) * loaded_pitch(s, s.q) : 0;
  const s32 stages = larger_of(s.tile.stages * stage_bytes(s), larger_of(told_bytes(s), passing));
  return rows(s) * pitch(s) + made_bytes(s, s.k) + made_bytes(s, s.v) + stages;
}
// Of a multiprocessor, for which a thread may have 128 registers; wide tiles take what they need.
constexpr s32 blocks_beside(const Spec& s) {
  const bool few = s.tile.tiles_m == 1 && depths(s) <= 4 && threads(s) <= 512;
  return few ? 512 / threads(s) : 1;
}
constexpr s64 blocks(const Spec& s) {
  s64 product = q_tiles(s);
  for (s32 d = 0; d < s.batches.count; ++d) product *= s.batches.at[d].size;
  return product;
}

#define ATTENTION_REALS_RULES(RULE)                                                      \
  RULE(s.head >= 1 && s.head <= kMostHead, "sums of more channels do not fit registers") \
  RULE(s.tile.keys % 16 == 0, "a product takes 16 keys")                                 \
  RULE(s.tile.stages >= 2, "a load overlaps with products of the one before")            \
  RULE(is_code(s.q.type) || s.q.access > 1, "a float has two bytes")                     \
  RULE(s.mask.type != Number::s8, "a mask is of reals, or of bytes")
OCTET_RULES(Spec, ATTENTION_REALS_RULES)

// `mask`: what is added to the scores, or null.
struct Params {
  const u8* queries;
  const u8* keys;
  const u8* values;
  const void* mask;
  void* y;
};

}  // namespace octet::cuda::attention_reals
