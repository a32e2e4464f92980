// SPDX-License-Identifier: Apache-2.0
// What clients derive from and the library asks seldom or never, values, and functions that are opened by name.
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// accepted without effect: IGpuAllocator::*, IGpuAsyncAllocator::*: Octet allocates memory itself, and never asks them
class CountingAllocator : public IGpuAllocator {
 public:
  void* allocate(uint64_t const, uint64_t const, AllocatorFlags const) noexcept override {
    ++calls;
    return nullptr;
  }
#if NV_TENSORRT_MAJOR >= 10
  bool deallocate(void* const) noexcept override {
    ++calls;
    return true;
  }
#else
  void free(void* const) noexcept override { ++calls; }
#endif
  int calls = 0;
};

TEST(GpuAllocator, IsNotAsked) {
  CountingAllocator allocator;
  Maker maker;
  maker.builder->setGpuAllocator(&allocator);
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  maker.network->markOutput(*maker.network->addIdentity(*x)->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  EXPECT_EQ(run(*engine, {1, 2}), (Values{1, 2}));
  EXPECT_EQ(allocator.calls, 0);
}

TEST(GpuAllocator, HasDefaultsForWhatItDoesNotDo) {
  CountingAllocator own;
  IGpuAllocator& allocator = own;
  EXPECT_EQ(allocator.reallocate(nullptr, 1, 2), nullptr);
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_EQ(allocator.allocateAsync(1, 2, 0, nullptr), nullptr);
  EXPECT_TRUE(allocator.deallocateAsync(nullptr, nullptr));
#else
  EXPECT_TRUE(allocator.deallocate(nullptr));
#endif
  EXPECT_EQ(own.calls, NV_TENSORRT_MAJOR >= 10 ? 2 : 1);
  EXPECT_EQ(allocator.getAPILanguage(), APILanguage::kCPP);
}

TEST(Values, OfHeightAndWidth) {
  DimsHW sizes{2, 3};
  EXPECT_EQ(sizes.h(), 2);
  sizes.w() = 5;
  EXPECT_EQ(sizes_of(sizes), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(EnumMax<DataType>(), NV_TENSORRT_MAJOR >= 10 ? 12 : 7);
}

TEST(Functions, AreOpenedByName) {
  Logger logger;
  void* made = createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION);
  const Own<IRuntime> runtime(static_cast<IRuntime*>(made));
  ASSERT_TRUE(runtime);
  EXPECT_NE(getLogger(), nullptr);
  EXPECT_EQ(createInferRefitter_INTERNAL(nullptr, &logger, NV_TENSORRT_VERSION), nullptr);
  EXPECT_EQ(createNvOnnxParser_INTERNAL(nullptr, &logger, NV_TENSORRT_VERSION), nullptr);
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_EQ(createNvOnnxParserRefitter_INTERNAL(nullptr, &logger, NV_TENSORRT_VERSION), nullptr);
  EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSTANDARD), getPluginRegistry());
  EXPECT_EQ(getInferLibMajorVersion(), NV_TENSORRT_MAJOR);
  EXPECT_EQ(getInferLibMinorVersion(), NV_TENSORRT_MINOR);
  EXPECT_EQ(getInferLibPatchVersion(), NV_TENSORRT_PATCH);
  EXPECT_EQ(getInferLibBuildVersion(), NV_TENSORRT_BUILD);
#endif
}

#if NV_TENSORRT_MAJOR >= 10
class SeekingReader : public IStreamReaderV2 {
 public:
  explicit SeekingReader(const std::string& bytes) : bytes_(bytes) {}
  int64_t read(void* destination, int64_t count, cudaStream_t) noexcept override {
    const auto take = std::min(static_cast<size_t>(count), bytes_.size() - at_);
    std::memcpy(destination, bytes_.data() + at_, take);
    at_ += take;
    return static_cast<int64_t>(take);
  }
  bool seek(int64_t offset, SeekPosition) noexcept override {
    at_ = static_cast<size_t>(offset);
    return true;
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

TEST(Streams, OfTheSecondKindCarryPlans) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  maker.network->markOutput(*maker.network->addIdentity(*x)->getOutput(0));
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  SeekingReader reader(maker.plan_bytes);
  ASSERT_TRUE(reader.seek(0, SeekPosition::kSET));
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  const Own<ICudaEngine> engine(runtime->deserializeCudaEngine(reader));
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, {1, 2}), (Values{1, 2}));
}

class Streamed : public IOutputAllocator {
 public:
  void* reallocateOutputAsync(char const*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    memory.resize(size);
    return memory.data();
  }
  void notifyShape(char const*, Dims const& dims) noexcept override { sizes = sizes_of(dims); }
  std::vector<char> memory;
  std::vector<int64_t> sizes;
};

TEST(OutputAllocator, MayBeOfAStream) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  ITensor* y = maker.network->addIdentity(*x)->getOutput(0);
  y->setName("y");
  maker.network->markOutput(*y);
  const Own<ICudaEngine> engine = maker.build();
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Streamed allocator;
  IOutputAllocator& asked = allocator;
#if NV_TENSORRT_MAJOR < 10
  EXPECT_EQ(asked.getInterfaceVersion(), 1);
#else
  EXPECT_EQ(asked.getInterfaceInfo().major, 1);
#endif
  Values in = {3, 4};
  ASSERT_TRUE(context->setTensorAddress("x", in.data()));
  ASSERT_TRUE(context->setOutputAllocator("y", &allocator));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
  EXPECT_EQ(allocator.sizes, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::memcmp(allocator.memory.data(), in.data(), 8), 0);
}
#endif

}  // namespace
}  // namespace trt_test
