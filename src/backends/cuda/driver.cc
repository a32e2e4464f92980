// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver.h"

#include <dlfcn.h>

#include "backends/cuda/library.h"
#include "core/check.h"

namespace octet::cuda {
namespace {

constexpr int kOldestDriver = 12000;

// By this variable a process sees some of a machine's devices, or none.
std::string hidden_devices() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible != nullptr ? fmt::format("; CUDA_VISIBLE_DEVICES is '{}'", visible) : "";
}

Driver load_driver() {
  const std::string own = environment("OCTET_CUDA_DRIVER");
  Driver driver;
  driver.path = own.empty() ? "libcuda.so.1" : own;
  void* library = open_library(driver.path);
  if (library == nullptr)
    fail(kMissing, "there is no NVIDIA driver on this machine: {} cannot be opened ({})",
         driver.path, dlerror());
#define DRIVER(name, symbol, parameters) \
  driver.name = reinterpret_cast<decltype(driver.name)>(symbol_of(library, #symbol, driver.path));
#include "backends/cuda/driver_functions.def"
#undef DRIVER
  if (const CUresult result = driver.cuInit(0); result != kSuccess) {
    const char* text = nullptr;
    driver.cuGetErrorString(result, &text);
    fail(kMissing, "the NVIDIA driver does not start: {} (error {}){}",
         text != nullptr ? text : "unknown", result, result == kNoDevice ? hidden_devices() : "");
  }
  driver.cuDriverGetVersion(&driver.version);
  if (driver.version < kOldestDriver)
    fail(kMissing, "the NVIDIA driver is for CUDA {}.{}, and {}.0 is needed", driver.version / 1000,
         driver.version % 1000 / 10, kOldestDriver / 1000);
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Found<Driver> result = find<Driver>(load_driver);
  return found(result);
}

std::string error_text(CUresult result) {
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  return fmt::format("{}: {}", name != nullptr ? name : "unknown error",
                     text != nullptr ? text : std::to_string(result));
}

void check(CUresult result, const char* doing) {
  if (result == kSuccess) return;
  const auto code = result == kOutOfMemory ? Error::Code::out_of_memory : kMissing;
  fail(code, "the NVIDIA driver failed {} ({})", doing, error_text(result));
}

}  // namespace octet::cuda
