// SPDX-License-Identifier: Apache-2.0
// Attention of codes on a Hopper: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/epilogue.h"
#include "backends/cuda/device/quantization.h"

namespace octet::cuda::attention {

// Codes of queries, of keys or of values.
#define ATTENTION_OPERAND_FIELDS(FIELD)         \
  FIELD(bool, is_signed)                        \
  FIELD(s32, zero_point)                        \
  FIELD(s64, row)    /* from one to the next */ \
  FIELD(s32, access) /* bytes of one: 16, 8, 4 or 1; of values 4 or 1 */
OCTET_SPEC(Operand, ATTENTION_OPERAND_FIELDS)

// An axis of the batch: its size, and the elements from one index to the next.
#define ATTENTION_AXIS_FIELDS(FIELD) \
  FIELD(s64, size)                   \
  FIELD(s64, queries)                \
  FIELD(s64, keys)                   \
  FIELD(s64, values)                 \
  FIELD(s64, mask)                   \
  FIELD(s64, y)
OCTET_SPEC(BatchAxis, ATTENTION_AXIS_FIELDS)

// The last first; those behind `count` have one index.
#define ATTENTION_BATCH_FIELDS(FIELD) \
  FIELD(s32, count)                   \
  FIELD(BatchAxis, axis0)             \
  FIELD(BatchAxis, axis1)             \
  FIELD(BatchAxis, axis2)             \
  FIELD(BatchAxis, axis3)             \
  FIELD(BatchAxis, axis4)             \
  FIELD(BatchAxis, axis5)
OCTET_SPEC(Batch, ATTENTION_BATCH_FIELDS)

#define ATTENTION_TILE_FIELDS(FIELD)                                      \
  FIELD(s32, split)  /* warpgroups that share the keys */                 \
  FIELD(s32, teams)  /* of a block: each computes 64 queries at a time */ \
  FIELD(s32, parts)  /* blocks of a head */                               \
  FIELD(s32, blocks) /* that share a multiprocessor */                    \
  FIELD(s32, keys)   /* filled up: a multiple of 64 * split */
OCTET_SPEC(Tile, ATTENTION_TILE_FIELDS)

#define ATTENTION_FIELDS(FIELD)                                \
  FIELD(s32, queries)                                          \
  FIELD(s32, keys)                                             \
  FIELD(s32, head) /* codes of a query: at most 128 */         \
  FIELD(Operand, q)                                            \
  FIELD(Operand, k)                                            \
  FIELD(Operand, v)                                            \
  FIELD(Batch, batch)                                          \
  FIELD(F32Bits, score_multiplier) /* positive */              \
  FIELD(bool, masked)                                          \
  FIELD(s64, mask_row) /* strides */                           \
  FIELD(s64, mask_key)                                         \
  FIELD(bool, mask_pairs) /* of keys, read at once */          \
  FIELD(Quantization, shares)                                  \
  FIELD(bool, shares_signed)                                   \
  FIELD(F32Bits, context_multiplier) /* of shares by values */ \
  FIELD(EpilogueSpec, context)                                 \
  FIELD(s64, y_row)                                            \
  FIELD(s32, y_access) /* channels that are stored at once */  \
  FIELD(Tile, tile)
OCTET_SPEC(Spec, ATTENTION_FIELDS)

#define ATTENTION_RULES(RULE)                                                                      \
  RULE(s.head % 16 == 0 && s.head <= 128, "codes of a head are whole 16 bytes, at most 128")       \
  RULE(s.tile.split == 1 || s.tile.split == 2, "one warpgroup or two share the keys")              \
  RULE(s.tile.keys % (64 * s.tile.split) == 0 && s.tile.keys >= s.keys,                            \
       "keys are filled up to whole products")                                                     \
  RULE(!s.context.table && !s.context.real && !s.context.residual && !s.context.sum,               \
       "only codes of the product leave it")                                                       \
  RULE(!s.mask_pairs || (s.mask_key == 1 && s.keys % 2 == 0), "a pair of a mask is of neighbours") \
  RULE(16 % s.y_access == 0, "a thread stores 16 channels")
OCTET_RULES(Spec, ATTENTION_RULES)

constexpr s32 kMostAxes = 6;
constexpr s32 kRows = 64;  // of a tile, and columns of one product
constexpr s32 kTileBytes = kRows * kRows;

constexpr s32 threads(const Spec& s) { return 128 * s.tile.split * s.tile.teams; }
constexpr s32 tiles(const Spec& s) { return ceil_div_s32(s.queries, kRows); }
constexpr s32 tiles_of_part(const Spec& s) { return ceil_div_s32(tiles(s), s.tile.parts); }
constexpr s32 own_keys(const Spec& s) { return s.tile.keys / s.tile.split; }  // of a warpgroup
constexpr s32 depths(const Spec& s) { return ceil_div_s32(s.head, kRows); }   // tiles of a query

// All queries of a head have one mask, which lies beside the keys.
constexpr bool shares_mask(const Spec& s) { return s.masked && s.mask_row == 0; }

// Where things lie in shared memory, in bytes, behind the keys.
struct Memory {
  s32 values, queries, swap, key_terms, value_terms, mask, rows, all;
};
// Of what the two warpgroups of a team tell each other: of a row, of all; sums of each other's rows.
constexpr s32 kRowBytes = 48;
constexpr s32 rows_bytes(const Spec& s) { return s.tile.split == 2 ? 2 * kRows * kRowBytes : 0; }
constexpr s32 swap_bytes(const Spec& s) { return s.tile.split == 2 ? depths(s) * 16 * 256 * 4 : 0; }
constexpr Memory memory(const Spec& s) {
  constexpr s32 kAlignment = 1024;
  Memory m{};
  m.values = depths(s) * s.tile.keys * kRows;
  m.queries = 2 * m.values;
  m.swap = m.queries + s.tile.teams * depths(s) * kTileBytes;
  m.key_terms = m.swap + s.tile.teams * swap_bytes(s);
  m.value_terms = m.key_terms + s.tile.keys * 4;
  m.mask = m.value_terms + depths(s) * kRows * 4;
  m.rows = m.mask + (shares_mask(s) ? s.tile.keys * 4 : 0);
  m.all = m.rows + s.tile.teams * rows_bytes(s) + kAlignment;
  return m;
}

// `mask`: what is added to the scores, or null.
struct Params {
  const u8* queries;
  const u8* keys;
  const u8* values;
  const f32* mask;
  u8* y;
};

}  // namespace octet::cuda::attention
