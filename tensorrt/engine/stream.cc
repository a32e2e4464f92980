// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/engine/stream.h"

#include <dlfcn.h>

#include <list>
#include <mutex>

#include "tensorrt/shared/gpu.h"

namespace octet_trt {
namespace {

using IsCapturing = cudaError_t (*)(cudaStream_t, cudaStreamCaptureStatus*);
using LaunchHost = cudaError_t (*)(cudaStream_t, cudaHostFn_t, void*);
using Record = cudaError_t (*)(cudaEvent_t, cudaStream_t);

// Of the runtime that made the client's streams, which has been loaded when there is one.
template <class Function>
Function find(const char* name) {
  static void* const own = own_cudart();
  return reinterpret_cast<Function>(dlsym(own != nullptr ? own : RTLD_DEFAULT, name));
}

bool is_capturing(cudaStream_t stream) {
  if (stream == nullptr) return false;
  static const auto ask = find<IsCapturing>("cudaStreamIsCapturing");
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return ask != nullptr && ask(stream, &status) == cudaSuccess &&
         status == cudaStreamCaptureStatusActive;
}

void call(void* work) { (*static_cast<std::function<bool()>*>(work))(); }

}  // namespace

bool run_on(cudaStream_t stream, const std::function<bool()>& work) {
  if (!is_capturing(stream)) return work();
  static const auto launch = find<LaunchHost>("cudaLaunchHostFunc");
  if (launch == nullptr) return work();
  // Graphs may be launched as long as the process lives, and nobody tells when they are gone.
  static std::mutex mutex;
  static auto* const kept = new std::list<std::function<bool()>>;
  const std::lock_guard lock(mutex);
  kept->push_back(work);
  return launch(stream, call, &kept->back()) == cudaSuccess;
}

// Events and streams of the runtime are those of the driver, which alone is found where clients link the runtime into themselves.
void record(cudaEvent_t event, cudaStream_t stream) {
  if (event == nullptr) return;
  static const auto ask = find<Record>("cudaEventRecord");
  if (ask != nullptr)
    ask(event, stream);
  else if (const auto driver = reinterpret_cast<Record>(driver_function("cuEventRecord")))
    driver(event, stream);
}

}  // namespace octet_trt
