// SPDX-License-Identifier: Apache-2.0
// What the NVIDIA driver says of this machine's GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

struct GpuProperties {
  std::string device;  // its name here: "cuda:0"
  std::string name;    // "NVIDIA H200"
  std::string uuid;    // "GPU-00112233-4455-6677-8899-aabbccddeeff"
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t shared_bytes = 0;  // of a multiprocessor
  int memory_bus_bits = 0;
  bool has_ecc = false;  // enabled
  // Of applications; a driver that does not tell them any more says 0.
  int64_t clock_khz = 0, memory_clock_khz = 0;
};

// In the driver's order, whether contexts can be made for them or not (list_devices(), octet/machine.h): what a GPU does not answer is 0 or empty.
// Nothing is started on a GPU. Empty where there is no driver. Throws nothing but what allocation does.
std::vector<GpuProperties> list_gpus();

}  // namespace octet
