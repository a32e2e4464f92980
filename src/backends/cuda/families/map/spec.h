// SPDX-License-Identifier: Apache-2.0
// Functions of elements with broadcast: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/walk.h"

namespace octet::cuda::map {

// Elements from one index of the innermost axis to the next; 0 repeats. One that is not there has strides of 0.
#define MAP_OPERAND_FIELDS(FIELD) \
  FIELD(ElementType, type)        \
  FIELD(s64, inner)               \
  FIELD(s32, access) /* bytes of one load or store where neighbours lie together */
OCTET_SPEC(Operand, MAP_OPERAND_FIELDS)

// Elements from one index to the next.
#define MAP_AXIS_FIELDS(FIELD)                                                                    \
  FIELD(s64, size)                                                                                \
  FIELD(bool,                                                                                     \
        mapped)     /* the offset in `a` of each index is in a table; -1: the result is `fill` */ \
  FIELD(s32, table) /* its first entry */                                                         \
  FIELD(s64, out)                                                                                 \
  FIELD(s64, a)                                                                                   \
  FIELD(s64, b)                                                                                   \
  FIELD(s64, c)
OCTET_SPEC(Axis, MAP_AXIS_FIELDS)
using Axes = List<Axis, kMostWalkAxes>;

#define MAP_FIELDS(FIELD)                                                                   \
  FIELD(s32, inputs) /* 1 to 3 */                                                           \
  FIELD(Operand, out)                                                                       \
  FIELD(Operand, a)                                                                         \
  FIELD(Operand, b)                                                                         \
  FIELD(Operand, c)                                                                         \
  FIELD(s64, first_out) /* elements from the pointer to the first one */                    \
  FIELD(s64, first_a)                                                                       \
  FIELD(s64, inner) /* elements of the innermost axis */                                    \
  FIELD(bool, inner_mapped)                                                                 \
  FIELD(s32, inner_table)                                                                   \
  FIELD(Axes, axes)      /* the others, fastest first */                                    \
  FIELD(s32, vector)     /* neighbours of the innermost axis that a thread takes at once */ \
  FIELD(s32, each)       /* such vectors of a thread under way */                           \
  FIELD(bool, wide)      /* offsets take 64 bits */                                         \
  FIELD(bool, filled)    /* where an axis' table says -1 */                                 \
  FIELD(s64, fill)       /* bits */                                                         \
  FIELD(bool, table)     /* of 256 bytes, in shared memory for the function */              \
  FIELD(s32, table_flip) /* entry `code ^ table_flip` comes at `code` */
OCTET_SPEC(Spec, MAP_FIELDS)

constexpr s32 kThreads = 256;

// Vectors of one row, and in all.
constexpr s64 pieces(const Spec& s) { return (s.inner + s.vector - 1) / s.vector; }
constexpr s64 count(const Spec& s) {
  s64 count = pieces(s);
  for (s32 d = 0; d < s.axes.count; ++d) count *= s.axes.at[d].size;
  return count;
}

#define MAP_RULES(RULE)                                                       \
  RULE(s.inputs >= 1 && s.inputs <= 3, "there are up to three inputs")        \
  RULE(s.vector >= 1 && s.vector <= 16, "a thread takes up to 16 neighbours") \
  RULE(s.wide || count(s) < s64{1} << 30, "vectors are counted in 32 bits")
OCTET_RULES(Spec, MAP_RULES)

using Params = WalkParams;

}  // namespace octet::cuda::map
