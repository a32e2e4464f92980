// SPDX-License-Identifier: Apache-2.0
// Instruction-set levels of the CPU backend. Detection reads CPUID feature bits, never the model.
#pragma once

#include <string_view>

#include "core/types.h"

namespace octet {

// Each level includes those before it. `vnni` is AVX-512 with VNNI and VBMI; `amx` adds int8 tiles.
enum class Isa : u8 { none, avx2, vnni, amx };

std::string_view isa_name(Isa isa);
// What the machine has, capped by OCTET_CPU_ISA=none|avx2|vnni|amx. Throws Error(invalid_argument) for another value.
Isa detect_isa();
// What the machine has, whatever the environment says; for tests that sweep the levels.
Isa hardware_isa();

}  // namespace octet
