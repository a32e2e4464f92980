// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>

#include "core/check.h"
#include "core/checked.h"
#include "core/page_blocks.h"
#include "octet/limits.h"

namespace octet {
namespace {

constexpr s64 kLeastDefault = s64{8} << 30;

// Zero: not set. Atomic, so that reading them needs no lock.
std::atomic<s64> memory_limit{0};
std::atomic<s64> loop_limit{Limits{}.loop_trips};
std::atomic<s64> live_bytes{0};
std::atomic<s64> highest_bytes{0};  // since freed memory went back to the system

s64 machine_bytes() {
  const s64 pages = std::max<s64>(::sysconf(_SC_PHYS_PAGES), 1);
  const s64 bytes = checked_mul(pages, ::sysconf(_SC_PAGE_SIZE)).value_or(1);
  s64 group = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");  // holds "max" when there is no limit
  return file >> group && group > 0 ? std::min(bytes, group) : bytes;
}

s64 memory_in_force() {
  const s64 set = memory_limit.load(std::memory_order_relaxed);
  return set > 0 ? set : machine_memory_limit();
}

[[noreturn]] void refuse(const std::string& what, s64 bytes, s64 in_use) {
  const std::string used =
      in_use > 0 ? fmt::format(" and {} are in use", human_memory(in_use)) : std::string();
  fail_about("Limits.memory", Error::Code::out_of_memory, "{} needs {}{}, limit {}", what,
             human_memory(bytes), used, human_memory(memory_in_force()));
}

// Large storage in large pages, where the system gives them on request: 25 MB then take a dozen page faults, not 6000.
void prefer_large_pages(std::byte* memory, s64 bytes) {
  if (!has_large_page(bytes)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t page = kLargePage, first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + static_cast<std::uintptr_t>(bytes)) / page * page;
  // Advice only: where it is refused, pages are small.
  (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

void release(std::byte* memory, s64 rounded) noexcept {
  std::free(memory);
  live_bytes.fetch_sub(rounded, std::memory_order_relaxed);
}

s64 round_up(s64 bytes, size_t alignment) {
  const s64 step = static_cast<s64>(alignment);
  return (bytes + step - 1) / step * step;
}

bool can_be_rounded(s64 bytes, size_t alignment) {
  return bytes <= std::numeric_limits<s64>::max() - 2 * static_cast<s64>(alignment);
}

// What `new` throws beyond the limit.
class LimitReached final : public std::bad_alloc {
 public:
  LimitReached(s64 bytes, s64 in_use) : bytes_(bytes), in_use_(in_use) {}
  const char* what() const noexcept override { return "the memory limit is reached"; }
  s64 bytes() const { return bytes_; }
  s64 in_use() const { return in_use_; }

 private:
  s64 bytes_, in_use_;
};

// What malloc keeps for later counts as nobody's: it goes back to the system before much more is taken.
void return_freed(s64 in_use, s64 bytes) {
  constexpr s64 kLarge = s64{4} << 20;
  constexpr s64 kMostKept = s64{16} << 20;
  const s64 highest = highest_bytes.load(std::memory_order_relaxed);
  if (bytes < kLarge || highest - in_use < std::max(kMostKept, memory_in_force() / 16)) return;
  ::malloc_trim(0);
  highest_bytes.store(in_use, std::memory_order_relaxed);
}

// Counts the bytes; false, and nothing is counted, where they pass the limit. `before`: what was counted until then.
bool count(s64 bytes, s64& before) {
  before = live_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes > memory_in_force() - before) {
    live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  return_freed(before, bytes);
  // Two threads may both be the highest: then one of them is forgotten, and some memory is kept longer.
  if (before + bytes > highest_bytes.load(std::memory_order_relaxed))
    highest_bytes.store(before + bytes, std::memory_order_relaxed);
  return true;
}

// What the system gave for `rounded` bytes, of which the caller of the interface asked for `bytes`.
template <class Take>
std::byte* take_by(const Take& from_system, s64 bytes, s64 rounded, const char* what) {
  s64 before = 0;
  if (!count(rounded, before)) refuse(what, bytes, before);
  std::byte* const memory = from_system();
  if (memory != nullptr) return memory;
  live_bytes.fetch_sub(rounded, std::memory_order_relaxed);
  fail(Error::Code::out_of_memory, "{} needs {}, which the system does not have", what,
       human_memory(bytes));
}

std::byte* take(s64 bytes, s64 rounded, size_t alignment, const char* what) {
  const auto aligned = [&] {
    return static_cast<std::byte*>(std::aligned_alloc(alignment, static_cast<size_t>(rounded)));
  };
  std::byte* const memory = take_by(aligned, bytes, rounded, what);
  prefer_large_pages(memory, rounded);
  return memory;
}

}  // namespace

int64_t machine_memory_limit() {
  static const s64 limit = machine_bytes() / 4 * 3;
  return limit;
}

int64_t default_memory_limit(uint64_t file_bytes) {
  const s64 file = static_cast<s64>(std::min<u64>(file_bytes, u64{1} << 60));
  return std::min(std::max(kLeastDefault, 4 * file), machine_memory_limit());
}

void set_limits(const Limits& limits) {
  memory_limit = limits.memory <= 0 ? 0 : std::min(limits.memory, machine_memory_limit());
  loop_limit = limits.loop_trips;
}

Limits limits() { return {memory_in_force(), loop_limit}; }

std::string human_memory(s64 bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  f64 value = static_cast<f64>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

void check_fits(s64 bytes, const std::string& what) {
  if (bytes > memory_in_force()) refuse(what, bytes, 0);
}

void count_heap(int64_t bytes) {
  s64 before = 0;
  if (count(bytes, before)) return;
  // Destructors that clean up after an error may take a little while they do.
  if (std::uncaught_exceptions() == 0) throw LimitReached(bytes, before);
  live_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void uncount_heap(int64_t bytes) noexcept {
  live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

Reserved::Reserved(s64 bytes, const std::string& what) : bytes_(bytes) {
  s64 before = 0;
  if (!count(bytes, before)) refuse(what, bytes, before);
}

Reserved::~Reserved() { live_bytes.fetch_sub(bytes_, std::memory_order_relaxed); }

void fail_bad_alloc(const std::bad_alloc& error) {
  if (const auto* limit = dynamic_cast<const LimitReached*>(&error)) {
    refuse("working on it", limit->bytes(), limit->in_use());
  }
  throw Error(Error::Code::out_of_memory, "the system has no more memory");
}

s64 counted_bytes() { return live_bytes.load(std::memory_order_relaxed); }

std::shared_ptr<std::byte> allocate_counted(s64 bytes, size_t alignment, const char* what,
                                            Fresh fresh) {
  if (!can_be_rounded(bytes, alignment)) refuse(what, bytes, 0);
  const s64 rounded = round_up(bytes, alignment) + static_cast<s64>(alignment);
  std::byte* memory = take(bytes, rounded, alignment, what);
  const s64 kept = fresh == Fresh::zeroed ? 0 : bytes;
  std::memset(memory + kept, 0, static_cast<size_t>(rounded - kept));
  // Should its control block not be had, shared_ptr releases the memory itself.
  return {memory, [rounded](std::byte* m) { release(m, rounded); }};
}

std::byte* take_counted(s64 bytes, size_t alignment, const char* what) {
  if (!can_be_rounded(bytes, alignment)) refuse(what, bytes, 0);
  const s64 rounded = round_up(bytes, alignment);
  if (!fits_page_block(rounded)) return take(bytes, rounded, alignment, what);
  return take_by([&] { return take_page_block(rounded); }, bytes, rounded, what);
}

void give_back_counted(std::byte* memory, s64 bytes, size_t alignment) noexcept {
  const s64 rounded = round_up(bytes, alignment);
  if (!fits_page_block(rounded)) return release(memory, rounded);
  give_back_page_block(memory, rounded);
  live_bytes.fetch_sub(rounded, std::memory_order_relaxed);
}

}  // namespace octet
