// SPDX-License-Identifier: Apache-2.0
// What test plugins with CUDA kernels share: the driver, opened as Octet opens it, and kernels that are compiled when the first call comes,
// so that the emulated GPU runs them too.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/cuda/driver_types.h"

inline bool has_fault(const char* name) {
  static const char* fault = std::getenv("OCTET_TEST_FAULT");
  return fault != nullptr && std::strcmp(fault, name) == 0;
}

struct Cuda {
#define DRIVER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "backends/cuda/driver_functions.def"
#undef DRIVER
#define NVRTC(name, parameters) nvrtcResult(*name) parameters = nullptr;
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC
  CUmodule module = nullptr;
};

inline void check(int result, const char* doing) {
  if (result != 0)
    throw std::runtime_error(std::string(doing) + ": error " + std::to_string(result));
}

inline void* open_first(const char* variable, const std::vector<const char*>& names) {
  const char* own = std::getenv(variable);
  if (own != nullptr) return dlopen(own, RTLD_NOW);
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW)) return library;
  }
  return nullptr;
}

inline std::string compiled(const Cuda& api, const char* source) {
  int major = 0, minor = 0;
  check(api.cuDeviceGetAttribute(&major, octet::cuda::kComputeMajor, 0), "capability");
  check(api.cuDeviceGetAttribute(&minor, octet::cuda::kComputeMinor, 0), "capability");
  const std::string arch = "-arch=sm_" + std::to_string(major) + std::to_string(minor);
  const char* options[] = {arch.c_str()};
  nvrtcProgram program = nullptr;
  check(api.nvrtcCreateProgram(&program, source, "faulty", 0, nullptr, nullptr), "program");
  check(api.nvrtcCompileProgram(program, 1, options), "compile");
  size_t bytes = 0;
  check(api.nvrtcGetCUBINSize(program, &bytes), "size");
  std::string image(bytes, '\0');
  check(api.nvrtcGetCUBIN(program, image.data()), "image");
  api.nvrtcDestroyProgram(&program);
  return image;
}

inline Cuda open_cuda(const char* source) {
  Cuda api;
  void* driver = open_first("OCTET_CUDA_DRIVER", {"libcuda.so.1"});
  void* nvrtc = open_first("OCTET_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  if (driver == nullptr || nvrtc == nullptr) throw std::runtime_error("no CUDA");
#define DRIVER(name, symbol, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(driver, #symbol));
#include "backends/cuda/driver_functions.def"
#undef DRIVER
#define NVRTC(name, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(nvrtc, #name));
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC
  check(api.cuModuleLoadData(&api.module, compiled(api, source).data()), "module");
  return api;
}

extern const char* const kKernels;  // of the plugin

inline const Cuda& cuda() {
  static const Cuda api = open_cuda(kKernels);
  return api;
}

inline CUfunction kernel(const char* name) {
  static std::mutex mutex;
  static std::map<std::string, CUfunction> found;
  const std::lock_guard lock(mutex);
  CUfunction& function = found[name];
  if (function == nullptr) check(cuda().cuModuleGetFunction(&function, cuda().module, name), name);
  return function;
}

template <class... A>
void launch(const char* name, CUstream stream, int64_t count, A... arguments) {
  constexpr unsigned kThreads = 128;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = has_fault("FAILS") ? 4096 : kThreads;
  config.hStream = stream;
  void* list[] = {&arguments...};
  check(cuda().cuLaunchKernelEx(&config, kernel(name), list, nullptr), "launch");
}

inline CUdeviceptr at(const void* pointer, int64_t bytes = 0) {
  return reinterpret_cast<CUdeviceptr>(pointer) + static_cast<CUdeviceptr>(bytes);
}
