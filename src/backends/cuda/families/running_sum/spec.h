// SPDX-License-Identifier: Apache-2.0
// CumSum: what its host half and its kernel agree on.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda::running_sum {

#define RUNNING_SUM_FIELDS(FIELD)                                                     \
  FIELD(ElementType, element)                                                         \
  FIELD(s64, lines)                                                                   \
  FIELD(s32, count)      /* elements of a line, which lie `inner` apart */            \
  FIELD(s64, inner)      /* line l begins at l / inner * count * inner + l % inner */ \
  FIELD(bool, reverse)   /* from the end */                                           \
  FIELD(bool, exclusive) /* without the element itself */
OCTET_SPEC(Spec, RUNNING_SUM_FIELDS)

#define RUNNING_SUM_RULES(RULE)                              \
  RULE(s.element == ElementType::f32 || !is_real(s.element), \
       "reals are added as f32, all else as integers that wrap")
OCTET_RULES(Spec, RUNNING_SUM_RULES)

constexpr s32 kThreads = 64;  // of a block; each takes a line
constexpr s64 blocks(const Spec& s) { return (s.lines + kThreads - 1) / kThreads; }

struct Params {
  const void* x;
  void* y;
};

}  // namespace octet::cuda::running_sum
