// SPDX-License-Identifier: Apache-2.0
#include "core/page_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "core/divide.h"

namespace octet {
namespace {

// A sanitizer sees what is read behind a block of malloc's only.
#if defined(__has_feature)  // clang
constexpr bool kShare = !__has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kShare = false;
#else
constexpr bool kShare = true;
#endif

constexpr s64 kRegionBytes = 16 * kLargePage;
constexpr s64 kHeader = 64;

// Mapped memory whose blocks are taken one behind the other. It begins with this, and is unmapped with the last of its blocks.
struct Region {
  std::byte* map;          // where the mapping begins: the region begins at a large page
  std::atomic<s64> users;  // blocks, and the arena while it takes more from it

  std::byte* begin() { return reinterpret_cast<std::byte*>(this); }
};

// What stands before a block. None: it is malloc's.
struct alignas(kHeader) Header {
  Region* region;
};
static_assert(sizeof(Header) == kHeader && sizeof(Region) <= kHeader);

std::atomic<s64> live_regions{0};

Region* map_region() noexcept {
  const auto bytes = static_cast<size_t>(kRegionBytes + kLargePage);
  void* const map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(map);
  const auto at = reinterpret_cast<std::uintptr_t>(map);
  const std::uintptr_t page = kLargePage;
  std::byte* const begin = first + (page - at % page) % page;
  // Small networks take no large page: only what lies behind the first one does.
  const s64 small = live_regions.fetch_add(1, std::memory_order_relaxed) == 0 ? kLargePage : 0;
  // Advice only: where it is refused, pages are small.
  (void)::madvise(begin + small, static_cast<size_t>(kRegionBytes - small), MADV_HUGEPAGE);
  return new (begin) Region{first, 1};
}

void leave(Region* region) noexcept {
  if (region->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  (void)::munmap(region->map, static_cast<size_t>(kRegionBytes + kLargePage));
  live_regions.fetch_sub(1, std::memory_order_relaxed);
}

// Where blocks are taken now.
struct Arena {
  std::mutex mutex;
  Region* region = nullptr;
  s64 taken = 0;
};

// `bytes` with their header; null: another thread takes some, or there is no more.
Header* take_shared(s64 bytes) noexcept {
  static Arena arena;
  // Never waits, so that the child of a process with threads cannot wait for one that it does not have.
  const std::unique_lock lock(arena.mutex, std::try_to_lock);
  if (!lock) return nullptr;
  const bool empty =
      arena.region != nullptr && arena.region->users.load(std::memory_order_acquire) == 1;
  if (empty) arena.taken = kHeader;
  if (arena.region == nullptr || arena.taken + bytes > kRegionBytes) {
    Region* const next = map_region();
    if (next == nullptr) return nullptr;
    if (arena.region != nullptr) leave(arena.region);
    arena.region = next;
    arena.taken = kHeader;
  }
  std::byte* const at = arena.region->begin() + arena.taken;
  arena.taken += bytes;
  arena.region->users.fetch_add(1, std::memory_order_relaxed);
  return new (at) Header{arena.region};
}

s64 with_header(s64 bytes) { return ceil_div(bytes, kHeader) * kHeader + kHeader; }

// Whole pages of a block that is no longer needed.
void drop_pages(std::byte* block, s64 bytes) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t skipped = (page - begin % page) % page;
  const std::uintptr_t end = (begin + static_cast<std::uintptr_t>(bytes)) / page * page;
  if (begin + skipped < end) (void)::madvise(block + skipped, end - begin - skipped, MADV_DONTNEED);
}

}  // namespace

std::byte* take_page_block(s64 bytes) noexcept {
  const s64 whole = with_header(bytes);
  Header* header = kShare ? take_shared(whole) : nullptr;
  if (header == nullptr) {
    void* const memory = std::aligned_alloc(kHeader, static_cast<size_t>(whole));
    if (memory == nullptr) return nullptr;
    header = new (memory) Header{nullptr};
  }
  return reinterpret_cast<std::byte*>(header) + kHeader;
}

void give_back_page_block(std::byte* block, s64 bytes) noexcept {
  auto* const header = reinterpret_cast<Header*>(block - kHeader);
  Region* const region = header->region;
  if (region == nullptr) return std::free(header);
  drop_pages(block, bytes);
  leave(region);
}

}  // namespace octet
