// SPDX-License-Identifier: Apache-2.0
// Device memory is memory of the host in a range of addresses of its own. Every allocation ends where a page begins that nobody can
// touch, and one lies before it. Addresses are given out again late, so that most uses of freed memory are found.
#include <sys/mman.h>

#include <cstring>
#include <map>

#include "device.h"

namespace octet::emulator {
namespace {

constexpr size_t kUnit = 256;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Allocation {
  size_t bytes;  // as asked for
  CUdeviceptr first_page, end_page;
  CUcontext context;
  DevicePages pages;
};

// Pages between guards, found from a cursor that goes around.
class Range {
 public:
  bool reserve(size_t bytes) {
    if (begin_ != 0) return true;
    void* address =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return false;
    begin_ = cursor_ = reinterpret_cast<CUdeviceptr>(address);
    end_ = begin_ + bytes;
    return true;
  }
  bool contains(CUdeviceptr at) const { return at >= begin_ && at < end_; }

  // First page of `bytes` free ones with a free one on each side, or 0.
  CUdeviceptr take(size_t bytes) {
    CUdeviceptr at = gap(cursor_, bytes + 2 * kPage);
    if (at == 0) at = gap(begin_, bytes + 2 * kPage);
    if (at == 0) return 0;
    cursor_ = at + kPage + bytes;
    return at + kPage;
  }

  std::map<CUdeviceptr, Allocation> live;  // by pointer

 private:
  CUdeviceptr gap(CUdeviceptr from, size_t bytes) const {
    auto next = live.lower_bound(from);
    if (next != live.begin() && from < std::prev(next)->second.end_page)
      from = std::prev(next)->second.end_page;
    for (; next != live.end(); ++next) {
      if (next->second.first_page >= from + bytes) return from;
      from = next->second.end_page;
    }
    return from + bytes <= end_ ? from : 0;
  }

  CUdeviceptr begin_ = 0, end_ = 0, cursor_ = 0;
};

Range& range() {
  static auto* all = new Range;
  return *all;
}

std::map<const void*, size_t>& pinned() {
  static auto* all = new std::map<const void*, size_t>;
  return *all;
}

void* pointer(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

CUresult allocate(CUdeviceptr* result, size_t bytes) {
  const size_t units = round_up(bytes, kUnit), pages = round_up(units, kPage);
  CUcontext context = current();
  if (units > memory_bytes() - context->used) return octet::cuda::kOutOfMemory;
  if (!range().reserve(static_cast<size_t>(devices()) * 4 * most_memory_bytes()))
    return octet::cuda::kOutOfMemory;
  const CUdeviceptr first = range().take(pages);
  if (first == 0 || mprotect(pointer(first), pages, PROT_READ | PROT_WRITE) != 0)
    return octet::cuda::kOutOfMemory;
  *result = first + pages - units;
  std::memset(pointer(first), 0xA5, pages);
  context->used += units;
  range().live[*result] = {
      bytes, first, first + pages, context, {context, first, pages / kPage, {}}};
  ++live_objects();
  return 0;
}

}  // namespace

Place place_of(CUdeviceptr at, size_t bytes) {
  if (!range().contains(at)) return Place::host;
  auto next = range().live.upper_bound(at);
  if (next == range().live.begin()) return Place::outside;
  const auto& [begin, allocation] = *--next;
  const bool inside = at - begin <= allocation.bytes && bytes <= allocation.bytes - (at - begin);
  return inside ? Place::device : Place::outside;
}

size_t allocations() { return range().live.size(); }

void for_each_pages(const std::function<void(DevicePages&)>& act) {
  for (auto& [begin, allocation] : range().live) act(allocation.pages);
}

DevicePages* pages_at(CUdeviceptr at) {
  auto next = range().live.upper_bound(at);
  // The first page begins before the pointer that was given out.
  if (next != range().live.end() && at >= next->second.first_page) return &next->second.pages;
  if (next == range().live.begin()) return nullptr;
  Allocation& allocation = (--next)->second;
  return at < allocation.end_page ? &allocation.pages : nullptr;
}

bool is_pinned(const void* at, size_t bytes) {
  auto next = pinned().upper_bound(at);
  if (next == pinned().begin()) return false;
  const auto& [begin, size] = *--next;
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(at) - static_cast<const char*>(begin));
  return offset <= size && bytes <= size - offset;
}

}  // namespace octet::emulator

using namespace octet::emulator;

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  EMULATED_ENTER("cuMemGetInfo_v2", context);
  *total = memory_bytes();
  *free = memory_bytes() - current()->used;
  return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr* result, size_t bytes) {
  EMULATED_ENTER("cuMemAlloc_v2", context);
  if (bytes == 0) return kInvalidValue;
  if (const CUresult error = refuse_in_capture()) return error;
  return allocate(result, bytes);
}

CUresult cuMemFree_v2(CUdeviceptr at) {
  EMULATED_ENTER("cuMemFree_v2", context);
  if (at == 0) return 0;
  if (const CUresult error = refuse_in_capture()) return error;
  const auto found = range().live.find(at);
  if (found == range().live.end()) return kInvalidValue;
  const Allocation gone = found->second;
  finish_all(gone.context);
  // New pages, so that the old ones go back to the system.
  mmap(pointer(gone.first_page), gone.end_page - gone.first_page, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  gone.context->used -= round_up(gone.bytes, kUnit);
  range().live.erase(found);
  --live_objects();
  return current()->sticky;
}

// Types of memory: 1 for page-locked memory of the host, 2 for a device's.
CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr at) {
  EMULATED_ENTER("cuPointerGetAttribute", context);
  const bool of_device = place_of(at, 1) == Place::device;
  if (!of_device && !is_pinned(pointer(at), 1)) return kInvalidValue;
  switch (attribute) {
    case octet::cuda::kPointerMemoryType:
      *static_cast<unsigned*>(value) = of_device ? octet::cuda::kMemoryOfDevice : 1;
      return 0;
    case octet::cuda::kPointerIsManaged:
      *static_cast<unsigned*>(value) = 0;
      return 0;
    case octet::cuda::kPointerDevice:
      *static_cast<int*>(value) =
          of_device ? std::prev(range().live.upper_bound(at))->second.context->ordinal : 0;
      return 0;
    default:
      return kInvalidValue;
  }
}

CUresult cuMemHostAlloc(void** result, size_t bytes, unsigned) {
  EMULATED_ENTER("cuMemHostAlloc", context);
  if (bytes == 0) return kInvalidValue;
  if (const CUresult error = refuse_in_capture()) return error;
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return octet::cuda::kOutOfMemory;
  std::memset(address, 0xA5, bytes);
  pinned()[address] = bytes;
  ++live_objects();
  *result = address;
  return 0;
}

CUresult cuMemFreeHost(void* at) {
  EMULATED_ENTER("cuMemFreeHost", context);
  const auto found = pinned().find(at);
  if (found == pinned().end()) return kInvalidValue;
  if (const CUresult error = refuse_in_capture()) return error;
  for (int i = 0; i < devices(); ++i) finish_all(context_of(i));
  munmap(at, found->second);
  pinned().erase(found);
  --live_objects();
  return current()->sticky;
}

namespace {

CUresult copy_now(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (place_of(to, bytes) == Place::outside || place_of(from, bytes) == Place::outside)
    return kIllegalAddress;  // freed since the copy was asked for
  std::memmove(pointer(to), pointer(from), bytes);
  return 0;
}

bool is_pageable(CUdeviceptr at, size_t bytes) {
  return place_of(at, bytes) == Place::host && !is_pinned(pointer(at), bytes);
}

}  // namespace

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  EMULATED_ENTER("cuMemcpyHtoD_v2", context);
  if (bytes == 0) return 0;
  if (from == nullptr || place_of(to, bytes) != Place::device) return kInvalidValue;
  if (const CUresult error = refuse_in_capture()) return error;
  finish(nullptr);
  if (current()->sticky != 0) return current()->sticky;
  return copy_now(to, reinterpret_cast<CUdeviceptr>(from), bytes);
}

// Memory of the host that is not pinned is read and written before the function returns.
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  EMULATED_ENTER("cuMemcpyAsync", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (bytes == 0) return 0;
  if (to == 0 || from == 0 || place_of(to, bytes) == Place::outside ||
      place_of(from, bytes) == Place::outside)
    return kInvalidValue;
  const CUresult error = submit(stream, [=] { return copy_now(to, from, bytes); });
  const bool at_once = is_pageable(to, bytes) || is_pageable(from, bytes);
  if (error == 0 && at_once && !is_capturing(stream)) finish(stream);
  return error;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  EMULATED_ENTER("cuMemsetD8Async", context);
  if (const CUresult error = check_stream(stream)) return error;
  if (bytes == 0) return 0;
  if (place_of(to, bytes) != Place::device) return kInvalidValue;
  return submit(stream, [=] {
    if (place_of(to, bytes) != Place::device) return kIllegalAddress;
    std::memset(pointer(to), value, bytes);
    return 0;
  });
}
