// SPDX-License-Identifier: Apache-2.0
#include "core/cpu_isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/check.h"
#include "octet/machine.h"

namespace octet {
namespace {

constexpr std::string_view kNames[] = {"none", "avx2", "avx_vnni", "vnni", "amx"};

bool bit(u32 word, int index) { return ((word >> index) & 1u) != 0; }

u64 enabled_state() {
  u32 low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<u64>(high) << 32) | low;
}

// Linux hands out tile state on request: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
bool request_tiles() { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

bool has_avx_vnni() {
  u32 a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && bit(a, 4);
}

Isa probe() {
  u32 a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) return Isa::none;
  const bool fma = bit(c, 12), f16c = bit(c, 29);
  const u64 state = enabled_state();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return Isa::none;
  if (!bit(b, 5) || !fma || !f16c || (state & 0x6) != 0x6) return Isa::none;
  const bool avx512 =
      bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31) && (state & 0xe0) == 0xe0;
  const bool vbmi = bit(c, 1), vnni = bit(c, 11);
  if (!avx512 || !vbmi || !vnni) return has_avx_vnni() ? Isa::avx_vnni : Isa::avx2;
  const bool tiles = bit(d, 24) && bit(d, 25) && (state & 0x60000) == 0x60000;
  return tiles && request_tiles() ? Isa::amx : Isa::vnni;
}

}  // namespace

std::string_view isa_name(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

Isa hardware_isa() {
  static const Isa isa = probe();
  return isa;
}

bool hardware_has(Isa isa) {
  static const bool avx_vnni = hardware_isa() >= Isa::avx_vnni && has_avx_vnni();
  return isa == Isa::avx_vnni ? avx_vnni : isa <= hardware_isa();
}

s64 core_cache_bytes() {
  static const s64 bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : s64{1} << 20;
}

Isa detect_isa() {
  const char* cap = std::getenv("OCTET_CPU_ISA");
  if (cap == nullptr || *cap == '\0') return hardware_isa();
  const auto* found = std::ranges::find(kNames, cap);
  if (found == std::end(kNames)) {
    fail(Error::Code::invalid_argument,
         "OCTET_CPU_ISA is '{}', expected none, avx2, avx_vnni, vnni or amx", cap);
  }
  auto level = static_cast<u8>(found - std::begin(kNames));
  while (!hardware_has(static_cast<Isa>(level))) --level;
  return static_cast<Isa>(level);
}

std::string cpu_isa() { return std::string(isa_name(detect_isa())); }

}  // namespace octet
