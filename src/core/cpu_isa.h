// SPDX-License-Identifier: Apache-2.0
// Instruction-set levels of the CPU backend. Detection reads CPUID feature bits, never the model.
#pragma once

#include <string_view>

#include "core/types.h"

namespace octet {

// `avx_vnni` is AVX2 with the 256-bit vpdpbusd of client processors, `vnni` AVX-512 with VNNI and VBMI; `amx` adds int8 tiles. Each
// level includes those before it, but for one: a machine of level `vnni` may lack `avx_vnni`, so every family that has a row for
// avx_vnni has one for vnni.
enum class Isa : u8 { none, avx2, avx_vnni, vnni, amx };
inline constexpr Isa kIsaLevels[] = {Isa::none, Isa::avx2, Isa::avx_vnni, Isa::vnni, Isa::amx};

std::string_view isa_name(Isa isa);
// What the machine has, capped by OCTET_CPU_ISA=none|avx2|avx_vnni|vnni|amx: the highest level it has at or
// below the cap. Throws Error(invalid_argument) for another value.
Isa detect_isa();
// What the machine has, whatever the environment says.
Isa hardware_isa();
// Whether code of the level runs here; for tests that sweep the levels.
bool hardware_has(Isa isa);
// The second-level cache, which is the last that belongs to one core alone; 1 MiB where the system does not tell.
s64 core_cache_bytes();

}  // namespace octet
