// SPDX-License-Identifier: Apache-2.0
// CacheAppend: what its host half and its kernel agree on. The length is a run's: one kernel serves all.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda::cache_append {

#define CACHE_APPEND_FIELDS(FIELD)                         \
  FIELD(s32, access) /* bytes that a thread moves */       \
  FIELD(s64, row)    /* such pieces of a row */            \
  FIELD(s64, outer)  /* times that a cache has its rows */ \
  FIELD(s64, rows)   /* of a cache */                      \
  FIELD(s64, update) /* rows that come to it */
OCTET_SPEC(Spec, CACHE_APPEND_FIELDS)

#define CACHE_APPEND_RULES(RULE) RULE(s.update <= s.rows, "new rows fit the cache")
OCTET_RULES(Spec, CACHE_APPEND_RULES)

constexpr s32 kThreads = 256;
constexpr s64 pieces(const Spec& s) { return s.outer * s.rows * s.row; }

struct Params {
  const u8* past;
  const u8* update;
  const s64* length;
  u64* outside;  // of the host's memory: what Report keeps of a length that does not fit
  u8* y;
};

}  // namespace octet::cuda::cache_append
