// SPDX-License-Identifier: Apache-2.0
// The end of a product, from sums to codes or reals (docs/numerics.md, sections 3 and 4): device/epilogue.cuh.
#pragma once

#include "backends/cuda/contract.h"

namespace octet::cuda {

#define EPILOGUE_FIELDS(FIELD)                                                              \
  FIELD(bool, real)      /* the result is f32, and nothing is rounded */                    \
  FIELD(bool, is_signed) /* codes are s8 */                                                 \
  FIELD(s32, zero_point) /* of the first codes, which lie between lo and hi */              \
  FIELD(s32, lo)                                                                            \
  FIELD(s32, hi)                                                                            \
  FIELD(bool, t_fits)   /* what is rounded is known to stay far within s32 */               \
  FIELD(bool, residual) /* codes that are added before rounding */                          \
  FIELD(bool, residual_signed)                                                              \
  FIELD(s32, residual_zero_point)                                                           \
  FIELD(F32Bits, residual_multiplier)                                                       \
  FIELD(bool, residual_halves) /* u8, no zero point, and multiplier times 2^24 is finite */ \
  FIELD(bool, leaky)           /* negative reals times alpha */                             \
  FIELD(F32Bits, alpha)                                                                     \
  FIELD(bool, clamp) /* of reals */                                                         \
  FIELD(F32Bits, clamp_lo)                                                                  \
  FIELD(F32Bits, clamp_hi)                                                                  \
  FIELD(bool, table)       /* codes go through a table of 256 */                            \
  FIELD(bool, table_lanes) /* of which shared memory has a copy for each lane */            \
  FIELD(bool, fine)        /* instead, lines of finer codes */                              \
  FIELD(s32, fine_zero_point)                                                               \
  FIELD(s32, fine_shift) /* from what a line gives to codes: 21, 22 or 24 */                \
  FIELD(bool, sum)       /* codes of another value are added behind the table */            \
  FIELD(s32, own_zero_point)                                                                \
  FIELD(F32Bits, own_multiplier)                                                            \
  FIELD(bool, addend_signed)                                                                \
  FIELD(s32, addend_zero_point)                                                             \
  FIELD(F32Bits, addend_multiplier)                                                         \
  FIELD(bool, addend_first)                                                                 \
  FIELD(s32, sum_zero_point)                                                                \
  FIELD(s32, sum_lo)                                                                        \
  FIELD(s32, sum_hi)
OCTET_SPEC(EpilogueSpec, EPILOGUE_FIELDS)

// Pointers; null where the layer has none.
struct EpilogueParams {
  const s32* bias;        // less what the input's zero point adds
  const f32* multiplier;  // one for each channel
  const u8* residual;
  const u8* table;
  const u8* addend;
  u8* out;
};

// Lines over 65,536 finer codes (docs/numerics.md section 5) are pairs of words: what a line gives at finer code u is first + second * place modulo 2^32, and
// place is 2^30 + 64 u (21: half of that). Codes are the upper bits of it, saturated; 24: none needs to be. Line 64 is where u would be 65,536, and gives what 65,535 has.
constexpr s32 kFineLines = 65;
constexpr s32 kFineBytes = 528;  // of all, in whole units of 16

constexpr s32 out_bytes(const EpilogueSpec& s) { return s.real ? 4 : 1; }
// Of the table in shared memory.
constexpr s32 table_bytes(const EpilogueSpec& s) {
  if (!s.table) return 0;
  if (s.fine) return s.table_lanes ? kFineLines * 8 * 32 : kFineBytes;
  return s.table_lanes ? 128 * 256 : 256;
}

}  // namespace octet::cuda
