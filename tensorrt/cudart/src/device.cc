// SPDX-License-Identifier: Apache-2.0
// The one device: the host's processors and memory. And errors.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "last_error.h"

namespace {

thread_local cudaError_t last_error = cudaSuccess;

size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

size_t free_memory() {
  return static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

// The layout of CUDA 13, whose programs call the function without a version in its name.
struct Properties13 {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int texturesAndSurfaces[39];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing, memoryBusWidth, l2CacheSize;
  int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, pageableMemoryAccess, concurrentManagedAccess;
  int computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int more[82];
};
static_assert(sizeof(Properties13) == 1008 && sizeof(cudaDeviceProp) == 1032);

// Those that this process may run on. What control groups allow is Octet's to read, of which this library holds nothing.
int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool told = sched_getaffinity(0, sizeof set, &set) == 0;
  return std::max(1,
                  told ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency()));
}

template <class Properties>
void fill(Properties& prop) {
  prop = Properties{};
  std::strcpy(prop.name, "Octet on the host's processors");
  prop.totalGlobalMem = machine_memory();
  prop.sharedMemPerBlock = size_t{48} << 10;
  prop.sharedMemPerMultiprocessor = size_t{100} << 10;
  prop.sharedMemPerBlockOptin = size_t{99} << 10;
  prop.warpSize = 32;
  prop.maxThreadsPerBlock = 1024;
  prop.memoryBusWidth = 64;
  prop.major = 8;
  prop.minor = 6;
  prop.multiProcessorCount = processors();
  prop.integrated = 1;
  prop.canMapHostMemory = 1;
  prop.unifiedAddressing = 1;
  prop.managedMemory = 1;
  prop.concurrentKernels = 1;
}

}  // namespace

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

#pragma GCC visibility push(default)
extern "C" {

// What this runtime is known by: its device memory is the host's.
extern const int octet_cudart_of_host;
const int octet_cudart_of_host = 1;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (free != nullptr) *free = free_memory();
  if (total != nullptr) *total = machine_memory();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return done(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return done(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return done(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp* prop, int device) {
  if (prop == nullptr || device != 0) return done(cudaErrorInvalidDevice);
  fill(*prop);
  prop->clockRate = 2'000'000;
  prop->memoryClockRate = 1'600'000;
  return cudaSuccess;
}

#undef cudaGetDeviceProperties
cudaError_t cudaGetDeviceProperties(Properties13* prop, int device) {
  if (prop == nullptr || device != 0) return done(cudaErrorInvalidDevice);
  fill(*prop);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr, int device) {
  if (value == nullptr || device != 0) return done(cudaErrorInvalidValue);
  cudaDeviceProp prop;
  cudaGetDeviceProperties_v2(&prop, 0);
  const std::map<int, int> known = {
      {cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(prop.sharedMemPerBlock)},
      {cudaDevAttrWarpSize, prop.warpSize},
      {cudaDevAttrClockRate, prop.clockRate},
      {cudaDevAttrMultiProcessorCount, prop.multiProcessorCount},
      {cudaDevAttrIntegrated, prop.integrated},
      {cudaDevAttrMemoryClockRate, prop.memoryClockRate},
      {cudaDevAttrGlobalMemoryBusWidth, prop.memoryBusWidth},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrComputeCapabilityMajor, prop.major},
      {cudaDevAttrComputeCapabilityMinor, prop.minor},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor,
       static_cast<int>(prop.sharedMemPerMultiprocessor)},
      {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrPageableMemoryAccess, 1},
      {cudaDevAttrConcurrentManagedAccess, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(prop.sharedMemPerBlockOptin)},
  };
  const auto found = known.find(attr);
  *value = found == known.end() ? 0 : found->second;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaDeviceReset(void) { return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned int) { return cudaSuccess; }
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return done(cudaErrorInvalidValue);
  *version = OCTET_CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void) { return last_error; }
cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidMemcpyDirection:
      return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorIllegalState:
      return "cudaErrorIllegalState";
    case cudaErrorNotSupported:
      return "cudaErrorNotSupported";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidMemcpyDirection:
      return "invalid copy direction for memcpy";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorIllegalState:
      return "the operation cannot be performed in the present state";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    default:
      return "unknown error";
  }
}

}  // extern "C"
#pragma GCC visibility pop
