// SPDX-License-Identifier: Apache-2.0
// The driver's interface for tests that speak to nothing else.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cuda/driver_types.h"

namespace octet::emulator {

struct Gpu {
#define DRIVER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "backends/cuda/driver_functions.def"
#undef DRIVER
#define NVRTC(name, parameters) nvrtcResult(*name) parameters = nullptr;
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC
};

// Opened through OCTET_CUDA_DRIVER and OCTET_NVRTC; the first device's context is current.
const Gpu& gpu();

struct Built {
  nvrtcResult result;
  std::string image, log;
};
Built build(const std::string& source, const std::vector<std::string>& options = {});
// Machine code or PTX.
Built build_for(const std::string& arch, const std::string& source,
                const std::vector<std::string>& options = {});
// Of src/backends/cuda/kernels.
std::string kernel_file(const std::string& name);
// With the prelude before it.
std::string kernel_source(const std::string& text);

struct Pointers {
  const void* in;
  void* out;
};
// A kernel with the statements `body` over Pointers p, which are s32* `in` and `out`; declarations may stand before it.
std::string simple(const std::string& body, const std::string& before = "");

// A module with one kernel.
class Kernel {
 public:
  explicit Kernel(const std::string& source, const std::vector<std::string>& options = {});
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();
  CUfunction function = nullptr;

  template <class T>
  CUresult launch(CUlaunchConfig config, T parameters) const {
    void* all[] = {&parameters};
    return gpu().cuLaunchKernelEx(&config, function, all, nullptr);
  }

 private:
  CUmodule module_ = nullptr;
};

CUlaunchConfig shape(unsigned blocks, unsigned threads, unsigned shared = 0,
                     CUstream stream = nullptr);

// Device memory that holds `size` values of T.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t size) : size_(size) {
    EXPECT_EQ(gpu().cuMemAlloc(&at, size * sizeof(T)), 0);
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    EXPECT_EQ(gpu().cuMemcpyHtoD(at, values.data(), size_ * sizeof(T)), 0);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { gpu().cuMemFree(at); }
  T* pointer() const { return reinterpret_cast<T*>(at); }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    EXPECT_EQ(gpu().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(values.data()), at,
                                  size_ * sizeof(T), nullptr),
              0);
    EXPECT_EQ(gpu().cuStreamSynchronize(nullptr), 0);
    return values;
  }
  CUdeviceptr at = 0;

 private:
  size_t size_;
};

}  // namespace octet::emulator
