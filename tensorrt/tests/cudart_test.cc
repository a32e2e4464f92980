// SPDX-License-Identifier: Apache-2.0
// The runtime of CUDA without a GPU, and runs of an engine inside of its graphs.
#include <dlfcn.h>

#include <cstring>
#include <filesystem>

#include "support.h"

namespace trt_test {
namespace {

TEST(Cudart, MemoryIsTheHosts) {
  void* device = nullptr;
  EXPECT_EQ(cudaMalloc(&device, 16), cudaSuccess);
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 15), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  int local = 0;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, &local), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaMemset(device, 7, 16), cudaSuccess);
  char copy[16] = {};
  EXPECT_EQ(cudaMemcpy(copy, device, 16, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(copy[15], 7);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_EQ(cudaMalloc(&device, SIZE_MAX), cudaErrorMemoryAllocation);
}

TEST(Cudart, OneDevice) {
  int count = 0, device = -1, major = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  cudaDeviceProp prop;
  EXPECT_EQ(cudaGetDeviceProperties(&prop, 0), cudaSuccess);
  EXPECT_GT(prop.totalGlobalMem, 0U);
  EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  EXPECT_EQ(major, prop.major);
}

// Programs that were compiled with headers of CUDA 13 have its layout and this name.
TEST(Cudart, PropertiesAsOfCuda13) {
  using Get = cudaError_t (*)(void*, int);
  const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "cudaGetDeviceProperties"));
  ASSERT_NE(get, nullptr);
  std::vector<char> bytes(1008 + 1, 'x');
  EXPECT_EQ(get(bytes.data(), 0), cudaSuccess);
  EXPECT_EQ(get(bytes.data(), 1), cudaErrorInvalidDevice);
  EXPECT_EQ(bytes.back(), 'x');
  cudaDeviceProp prop;
  EXPECT_EQ(cudaGetDeviceProperties(&prop, 0), cudaSuccess);
  EXPECT_STREQ(bytes.data(), prop.name);
  const auto at = [&](size_t offset) {
    int value = 0;
    std::memcpy(&value, &bytes[offset], sizeof(value));
    return value;
  };
  EXPECT_EQ(at(360), prop.major);
  EXPECT_EQ(at(384), prop.multiProcessorCount);
  EXPECT_EQ(at(388), prop.integrated);
  EXPECT_EQ(at(560), prop.concurrentKernels);
  EXPECT_EQ(at(588), prop.unifiedAddressing);
  EXPECT_EQ(at(592), prop.memoryBusWidth);
  EXPECT_EQ(at(636), prop.managedMemory);
  EXPECT_EQ(at(672), static_cast<int>(prop.sharedMemPerBlockOptin));
}

// So are those compiled for a default stream of each thread.
TEST(Cudart, NamesOfStreamsOfThreads) {
  for (const char* name :
       {"cudaMemcpy_ptds", "cudaMemcpy2D_ptds", "cudaMemcpy2DAsync_ptsz",
        "cudaEventRecordWithFlags_ptsz", "cudaMemset_ptds", "cudaMemsetAsync_ptsz",
        "cudaMallocAsync_ptsz", "cudaFreeAsync_ptsz", "cudaStreamSynchronize_ptsz",
        "cudaStreamWaitEvent_ptsz", "cudaStreamQuery_ptsz", "cudaStreamBeginCapture_ptsz",
        "cudaStreamEndCapture_ptsz", "cudaStreamIsCapturing_ptsz", "cudaLaunchHostFunc_ptsz",
        "cudaGraphLaunch_ptsz", "cudaEventRecord_ptsz"})
    EXPECT_NE(dlsym(RTLD_DEFAULT, name), nullptr) << name;
  const auto copy =
      reinterpret_cast<decltype(&cudaMemcpyAsync)>(dlsym(RTLD_DEFAULT, "cudaMemcpyAsync_ptsz"));
  ASSERT_NE(copy, nullptr);
  int from = 7, to = 0;
  EXPECT_EQ(copy(&to, &from, sizeof(to), cudaMemcpyHostToHost, nullptr), cudaSuccess);
  EXPECT_EQ(to, 7);
}

TEST(Cudart, RowsAreCopied) {
  const char from[] = "ab--cd--";
  char to[] = "......";
  EXPECT_EQ(cudaMemcpy2D(to, 3, from, 4, 2, 2, cudaMemcpyDefault), cudaSuccess);
  EXPECT_STREQ(to, "ab.cd.");
  EXPECT_EQ(cudaMemcpy2DAsync(to, 1, from, 4, 2, 2, cudaMemcpyDefault, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(nullptr, 3, from, 4, 2, 2, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(nullptr, 3, from, 4, 2, 0, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(to, 3, from, 4, 2, 2, static_cast<cudaMemcpyKind>(7)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_STREQ(to, "ab.cd.");
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
}

// Programs with kernels of their own load and register them; launches say that there are none.
TEST(Cudart, KernelsAreRefused) {
  const auto function = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
  const auto registered = reinterpret_cast<void** (*)(void*)>(function("__cudaRegisterFatBinary"));
  const auto pushed = reinterpret_cast<unsigned (*)(...)>(function("__cudaPushCallConfiguration"));
  const auto launched = reinterpret_cast<cudaError_t (*)(...)>(function("cudaLaunchKernel"));
  ASSERT_TRUE(registered != nullptr && pushed != nullptr && launched != nullptr);
  EXPECT_NE(registered(nullptr), nullptr);
  EXPECT_NE(pushed(nullptr, nullptr, size_t{0}, nullptr), 0U);
  EXPECT_EQ(launched(nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Programs that were linked with CUDA's own libraries ask for symbols of these versions, which ld.so insists on.
TEST(Cudart, VersionsOfSymbols) {
  Dl_info own;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&cudaSetDevice), &own), 0);
  const std::string folder = std::filesystem::path(own.dli_fname).parent_path();
  const char* const libraries[][2] = {{"libcudart.so.12", "cudaMalloc"},
                                      {"libcudart.so.13", "cudaMalloc"},
                                      {"libraries/libcublas.so.12", "cublasCreate_v2"},
                                      {"libraries/libcublas.so.13", "cublasCreate_v2"},
                                      {"libraries/libcublasLt.so.12", "cublasLtCreate"},
                                      {"libraries/libcublasLt.so.13", "cublasLtCreate"},
                                      {"libraries/libcudnn.so.9", "cudnnCreate"}};
  for (const auto& [name, function] : libraries) {
    const std::string path = folder + "/" + name;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const std::string version = std::filesystem::path(name).filename();
    void* found = dlvsym(library, function, version.c_str());
    ASSERT_NE(found, nullptr) << path;
    if (std::string(function) != "cudaMalloc") {
      void* handle = nullptr;
      EXPECT_EQ(reinterpret_cast<int (*)(void**)>(found)(&handle), 0) << path;
      EXPECT_NE(handle, nullptr) << path;
    }
    dlclose(library);
  }
  void* driver = dlopen((folder + "/libraries/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0), 100);  // no device
  dlclose(driver);
}

TEST(Cudart, EventsTellTime) {
  cudaEvent_t start = nullptr, end = nullptr;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaEventCreate(&start), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&end, cudaEventBlockingSync), cudaSuccess);
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  float ms = -1;
  EXPECT_NE(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecordWithFlags(end, stream, 0), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  EXPECT_GE(ms, 0.0F);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
}

TEST(Cudart, AGraphRunsAnEngineAgain) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  auto* relu = maker.network->addActivation(*x, ActivationType::kRELU);
  relu->getOutput(0)->setName("y");
  maker.network->markOutput(*relu->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> in = {-1, 1}, out = {9, 9};
  context->setTensorAddress("x", in.data());
  context->setTensorAddress("y", out.data());
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(context->enqueueV3(stream));
  EXPECT_EQ(out, (std::vector<float>{9, 9}));  // captured, not run
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(out, (std::vector<float>{0, 1}));
  in = {3, -3};
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(out, (std::vector<float>{3, 0}));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace trt_test
