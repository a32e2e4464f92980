// SPDX-License-Identifier: Apache-2.0
// How the processor computes with floats in this thread (rounding, small numbers, traps), without what operations have noted there.
#pragma once

#include <string_view>

#include "core/types.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace octet {

#if defined(__x86_64__)
inline constexpr std::string_view kFloatModeRegister = "MXCSR";
inline u64 float_mode() {
  constexpr unsigned kNoted = 0x3f;
  return _mm_getcsr() & ~kNoted;
}
#elif defined(__aarch64__)
inline constexpr std::string_view kFloatModeRegister = "FPCR";
inline u64 float_mode() { return __builtin_aarch64_get_fpcr(); }  // what is noted lies in FPSR
#else
inline constexpr std::string_view kFloatModeRegister = "unknown";
inline u64 float_mode() { return 0; }
#endif

}  // namespace octet
