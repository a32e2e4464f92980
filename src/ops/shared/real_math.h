// SPDX-License-Identifier: Apache-2.0
// exp and log of both float widths that operators compute in.
#pragma once

#include <cmath>

#include "core/math.h"
#include "core/types.h"

namespace octet {

inline f32 exponential(f32 x) { return math_exp(x); }
inline f64 exponential(f64 x) { return std::exp(x); }
inline f32 natural_log(f32 x) { return math_log(x); }
inline f64 natural_log(f64 x) { return std::log(x); }

}  // namespace octet
