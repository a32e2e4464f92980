// SPDX-License-Identifier: Apache-2.0
#include "backends/backends.h"

#include <algorithm>

#include "arch/isa.h"
#include "backends/cuda/device.h"
#include "backends/cuda/kernel_cache.h"
#include "core/check.h"
#include "octet/error.h"
#include "octet/machine.h"

namespace octet {

// A backend's device of a name that is its own to read, or null for the names of others.
#define BACKEND(name) const Device* find_##name##_device(std::string_view device);
#include "backends/backends.def"
#undef BACKEND

const Device& find_device(std::string_view name) {
  constexpr const Device* (*kFinders[])(std::string_view) = {
#define BACKEND(name) find_##name##_device,
#include "backends/backends.def"
#undef BACKEND
  };
  for (const auto find : kFinders) {
    if (const Device* device = find(name)) return *device;
  }
  fail(Error::Code::invalid_argument, "there is no device '{}'; this build has{}", name,
#define BACKEND(name) " " #name
#include "backends/backends.def"
#undef BACKEND
  );
}

Target make_target(std::string_view name, int threads, std::shared_ptr<const Tuning> tuning) {
  const Device& device = find_device(name);
  return {.device = &device,
          .host = device.has_host_memory() ? &device : &find_device("cpu"),
          .threads = std::max(1, threads),
          .tuning = std::move(tuning)};
}

DeviceInfo device_info(const std::string& name) {
  const Device& device = find_device(name);
  DeviceInfo info{std::string(device.name()), device.identity(), std::string(device.level())};
  if (const auto* gpu = dynamic_cast<const cuda::CudaDevice*>(&device))
    info.tuned = is_tuned(*gpu->chip().architecture);
  return info;
}

std::vector<DeviceEntry> list_devices() {
  const std::string extras = isa_extras(detect_isa());
  std::vector<DeviceEntry> entries = {
      {device_info("cpu"), "", extras.empty() ? "" : "it has " + extras + ", too"}};
  constexpr int kMost = 64;
  for (int i = 0; i < kMost; ++i) {
    const std::string name = "cuda:" + std::to_string(i);
    try {
      entries.push_back({device_info(name), "", cuda::kernel_cache_doubt()});
    } catch (const Error& error) {
      // Behind the last there is none, and what the machine lacks is said once.
      const bool absent = error.code() == Error::Code::invalid_argument && i > 0;
      if (absent || error.message() == entries.back().missing) break;
      entries.push_back({{name, "", ""}, error.message()});
    }
  }
  return entries;
}

}  // namespace octet
