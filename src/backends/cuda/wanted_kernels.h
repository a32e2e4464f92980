// SPDX-License-Identifier: Apache-2.0
// Kernels that plans for chips need which this machine need not have.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/kernel.h"
#include "octet/progress.h"
#include "octet/warm.h"
#include "plan/plan.h"

namespace octet::cuda {

// Version of CUDA that the compiler is of: "12.9". Throws Error(unsupported) where it is missing.
std::string compiler_version();

class WantedKernels {
 public:
  // By what users call it: a chip, or all of an architecture, "sm90". Throws Error(invalid_argument) that lists them.
  explicit WantedKernels(std::span<const std::string> names);
  WantedKernels(const WantedKernels&) = delete;  // devices know it
  WantedKernels& operator=(const WantedKernels&) = delete;

  const std::vector<KnownGpu>& gpus() const { return gpus_; }
  const CudaDevice& device(size_t gpu) const { return *devices_[gpu]; }
  // Those of a plan for one of the devices.
  void add(const Plan& plan);
  s64 size() const { return std::ssize(sources_); }
  // Compiles what the folder has not, each once; how many those were.
  s64 compile_into(const std::filesystem::path& folder, const Monitor& monitor) const;

 private:
  struct Wanted {
    KernelSource source;
    std::string arch;
  };
  std::vector<KnownGpu> gpus_;
  std::vector<std::unique_ptr<const CudaDevice>> devices_;
  std::map<std::string, Wanted> sources_;  // by architecture and KernelSource::key()
};

}  // namespace octet::cuda
