// SPDX-License-Identifier: Apache-2.0
#include "core/processors.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "core/divide.h"
#include "core/input.h"
#include "octet/machine.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

// The affinity of the calling thread, which a cpuset narrows as well. The kernel refuses sets that are shorter than its own.
s64 processors_of_affinity() {
  constexpr size_t kMost = size_t{1} << 16;
  for (size_t count = CPU_SETSIZE; count <= kMost; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(count);
    const bool told = ::sched_getaffinity(0, bytes, set) == 0;
    const s64 found = told ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (told) return found;
  }
  return std::thread::hardware_concurrency();
}

// "200000 100000": so many microseconds of each period; "max 100000" where there is no limit.
std::optional<s64> processors_in(const fs::path& file) {
  std::ifstream text(file);
  s64 quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return ceil_div(quota, period);
}

// The line "0::/a/b" is the only one of version 2. Empty where there is none.
std::string group_in(std::string_view membership) {
  while (!membership.empty()) {
    const std::string_view line = membership.substr(0, membership.find('\n'));
    if (line.starts_with("0::/")) return std::string(line.substr(4));
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
  }
  return {};
}

}  // namespace

std::optional<s64> processors_of_groups(const fs::path& root, std::string_view membership) {
  std::optional<s64> least = processors_in(root / "cpu.max");
  fs::path group = root;
  for (const fs::path& part : fs::path(group_in(membership))) {
    // In a container the path may be one of the machine's, which is not there.
    if (part == "..") break;
    group /= part;
    const std::optional<s64> here = processors_in(group / "cpu.max");
    if (here) least = std::min(*here, least.value_or(*here));
  }
  return least;
}

int usable_processors() {
  constexpr s64 kMost = 256;  // threads that a pool takes
  s64 count = processors_of_affinity();
  const auto allowed =
      processors_of_groups("/sys/fs/cgroup", read_system_text("/proc/self/cgroup"));
  if (allowed) count = std::min(count, *allowed);
  return static_cast<int>(std::clamp<s64>(count, 1, kMost));
}

}  // namespace octet
