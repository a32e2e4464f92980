// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/device.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cli/thread_doubt.h"
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

}  // namespace

void print_device(const Options& options) {
  if (options.threads > 0) {
    const std::string doubt = doubt_of_threads(options.threads, options.streams);
    if (!doubt.empty()) log_warning(doubt);
  }
  const DeviceInfo device = device_info(options.device);
  const std::string name = device.chip + ", " + device.level;
  log_info("=== Device Information ===");
  if (!options.version.old) {
    log_info("Available Devices: ");
    info("  Device 0: \"{}\" UUID: {}", name, device.name);
  }
  info("Selected Device: {}", name);
  if (!options.version.old) {
    log_info("Selected Device ID: 0");
    info("Selected Device UUID: {}", device.name);
  }
  log_info("Compute Capability: 0.0");
  info("SMs: {}", usable_processors());
  info("Device Global Memory: {} MiB", memory_mib());
  info("Shared Memory per SM: {} KiB", std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)) >> 10);
  log_info("Memory Bus Width: 0 bits (ECC disabled)");
  info("Application Compute Clock Rate: {} GHz", number(clock_ghz()));
  log_info("Application Memory Clock Rate: 0 GHz");
  log_info("");
  log_info(
      "Note: The application clock rates do not reflect the actual clock rates that the GPU is "
      "currently running at.");
}

}  // namespace octet::cli::trtexec
