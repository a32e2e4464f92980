// SPDX-License-Identifier: Apache-2.0
// Engines on a GPU, which is emulated here: clients' addresses are its own, and runs take their place in clients' streams.
#include <dlfcn.h>

#include <cstdlib>

#include "octet/device_memory.h"
#include "plugin_support.h"

namespace trt_test {
namespace {

constexpr const char* kGpu = "cuda:0";

// A GPU for the time of one test.
class WithGpu {
 public:
  WithGpu() {
    setenv("OCTET_CUDA_DRIVER", OCTET_TEST_CUDA_DRIVER, 1);
    setenv("OCTET_NVRTC", OCTET_TEST_NVRTC, 1);
    setenv("OCTET_TENSORRT_DEVICE", kGpu, 1);
  }
  ~WithGpu() { unsetenv("OCTET_TENSORRT_DEVICE"); }
};

class OnGpu {
 public:
  explicit OnGpu(size_t count) : bytes_(static_cast<int64_t>(count * sizeof(float))) {
    memory_ = octet::allocate_on(kGpu, bytes_);
  }
  explicit OnGpu(const std::vector<float>& values) : OnGpu(values.size()) {
    octet::copy_memory(memory_.get(), values.data(), bytes_, kGpu);
  }
  void* data() const { return memory_.get(); }
  std::vector<float> read() const {
    std::vector<float> values(static_cast<size_t>(bytes_) / sizeof(float));
    octet::copy_memory(values.data(), memory_.get(), bytes_, kGpu);
    return values;
  }

 private:
  int64_t bytes_;
  std::shared_ptr<std::byte> memory_;
};

// A stream as the client's own CUDA makes it.
class ClientsStream {
 public:
  ClientsStream() {
    void* context = nullptr;
    EXPECT_EQ(call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), 0);
    EXPECT_EQ(call<int(void*)>("cuCtxSetCurrent")(context), 0);
    EXPECT_EQ(call<int(void**, unsigned)>("cuStreamCreate")(&stream_, 1), 0);
  }
  ~ClientsStream() {
    EXPECT_EQ(call<int(void*)>("cuStreamDestroy_v2")(stream_), 0);
    EXPECT_EQ(call<int(void*)>("cuCtxSetCurrent")(nullptr), 0);
  }
  ClientsStream(const ClientsStream&) = delete;
  ClientsStream& operator=(const ClientsStream&) = delete;

  void* get() const { return stream_; }
  void synchronize() const { EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(stream_), 0); }

 private:
  template <class Function>
  Function* call(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(driver_, name));
  }
  void* driver_ = dlopen(OCTET_TEST_CUDA_DRIVER, RTLD_LAZY);  // stays, as the engine has it
  void* stream_ = nullptr;
};

// y = x + x
Own<ICudaEngine> doubling(Maker& maker) {
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  ITensor* y = maker.network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
  y->setName("y");
  maker.network->markOutput(*y);
  return maker.build();
}

TEST(TensorRtGpu, RunsOnItsAddresses) {
  const WithGpu gpu;
  Maker maker;
  const Own<ICudaEngine> engine = doubling(maker);
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context) << maker.logger.text;
  const OnGpu in({1, 2, 3, 4, 5, 6}), out(6);
  const std::vector<float> want = {2, 4, 6, 8, 10, 12};
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << maker.logger.text;
  EXPECT_EQ(out.read(), want);

  const OnGpu again(6);
  ASSERT_TRUE(context->setTensorAddress("x", in.data()));
  ASSERT_TRUE(context->setTensorAddress("y", again.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
  EXPECT_EQ(again.read(), want);

  // Memory of the host is known as such.
  std::vector<float> host_in = {1, 2, 3, 4, 5, 6}, host_out(6);
  void* host[] = {host_in.data(), host_out.data()};
  ASSERT_TRUE(context->executeV2(host)) << maker.logger.text;
  EXPECT_EQ(host_out, want);
}

TEST(TensorRtGpu, AStreamThatIsNoneIsAnError) {
  const WithGpu gpu;
  Maker maker;
  const Own<ICudaEngine> engine = doubling(maker);
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  const OnGpu in(6), out(6);
  ASSERT_TRUE(context->setTensorAddress("x", in.data()));
  ASSERT_TRUE(context->setTensorAddress("y", out.data()));
  int other = 0;
  EXPECT_FALSE(context->enqueueV3(reinterpret_cast<cudaStream_t>(&other)));
  EXPECT_TRUE(maker.logger.has("is none of cuda:0")) << maker.logger.text;
}

TEST(TensorRtGpu, ADeviceThatIsNotThereIsAnError) {
  const WithGpu gpu;
  Maker maker;
  const Own<ICudaEngine> engine = doubling(maker);
  ASSERT_TRUE(engine) << maker.logger.text;
  setenv("OCTET_TENSORRT_DEVICE", "cuda:9", 1);
  EXPECT_EQ(engine->createExecutionContext(), nullptr);
  EXPECT_TRUE(maker.logger.has("cuda:9")) << maker.logger.text;
}

TEST_F(FactorTest, RunsOnTheGpusAddressesInTheRunsStream) {
  const WithGpu gpu;
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  ITensor* y = add(*maker.network, {x}, 2)->getOutput(0);
  maker.network->markOutput(*y);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  const OnGpu in({1, 2, 3, 4, 5, 6}), out(6);
  ASSERT_TRUE(context->setTensorAddress(engine->getIOTensorName(0), in.data()));
  ASSERT_TRUE(context->setTensorAddress(engine->getIOTensorName(1), out.data()));
  const ClientsStream stream;
  ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(stream.get()))) << maker.logger.text;
  stream.synchronize();
  EXPECT_EQ(counts.stream, stream.get());
  EXPECT_EQ(out.read(), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

// What the planner leaves to the CPU reaches the plugin on the GPU all the same.
TEST_F(FactorTest, OfBlocksGetsTheGpusAddressesToo) {
  const WithGpu gpu;
  factor_settings().codes = [](int pos, const PluginTensorDesc* descs) {
    return descs[pos].format == TensorFormat::kCHW4;
  };
  const std::vector<float> half = {0.5F}, two = {2};
  Maker maker;
  maker.config->setFlag(BuilderFlag::kINT8);
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 3, 1, 2});
  const auto constant = [&](const std::vector<float>& value) {
    return maker.network->addConstant(Dims{0, {}}, weights_of(value))->getOutput(0);
  };
  ITensor* codes = maker.network->addQuantize(*x, *constant(half))->getOutput(0);
  ITensor* made = add(*maker.network, {codes}, 4)->getOutput(0);
  maker.network->markOutput(*maker.network->addDequantize(*made, *constant(two))->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  const OnGpu in({0, 1, 2, 3, -4, 5}), out(6);
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << maker.logger.text;
  EXPECT_EQ(out.read(), (std::vector<float>{0, 4, 8, 12, -16, 20}));
}

}  // namespace
}  // namespace trt_test
