// SPDX-License-Identifier: Apache-2.0
// Memory that the host cannot touch. Every allocation is mapped twice as large as asked: the half whose address is handed out
// stays without any right, and the bytes lie in the other half, which only steps of the device know. So whoever passes an address
// to the wrong side dies there, also while a step runs.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/types.h"

namespace octet {

class TestMemory {
 public:
  explicit TestMemory(s64 budget) : budget_(budget) {}
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  // Zeroed pages. Throws Error(out_of_memory) naming `what` when all allocations together would pass the budget. The memory
  // outlives what it gives out.
  std::shared_ptr<std::byte> allocate(s64 bytes, const char* what);
  // Where the device finds the byte of this address; null for an address of the host.
  std::byte* inside(std::byte* address);

  s64 used() const;

 private:
  void release(std::byte* address);

  const s64 budget_;
  mutable std::mutex mutex_;
  std::map<std::byte*, s64> halves_;  // address that was handed out, and bytes to its twin
  s64 used_ = 0;
};

}  // namespace octet
