// SPDX-License-Identifier: Apache-2.0
// Kernels of GPUs, compiled before there is a GPU: a cache that is filled where an image is built.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/progress.h"
#include "octet/tuning.h"

namespace octet {

// A chip that plans can be made for without it.
struct KnownGpu {
  std::string name;     // "h200"
  std::string product;  // as its driver calls it: "NVIDIA H200"
  std::string arch;     // what kernels are compiled for: "sm_90a"
};
std::vector<KnownGpu> known_gpus();

struct WarmOptions {
  // Names of chips, or "sm90" for all known ones of an architecture. What another chip of that architecture chooses otherwise it compiles
  // itself.
  std::vector<std::string> gpus;
  // The shapes of all inputs, for each plan; with them plans are made for data of the host and for data of the device.
  std::vector<std::vector<Shape>> input_shapes;
  // A kernel cache, for OCTET_KERNEL_CACHE to name: what is missing is made, and others may read it.
  std::filesystem::path folder;
  std::shared_ptr<const Tuning> tuning = nullptr;
  Monitor monitor = {};  // stages "plan" and "compile"
};

struct WarmReport {
  std::vector<KnownGpu> gpus;
  int64_t kernels = 0;
  int64_t compiled = 0;  // of them; the others were there
  std::string compiler;  // version of CUDA that it is of: the same is needed where the cache serves
  // Where only data tell a size, plans are made while the engine runs, and so are the kernels behind it.
  bool sizes_depend_on_data = false;
};

// Needs no GPU and no driver. Throws Error(unsupported) where CUDA's run-time compiler is missing, Error(invalid_argument) for a chip that is
// not known, and Error(io) where the folder cannot be written; kernels that were written before stay.
WarmReport warm_kernels(const Engine& engine, const WarmOptions& options);

// Why kernels that this process has compiled could not be kept; empty where they were, or there were none.
std::string unkept_kernels();

}  // namespace octet
