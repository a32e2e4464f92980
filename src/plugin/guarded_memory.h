// SPDX-License-Identifier: Apache-2.0
// Memory between two pages that nobody may touch: an access beyond either end is a fault, which describe_fault() explains.
#pragma once

#include <cstddef>
#include <string>

#include "core/types.h"

namespace octet {

class GuardedMemory {
 public:
  enum class At { end, start };  // which end of the bytes lies at a forbidden page
  GuardedMemory(s64 bytes, const std::string& name, At at);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  s64 bytes() const { return bytes_; }
  void fill(std::byte value) const;
  void forbid_writing() const;
  // Nobody may read it either, from now on.
  void take_back() const;
  // Bytes between the forbidden page and the aligned end were written. They are poisoned by fill().
  bool slack_is_untouched() const;

 private:
  std::byte* map_ = nullptr;
  size_t map_bytes_ = 0;
  std::byte* data_ = nullptr;
  s64 bytes_ = 0;
  size_t slot_ = 0;
};

// "writes or reads past the end of output 'y'"; null for an address that has nothing to do with guarded memory. Safe in a handler.
const char* describe_fault(const void* address);

}  // namespace octet
