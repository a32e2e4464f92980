// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a device: "cuda:0". Its kernels are compiled for the chip when an engine is prepared.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "backends/cuda/driver_types.h"
#include "plan/device.h"

namespace octet::cuda {

class Kernel;

// Facts of the chip that kernels are chosen by.
struct Chip {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  s64 shared_bytes_per_block = 0;
  s64 l2_bytes = 0;
  s64 memory_bytes = 0;
  f64 clock_hertz = 0;
  f64 memory_bytes_per_second = 0;

  // wgmma, the tensor memory accelerator and clusters are Hopper's.
  bool hopper() const { return major == 9 && minor == 0; }
};

// Kernels that somebody uses, by their source's key.
class LoadedKernels {
 public:
  std::shared_ptr<const Kernel> find(const std::string& key) const;
  // The one that is there already, if another thread was faster.
  std::shared_ptr<const Kernel> add(const std::string& key, std::shared_ptr<const Kernel> kernel);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Kernel>> kernels_;
};

class CudaDevice final : public Device {
 public:
  // Throws Error(unsupported) where there is no such device, or its kind is not known.
  explicit CudaDevice(int ordinal);

  int ordinal() const { return ordinal_; }
  const Chip& chip() const { return chip_; }
  // What kernels are compiled for: "sm_90a".
  const std::string& arch() const { return arch_; }
  LoadedKernels& kernels() const { return kernels_; }

  // For the calls of this thread from now on. Throws Error where the device has failed before: then it serves nobody any more, and
  // contexts of the CPU go on.
  void make_current() const;
  // For what is freed: false where the device has failed.
  bool try_make_current() const noexcept;
  // After a failure that no later call recovers from.
  void mark_failed(const std::string& why) const;

  std::string_view name() const override { return name_; }
  const std::string& identity() const override { return identity_; }
  std::string_view level() const override { return arch_; }
  const Backend& backend() const override;
  const DeviceCosts& costs() const override;
  DeviceRates rates() const override {
    return {chip_.clock_hertz / 1e6, chip_.memory_bytes_per_second / 1e6};
  }
  bool has_host_memory() const override { return false; }
  int preparations() const override;
  std::shared_ptr<std::byte> allocate(s64 bytes, const char* what) const override;
  // Page-locked, where the system has so much; else ordinary.
  std::shared_ptr<std::byte> allocate_host(s64 bytes, const char* what) const override;
  std::string memory_of(const std::byte* address) const override;
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool) const override;
  void* current() const override;
  void restore(void* context) const noexcept override;

 private:
  const int ordinal_;
  const std::string name_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  Chip chip_;
  std::string arch_;
  std::string identity_;
  mutable LoadedKernels kernels_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> has_failed_ = false;
  mutable std::string failure_;
};

inline const CudaDevice& cuda_device(const Device* device) {
  return *static_cast<const CudaDevice*>(device);
}

}  // namespace octet::cuda
