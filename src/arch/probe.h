// SPDX-License-Identifier: Apache-2.0
// What each architecture says of the processor that it runs on. arch/NAME/ defines these for one of them, and CMake compiles that folder
// which is the target's.
#pragma once

#include <string>

#include "arch/isa.h"

namespace octet {

// Asked once; what needs the system's leave (matrix tiles) is asked for here.
Isa probe_isa();
// Maker, model and stepping, as far as the processor tells.
std::string probe_identity();

}  // namespace octet
