// SPDX-License-Identifier: Apache-2.0
// Conversion between element types, for Cast and CastLike. Real to integer truncates and saturates, NaN becomes 0; integer
// to narrower integer keeps the low bits; anything but zero is true.
#pragma once

#include "core/small_types.h"
#include "graph/op_def.h"

namespace octet {

void convert_elements(const ConstView& src, const MutableView& dst,
                      const SmallRounding& rounding = {});

// Attributes saturate and round_mode, which matter for float8 only: checked, and dropped where they are the default.
void parse_small_rounding(Attrs& attrs);
SmallRounding small_rounding(const Attrs& attrs);

}  // namespace octet
