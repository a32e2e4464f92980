// SPDX-License-Identifier: Apache-2.0
// Kernels: compiled for the layer at hand from the sources in kernels/, kept on disk (kernel_cache.h), loaded once for a device.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda/driver_types.h"
#include "core/types.h"

namespace octet::cuda {

class CudaDevice;
struct KernelImage;  // kernel_cache.h

namespace params {
#include "backends/cuda/kernels/params.inc"
}  // namespace params

// A family of kernels/families.def and the constants of one of its kernels.
struct KernelSource {
  std::string family;
  std::vector<std::string> constants;  // "ELEMENT=1"
  // Before the family's own text: parts of it in namespaces, each with constants of its own.
  std::vector<KernelSource> parts = {};
  std::string space = {};  // of a part

  // "project" and a source of family "epilogue": project::product_codes() and the others end that product.
  void add_part(std::string name, KernelSource part);
  void set(std::string_view name, s64 value);
  void set(std::string_view name, const std::string& value);
  // Exactly this value, as a constant of CUDA's.
  void set(std::string_view name, f32 value);
  // What a kernel is known by: family and constants.
  std::string key() const;
  // The whole text that is compiled.
  std::string text() const;
};

// A function on a device, as long as it is held.
class Kernel {
 public:
  Kernel(const CudaDevice& device, std::vector<char> cubin, std::string name);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  CUfunction function() const { return function_; }
  // Must be called before a launch that asks for more than 48 KB of shared memory.
  void allow_shared_bytes(s64 bytes) const;

 private:
  Kernel(const CudaDevice& device, std::string name) : device_(device), name_(std::move(name)) {}

  const CudaDevice& device_;
  const std::string name_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

// Of the device: one that is in use, or loaded from the cache on disk, or compiled. Any number of threads may ask. Throws Error with
// the compiler's words. Null of a device that takes sources (CudaDevice::take).
std::shared_ptr<const Kernel> load_kernel(const CudaDevice& device, const KernelSource& source);

// Machine code for a target such as "sm_90a". Throws Error(internal) with the compiler's words: the sources are ours.
std::vector<char> compile_kernel(const KernelSource& source, const std::string& arch);
// What it is made from.
KernelImage image_of(const KernelSource& source, const std::string& arch);
// The same, from the cache where it has it.
std::vector<char> machine_code(const KernelSource& source, const std::string& arch);

}  // namespace octet::cuda
