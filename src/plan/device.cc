// SPDX-License-Identifier: Apache-2.0
// What a device is that says nothing else: memory of the host, and no streams.
#include "plan/device.h"

#include "core/check.h"
#include "core/memory.h"

namespace octet {

void Queue::repeat(std::unique_ptr<KeptWork>&, const std::function<void()>& give) { give(); }

void Queue::begin_after(void*) {
  fail(Error::Code::invalid_argument,
       "a stream is given for a run on a device that has no streams");
}

void Queue::end_before(void* stream) { begin_after(stream); }

std::shared_ptr<std::byte> Device::allocate_host(s64 bytes, const char* what) const {
  constexpr size_t kPage = 4096;
  return allocate_counted(bytes, kPage, what);
}

std::string Device::memory_of(const std::byte*) const { return "cpu"; }

}  // namespace octet
