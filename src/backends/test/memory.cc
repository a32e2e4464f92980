// SPDX-License-Identifier: Apache-2.0
#include "backends/test/memory.h"

#include <sys/mman.h>

#include "core/check.h"
#include "core/divide.h"
#include "core/memory.h"
#include "octet/error.h"

namespace octet {
namespace {

constexpr s64 kPage = 4096;

std::byte* map_twice(s64 half) {
  const size_t bytes = 2 * static_cast<size_t>(half);
  void* address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(address);
  if (mprotect(first + half, static_cast<size_t>(half), PROT_READ | PROT_WRITE) == 0) return first;
  munmap(address, bytes);
  return nullptr;
}

}  // namespace

std::shared_ptr<std::byte> TestMemory::allocate(s64 bytes, const char* what) {
  const std::lock_guard lock(mutex_);
  if (bytes > budget_ - used_) {
    fail(Error::Code::out_of_memory, "{} takes {}, of the test device's {} {} are in use", what,
         human_memory(bytes), human_memory(budget_), human_memory(used_));
  }
  // A page more: kernels may read a little past the end.
  const s64 half = (ceil_div(bytes, kPage) + 1) * kPage;
  std::byte* address = map_twice(half);
  if (address == nullptr)
    fail(Error::Code::out_of_memory, "the system has no {} for {}", human_memory(bytes), what);
  halves_.emplace(address, half);
  used_ += half;
  return {address, [this](std::byte* at) { release(at); }};
}

void TestMemory::release(std::byte* address) {
  const std::lock_guard lock(mutex_);
  const auto at = halves_.find(address);
  OCTET_CHECK(at != halves_.end());
  munmap(address, 2 * static_cast<size_t>(at->second));
  used_ -= at->second;
  halves_.erase(at);
}

std::byte* TestMemory::inside(std::byte* address) {
  const std::lock_guard lock(mutex_);
  auto next = halves_.upper_bound(address);
  if (next == halves_.begin()) return nullptr;
  const auto& [first, half] = *--next;
  return address < first + half ? address + half : nullptr;
}

s64 TestMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace octet
