// SPDX-License-Identifier: Apache-2.0
// Layers that give indices: the type that was asked for is the output's.
#include "support.h"

#if NV_TENSORRT_MAJOR >= 10

namespace trt_test::indices {
namespace {

using Values = std::vector<float>;
using Indices = std::vector<int64_t>;

class Received : public IOutputAllocator {
 public:
  void* reallocateOutputAsync(char const*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    memory.resize(size);
    return memory.data();
  }
  void notifyShape(char const*, Dims const& dims) noexcept override {
    count = static_cast<size_t>(volume(dims));
  }
  std::vector<char> memory;
  size_t count = 0;
};

template <class T>
Indices read(const Received& from) {
  EXPECT_GE(from.memory.size(), from.count * sizeof(T));
  std::vector<T> values(from.count);
  std::memcpy(values.data(), from.memory.data(), from.count * sizeof(T));
  return Indices(values.begin(), values.end());
}

using Add = std::function<ITensor*(INetworkDefinition&, ITensor&)>;

// The numbers of an output of this type, which network and engine must tell.
Indices indices_of(DataType type, const Dims& sizes, Values input, const Add& add) {
  Maker maker;
  ITensor* y = add(*maker.network, *maker.network->addInput("x", DataType::kFLOAT, sizes));
  EXPECT_EQ(y->getType(), type);
  y->setName("y");
  maker.network->markOutput(*y);
  const Own<ICudaEngine> engine = maker.build();
  EXPECT_TRUE(engine) << maker.logger.text;
  if (engine == nullptr) return {};
  EXPECT_EQ(engine->getTensorDataType("y"), type);
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Received received;
  EXPECT_TRUE(context->setTensorAddress("x", input.data()));
  EXPECT_TRUE(context->setOutputAllocator("y", &received));
  EXPECT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
  return type == DataType::kINT64 ? read<int64_t>(received) : read<int32_t>(received);
}

constexpr DataType kTypes[] = {DataType::kINT32, DataType::kINT64};

TEST(Indices, OfTopK) {
  for (const DataType type : kTypes) {
    const auto add = [type](INetworkDefinition& n, ITensor& x) {
      ITopKLayer* layer = n.addTopK(x, TopKOperation::kMAX, 2, 2, type);
      EXPECT_EQ(layer->getIndicesType(), type);
      return layer->getOutput(1);
    };
    EXPECT_EQ(indices_of(type, Dims2{1, 4}, {5, 7, 6, 1}, add), (Indices{1, 2}));
  }
}

TEST(Indices, OfNonZero) {
  for (const DataType type : kTypes) {
    const auto add = [type](INetworkDefinition& n, ITensor& x) {
      INonZeroLayer* layer = n.addNonZero(x, type);
      EXPECT_EQ(layer->getIndicesType(), type);
      return layer->getOutput(0);
    };
    EXPECT_EQ(indices_of(type, Dims2{1, 4}, {0, 7, 0, 1}, add), (Indices{0, 0, 1, 3}));
  }
  // As clients ask of the elder function.
  const auto elder = [](INetworkDefinition& n, ITensor& x) {
    INonZeroLayer* layer = n.addNonZero(x);
    layer->setOutputType(0, DataType::kINT64);
    return layer->getOutput(0);
  };
  EXPECT_EQ(indices_of(DataType::kINT64, Dims2{1, 2}, {0, 7}, elder), (Indices{0, 1}));
}

ITensor* number(INetworkDefinition& n, DataType type, const void* value) {
  return n.addConstant(Dims{0, {}}, Weights{type, value, 1})->getOutput(0);
}

TEST(Indices, OfNms) {
  static const int32_t most = 2;
  static const float threshold = 0.5F;
  static const Values scores = {0.9F, 0.8F, 0.7F};
  for (const DataType type : kTypes) {
    for (const int32_t output : {0, 1}) {
      const auto add = [&](INetworkDefinition& n, ITensor& x) {
        ITensor* score = n.addConstant(Dims3{1, 3, 1}, weights_of(scores))->getOutput(0);
        INMSLayer* layer = n.addNMS(x, *score, *number(n, DataType::kINT32, &most), type);
        EXPECT_EQ(layer->getIndicesType(), type);
        layer->setInput(3, *number(n, DataType::kFLOAT, &threshold));
        return layer->getOutput(output);
      };
      // Batch, class and box of each; their count stays INT32.
      const Values boxes = {0, 0, 1, 1, 0, 0, 1, 1.01F, 5, 5, 6, 6};
      const DataType told = output == 0 ? type : DataType::kINT32;
      EXPECT_EQ(indices_of(told, Dims3{1, 3, 4}, boxes, add),
                output == 0 ? (Indices{0, 0, 0, 0, 0, 2}) : Indices{2});
    }
  }
}

TEST(Indices, AreIntegers) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{1, 4});
  EXPECT_EQ(n.addTopK(*x, TopKOperation::kMAX, 2, 2, DataType::kFLOAT), nullptr);
  EXPECT_EQ(n.addNonZero(*x, DataType::kFLOAT), nullptr);
  EXPECT_EQ(n.addNMS(*x, *x, *x, DataType::kFLOAT), nullptr);
  EXPECT_EQ(n.getNbLayers(), 0);
  for (const char* name : {"addTopK", "addNonZero", "addNMS"}) {
    const std::string line = std::string(name) + ": indices are INT32 or INT64, not Float";
    EXPECT_TRUE(maker.logger.has(line)) << maker.logger.text;
  }
  INonZeroLayer* layer = n.addNonZero(*x);
  EXPECT_FALSE(layer->setIndicesType(DataType::kFLOAT));
  EXPECT_EQ(layer->getIndicesType(), DataType::kINT32);
}

}  // namespace
}  // namespace trt_test::indices

#endif
