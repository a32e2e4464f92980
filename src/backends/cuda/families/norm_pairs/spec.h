// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and RMSNormalization of rows of whole 16 elements: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/device/rows.h"

namespace octet::cuda::norm_pairs {

#define NORM_PAIRS_FIELDS(FIELD)                                                          \
  FIELD(RowValues, values)                                                                \
  FIELD(bool, centered) /* the mean is subtracted */                                      \
  FIELD(F32Bits, epsilon)                                                                 \
  FIELD(bool, bias)                                                                       \
  FIELD(bool, constant_parameters) /* scale and bias depend on no predecessor */          \
  FIELD(s64, rows)                                                                        \
  FIELD(s32, count) /* elements of a row */                                               \
  FIELD(s32, parts) /* eights of threads that share a row, one behind another along it */ \
  FIELD(s32, block_rows)
OCTET_SPEC(Spec, NORM_PAIRS_FIELDS)

constexpr s32 kStep = 16;    // elements that eight threads have at once, a pair each
constexpr s32 kLanes = 8;    // threads that have all of a step
constexpr s32 kMost = 1024;  // elements of a part, which registers hold

constexpr s32 kPartCounts[] = {1, 2, 4};

constexpr s32 row_threads(const Spec& s) { return kLanes * s.parts; }
constexpr s32 threads(const Spec& s) { return row_threads(s) * s.block_rows; }
constexpr s32 steps(const Spec& s) { return s.count / kStep / s.parts; }  // of a thread
// Parameters and, where codes pass through it, rows.
constexpr s32 kMostShared = 48 * 1024;
constexpr bool stages_codes(const RowValues& v) { return (v.x_codes && v.y_codes) || v.codes_too; }
constexpr s32 shared_bytes(const RowValues& v, s32 count, s32 block_rows) {
  return 8 * count + (stages_codes(v) ? block_rows * (count + 16) : 0);
}
constexpr s64 blocks(const Spec& s) { return (s.rows + s.block_rows - 1) / s.block_rows; }

#define NORM_PAIRS_RULES(RULE)                                                          \
  RULE(s.parts == 1 || s.parts == 2 || s.parts == 4, "a row's threads are of one warp") \
  RULE(s.count % (kStep * s.parts) == 0, "each part has whole steps")                   \
  RULE(s.count <= kMost * s.parts, "a row is held in registers")                        \
  RULE(shared_bytes(s.values, s.count, s.block_rows) <= kMostShared,                    \
       "parameters and codes lie in shared memory")
OCTET_RULES(Spec, NORM_PAIRS_RULES)

}  // namespace octet::cuda::norm_pairs
