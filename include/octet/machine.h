// SPDX-License-Identifier: Apache-2.0
// What Octet knows of the machine that it runs on.
#pragma once

#include <string>
#include <vector>

namespace octet {

// The instruction-set level whose kernels contexts take: "none", "avx2", "avx_vnni", "vnni" or "amx" (64-bit Arm: "neon", "dotprod" or "i8mm"), capped by the environment's
// OCTET_CPU_ISA. Throws Error(invalid_argument) for another value there.
std::string cpu_isa();

// On how many processors this process may run, from 1 to 256: its affinity and the limits of its control groups (version 2) are
// respected.
int usable_processors();

// A device by its name ("cpu", "test:1"), and what measured choices of kernels hold for.
struct DeviceInfo {
  std::string name;
  std::string chip;   // of the CPU: cpu_identity()
  std::string level;  // of the CPU: cpu_isa()
  // Whether what chooses kernels was measured on chips of its kind. Otherwise results are the same, and measuring (octet/selection.h) pays.
  bool tuned = true;
};

// Throws Error(invalid_argument) for a name that no device has, Error(unsupported) for one that cannot be used.
DeviceInfo device_info(const std::string& name);

// A device that contexts may be made for, or why there is none of its kind.
struct DeviceEntry {
  DeviceInfo info;      // only the name where it cannot be used
  std::string missing;  // empty: it can be used
  std::string note =
      {};  // what somebody who uses it should know: why compiled kernels are not kept
};
// The CPU, then each GPU; those for tests are left out. Throws nothing.
std::vector<DeviceEntry> list_devices();

}  // namespace octet
