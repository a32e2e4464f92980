// SPDX-License-Identifier: Apache-2.0
// Slices picked by indices that a run brings: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/device/element_type.h"

namespace octet::cuda::gather {

enum class Form : s32 {
  slices,    // Gather: one list of indices for all that lies before the axis
  elements,  // GatherElements: each element of y has an index of its own
  tuples     // GatherND: an index for each of several axes
};

// Neighbours along it are `stride` slices apart.
#define GATHER_AXIS_FIELDS(FIELD) \
  FIELD(s64, size)                \
  FIELD(s64, stride)
OCTET_SPEC(Axis, GATHER_AXIS_FIELDS)
using Axes = List<Axis, 8>;

#define GATHER_FIELDS(FIELD)                                                             \
  FIELD(Form, form)                                                                      \
  FIELD(ElementType, id)                                                                 \
  FIELD(s32, access) /* bytes that a thread copies */                                    \
  FIELD(s64, inner)  /* such pieces of a slice */                                        \
  FIELD(s64, count)  /* of y */                                                          \
  FIELD(s64, ids)    /* slices of y for each index of the axes before the picked ones */ \
  FIELD(s64, slices) /* of x, likewise */                                                \
  FIELD(Axes, axes)  /* that are picked along */
OCTET_SPEC(Spec, GATHER_FIELDS)

#define GATHER_RULES(RULE)                           \
  RULE(s.axes.count >= 1, "an axis is picked along") \
  RULE(s.axes.count == 1 || s.form == Form::tuples, "an index is of one axis")
OCTET_RULES(Spec, GATHER_RULES)

constexpr s32 kThreads = 256;

struct Params {
  const void* x;
  const void* ids;
  u64* outside;  // of the host's memory: what Report keeps of the first index outside of its axis
  void* y;
};

}  // namespace octet::cuda::gather
