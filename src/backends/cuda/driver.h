// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, opened when it is first asked for. A machine without it runs everything else, and hears what is missing.
#pragma once

#include <string>

#include "backends/cuda/driver_types.h"
#include "octet/error.h"

namespace octet::cuda {

struct Driver {
#define DRIVER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "backends/cuda/driver_functions.def"
#undef DRIVER
  int version = 0;   // 13000 for CUDA 13.0
  std::string path;  // of the library
};

// The environment's OCTET_CUDA_DRIVER names another library than libcuda.so.1. Throws Error(unsupported) where it is missing, too
// old, or finds no device; the answer of the first call stands.
const Driver& driver();
// Throws Error for a failed call of the driver: out_of_memory, or unsupported with the driver's own words.
void check(CUresult result, const char* doing);
std::string error_text(CUresult result);

}  // namespace octet::cuda
