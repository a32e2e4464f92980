// SPDX-License-Identifier: Apache-2.0
// The epilogue of the plain kernels; for baseline code, never for instruction-set files.
#pragma once

#include <cmath>

#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "core/fine_table.h"
#include "core/rounding.h"

namespace octet {

inline f32 activate(const EpilogueArgs& e, f32 t) {
  if (e.leaky && t < 0.0f) t = t * e.alpha;
  return e.clip ? clamp_f32(t, e.min, e.max) : t;
}

// Of a table of lines.
inline u8 fine_code_of(const EpilogueArgs& e, f32 t) {
  const s32 fine = fine_code(activate(e, t), e.zero_point);
  const u8* line = e.table + fine / kFineStep;
  const s32 base = static_cast<s16>(line[0] | line[64] << 8);
  const s32 slope = static_cast<s16>(line[128] | line[192] << 8);
  return static_cast<u8>(
      clamp_s32(code_of_fine(fine_line(base, slope, fine % kFineStep)), e.lo, e.hi));
}

inline u8 code_of(const EpilogueArgs& e, f32 t) {
  if (e.fine) return fine_code_of(e, t);
  const auto code = static_cast<u8>(requantize(activate(e, t), {e.zero_point, e.lo, e.hi}));
  return e.table != nullptr ? e.table[code] : code;
}

inline u8 summed(const EpilogueArgs& e, u8 code, u8 residual) {
  const auto own = static_cast<f32>(code - e.sum.own_zero_point);
  const auto r = static_cast<f32>(residual - e.residual_zero_point);
  const f32 t = e.sum.residual_first
                    ? std::fmaf(r, e.residual_multiplier, own * e.sum.own_multiplier)
                    : std::fmaf(own, e.sum.own_multiplier, r * e.residual_multiplier);
  return static_cast<u8>(requantize(t, {e.sum.zero_point, e.sum.lo, e.sum.hi}));
}

// Writes element `i` of an output pixel; `residual` is null or the residual's pixel.
inline void store_scalar(const EpilogueArgs& e, f32 t, const u8* residual, u8* dst, s64 i) {
  if (residual != nullptr && !e.sums) {
    const auto r = static_cast<f32>(residual[i] - e.residual_zero_point);
    t = std::fmaf(r, e.residual_multiplier, t);
  }
  if (e.real) {
    reinterpret_cast<f32*>(dst)[i] = activate(e, t);
  } else {
    const u8 code = code_of(e, t);
    dst[i] = e.sums ? summed(e, code, residual[i]) : code;
  }
}

}  // namespace octet
