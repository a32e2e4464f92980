// SPDX-License-Identifier: Apache-2.0
#include "arch/probe.h"

#include <asm/hwcap.h>
#include <fmt/format.h>
#include <sys/auxv.h>

namespace octet {

// There are no kernels of its own yet: the scalar ones run.
Isa probe_isa() { return Isa::none; }

std::string probe_identity() {
  // The main ID register: who made the core, which part it is, and its revision. Linux answers for programs where this bit is set.
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return "aarch64";
  u64 id = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(id));
  return fmt::format("aarch64 {:08x}", id);
}

}  // namespace octet
