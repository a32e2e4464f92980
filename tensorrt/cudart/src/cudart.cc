// SPDX-License-Identifier: Apache-2.0
// CUDA's runtime for a machine without a GPU: one device, whose memory is the host's. A call has done its work when it returns, so streams and
// events have nothing to wait for; a stream that is captured keeps its work for the graph.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "last_error.h"

using Work = std::vector<std::function<void()>>;

struct CUstream_st {
  bool captures = false;
  Work captured;
};
struct CUevent_st {
  bool is_recorded = false;
  std::chrono::steady_clock::time_point at;
};
struct CUgraph_st {
  Work work;
};
struct CUgraphExec_st {
  Work work;
};

namespace {

// Where memory came from, for those who ask.
class Allocations {
 public:
  cudaError_t take(void** pointer, size_t bytes, cudaMemoryType type) {
    if (pointer == nullptr) return done(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > SIZE_MAX - kAlignment) return done(cudaErrorMemoryAllocation);
    void* memory =
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr) return done(cudaErrorMemoryAllocation);
    const std::lock_guard lock(mutex_);
    blocks_[memory] = {bytes, type};
    *pointer = memory;
    return cudaSuccess;
  }

  cudaError_t give_back(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    {
      const std::lock_guard lock(mutex_);
      if (blocks_.erase(memory) == 0) return done(cudaErrorInvalidValue);
    }
    std::free(memory);
    return cudaSuccess;
  }

  cudaMemoryType type_of(const void* pointer) {
    const std::lock_guard lock(mutex_);
    auto next = blocks_.upper_bound(const_cast<void*>(pointer));
    if (next == blocks_.begin()) return cudaMemoryTypeUnregistered;
    --next;
    const auto offset = static_cast<const char*>(pointer) - static_cast<char*>(next->first);
    const bool inside = static_cast<size_t>(offset) < next->second.bytes;
    return inside ? next->second.type : cudaMemoryTypeUnregistered;
  }

 private:
  static constexpr size_t kAlignment = 256;
  struct Block {
    size_t bytes;
    cudaMemoryType type;
  };
  std::mutex mutex_;
  std::map<void*, Block> blocks_;
};

Allocations& allocations() {
  static Allocations* const all = new Allocations;  // clients free what they hold at exit
  return *all;
}

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

// At once, or when the graph of the stream is launched.
template <class Do>
cudaError_t on(cudaStream_t stream, Do work) {
  if (!is_default(stream) && stream->captures) {
    stream->captured.push_back(work);
  } else {
    work();
  }
  return cudaSuccess;
}

template <class T>
cudaError_t make(T** object) {
  if (object == nullptr) return done(cudaErrorInvalidValue);
  *object = new (std::nothrow) T;
  return done(*object == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

template <class T>
cudaError_t destroy(T* object) {
  if (object == nullptr) return done(cudaErrorInvalidResourceHandle);
  delete object;
  return cudaSuccess;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return allocations().take(devPtr, size, cudaMemoryTypeDevice);
}
cudaError_t cudaFree(void* devPtr) { return allocations().give_back(devPtr); }
cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return allocations().take(ptr, size, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* ptr) { return allocations().give_back(ptr); }
cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int) {
  return allocations().take(pHost, size, cudaMemoryTypeHost);
}
cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int) {
  return allocations().take(devPtr, size, cudaMemoryTypeManaged);
}
cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t) {
  return cudaMalloc(devPtr, size);
}
cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t) { return cudaFree(devPtr); }

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind) {
  return cudaMemcpyAsync(dst, src, count, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return done(cudaErrorInvalidMemcpyDirection);
  if (count == 0) return cudaSuccess;
  if (dst == nullptr || src == nullptr) return done(cudaErrorInvalidValue);
  return on(stream, [=] { std::memmove(dst, src, count); });
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return done(cudaErrorInvalidMemcpyDirection);
  if (width == 0 || height == 0) return cudaSuccess;
  if (dst == nullptr || src == nullptr || dpitch < width || spitch < width)
    return done(cudaErrorInvalidValue);
  return on(stream, [=] {
    for (size_t row = 0; row < height; ++row) {
      std::memmove(static_cast<char*>(dst) + row * dpitch,
                   static_cast<const char*>(src) + row * spitch, width);
    }
  });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return cudaMemsetAsync(devPtr, value, count, nullptr);
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  if (devPtr == nullptr) return done(cudaErrorInvalidValue);
  return on(stream, [=] { std::memset(devPtr, value, count); });
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr) {
  if (attributes == nullptr) return done(cudaErrorInvalidValue);
  const cudaMemoryType type = allocations().type_of(ptr);
  void* pointer = const_cast<void*>(ptr);
  *attributes = {type, 0, type == cudaMemoryTypeUnregistered ? nullptr : pointer, pointer};
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int) {
  if (pDevice == nullptr) return done(cudaErrorInvalidValue);
  *pDevice = pHost;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return make(stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) { return make(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return is_default(stream) ? done(cudaErrorInvalidResourceHandle) : destroy(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned int) {
  return event == nullptr ? done(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
  if (is_default(stream)) return done(cudaErrorStreamCaptureUnsupported);
  if (stream->captures) return done(cudaErrorIllegalState);
  stream->captures = true;
  stream->captured.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (is_default(stream) || graph == nullptr || !stream->captures)
    return done(cudaErrorIllegalState);
  stream->captures = false;
  *graph = new (std::nothrow) CUgraph_st{std::move(stream->captured)};
  return done(*graph == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
  if (status == nullptr) return done(cudaErrorInvalidValue);
  const bool captures = !is_default(stream) && stream->captures;
  *status = captures ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  if (fn == nullptr) return done(cudaErrorInvalidValue);
  return on(stream, [=] { fn(userData); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (exec == nullptr || graph == nullptr) return done(cudaErrorInvalidValue);
  *exec = new (std::nothrow) CUgraphExec_st{graph->work};
  return done(*exec == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  if (exec == nullptr) return done(cudaErrorInvalidValue);
  for (const auto& work : exec->work) work();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return destroy(exec); }

cudaError_t cudaEventCreate(cudaEvent_t* event) { return make(event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) { return make(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy(event); }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event == nullptr) return done(cudaErrorInvalidResourceHandle);
  return on(stream, [=] {
    event->at = std::chrono::steady_clock::now();
    event->is_recorded = true;
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return event == nullptr ? done(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  if (ms == nullptr || start == nullptr || end == nullptr) return done(cudaErrorInvalidValue);
  if (!start->is_recorded || !end->is_recorded) return done(cudaErrorInvalidResourceHandle);
  *ms = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return cudaSuccess;
}

// What programs call that were compiled for a default stream of each thread: it is as done as any.
#define PER_THREAD(function, suffix, ...) \
  cudaError_t function##suffix(__VA_ARGS__) __attribute__((alias(#function)));
PER_THREAD(cudaMemcpy, _ptds, void*, const void*, size_t, cudaMemcpyKind)
PER_THREAD(cudaMemcpy2D, _ptds, void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind)
PER_THREAD(cudaMemcpy2DAsync, _ptsz, void*, size_t, const void*, size_t, size_t, size_t,
           cudaMemcpyKind, cudaStream_t)
PER_THREAD(cudaMemset, _ptds, void*, int, size_t)
PER_THREAD(cudaMemcpyAsync, _ptsz, void*, const void*, size_t, cudaMemcpyKind, cudaStream_t)
PER_THREAD(cudaMemsetAsync, _ptsz, void*, int, size_t, cudaStream_t)
PER_THREAD(cudaMallocAsync, _ptsz, void**, size_t, cudaStream_t)
PER_THREAD(cudaFreeAsync, _ptsz, void*, cudaStream_t)
PER_THREAD(cudaStreamSynchronize, _ptsz, cudaStream_t)
PER_THREAD(cudaStreamWaitEvent, _ptsz, cudaStream_t, cudaEvent_t, unsigned int)
PER_THREAD(cudaStreamQuery, _ptsz, cudaStream_t)
PER_THREAD(cudaStreamBeginCapture, _ptsz, cudaStream_t, cudaStreamCaptureMode)
PER_THREAD(cudaStreamEndCapture, _ptsz, cudaStream_t, cudaGraph_t*)
PER_THREAD(cudaStreamIsCapturing, _ptsz, cudaStream_t, cudaStreamCaptureStatus*)
PER_THREAD(cudaLaunchHostFunc, _ptsz, cudaStream_t, cudaHostFn_t, void*)
PER_THREAD(cudaGraphLaunch, _ptsz, cudaGraphExec_t, cudaStream_t)
PER_THREAD(cudaEventRecord, _ptsz, cudaEvent_t, cudaStream_t)
PER_THREAD(cudaEventRecordWithFlags, _ptsz, cudaEvent_t, cudaStream_t, unsigned int)

}  // extern "C"
#pragma GCC visibility pop
