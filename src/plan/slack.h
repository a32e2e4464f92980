// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.h"

namespace octet {

// Kernels of the CPU may read (never write) this far past the end of a value: they load whole registers of 64 bytes, the last of which may
// begin at its last byte. Those of a GPU read nothing there.
inline constexpr s64 kSlack = 64;

}  // namespace octet
