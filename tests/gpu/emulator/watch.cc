// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <sys/mman.h>

#include <iterator>

#include "device.h"

namespace octet::emulator {
namespace {

bool watching = false, hidden = false;

void protect(const DevicePages& pages, size_t first, size_t end, int protection) {
  if (first == end) return;
  mprotect(reinterpret_cast<void*>(pages.begin + first * kPage), (end - first) * kPage, protection);
}

// Of the device whose kernel runs.
void for_each_own(const std::function<void(DevicePages&)>& act) {
  for_each_pages([&](DevicePages& pages) {
    if (pages.context == current()) act(pages);
  });
}

void protect_written(int protection) {
  for_each_own([&](DevicePages& pages) {
    for (const auto& [first, end] : pages.written) protect(pages, first, end, protection);
  });
}

void protect_others(int protection) {
  for_each_own([&](DevicePages& pages) {
    size_t at = 0;
    for (const auto& [first, end] : pages.written) {
      protect(pages, at, first, protection);
      at = end;
    }
    protect(pages, at, pages.count, protection);
  });
}

bool was_written(const DevicePages& pages, size_t page) {
  const auto next = pages.written.upper_bound(page);
  return next != pages.written.begin() && std::prev(next)->second > page;
}

// Joins its neighbours.
void note_written(DevicePages& pages, size_t page) {
  auto next = pages.written.upper_bound(page);
  size_t end = page + 1;
  if (next != pages.written.end() && next->first == end) {
    end = next->second;
    next = pages.written.erase(next);
  }
  if (next != pages.written.begin() && std::prev(next)->second == page)
    std::prev(next)->second = end;
  else
    pages.written[page] = end;
}

}  // namespace

void set_peers(bool open) {
  if (devices() < 2) return;
  for_each_pages([&](DevicePages& pages) {
    if (pages.context != current())
      protect(pages, 0, pages.count, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  });
}

void begin_watch() {
  constexpr size_t kMost = 256;  // more allocations are too many to close for each kernel
  watching = allocations() <= kMost;
  if (watching) protect_others(PROT_READ);
}

void end_watch() {
  if (!watching) return;
  if (hidden) show_written();
  protect_others(PROT_READ | PROT_WRITE);
  watching = false;
}

void hide_written() {
  hidden = watching;
  if (hidden) protect_written(PROT_NONE);
}

void show_written() {
  hidden = false;
  protect_written(PROT_READ | PROT_WRITE);
}

Fault fault_at(const void* at) {
  const auto address = reinterpret_cast<CUdeviceptr>(at);
  DevicePages* pages = watching ? pages_at(address) : nullptr;
  if (pages == nullptr || pages->context != current()) return Fault::other;
  const size_t page = (address - pages->begin) / kPage;
  if (hidden) return Fault::before_wait;
  if (was_written(*pages, page)) return Fault::other;
  note_written(*pages, page);
  protect(*pages, page, page + 1, PROT_READ | PROT_WRITE);
  return Fault::first_write;
}

}  // namespace octet::emulator
