// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a device: "cuda:0". Its kernels are compiled for the chip when an engine is prepared.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "backends/cuda/arch/costs.h"
#include "backends/cuda/driver_types.h"
#include "plan/device.h"

namespace octet::cuda {

class Kernel;
struct KernelSource;

// What a driver says of one product, and what its generation can do.
struct Chip {
  std::string name;
  Capability capability;
  // Whose kernels it runs; null before it is known.
  const Architecture* architecture = nullptr;
  int multiprocessors = 0;
  // Of a multiprocessor, which blocks share.
  s64 threads = 0, registers = 0, shared_bytes = 0;
  // What a block may ask for, and what it takes beside that.
  s64 shared_bytes_per_block = 0, reserved_shared_bytes = 0;
  s64 l2_bytes = 0;
  s64 memory_bytes = 0;
  f64 clock_hertz = 0;
  f64 memory_bytes_per_second = 0;

  // How many blocks of so many threads, with what each thread and the block need, are on a multiprocessor at the same time.
  s64 blocks_at_once(s64 block_threads, s64 thread_registers, s64 block_shared_bytes) const {
    return std::min({threads / block_threads, registers / (thread_registers * block_threads),
                     shared_bytes / (block_shared_bytes + reserved_shared_bytes)});
  }
  bool has(Instruction instruction) const { return architecture->instructions.has(instruction); }
  // Why a kernel of these instructions is not taken; empty where the chip has them all.
  std::string reject_without(std::initializer_list<Instruction> needed) const;
  // The same of products of f16, or of bf16.
  std::string reject_without_mma(bool f16) const {
    return reject_without({f16 ? Instruction::mma_f16 : Instruction::mma_bf16});
  }
  const Costs& costs() const { return costs_of(*architecture, halves_f16(*architecture, name)); }
  // Products of s8 in a cycle where kernels are of warpgroups: by wgmma, or by the warps' own mma (device/warpgroup.cuh).
  f64 warpgroup_rate() const {
    return has(Instruction::wgmma) ? costs().rate_wgmma_s8 : costs().rate_mma_s8;
  }
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
  // A chip that this machine need not have: plans are made for it, and what would load a kernel gives its source to `take` instead. It has no
  // memory and no queue.
  using Take = std::function<void(const KernelSource&)>;
  CudaDevice(Chip chip, Take take);

  int ordinal() const { return ordinal_; }
  const Chip& chip() const { return chip_; }
  // What kernels are compiled for: "sm_90a"; "compute_90" where the driver makes machine code of what the compiler gives.
  const std::string& arch() const { return arch_; }
  LoadedKernels& kernels() const { return kernels_; }
  const Take& take() const { return take_; }  // null: the machine has the chip

  // For the calls of this thread from now on. Throws Error where the device has failed before: then it serves nobody any more, and
  // contexts of the CPU go on.
  void make_current() const;
  // For what is freed: false where the device has failed.
  bool try_make_current() const noexcept;
  // Throws Error for a failed call of the driver's, naming the device; after one that no later call recovers from the device serves
  // nobody any more. `doing`: "to copy".
  void check_call(CUresult result, const std::string& doing) const;

  std::string_view name() const override { return name_; }
  const std::string& identity() const override { return identity_; }
  std::string_view level() const override { return arch_; }
  const Backend& backend() const override;
  const DeviceCosts& costs() const override { return costs_; }
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
  // Of the chip's capability: whose kernels run, and what they are compiled for.
  void set_architecture(bool may_be_older);

  const int ordinal_;
  const std::string name_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  Chip chip_;
  std::string arch_;
  std::string identity_;
  DeviceCosts costs_;
  mutable LoadedKernels kernels_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> has_failed_ = false;
  mutable std::string failure_;
  const Take take_ = nullptr;
};

inline const CudaDevice& cuda_device(const Device* device) {
  return *static_cast<const CudaDevice*>(device);
}

}  // namespace octet::cuda
