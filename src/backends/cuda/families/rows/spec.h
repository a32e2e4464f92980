// SPDX-License-Identifier: Apache-2.0
// Softmax and normalizations of rows: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/rows.h"

namespace octet::cuda::rows {

// Normalizations that subtract the mean, and those that do not.
enum class Operation : s32 { softmax, centered, not_centered };

#define ROWS_FIELDS(FIELD)                                                                       \
  FIELD(Operation, operation)                                                                    \
  FIELD(RowValues, values)                                                                       \
  FIELD(s64, rows)                                                                               \
  FIELD(s32, count)    /* elements of a row, which lie `inner` apart */                          \
  FIELD(s64, inner)    /* row r begins at r / inner * count * inner + r % inner */               \
  FIELD(s32, channels) /* 0: scale and bias by element; else so many for the rows of an image */ \
  FIELD(s32, group_channels) /* of them for each row */                                          \
  FIELD(F32Bits, epsilon)                                                                        \
  FIELD(bool, bias)                                                                              \
  FIELD(s32, lanes)        /* threads of a row: 16, or fewer where the others add nothing */     \
  FIELD(s32, block_rows)   /* rows of a block */                                                 \
  FIELD(bool, lanes_first) /* neighbouring threads are lanes of a row, else rows */              \
  FIELD(                                                                                         \
      s32,                                                                                       \
      kept) /* elements that a thread keeps in registers, all of its lane; 0: they are read for each pass */
OCTET_SPEC(Spec, ROWS_FIELDS)

constexpr s32 threads(const Spec& s) { return s.lanes * s.block_rows; }
constexpr s64 blocks(const Spec& s) { return (s.rows + s.block_rows - 1) / s.block_rows; }
// Of an image's channels, each with a row.
constexpr s32 groups(const Spec& s) { return s.channels == 0 ? 1 : s.channels / s.group_channels; }

#define ROWS_RULES(RULE)                                                               \
  RULE((s.lanes & (s.lanes - 1)) == 0 && s.lanes <= 16, "lanes are combined pairwise") \
  RULE(s.lanes_first || s.lanes == 16, "lanes of different warps meet in rows of 16")  \
  RULE(s.count <= 0x7fffffff - s.lanes, "a lane's next element is counted in 32 bits") \
  RULE(s.kept == 0 || s.lanes * s.kept >= s.count, "all of a lane is kept, or none")   \
  RULE(s.channels == 0 || s.count % s.group_channels == 0, "each channel of a row has as many")
OCTET_RULES(Spec, ROWS_RULES)

}  // namespace octet::cuda::rows
