// SPDX-License-Identifier: Apache-2.0
// What Octet knows of the machine that it runs on.
#pragma once

#include <string>

namespace octet {

// The instruction-set level whose kernels contexts take: "none", "avx2", "avx_vnni", "vnni" or "amx", capped by the environment's
// OCTET_CPU_ISA. Throws Error(invalid_argument) for another value there.
std::string cpu_isa();

}  // namespace octet
