// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/gpu.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "octet/device_memory.h"
#include "octet/error.h"
#include "octet/machine.h"

namespace octet_trt {
namespace {

constexpr const char* kHost = "cpu";

// Names alone: the loader calls it under a lock that another thread's dlopen waits for while it holds the one that a dlopen here would wait for.
int name_cudart(dl_phdr_info* library, size_t, void* names) {
  if (std::strstr(library->dlpi_name, "libcudart") != nullptr)
    static_cast<std::vector<std::string>*>(names)->emplace_back(library->dlpi_name);
  return 0;
}

bool has_gpu() {
  static const bool found = [] {
    try {
      octet::device_info("cuda:0");
      return true;
    } catch (const octet::Error&) {
      return false;
    }
  }();
  return found;
}

std::string current_gpu() {
  using GetDevice = int (*)(int*);
  int ordinal = 0;
  const auto get = reinterpret_cast<GetDevice>(driver_function("cuCtxGetDevice"));
  if (get == nullptr || get(&ordinal) != 0) ordinal = 0;
  return "cuda:" + std::to_string(ordinal);
}

}  // namespace

void* own_cudart() {
  std::vector<std::string> names;
  dl_iterate_phdr(name_cudart, &names);
  for (const std::string& name : names) {
    void* opened = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (opened == nullptr) continue;
    // Octet's own runtime says so by a symbol (cudart/src/device.cc).
    if (dlsym(opened, "octet_cudart_of_host") != nullptr) return opened;
    dlclose(opened);
  }
  return nullptr;
}

void* driver_function(const char* name) {
  const char* own = std::getenv("OCTET_CUDA_DRIVER");
  void* library =
      dlopen(own != nullptr && *own != '\0' ? own : "libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = dlsym(library, name);
  dlclose(library);
  return found;
}

std::string run_device() {
  const char* asked = std::getenv("OCTET_TENSORRT_DEVICE");
  if (asked != nullptr && *asked != '\0') return octet::device_info(asked).name;
  if (own_cudart() != nullptr || !has_gpu()) return kHost;
  return current_gpu();
}

std::string owner_of(const void* address, const std::string& device) {
  if (device == kHost) return device;
  const std::string owner = octet::memory_of(address, device);
  return owner.empty() ? device : owner;
}

void copy_client(void* to, const void* from, int64_t bytes, const ClientMemory& client) {
  if (owner_of(client.address, client.device) == kHost)
    std::memcpy(to, from, static_cast<size_t>(bytes));
  else
    octet::copy_memory(to, from, bytes, client.device, client.stream);
}

}  // namespace octet_trt
