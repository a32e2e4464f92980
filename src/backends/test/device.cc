// SPDX-License-Identifier: Apache-2.0
#include "backends/test/device.h"

#include <charconv>
#include <map>
#include <mutex>

#include "backends/cpu/device.h"
#include "backends/test/backend.h"
#include "backends/test/queue.h"

namespace octet {

TestDevice::TestDevice(u32 number, s64 budget)
    : number_(number), name_("test:" + std::to_string(number)), memory_(budget) {}

const std::string& TestDevice::identity() const {
  static const std::string identity = "test device";
  return identity;
}

const Backend& TestDevice::backend() const { return test_backend(number_ > 0); }

const DeviceCosts& TestDevice::costs() const { return cpu_device(Isa::none).costs(); }

std::shared_ptr<std::byte> TestDevice::allocate(s64 bytes, const char* what) const {
  return memory_.allocate(bytes, what);
}

std::string TestDevice::memory_of(const std::byte* address) const {
  return memory_.inside(const_cast<std::byte*>(address)) != nullptr ? name_ : "cpu";
}

std::unique_ptr<Queue> TestDevice::make_queue(std::shared_ptr<ThreadPool> pool) const {
  return std::make_unique<TestQueue>(memory_, std::move(pool), number_);
}

// "test" is the first of them.
const Device* find_test_device(std::string_view name) {
  if (name == "test") name = "test:0";
  if (!name.starts_with("test:")) return nullptr;
  name.remove_prefix(5);
  u32 number = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (wrong != std::errc() || end != name.data() + name.size()) return nullptr;
  static std::mutex mutex;
  static std::map<u32, TestDevice>& devices = *new std::map<u32, TestDevice>;
  const std::lock_guard lock(mutex);
  return &devices.try_emplace(number, number).first->second;
}

}  // namespace octet
