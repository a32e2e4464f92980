// SPDX-License-Identifier: Apache-2.0
#include "octet/device_memory.h"

#include <cstring>

#include "backends/backends.h"
#include "core/memory.h"
#include "core/thread_pool.h"

namespace octet {

std::string memory_of(const void* address, const std::string& name) {
  const Device& device = find_device(name);
  const CurrentDevice unchanged(device);
  return device.memory_of(static_cast<const std::byte*>(address));
}

std::shared_ptr<std::byte> allocate_on(const std::string& name, int64_t bytes) {
  return without_bad_alloc([&] {
    const Device& device = find_device(name);
    const CurrentDevice unchanged(device);
    return device.allocate(bytes, "memory that was asked for");
  });
}

void copy_memory(void* to, const void* from, int64_t bytes, const std::string& name, void* stream) {
  const Device& device = find_device(name);
  if (device.has_host_memory()) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  without_bad_alloc([&] {
    const CurrentDevice unchanged(device);
    const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
    queue->begin_after(stream);
    queue->copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    queue->synchronize();
  });
}

}  // namespace octet
