// SPDX-License-Identifier: Apache-2.0
#include "core/cpu_bf16.h"

#include <cpuid.h>

#include "core/cpu_isa.h"

namespace octet {

bool cpu_multiplies_bf16() {
  static const bool has = [] {
    constexpr unsigned kAvx512Bf16 = 1u << 5;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
  }();
  return has && detect_isa() >= Isa::vnni;
}

}  // namespace octet
