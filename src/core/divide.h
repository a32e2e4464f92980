// SPDX-License-Identifier: Apache-2.0
// Division that rounds up. Not for instruction-set files, which define nothing that other files share.
#pragma once

#include "core/types.h"

namespace octet {

// For a >= 0 and b > 0, where a + b fits.
constexpr s64 ceil_div(s64 a, s64 b) { return (a + b - 1) / b; }

}  // namespace octet
