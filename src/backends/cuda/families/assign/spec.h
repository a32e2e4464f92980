// SPDX-License-Identifier: Apache-2.0
// A tensor of which some slices are replaced: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::assign {

#define ASSIGN_FIELDS(FIELD)                          \
  FIELD(s32, access) /* bytes that a thread copies */ \
  FIELD(s64, inner)  /* such pieces of a slice */     \
  FIELD(s64, count)  /* of y */
OCTET_SPEC(Spec, ASSIGN_FIELDS)

constexpr s32 kThreads = 256;

struct Params {
  const void* x;
  const void* updates;
  const s32* table;  // the update of each slice, or -1
  void* y;
};

}  // namespace octet::cuda::assign
