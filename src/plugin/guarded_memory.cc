// SPDX-License-Identifier: Apache-2.0
#include "plugin/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/check.h"

namespace octet {
namespace {

constexpr size_t kBufferAlign = 64;
constexpr std::byte kSlack{0xc3};
constexpr size_t kSlots = 256;

struct Slot {
  const std::byte *begin = nullptr, *data = nullptr, *data_end = nullptr, *end = nullptr;
  char before[96], inside[96], behind[96];
};
Slot slots[kSlots];

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

size_t free_slot() {
  for (size_t i = 0; i < kSlots; ++i) {
    if (slots[i].begin == nullptr) return i;
  }
  fail(Error::Code::out_of_memory, "more than {} guarded tensors", kSlots);
}

}  // namespace

GuardedMemory::GuardedMemory(s64 bytes, const std::string& name, At at)
    : bytes_(bytes), slot_(free_slot()) {
  const size_t size = static_cast<size_t>(bytes), inner = up(std::max<size_t>(size, 1), page());
  map_bytes_ = inner + 2 * page();
  void* map = mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED ||
      mprotect(static_cast<std::byte*>(map) + page(), inner, PROT_READ | PROT_WRITE) != 0)
    fail(Error::Code::out_of_memory, "no {} bytes between forbidden pages", bytes);
  map_ = static_cast<std::byte*>(map);
  // Tensors are aligned, so up to 63 bytes lie behind the last one: slack_is_untouched() watches over them.
  data_ = map_ + page() + (at == At::end ? inner - up(size, kBufferAlign) : 0);
  Slot& slot = slots[slot_];
  slot = {map_, data_, data_ + size, map_ + map_bytes_, {}, {}, {}};
  std::snprintf(slot.before, sizeof slot.before, "it reads or writes before the start of %s",
                name.c_str());
  std::snprintf(slot.inside, sizeof slot.inside, "it writes to %s", name.c_str());
  std::snprintf(slot.behind, sizeof slot.behind, "it reads or writes past the end of %s",
                name.c_str());
  fill(kSlack);
}

GuardedMemory::~GuardedMemory() {
  slots[slot_].begin = nullptr;
  munmap(map_, map_bytes_);
}

void GuardedMemory::fill(std::byte value) const {
  std::byte* inner = map_ + page();
  const size_t size = map_bytes_ - 2 * page();
  std::memset(inner, static_cast<int>(kSlack), size);
  std::memset(data_, static_cast<int>(value), static_cast<size_t>(bytes_));
}

void GuardedMemory::forbid_writing() const {
  mprotect(map_ + page(), map_bytes_ - 2 * page(), PROT_READ);
}

void GuardedMemory::take_back() const {
  constexpr std::string_view kWrites = "it writes to ";
  Slot& slot = slots[slot_];
  const std::string name = slot.inside + kWrites.size();
  std::snprintf(slot.inside, sizeof slot.inside, "it reads %s later", name.c_str());
  mprotect(map_ + page(), map_bytes_ - 2 * page(), PROT_NONE);
}

bool GuardedMemory::slack_is_untouched() const {
  const auto untouched = [](std::byte b) { return b == kSlack; };
  return std::all_of(map_ + page(), data_, untouched) &&
         std::all_of(data_ + bytes_, map_ + map_bytes_ - page(), untouched);
}

const char* describe_fault(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  for (const Slot& slot : slots) {
    if (slot.begin == nullptr || at < slot.begin || at >= slot.end) continue;
    return at < slot.data ? slot.before : at < slot.data_end ? slot.inside : slot.behind;
  }
  return nullptr;
}

}  // namespace octet
