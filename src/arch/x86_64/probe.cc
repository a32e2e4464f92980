// SPDX-License-Identifier: Apache-2.0
// Reads CPUID feature bits, never the model.
#include "arch/probe.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace octet {
namespace {

bool bit(u32 word, int index) { return ((word >> index) & 1u) != 0; }

u64 enabled_state() {
  u32 low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<u64>(high) << 32) | low;
}

// Linux hands out tile state on request: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
bool request_tiles() { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

}  // namespace

Isa probe_isa() {
  u32 a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) return Isa::none;
  const bool fma = bit(c, 12), f16c = bit(c, 29);
  const u64 state = enabled_state();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return Isa::none;
  if (!bit(b, 5) || !fma || !f16c || (state & 0x6) != 0x6) return Isa::none;
  const bool avx512 =
      bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31) && (state & 0xe0) == 0xe0;
  const bool vbmi = bit(c, 1), vnni = bit(c, 11);
  const bool tiles = bit(d, 24) && bit(d, 25) && (state & 0x60000) == 0x60000;
  u32 more = 0;
  if (__get_cpuid_count(7, 1, &more, &b, &c, &d) == 0) more = 0;
  Isa isa = bit(more, 4) ? Isa::avx_vnni : Isa::avx2;
  if (!avx512 || !vbmi || !vnni) return isa;
  isa = isa.with(Isa::vnni);
  if (bit(more, 5)) isa = isa.with({Feature::avx512_bf16});
  return tiles && request_tiles() ? isa.with(Isa::amx) : isa;
}

std::string probe_identity() {
  u32 registers[12] = {};
  u32 a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return "unknown";
  const u32 vendor[] = {b, d, c};
  std::string text(reinterpret_cast<const char*>(vendor), sizeof(vendor));
  __get_cpuid(1, &a, &b, &c, &d);
  text += fmt::format(" {:08x}", a);
  for (u32 i = 0; i < 3; ++i) {
    u32* r = registers + 4 * i;
    if (__get_cpuid(0x80000002u + i, r, r + 1, r + 2, r + 3) == 0) return text;
  }
  char name[sizeof(registers) + 1] = {};
  std::memcpy(name, registers, sizeof(registers));
  const std::string_view trimmed(name);
  const size_t first = trimmed.find_first_not_of(' ');
  if (first == std::string_view::npos) return text;
  text += " ";
  text += trimmed.substr(first, trimmed.find_last_not_of(' ') - first + 1);
  return text;
}

}  // namespace octet
