// SPDX-License-Identifier: Apache-2.0
// TopK of reals: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::top_k {

#define TOP_K_FIELDS(FIELD)                                                                      \
  FIELD(s32, count) /* elements of a row, which lie `inner` apart */                             \
  FIELD(s64, inner) /* row r begins at r / inner * count * inner + r % inner */                  \
  FIELD(s32, k)                                                                                  \
  FIELD(bool, largest) /* the largest first, of which NaN is one; else the smallest, NaN last */ \
  FIELD(s32, size)     /* keys that are sorted together */
OCTET_SPEC(Spec, TOP_K_FIELDS)

#define TOP_K_RULES(RULE)                                                                 \
  RULE(s.size >= 2 && (s.size & (s.size - 1)) == 0, "pairs of a power of two are sorted") \
  RULE(s.k <= s.size, "what is taken is sorted together")                                 \
  RULE(s.count <= s.size || s.k <= s.size / 2, "the rest of a long row comes in half by half")
OCTET_RULES(Spec, TOP_K_RULES)

constexpr s32 threads(const Spec& s) { return s.size / 2; }  // of the block that has a row

struct Params {
  const f32* x;
  f32* values;   // null where nobody reads them
  s64* indices;  // likewise
};

}  // namespace octet::cuda::top_k
