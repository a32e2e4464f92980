// SPDX-License-Identifier: Apache-2.0
// Several copies of one launch: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::copies {

constexpr s32 kThreads = 256;
constexpr s32 kMostCopies = 32, kMostAxes = 3;

// Units from one index to the next.
#define COPY_AXIS_FIELDS(FIELD) \
  FIELD(s32, size)              \
  FIELD(s32, x)                 \
  FIELD(s32, y)
OCTET_SPEC(Axis, COPY_AXIS_FIELDS)
using Axes = List<Axis, kMostAxes>;

#define COPY_FIELDS(FIELD)                          \
  FIELD(s32, count) /* units in all */              \
  FIELD(s32, inner) /* that lie together */         \
  FIELD(s32, x)     /* the first unit of x, of y */ \
  FIELD(s32, y)                                     \
  FIELD(Axes, axes) /* the others, fastest first */
OCTET_SPEC(Copy, COPY_FIELDS)
using Copies = List<Copy, kMostCopies>;

#define COPIES_FIELDS(FIELD)                                                      \
  FIELD(s32, access) /* bytes of a unit, which is what a thread copies at once */ \
  FIELD(s32, each)   /* units that a thread has under way */                      \
  FIELD(Copies, copies)
OCTET_SPEC(Spec, COPIES_FIELDS)

// Of the copies before copy `number`.
constexpr s32 blocks_before(const Spec& s, s32 number) {
  s32 blocks = 0;
  for (s32 i = 0; i < number; ++i) blocks += ceil_div_s32(s.copies.at[i].count, kThreads * s.each);
  return blocks;
}
constexpr s32 blocks(const Spec& s) { return blocks_before(s, s.copies.count); }
constexpr s32 most_axes(const Spec& s) {
  s32 most = 1;
  for (s32 i = 0; i < s.copies.count; ++i) {
    if (s.copies.at[i].axes.count > most) most = s.copies.at[i].axes.count;
  }
  return most;
}

struct Params {
  const void* x[kMostCopies];
  void* y[kMostCopies];
};

}  // namespace octet::cuda::copies
