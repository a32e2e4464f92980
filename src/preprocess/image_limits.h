// SPDX-License-Identifier: Apache-2.0
// How large an image may be, before and after preprocessing.
#pragma once

#include "core/types.h"

namespace octet {

// Decoding anything larger is refused before memory is taken.
inline constexpr s64 kMaxImagePixels = 178'956'970;
// Each row costs time of its own, however short it is.
inline constexpr s64 kMaxImageSide = 1'000'000;

}  // namespace octet
