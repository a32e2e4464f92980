// SPDX-License-Identifier: Apache-2.0
// The emulated GPU keeps to what the driver promises. Runs with work done at once, and with OCTET_EMULATED_LATE.
#include <cstdlib>
#include <cstring>

#include "gpu.h"

namespace octet::emulator {
namespace {

TEST(EmulatedGpu, CompilationErrorsHaveALog) {
  const Built built = build(simple("out[0] = no_such_name;\n"));
  EXPECT_NE(built.result, 0);
  EXPECT_NE(built.log.find("no_such_name"), std::string::npos) << built.log;
  setenv("OCTET_EMULATED_CXX", "/no/such/compiler", 1);
  const Built missing = build(simple("out[0] = 1;\n"));
  unsetenv("OCTET_EMULATED_CXX");
  EXPECT_NE(missing.result, 0);
  EXPECT_NE(missing.log.find("/no/such/compiler cannot be run"), std::string::npos) << missing.log;
}

TEST(EmulatedGpu, BadImagesAreRefused) {
  CUmodule module = nullptr;
  std::string image = build(simple("out[0] = 1;\n")).image;
  std::string damaged = image, other = image;
  damaged[damaged.size() / 2] ^= 1;
  other[9] = 0;
  const std::string text(4096, 'x');
  EXPECT_EQ(gpu().cuModuleLoadData(&module, damaged.data()), 200);
  EXPECT_EQ(gpu().cuModuleLoadData(&module, other.data()), 209);
  EXPECT_EQ(gpu().cuModuleLoadData(&module, text.data()), 200);
  ASSERT_EQ(gpu().cuModuleLoadData(&module, image.data()), 0);
  CUfunction function = nullptr;
  EXPECT_EQ(gpu().cuModuleGetFunction(&function, module, "other"), 500);
  EXPECT_EQ(gpu().cuModuleUnload(module), 0);
}

// Machine code is for a generation, "a" for one chip; PTX for all later ones, and for drivers that know its language.
TEST(EmulatedGpu, CodeIsForSomeChips) {
  const auto loads = [](const std::string& arch) {
    CUmodule module = nullptr;
    const Built built = build_for(arch, simple("out[0] = 1;\n"));
    EXPECT_EQ(built.result, 0) << arch << built.log;
    const CUresult result = gpu().cuModuleLoadData(&module, built.image.data());
    if (result == 0) {
      EXPECT_EQ(gpu().cuModuleUnload(module), 0);
    }
    return result;
  };
  EXPECT_EQ(loads("sm_80"), 0);
  EXPECT_EQ(loads("sm_75"), 209);
  EXPECT_EQ(loads("sm_86"), 209);
  EXPECT_EQ(loads("sm_90a"), 209);
  EXPECT_EQ(loads("compute_80"), 0);
  EXPECT_EQ(loads("compute_75"), 0);
  EXPECT_EQ(loads("compute_90"), 209);
  setenv("OCTET_EMULATED_NVRTC_VERSION", "13010", 1);
  EXPECT_EQ(loads("compute_80"), 222);
  EXPECT_EQ(loads("sm_80"), 0);
  unsetenv("OCTET_EMULATED_NVRTC_VERSION");
  EXPECT_EQ(build_for("sm_99", simple("out[0] = 1;\n")).result, 5);
}

TEST(EmulatedGpu, LaunchesKeepToLimits) {
  const Kernel kernel(
      simple("extern __shared__ u8 s[]; __shared__ u8 fixed[1024]; out[0] = s[0] + fixed[0];\n"));
  const Buffer<int> out(1);
  const Pointers p = {nullptr, out.pointer()};
  int value = 0;
  EXPECT_EQ(gpu().cuFuncGetAttribute(&value, cuda::kStaticSharedBytes, kernel.function), 0);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(kernel.launch(shape(1, 257), p), 701);
  EXPECT_EQ(kernel.launch(shape(1, 2048), p), 1);
  EXPECT_EQ(kernel.launch(shape(0, 1), p), 1);
  EXPECT_EQ(kernel.launch(shape(1, 1, 47 << 10), p), 0);
  EXPECT_EQ(kernel.launch(shape(1, 1, 48 << 10), p), 1);
  EXPECT_EQ(gpu().cuFuncSetAttribute(kernel.function, cuda::kMaxDynamicSharedBytes, 99 << 10), 1);
  EXPECT_EQ(gpu().cuFuncSetAttribute(kernel.function, cuda::kMaxDynamicSharedBytes, 98 << 10), 0);
  EXPECT_EQ(kernel.launch(shape(1, 1, 98 << 10), p), 0);
}

TEST(EmulatedGpu, CopiesStayInsideAllocations) {
  std::vector<int> host(64);
  const Buffer<int> buffer(64);
  EXPECT_EQ(buffer.read()[5], static_cast<int>(0xA5A5A5A5));
  EXPECT_EQ(gpu().cuMemcpyHtoD(buffer.at + 4, host.data(), 256), 1);
  EXPECT_EQ(gpu().cuMemcpyHtoD(buffer.at + 4, host.data(), 252), 0);
  EXPECT_EQ(gpu().cuMemsetD8Async(buffer.at, 1, 257, nullptr), 1);
  EXPECT_EQ(gpu().cuMemsetD8Async(buffer.at, 1, 256, nullptr), 0);
  EXPECT_EQ(buffer.read()[63], 0x01010101);
  CUdeviceptr gone = 0;
  EXPECT_EQ(gpu().cuMemAlloc(&gone, 100), 0);
  EXPECT_EQ(gpu().cuMemFree(gone), 0);
  EXPECT_EQ(gpu().cuMemFree(gone), 1);
  EXPECT_EQ(gpu().cuMemcpyHtoD(gone, host.data(), 4), 1);
  size_t free = 0, total = 0;
  EXPECT_EQ(gpu().cuMemGetInfo(&free, &total), 0);
  EXPECT_EQ(total - free, 256u);
  EXPECT_EQ(gpu().cuMemAlloc(&gone, free + 1), 2);
  EXPECT_EQ(gpu().cuMemAlloc(&gone, free), 0);
  EXPECT_EQ(gpu().cuMemFree(gone), 0);
}

TEST(EmulatedGpu, CapturedWorkRunsWhenLaunched) {
  const Kernel kernel(simple("out[0] += 1;\n"));
  const Buffer<int> out(std::vector<int>{0}), copy(std::vector<int>{0});
  CUstream stream = nullptr, side = nullptr;
  CUevent fork = nullptr, join = nullptr;
  ASSERT_EQ(gpu().cuStreamCreate(&stream, cuda::kStreamNonBlocking), 0);
  ASSERT_EQ(gpu().cuStreamCreate(&side, cuda::kStreamNonBlocking), 0);
  ASSERT_EQ(gpu().cuEventCreate(&fork, 2), 0);
  ASSERT_EQ(gpu().cuEventCreate(&join, 2), 0);
  ASSERT_EQ(gpu().cuStreamBeginCapture(stream, cuda::kCaptureThreadLocal), 0);
  EXPECT_EQ(kernel.launch(shape(1, 1, 0, stream), Pointers{nullptr, out.pointer()}), 0);
  EXPECT_EQ(gpu().cuEventRecord(fork, stream), 0);
  EXPECT_EQ(gpu().cuStreamWaitEvent(side, fork, 0), 0);
  EXPECT_EQ(kernel.launch(shape(1, 1, 0, side), Pointers{nullptr, out.pointer()}), 0);
  EXPECT_EQ(gpu().cuEventRecord(join, side), 0);
  EXPECT_EQ(gpu().cuStreamWaitEvent(stream, join, 0), 0);
  EXPECT_EQ(gpu().cuMemcpyAsync(copy.at, out.at, 4, stream), 0);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(gpu().cuStreamEndCapture(stream, &graph), 0);
  ASSERT_EQ(gpu().cuGraphInstantiate(&exec, graph, 0), 0);
  EXPECT_EQ(gpu().cuGraphDestroy(graph), 0);
  EXPECT_EQ(out.read()[0], 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gpu().cuGraphLaunch(exec, stream), 0);
  EXPECT_EQ(gpu().cuStreamSynchronize(stream), 0);
  EXPECT_EQ(copy.read()[0], 6);
  EXPECT_EQ(gpu().cuGraphExecDestroy(exec), 0);
  EXPECT_EQ(gpu().cuGraphExecDestroy(exec), 400);
  for (CUevent event : {fork, join}) EXPECT_EQ(gpu().cuEventDestroy(event), 0);
  for (CUstream one : {stream, side}) EXPECT_EQ(gpu().cuStreamDestroy(one), 0);
}

TEST(EmulatedGpu, WhatMustNotBeCapturedEndsTheCapture) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(gpu().cuStreamCreate(&stream, 0), 0);
  ASSERT_EQ(gpu().cuStreamBeginCapture(stream, cuda::kCaptureThreadLocal), 0);
  EXPECT_EQ(gpu().cuMemAlloc(&memory, 4), 900);
  EXPECT_EQ(gpu().cuStreamEndCapture(stream, &graph), 901);
  ASSERT_EQ(gpu().cuStreamBeginCapture(stream, cuda::kCaptureThreadLocal), 0);
  EXPECT_EQ(gpu().cuStreamSynchronize(stream), 900);
  EXPECT_EQ(gpu().cuStreamEndCapture(stream, &graph), 901);
  EXPECT_EQ(gpu().cuStreamDestroy(stream), 0);
}

TEST(EmulatedGpu, WorkIsLateWhereAskedFor) {
  const bool late = std::strcmp(std::getenv("OCTET_EMULATED_LATE"), "1") == 0;
  const Kernel kernel(simple("out[0] = in[0] + 1;\n"));
  void* pinned = nullptr;
  ASSERT_EQ(gpu().cuMemHostAlloc(&pinned, 8, 0), 0);
  int* values = static_cast<int*>(pinned);
  CUstream first = nullptr, second = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(gpu().cuStreamCreate(&first, cuda::kStreamNonBlocking), 0);
  ASSERT_EQ(gpu().cuStreamCreate(&second, cuda::kStreamNonBlocking), 0);
  ASSERT_EQ(gpu().cuEventCreate(&event, 0), 0);
  const Buffer<int> in(1), out(1);
  values[0] = 1;
  values[1] = 0;
  ASSERT_EQ(gpu().cuMemcpyAsync(in.at, reinterpret_cast<CUdeviceptr>(values), 4, first), 0);
  ASSERT_EQ(kernel.launch(shape(1, 1, 0, first), Pointers{in.pointer(), out.pointer()}), 0);
  ASSERT_EQ(gpu().cuEventRecord(event, first), 0);
  ASSERT_EQ(gpu().cuStreamWaitEvent(second, event, 0), 0);
  ASSERT_EQ(gpu().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(values + 1), out.at, 4, second), 0);
  values[0] = 10;  // too early
  EXPECT_EQ(values[1], late ? 0 : 2);
  float milliseconds = 0;
  EXPECT_EQ(gpu().cuEventElapsedTime(&milliseconds, event, event), late ? 600 : 0);
  EXPECT_EQ(gpu().cuStreamSynchronize(second), 0);
  EXPECT_EQ(values[1], late ? 11 : 2);
  EXPECT_EQ(gpu().cuEventSynchronize(event), 0);
  EXPECT_EQ(gpu().cuEventElapsedTime(&milliseconds, event, event), 0);
  EXPECT_EQ(gpu().cuEventDestroy(event), 0);
  EXPECT_EQ(gpu().cuMemFreeHost(pinned), 0);
  for (CUstream one : {first, second}) EXPECT_EQ(gpu().cuStreamDestroy(one), 0);
}

// Streams behind a function of the host are done when somebody waits for one of them, a piece of each in turn; where all work is late,
// that one alone.
TEST(EmulatedGpu, StreamsAreHeldByFunctionsOfTheHost) {
  const Kernel kernel(simple("out[0] = in[0];\n"));
  const Buffer<int> shared(1), first_in(std::vector<int>{1}), second_in(std::vector<int>{2}),
      first_out(std::vector<int>{0}), second_out(std::vector<int>{0});
  CUstream gate = nullptr, first = nullptr, second = nullptr;
  CUevent open = nullptr;
  for (CUstream* stream : {&gate, &first, &second})
    ASSERT_EQ(gpu().cuStreamCreate(stream, cuda::kStreamNonBlocking), 0);
  ASSERT_EQ(gpu().cuEventCreate(&open, 2), 0);
  bool called = false;
  const auto call = [](void* user) { *static_cast<bool*>(user) = true; };
  ASSERT_EQ(gpu().cuLaunchHostFunc(gate, call, &called), 0);
  ASSERT_EQ(gpu().cuEventRecord(open, gate), 0);
  for (CUstream stream : {first, second}) {
    const bool is_first = stream == first;
    const Buffer<int>&in = is_first ? first_in : second_in,
          &out = is_first ? first_out : second_out;
    ASSERT_EQ(gpu().cuStreamWaitEvent(stream, open, 0), 0);
    ASSERT_EQ(kernel.launch(shape(1, 1, 0, stream), Pointers{in.pointer(), shared.pointer()}), 0);
    ASSERT_EQ(kernel.launch(shape(1, 1, 0, stream), Pointers{shared.pointer(), out.pointer()}), 0);
  }
  EXPECT_FALSE(called);
  EXPECT_EQ(first_out.read()[0], 0);
  EXPECT_EQ(gpu().cuStreamSynchronize(first), 0);
  EXPECT_TRUE(called);
  const bool late = std::strcmp(std::getenv("OCTET_EMULATED_LATE"), "1") == 0;
  const int read_by_first = first_out.read()[0];
  EXPECT_EQ(gpu().cuStreamSynchronize(second), 0);
  const int read_by_second = second_out.read()[0];
  // They share a buffer: one of them reads what the other wrote, where both go on together.
  EXPECT_EQ(read_by_first == read_by_second, !late) << read_by_first << ' ' << read_by_second;
  EXPECT_EQ(gpu().cuEventDestroy(open), 0);
  for (CUstream stream : {gate, first, second}) EXPECT_EQ(gpu().cuStreamDestroy(stream), 0);
}

TEST(EmulatedGpu, CallsFailWhereAskedFor) {
  CUdeviceptr memory = 0;
  setenv("OCTET_EMULATED_FAIL", "cuMemAlloc_v2:2:2,cuStreamCreate:1:999", 1);
  EXPECT_EQ(gpu().cuMemAlloc(&memory, 4), 0);
  EXPECT_EQ(gpu().cuMemFree(memory), 0);
  EXPECT_EQ(gpu().cuMemAlloc(&memory, 4), 2);
  EXPECT_EQ(gpu().cuMemAlloc(&memory, 4), 0);
  EXPECT_EQ(gpu().cuMemFree(memory), 0);
  CUstream stream = nullptr;
  EXPECT_EQ(gpu().cuStreamCreate(&stream, 0), 999);
  unsetenv("OCTET_EMULATED_FAIL");
  const char* name = nullptr;
  EXPECT_EQ(gpu().cuGetErrorName(719, &name), 0);
  EXPECT_STREQ(name, "CUDA_ERROR_LAUNCH_FAILED");
}

// Each in a process of its own: the device is lost afterwards.
void expect_lost(const std::string& body, CUresult expected) {
  const Kernel kernel(simple(body));
  const Buffer<int> out(64);
  CUresult error = kernel.launch(shape(1, 64, 64), Pointers{nullptr, out.pointer()});
  if (error == 0) error = gpu().cuStreamSynchronize(nullptr);
  CUdeviceptr memory = 0;
  const bool lost = error == expected && gpu().cuMemAlloc(&memory, 4) == expected;
  std::exit(lost ? 7 : 1);
}

TEST(EmulatedGpuDeathTest, FaultsOfKernelsStay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const testing::ExitedWithCode lost(7);
  EXPECT_EXIT(expect_lost("out[64] = 1;", 700), lost,
              "octet_kernel, block .0, 0, 0., thread .0, 0, 0.: it touches");
  EXPECT_EXIT(expect_lost("extern __shared__ s32 s[]; out[0] = s[threadIdx.x + 4];", 700), lost,
              "thread .28, 0, 0.: it touches");
  EXPECT_EXIT(expect_lost("out[0] = *in;", 700), lost, "it touches the address");
  EXPECT_EXIT(
      expect_lost("if (threadIdx.x < 40) __syncthreads(); else __syncwarp(0xffffffffu);", 719),
      lost, "no thread can go on");
  EXPECT_EXIT(expect_lost("__trap();", 719), lost, "__trap");
  EXPECT_EXIT(
      expect_lost("volatile u8 large[70000]; __syncthreads(); out[0] = large[threadIdx.x * 4];",
                  700),
      lost, "stacks");
}

TEST(EmulatedGpuDeathTest, ADeviceDisappears) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lose = [] {
    setenv("OCTET_EMULATED_FAIL", "cuStreamSynchronize:1:719:*", 1);
    CUdeviceptr memory = 0;
    const bool lost =
        gpu().cuStreamSynchronize(nullptr) == 719 && gpu().cuMemAlloc(&memory, 4) == 719;
    std::exit(lost ? 7 : 1);
  };
  EXPECT_EXIT(lose(), testing::ExitedWithCode(7), "");
}

TEST(EmulatedGpu, DevicesAreApart) {
  int count = 0, value = 0;
  ASSERT_EQ(gpu().cuDeviceGetCount(&count), 0);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(gpu().cuDeviceGetAttribute(&value, cuda::kComputeMajor, 1), 0);
  EXPECT_EQ(value, 8);
  CUcontext first = nullptr, second = nullptr;
  CUstream stream = nullptr;
  ASSERT_EQ(gpu().cuDevicePrimaryCtxRetain(&first, 0), 0);
  ASSERT_EQ(gpu().cuDevicePrimaryCtxRetain(&second, 1), 0);
  ASSERT_EQ(gpu().cuStreamCreate(&stream, 0), 0);
  ASSERT_EQ(gpu().cuCtxSetCurrent(second), 0);
  EXPECT_EQ(gpu().cuStreamSynchronize(stream), 400);
  ASSERT_EQ(gpu().cuCtxSetCurrent(nullptr), 0);
  EXPECT_EQ(gpu().cuStreamSynchronize(nullptr), 201);
  ASSERT_EQ(gpu().cuCtxSetCurrent(first), 0);
  EXPECT_EQ(gpu().cuStreamDestroy(stream), 0);
}

// A kernel that touches memory of the other device is its own device's end.
TEST(EmulatedGpuDeathTest, PeersAreClosed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto touch = [](bool reads) {
    CUcontext first = nullptr, second = nullptr;
    gpu().cuDevicePrimaryCtxRetain(&first, 0);
    gpu().cuDevicePrimaryCtxRetain(&second, 1);
    const Kernel kernel(simple("out[0] = in[0] + 1;\n"));
    const Buffer<int> own(std::vector<int>{4});
    gpu().cuCtxSetCurrent(second);
    const Buffer<int> others(std::vector<int>{5});
    gpu().cuCtxSetCurrent(first);
    bool right = kernel.launch(shape(1, 1), Pointers{own.pointer(), own.pointer()}) == 0 &&
                 own.read()[0] == 5;
    const Pointers pointers = reads ? Pointers{others.pointer(), own.pointer()}
                                    : Pointers{own.pointer(), others.pointer()};
    const CUresult launched = kernel.launch(shape(1, 1), pointers);
    right = right && (launched == 700 || gpu().cuStreamSynchronize(nullptr) == 700);
    gpu().cuCtxSetCurrent(second);
    right = right && others.read()[0] == 5;
    std::_Exit(right ? 7 : 1);
  };
  for (const bool reads : {true, false})
    EXPECT_EXIT(touch(reads), testing::ExitedWithCode(7), "it touches the address");
}

}  // namespace
}  // namespace octet::emulator
