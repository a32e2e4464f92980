// SPDX-License-Identifier: Apache-2.0
// A device for tests, in every build: what a second device needs is tested where there is none. Its kernels are the CPU's, its
// memory no host code can touch (memory.h), and its queue runs late (queue.h). "test:0" runs every node; "test:1" and so on leave
// some nodes to the host, chosen by that number. All of them ask for some inputs and outputs in blocks of channels.
#pragma once

#include "backends/test/memory.h"
#include "plan/device.h"

namespace octet {

class TestDevice final : public Device {
 public:
  explicit TestDevice(u32 number, s64 budget = s64{64} << 30);

  u32 number() const { return number_; }
  const TestMemory& memory() const { return memory_; }

  std::string_view name() const override { return name_; }
  const std::string& identity() const override;
  std::string_view level() const override { return "test"; }
  const Backend& backend() const override;
  const DeviceCosts& costs() const override;
  bool has_host_memory() const override { return false; }
  std::shared_ptr<std::byte> allocate(s64 bytes, const char* what) const override;
  std::string memory_of(const std::byte* address) const override;
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool) const override;

 private:
  const u32 number_;
  const std::string name_;
  mutable TestMemory memory_;
};

}  // namespace octet
