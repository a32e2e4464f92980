// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: instruction-set level and cache, which its lowerings read, and nobody else.
#pragma once

#include "arch/isa.h"
#include "plan/device.h"
#include "plan/offer.h"

namespace octet {

// The second-level cache, which is the last that belongs to one core alone; 1 MiB where the system does not tell.
s64 core_cache_bytes();

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(Isa isa, s64 cache_bytes = core_cache_bytes());

  Isa isa() const { return isa_; }

  std::string_view name() const override { return "cpu"; }
  const std::string& identity() const override;
  std::string_view level() const override { return isa_name(isa_); }
  const Backend& backend() const override;
  const DeviceCosts& costs() const override { return costs_; }
  const Device* lesser() const override;
  bool has_host_memory() const override { return true; }
  std::shared_ptr<std::byte> allocate(s64 bytes, const char* what) const override;
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool) const override;

 private:
  const Isa isa_;
  const DeviceCosts costs_;
};

// This machine's, with the kernels of these features; to run them it must have them.
const CpuDevice& cpu_device(Isa isa);
// For plans of the CPU alone.
Target cpu_target(const CpuDevice& device, int threads = 1);
Target cpu_target(Isa isa, int threads = 1);

// Of the CPU that a lowering's steps will run on.
inline Isa isa_of(const Target& target) {
  return static_cast<const CpuDevice*>(target.host)->isa();
}

}  // namespace octet
