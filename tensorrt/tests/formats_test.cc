// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs whose channels lie in blocks, or last: what the engine says of them, and what it reads and writes.
#include "octet/tensor.h"
#include "support.h"

namespace trt_test {
namespace {

struct FormatCase {
  TensorFormat format;
  DataType type;
  int64_t block;     // channels that lie together, filled up to it
  int32_t elements;  // getTensorComponentsPerElement()
  const char* words;
};

const FormatCase kFormats[] = {
    {TensorFormat::kLINEAR, DataType::kFLOAT, 0, -1, "Row major linear FP32 format (kLINEAR)"},
    {TensorFormat::kCHW4, DataType::kINT8, 4, 4,
     "Four wide channel vectorized row major INT8 format (kCHW4)"},
    {TensorFormat::kCHW32, DataType::kINT8, 32, 32,
     "Thirty-two wide channel vectorized row major INT8 format (kCHW32)"},
    {TensorFormat::kCHW32, DataType::kFLOAT, 32, 32,
     "Thirty-two wide channel vectorized row major FP32 format (kCHW32)"},
    {TensorFormat::kCHW2, DataType::kHALF, 2, 2,
     "Two wide channel vectorized row major FP16 format (kCHW2)"},
    {TensorFormat::kCHW16, DataType::kHALF, 16, 16,
     "Sixteen wide channel vectorized row major FP16 format (kCHW16)"},
    {TensorFormat::kHWC, DataType::kFLOAT, 6, 1, "Channel major FP32 format (kHWC)"},
    {TensorFormat::kHWC8, DataType::kHALF, 8, 8,
     "Channel major FP16 format where channel % 8 == 0 (kHWC8)"},
    {TensorFormat::kHWC16, DataType::kHALF, 16, 16,
     "Channel major FP16 format where channel % 16 == 0 (kHWC16)"},
};

constexpr int64_t kChannels = 6, kPixels = 6;

// Values 0 to 35 as they lie in a format; what fills a block up is zero.
template <class Element>
std::vector<Element> placed(const FormatCase& one, const std::function<Element(float)>& element) {
  const int64_t block = one.block == 0 ? 1 : one.block;
  const int64_t blocks = (kChannels + block - 1) / block;
  std::vector<Element> memory(static_cast<size_t>(blocks * block * kPixels), element(0));
  for (int64_t c = 0; c < kChannels; ++c)
    for (int64_t p = 0; p < kPixels; ++p)
      memory[static_cast<size_t>((c / block * kPixels + p) * block + c % block)] =
          element(static_cast<float>(c * kPixels + p));
  return memory;
}

template <class Element>
void expect_the_same(ICudaEngine& engine, const std::vector<Element>& memory) {
  const Own<IExecutionContext> context(engine.createExecutionContext());
  std::vector<Element> in = memory, out(memory.size());
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(std::memcmp(out.data(), memory.data(), memory.size() * sizeof(Element)), 0);
}

void expect_run(ICudaEngine& engine, const FormatCase& one) {
  if (one.type == DataType::kINT8) {
    expect_the_same<int8_t>(
        engine, placed<int8_t>(one, [](float value) { return static_cast<int8_t>(value); }));
  } else if (one.type == DataType::kHALF) {
    expect_the_same<uint16_t>(
        engine, placed<uint16_t>(one, [](float value) { return octet::f16(value).bits; }));
  } else {
    expect_the_same<float>(engine, placed<float>(one, [](float value) { return value; }));
  }
}

TEST(Formats, OfInputsAndOutputsAreReadAndWritten) {
  for (const FormatCase& one : kFormats) {
    Maker maker;
    ITensor* x = maker.network->addInput("x", one.type, Dims4{1, kChannels, 2, 3});
    ITensor* y = maker.network->addIdentity(*x)->getOutput(0);
    y->setName("y");
    maker.network->markOutput(*y);
    for (ITensor* tensor : {x, y}) {
      tensor->setType(one.type);
      tensor->setAllowedFormats(1U << static_cast<uint32_t>(one.format));
      if (one.type == DataType::kINT8) {
        EXPECT_TRUE(tensor->setDynamicRange(-127, 127));
      }
    }
    if (one.type == DataType::kINT8) maker.config->setFlag(BuilderFlag::kINT8);
    maker.config->setFlag(BuilderFlag::kDIRECT_IO);
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_TRUE(engine) << one.words << "\n" << maker.logger.text;
    EXPECT_EQ(engine->getTensorFormat("x"), one.format);
    EXPECT_EQ(engine->getTensorDataType("x"), one.type);
    EXPECT_STREQ(engine->getTensorFormatDesc("y"), one.words);
    EXPECT_EQ(engine->getTensorComponentsPerElement("x"), one.elements);
    EXPECT_EQ(engine->getTensorVectorizedDim("x"), one.elements > 1 ? 1 : -1);
    expect_run(*engine, one);
  }
}

TEST(Formats, OfOtherDevicesAreRefused) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 6, 2, 3});
  x->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kDLA_LINEAR));
  maker.network->markOutput(*maker.network->addIdentity(*x)->getOutput(0));
  EXPECT_FALSE(maker.build());
  EXPECT_TRUE(maker.logger.has("'x' of type Float allows none of the formats kLINEAR, kHWC"))
      << maker.logger.text;
}

}  // namespace
}  // namespace trt_test
