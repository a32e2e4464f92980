// SPDX-License-Identifier: Apache-2.0
#include "octet/gpus.h"

#include <array>
#include <iterator>
#include <utility>

#include "backends/cuda/driver.h"
#include "core/check.h"

namespace octet {
namespace cuda {
namespace {

// 0 for what the driver has no answer to.
int attribute_or_zero(CUdevice device, DeviceAttribute which) {
  int value = 0;
  return driver().cuDeviceGetAttribute(&value, which, device) == kSuccess ? value : 0;
}

std::string text_of(const CUuuid& uuid) {
  std::string text = "GPU";
  for (size_t i = 0; i < std::size(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

GpuProperties properties_of(int ordinal) {
  GpuProperties lost;  // keeps its place, and has no more than that
  lost.device = fmt::format("cuda:{}", ordinal);
  CUdevice device = 0;
  if (driver().cuDeviceGet(&device, ordinal) != kSuccess) return lost;
  std::array<char, 256> name{};
  if (driver().cuDeviceGetName(name.data(), name.size(), device) != kSuccess) name[0] = 0;
  CUuuid uuid{};
  if (driver().cuDeviceGetUuid(&uuid, device) != kSuccess) uuid = {};
  size_t bytes = 0;
  if (driver().cuDeviceTotalMem(&bytes, device) != kSuccess) bytes = 0;
  return {.device = std::move(lost.device),
          .name = name.data(),
          .uuid = text_of(uuid),
          .compute_major = attribute_or_zero(device, kComputeMajor),
          .compute_minor = attribute_or_zero(device, kComputeMinor),
          .multiprocessors = attribute_or_zero(device, kMultiprocessors),
          .memory_bytes = static_cast<int64_t>(bytes),
          .shared_bytes = attribute_or_zero(device, kSharedBytesOfMultiprocessor),
          .memory_bus_bits = attribute_or_zero(device, kMemoryBusBits),
          .has_ecc = attribute_or_zero(device, kHasEcc) != 0,
          .clock_khz = attribute_or_zero(device, kClockKilohertz),
          .memory_clock_khz = attribute_or_zero(device, kMemoryClockKilohertz)};
}

}  // namespace
}  // namespace cuda

std::vector<GpuProperties> list_gpus() {
  std::vector<GpuProperties> gpus;
  try {
    int count = 0;
    cuda::check(cuda::driver().cuDeviceGetCount(&count), "to count devices");
    for (int i = 0; i < count; ++i) gpus.push_back(cuda::properties_of(i));
  } catch (const Error&) {
    // list_devices() says what is missing.
  }
  return gpus;
}

}  // namespace octet
