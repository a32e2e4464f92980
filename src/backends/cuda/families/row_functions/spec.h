// SPDX-License-Identifier: Apache-2.0
// LogSoftmax and LpNormalization of reals: what their host half and their kernel agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::row_functions {

// l1, l2: LpNormalization.
enum class Function : s32 { log_softmax, l1, l2 };

#define ROW_FUNCTIONS_FIELDS(FIELD)                                  \
  FIELD(Function, function)                                          \
  FIELD(s64, rows)                                                   \
  FIELD(s32, count) /* elements of a row, which lie `inner` apart */ \
  FIELD(s64, inner) /* row r begins at r / inner * count * inner + r % inner */
OCTET_SPEC(Spec, ROW_FUNCTIONS_FIELDS)

constexpr s32 kLanes = 16;     // threads of a row (docs/numerics.md, section 7)
constexpr s32 kThreads = 128;  // of a block
constexpr s64 blocks(const Spec& s) { return (s.rows * kLanes + kThreads - 1) / kThreads; }

#define ROW_FUNCTIONS_RULES(RULE) \
  RULE(s.count <= 0x7fffffff - kLanes, "a lane's next element is counted in 32 bits")
OCTET_RULES(Spec, ROW_FUNCTIONS_RULES)

struct Params {
  const f32* x;
  f32* y;
};

}  // namespace octet::cuda::row_functions
