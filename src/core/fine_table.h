// SPDX-License-Identifier: Apache-2.0
// A function of finer codes than its result's (docs/numerics.md section 5): 64 lines over 65,536 codes.
#pragma once

#include "core/rounding.h"
#include "core/types.h"

namespace octet {

inline constexpr s32 kFineSegments = 64;
inline constexpr s32 kFineStep = 1024;  // codes of a segment
inline constexpr s32 kFineCodes = kFineSegments * kFineStep;
inline constexpr s32 kFineUnit = 64;  // parts of a code of the result
// What a segment may begin with, so that codes of s8 are those of u8 less 128.
inline constexpr s32 kFineBase = 24575;

// A segment of the table: where it begins, in parts of a code, and how much it grows until the next begins.
inline s32 fine_segment(s32 base, s32 slope) {
  return static_cast<s32>(static_cast<u32>(slope) << 16 | (static_cast<u32>(base) & 0xffff));
}
inline s32 fine_base(s32 segment) { return s32{static_cast<s16>(segment & 0xffff)}; }
inline s32 fine_slope(s32 segment) { return segment >> 16; }

// The finer code of t.
inline s32 fine_code(f32 t, s32 zero_point) {
  return requantize(t, {zero_point, 0, kFineCodes - 1});
}

// The line's value `at` codes from where it begins, in parts of a code.
inline s32 fine_line(s32 base, s32 slope, s32 at) {
  return clamp_s32(base + ((slope * at + kFineStep / 2) >> 10), -32768, 32767);
}

// The function's result, in parts of a code.
inline s32 fine_result(const s32* table, s32 code) {
  const s32 segment = table[code / kFineStep];
  return fine_line(fine_base(segment), fine_slope(segment), code % kFineStep);
}

// The code of the result, before its bounds.
inline s32 code_of_fine(s32 result) { return (result + kFineUnit / 2) >> 6; }

}  // namespace octet
