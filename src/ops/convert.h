// SPDX-License-Identifier: Apache-2.0
// Conversion between element types, for Cast and CastLike. Real to integer truncates and saturates, NaN becomes 0; integer
// to narrower integer keeps the low bits; anything but zero is true.
#pragma once

#include "graph/op_def.h"

namespace octet {

void convert_elements(const ConstView& src, const MutableView& dst);

}  // namespace octet
