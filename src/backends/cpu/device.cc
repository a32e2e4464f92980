// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/device.h"

#include <array>

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

CpuDevice::CpuDevice(Isa isa, s64 cache_bytes) : isa_(isa), costs_(costs_of(cache_bytes)) {}

const std::string& CpuDevice::identity() const {
  static const std::string identity = cpu_identity();
  return identity;
}

const Backend& CpuDevice::backend() const { return cpu_backend(); }

// Scalar code is no competitor of vectors, and a machine may lack avx_vnni though it has the levels above.
const Device* CpuDevice::lesser() const {
  if (isa_ <= Isa::avx2) return nullptr;
  const Isa next = static_cast<Isa>(static_cast<u8>(isa_) - 1);
  return next == Isa::avx_vnni && !hardware_has(next) ? cpu_device(next).lesser()
                                                      : &cpu_device(next);
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
  static const std::array devices = {CpuDevice(Isa::none), CpuDevice(Isa::avx2),
                                     CpuDevice(Isa::avx_vnni), CpuDevice(Isa::vnni),
                                     CpuDevice(Isa::amx)};
  return devices[static_cast<size_t>(isa)];
}

const Device* find_cpu_device(std::string_view name) {
  return name == "cpu" ? &cpu_device(detect_isa()) : nullptr;
}

Target cpu_target(const CpuDevice& device, int threads) {
  return {.device = &device, .host = &device, .threads = threads};
}

Target cpu_target(Isa isa, int threads) { return cpu_target(cpu_device(isa), threads); }

}  // namespace octet
