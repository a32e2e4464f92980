// SPDX-License-Identifier: Apache-2.0
// What programs with kernels of their own call. They load here, and register kernels that nothing can run: each launch says so.
#include "last_error.h"

namespace {

constexpr cudaError_t kNoKernels = cudaErrorNotSupported;

}  // namespace

// What nvcc makes of kernel<<<...>>>, and what asks about kernels. Arguments are not read, so they are not declared.
#define NO_KERNEL(name) \
  cudaError_t name();   \
  cudaError_t name() { return done(kNoKernels); }
// Registered before main(), without a result that anyone looks at.
#define REGISTERED(name) \
  void name();           \
  void name() {}

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(void*);
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
REGISTERED(__cudaRegisterFatBinaryEnd)
REGISTERED(__cudaUnregisterFatBinary)
REGISTERED(__cudaRegisterFunction)
REGISTERED(__cudaRegisterVar)
REGISTERED(__cudaRegisterManagedVar)

// Zero would have the caller go on with its kernel.
unsigned __cudaPushCallConfiguration();
unsigned __cudaPushCallConfiguration() { return static_cast<unsigned>(done(kNoKernels)); }
NO_KERNEL(__cudaPopCallConfiguration)
NO_KERNEL(__cudaLaunchKernel)
NO_KERNEL(__cudaGetKernel)
NO_KERNEL(cudaLaunchKernel)
NO_KERNEL(cudaLaunchKernelExC)
NO_KERNEL(cudaLaunchCooperativeKernel)
NO_KERNEL(cudaFuncGetAttributes)
NO_KERNEL(cudaFuncSetAttribute)
NO_KERNEL(cudaKernelSetAttributeForDevice)
NO_KERNEL(cudaLibraryLoadData)
NO_KERNEL(cudaLibraryUnload)
NO_KERNEL(cudaLibraryGetKernel)
NO_KERNEL(cudaMemcpyFromSymbol)
NO_KERNEL(cudaMemcpyToSymbol)
NO_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
NO_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
// There is no driver, and no pool of its own.
NO_KERNEL(cudaGetDriverEntryPoint)
NO_KERNEL(cudaGetDriverEntryPointByVersion)
NO_KERNEL(cudaMemPoolCreate)
NO_KERNEL(cudaMemPoolDestroy)
NO_KERNEL(cudaMemPoolGetAttribute)
NO_KERNEL(cudaMemPoolSetAttribute)
NO_KERNEL(cudaMemPoolTrimTo)
NO_KERNEL(cudaMallocFromPoolAsync)

}  // extern "C"
#pragma GCC visibility pop
