// SPDX-License-Identifier: Apache-2.0
// Whether two runs of bytes differ: what the host half and the kernel agree on.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::compare {

#define COMPARE_FIELDS(FIELD) FIELD(s64, bytes) /* of each run */
OCTET_SPEC(Spec, COMPARE_FIELDS)

constexpr s32 kThreads = 256;
constexpr s32 kAccess = 16;  // bytes at once; both runs begin at a multiple of it
constexpr s64 pieces(const Spec& s) { return s.bytes / kAccess; }

struct Params {
  const u8* a;
  const u8* b;
  s32* differ;  // becomes 1 where a byte does
};

}  // namespace octet::cuda::compare
