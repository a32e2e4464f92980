// SPDX-License-Identifier: Apache-2.0
// The emulated machine: its devices, and what every function of the driver does first.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "backends/cuda/driver_types.h"

extern "C" {
#define DRIVER(name, symbol, parameters) CUresult symbol parameters;
#include "backends/cuda/driver_functions.def"
#undef DRIVER
// For tests, which find them by name: live_objects(), and how often a function was called since OCTET_EMULATED_FAIL has its present text.
size_t octet_emulated_live_objects();
long octet_emulated_calls(const char* function);
}

// One of a device: its primary context.
struct CUctx_st {
  int ordinal = 0;
  size_t used = 0;
  CUresult sticky = 0;  // what every later call returns, as after a fault of a kernel
  CUstream default_stream = nullptr;
};

namespace octet::emulator {

using cuda::kInvalidContext, cuda::kInvalidHandle, cuda::kInvalidImage, cuda::kInvalidValue,
    cuda::kNoBinary;
inline constexpr CUresult kNotInitialized = 3, kNotFound = 500, kNotReady = 600, kInvalidPtx = 218,
                          kIllegalAddress = 700, kOutOfResources = 701, kMisaligned = 716,
                          kLaunchFailed = 719, kNotSupported = 801, kCaptureUnsupported = 900,
                          kCaptureInvalidated = 901, kCaptureUnjoined = 904, kCaptureIllegal = 905,
                          kCapturedEvent = 907, kCaptureWrongThread = 908, kInvalidCluster = 912;
inline constexpr size_t kSharedBytes = 48 << 10, kMostSharedBytes = 227 << 10;
// Of a block: kMostSharedBytes from 9.0 on, 64 KB of 7.5, 99 KB of others and of 12.0.
size_t shared_bytes_opt_in();

// One lock for all: functions of the driver run one at a time, kernels included.
std::recursive_mutex& machine_lock();
int devices();
CUcontext context_of(int ordinal);
CUcontext current();
// Makes it the current one until it is destroyed.
class Within {
 public:
  explicit Within(CUcontext context);
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  CUcontext before_;
};
bool late();  // OCTET_EMULATED_LATE
// Of the current context's device, or of the first one.
bool is_hopper();  // of compute capability 9.0 or later
size_t memory_bytes();
int capability_number();     // 90 for 9.0
size_t most_memory_bytes();  // of any device
int driver_version();        // 13000 for CUDA 13.0
long environment_number(const char* name, long otherwise);

// OCTET_EMULATED_FAIL says that this call of `function` fails.
CUresult injected(const char* function);

// What every function begins with: a failure that was asked for, the context, its sticky error.
enum class Needs { nothing, driver, context };
CUresult enter(const char* function, Needs needs);

#define EMULATED_ENTER(function, needs)                                                        \
  const std::lock_guard machine(octet::emulator::machine_lock());                              \
  if (const CUresult failed = octet::emulator::enter(function, octet::emulator::Needs::needs)) \
  return failed

// Of objects behind handles and allocations: what nobody has given back.
size_t& live_objects();

// The objects behind handles of one kind; a handle that was destroyed is found out.
template <class T>
class Handles {
 public:
  template <class... A>
  T* make(A&&... arguments) {
    T* made = new T{std::forward<A>(arguments)...};
    live_.insert(made);
    ++live_objects();
    return made;
  }
  bool has(T* handle) const { return live_.count(handle) != 0; }
  bool destroy(T* handle) {
    if (live_.erase(handle) == 0) return false;
    --live_objects();
    delete handle;
    return true;
  }
  const std::set<T*>& all() const { return live_; }

 private:
  std::set<T*> live_;
};

// Of memory.cc. A range of device memory is inside one allocation, or host memory.
enum class Place { host, device, outside };
Place place_of(CUdeviceptr at, size_t bytes);
bool is_pinned(const void* at, size_t bytes);

// The pages of one allocation, and which of them a kernel wrote: ranges apart from each other, by their first.
struct DevicePages {
  CUcontext context;
  CUdeviceptr begin;
  size_t count;
  std::map<size_t, size_t> written;
};
inline constexpr size_t kPage = 4096;
size_t allocations();
void for_each_pages(const std::function<void(DevicePages&)>& act);
DevicePages* pages_at(CUdeviceptr at);  // null where nothing is allocated

// Of stream.cc. A task returns what becomes the context's sticky error.
using Task = std::function<CUresult()>;
CUresult check_stream(CUstream stream);
bool is_capturing(CUstream stream);
CUresult submit(CUstream stream, Task task);
void finish(CUstream stream);
void finish_all(CUcontext context);
// An error where this thread is capturing, which becomes invalid with it.
CUresult refuse_in_capture();

}  // namespace octet::emulator
