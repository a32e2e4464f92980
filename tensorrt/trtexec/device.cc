// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/thread_doubt.h"
#include "octet/gpus.h"
#include "octet/machine.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

// 0 where the system does not say.
double clock_ghz() {
  double khz = 0;
  std::ifstream highest("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (highest >> khz) return khz / 1e6;
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("cpu MHz") && colon != line.npos)
      return std::strtod(line.c_str() + colon + 1, nullptr) / 1e3;
  }
  return 0;
}

int64_t memory_mib() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) >> 20;
}

// The keys in trtexec's order, and what stands beside them.
struct DeviceBlock {
  std::string name, uuid;
  std::vector<std::pair<std::string, std::string>> available;  // names and UUIDs
  int id = 0;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int64_t memory_mib = 0, shared_kib = 0;
  int bus_bits = 0;
  bool has_ecc = false;
  double clock_ghz = 0, memory_clock_ghz = 0;
};

// What the processor has in a GPU's places.
DeviceBlock block_of_host(const DeviceInfo& device) {
  DeviceBlock block;
  block.name = device.chip + ", " + device.level;
  block.uuid = device.name;
  block.available = {{block.name, block.uuid}};
  block.multiprocessors = usable_processors();
  block.memory_mib = memory_mib();
  block.shared_kib = std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)) >> 10;
  block.clock_ghz = clock_ghz();
  return block;
}

DeviceBlock block_of(const DeviceInfo& device) {
  if (!device.name.starts_with("cuda:")) return block_of_host(device);
  const std::vector<GpuProperties> gpus = list_gpus();
  const auto gpu = std::ranges::find(gpus, device.name, &GpuProperties::device);
  if (gpu == gpus.end()) return block_of_host(device);
  DeviceBlock block;
  block.name = gpu->name;
  block.uuid = gpu->uuid;
  for (const GpuProperties& each : gpus) block.available.emplace_back(each.name, each.uuid);
  block.id = static_cast<int>(gpu - gpus.begin());
  block.major = gpu->compute_major;
  block.minor = gpu->compute_minor;
  block.multiprocessors = gpu->multiprocessors;
  block.memory_mib = gpu->memory_bytes >> 20;
  block.shared_kib = gpu->shared_bytes >> 10;
  block.bus_bits = gpu->memory_bus_bits;
  block.has_ecc = gpu->has_ecc;
  block.clock_ghz = static_cast<double>(gpu->clock_khz) / 1e6;
  block.memory_clock_ghz = static_cast<double>(gpu->memory_clock_khz) / 1e6;
  return block;
}

}  // namespace

void print_device(const Options& options) {
  if (options.threads > 0) {
    const std::string doubt = doubt_of_threads(options.threads, options.streams);
    if (!doubt.empty()) log_warning(doubt);
  }
  const DeviceBlock block = block_of(device_info(options.device));
  log_info("=== Device Information ===");
  if (!options.version.old) {
    log_info("Available Devices: ");
    for (size_t i = 0; i < block.available.size(); ++i)
      info("  Device {}: \"{}\" UUID: {}", i, block.available[i].first, block.available[i].second);
  }
  info("Selected Device: {}", block.name);
  if (!options.version.old) {
    info("Selected Device ID: {}", block.id);
    info("Selected Device UUID: {}", block.uuid);
  }
  info("Compute Capability: {}.{}", block.major, block.minor);
  info("SMs: {}", block.multiprocessors);
  info("Device Global Memory: {} MiB", block.memory_mib);
  info("Shared Memory per SM: {} KiB", block.shared_kib);
  info("Memory Bus Width: {} bits (ECC {})", block.bus_bits,
       block.has_ecc ? "enabled" : "disabled");
  info("Application Compute Clock Rate: {} GHz", number(block.clock_ghz));
  info("Application Memory Clock Rate: {} GHz", number(block.memory_clock_ghz));
  log_info("");
  log_info(
      "Note: The application clock rates do not reflect the actual clock rates that the GPU is "
      "currently running at.");
}

}  // namespace octet::cli::trtexec
