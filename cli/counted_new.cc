// SPDX-License-Identifier: Apache-2.0
// Everything that the program takes by `new` counts against --max-memory: names, nodes, messages, lists, pixels; whatever a
// file can make grow is among them. What C libraries take is counted where they are called.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "octet/limits.h"

namespace {

int64_t size_of(void* memory) { return static_cast<int64_t>(malloc_usable_size(memory)); }

}  // namespace

void* operator new(std::size_t bytes) {
  // Untouched memory costs nothing: it is taken first, because only then its size is known.
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  try {
    octet::count_heap(size_of(memory));
  } catch (...) {
    std::free(memory);
    throw;
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  octet::uncount_heap(size_of(memory));
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
