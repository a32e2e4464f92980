// SPDX-License-Identifier: Apache-2.0
// Vectors that begin on a cache line: a 64-byte load that crosses two lines costs twice. They hold packed weights, which count
// against Limits::memory.
#pragma once

#include <cstddef>
#include <vector>

#include "core/memory.h"

namespace octet {

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr size_t kAlignment = 64;

  CacheLineAllocator() = default;
  template <class U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}

  static s64 bytes(size_t n) { return static_cast<s64>(n * sizeof(T)); }

  T* allocate(size_t n) {
    return reinterpret_cast<T*>(take_counted(bytes(n), kAlignment, "a layer's packed weights"));
  }
  void deallocate(T* p, size_t n) noexcept {
    give_back_counted(reinterpret_cast<std::byte*>(p), bytes(n), kAlignment);
  }
  bool operator==(const CacheLineAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace octet
