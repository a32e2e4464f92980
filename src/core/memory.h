// SPDX-License-Identifier: Apache-2.0
// Storage of tensors and arenas, counted against Limits::memory: nothing that a file asks for is taken before it fits.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "core/types.h"
#include "octet/error.h"

namespace octet {

// What fresh storage holds: whoever overwrites all of it need not wait for zeros.
enum class Fresh { zeroed, anything };

// `bytes` bytes at a multiple of `alignment` (a power of two), and `alignment` readable zeros behind them. Throws
// Error(out_of_memory) naming `what` when the limit would be passed or the system has no more.
std::shared_ptr<std::byte> allocate_counted(s64 bytes, size_t alignment, const char* what,
                                            Fresh fresh = Fresh::zeroed);

// The same for containers, which own what they take and know its size when they give it back; `alignment` is at most 64.
std::byte* take_counted(s64 bytes, size_t alignment, const char* what);
void give_back_counted(std::byte* memory, s64 bytes, size_t alignment) noexcept;

// Bytes that live storage takes now.
s64 counted_bytes();

// Throws the same error when `bytes` alone could never fit: for plans, before anything is allocated.
void check_fits(s64 bytes, const std::string& what);

// Counts bytes that a library takes by itself, while it lives. Throws the same error.
class Reserved {
 public:
  Reserved(s64 bytes, const std::string& what);
  ~Reserved();
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

 private:
  s64 bytes_;
};

// Error(out_of_memory), which names the limit where it is what stopped `new`.
[[noreturn]] void fail_bad_alloc(const std::bad_alloc& error);

// Runs a function of the interface: the one exception type that leaves it is Error, also when `new` fails.
template <class Stage>
decltype(auto) without_bad_alloc(Stage&& stage) {
  try {
    return stage();
  } catch (const std::bad_alloc& error) {
    fail_bad_alloc(error);
  }
}

std::string human_memory(s64 bytes);  // "4 TiB", "1.5 GiB", "12 bytes"

}  // namespace octet
