// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>
#include <fmt/format.h>

#include <cstring>

#include "core/types.h"
#include "octet/tuning.h"

namespace octet {

std::string cpu_identity() {
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
