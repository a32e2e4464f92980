// SPDX-License-Identifier: Apache-2.0
#include "arch/probe.h"

#include <asm/hwcap.h>
#include <fmt/format.h>
#include <sys/auxv.h>

namespace octet {

namespace {

struct Capability {
  u64 vector, bits;  // of which entry of the auxiliary vector
  Feature feature;
};

// HWCAP_ASIMD is set wherever Linux runs programs for this architecture with floats.
constexpr Capability kCapabilities[] = {
    {AT_HWCAP, HWCAP_ASIMD, Feature::neon},
    {AT_HWCAP, HWCAP_ASIMDDP, Feature::dotprod},
    {AT_HWCAP2, HWCAP2_I8MM, Feature::i8mm},
    {AT_HWCAP, HWCAP_FPHP | HWCAP_ASIMDHP, Feature::arm_fp16},
    {AT_HWCAP2, HWCAP2_BF16, Feature::arm_bf16},
    {AT_HWCAP, HWCAP_SVE, Feature::sve},
    {AT_HWCAP2, HWCAP2_SVE2, Feature::sve2},
};

}  // namespace

Isa probe_isa() {
  Isa isa;
  for (const Capability& capability : kCapabilities) {
    if ((getauxval(capability.vector) & capability.bits) == capability.bits)
      isa = isa.with({capability.feature});
  }
  return isa;
}

std::string probe_identity() {
  // The main ID register: who made the core, which part it is, and its revision. Linux answers for programs where this bit is set.
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return "aarch64";
  u64 id = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(id));
  return fmt::format("aarch64 {:08x}", id);
}

}  // namespace octet
