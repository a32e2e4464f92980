// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/device.h"

#include <unistd.h>

#include <map>
#include <mutex>

#include "arch/probe.h"
#include "backends/cpu/backend.h"
#include "backends/host/queue.h"
#include "core/memory.h"
#include "octet/tuning.h"

namespace octet {
namespace {

// To start a step once more costs about as much as 16 KiB, and 96 KiB more where threads meet at its end.
// To start and await a thread takes 0.7 us, and what a step reads and writes then lies in two cores. One that takes less than
// 5 us, which the kernels of an AMX machine do in 12000 estimated cycles, is done sooner by one thread.
DeviceCosts costs_of(s64 cache_bytes) {
  return {.cache_bytes = cache_bytes,
          .start_bytes = 16 << 10,
          .meeting_bytes = 96 << 10,
          .short_cycles = 12000,
          .short_bytes = 96 << 10,
          .convert_bytes_per_cycle = 2};
}

}  // namespace

s64 core_cache_bytes() {
  static const s64 bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : s64{1} << 20;
}

CpuDevice::CpuDevice(Isa isa, s64 cache_bytes) : isa_(isa), costs_(costs_of(cache_bytes)) {}

const std::string& CpuDevice::identity() const {
  static const std::string identity = probe_identity();
  return identity;
}

std::string cpu_identity() { return probe_identity(); }

const Backend& CpuDevice::backend() const { return cpu_backend(); }

// Scalar code is no competitor of vectors.
const Device* CpuDevice::lesser() const {
  const Isa* next = nullptr;
  const Isa own = isa_level(isa_);
  for (const Isa& level : kIsaLevels) {
    if (level == own) break;
    if (level != Isa::none && isa_.has(level)) next = &level;
  }
  return next == nullptr ? nullptr : &cpu_device(capped(isa_, *next));
}

// Rows past the last pixel may be read (never used) by kernels: counted storage is zeroed, and zeros follow it.
std::shared_ptr<std::byte> CpuDevice::allocate(s64 bytes, const char* what) const {
  constexpr size_t kPage = 4096;
  return allocate_counted(bytes, kPage, what);
}

std::unique_ptr<Queue> CpuDevice::make_queue(std::shared_ptr<ThreadPool> pool) const {
  return std::make_unique<HostQueue>(std::move(pool));
}

const CpuDevice& cpu_device(Isa isa) {
  static std::mutex mutex;
  static std::map<u32, CpuDevice> devices;  // nobody moves a node
  const std::lock_guard lock(mutex);
  return devices.try_emplace(isa.bits(), isa).first->second;
}

const Device* find_cpu_device(std::string_view name) {
  return name == "cpu" ? &cpu_device(detect_isa()) : nullptr;
}

Target cpu_target(const CpuDevice& device, int threads) {
  return {.device = &device, .host = &device, .threads = threads};
}

Target cpu_target(Isa isa, int threads) { return cpu_target(cpu_device(isa), threads); }

}  // namespace octet
