// SPDX-License-Identifier: Apache-2.0
// What the tests share: a logger that keeps what it hears, small networks whose results are whole numbers, and a run of them.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "NvOnnxParser.h"

namespace trt_test {

using namespace nvinfer1;

class Logger : public ILogger {
 public:
  void log(Severity severity, char const* msg) noexcept override {
    if (severity <= Severity::kWARNING) text += std::string(msg) + "\n";
  }
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
  std::string text;
};

template <class T>
using Own = std::unique_ptr<T>;

inline Weights weights_of(const std::vector<float>& values) {
  return Weights{DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
}

constexpr uint32_t kExplicit = 1U;

// A builder with a network and a configuration.
struct Maker {
  explicit Maker(uint32_t flags = kExplicit)
      : builder(createInferBuilder(logger)),
        network(builder->createNetworkV2(flags)),
        config(builder->createBuilderConfig()) {}

  // Null where the build fails.
  Own<ICudaEngine> build() {
    const Own<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return nullptr;
    plan_bytes.assign(static_cast<char*>(plan->data()), plan->size());
    const Own<IRuntime> runtime(createInferRuntime(logger));
    return Own<ICudaEngine>(runtime->deserializeCudaEngine(plan_bytes.data(), plan_bytes.size()));
  }

  Logger logger;
  Own<IBuilder> builder;
  Own<INetworkDefinition> network;
  Own<IBuilderConfig> config;
  std::string plan_bytes;
};

inline int64_t volume(const Dims& dims) {
  int64_t product = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) product *= dims.d[i];
  return product;
}

// One input, one output, both floats.
inline std::vector<float> run(ICudaEngine& engine, const std::vector<float>& input) {
  const Own<IExecutionContext> context(engine.createExecutionContext());
  EXPECT_TRUE(context);
  const char* out = engine.getIOTensorName(engine.getNbIOTensors() - 1);
  void* device[2] = {};
  std::vector<float> output(static_cast<size_t>(volume(context->getTensorShape(out))));
  EXPECT_EQ(cudaMalloc(&device[0], input.size() * 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&device[1], output.size() * 4), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device[0], input.data(), input.size() * 4, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_TRUE(context->executeV2(device));
  EXPECT_EQ(cudaMemcpy(output.data(), device[1], output.size() * 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  cudaFree(device[0]);
  cudaFree(device[1]);
  return output;
}

inline Dims dims_of(const std::vector<int>& sizes) {
  Dims dims{};
  dims.nbDims = static_cast<int32_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) dims.d[i] = sizes[i];
  return dims;
}

inline std::vector<int64_t> sizes_of(const Dims& dims) {
  if (dims.nbDims < 0) return {-9};
  return std::vector<int64_t>(dims.d, dims.d + dims.nbDims);
}

inline std::vector<float> counting(size_t count, float from = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = from + static_cast<float>(i);
  return values;
}

// What one layer makes of one input.
inline std::vector<float> layer_result(
    const std::vector<int>& sizes, const std::vector<float>& input,
    const std::function<ITensor*(INetworkDefinition&, ITensor&)>& add) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, dims_of(sizes));
  ITensor* y = add(*maker.network, *x);
  EXPECT_NE(y, nullptr) << maker.logger.text;
  if (y == nullptr) return {};
  y->setName("y");
  maker.network->markOutput(*y);
  const Own<ICudaEngine> engine = maker.build();
  EXPECT_TRUE(engine) << maker.logger.text;
  return engine == nullptr ? std::vector<float>() : run(*engine, input);
}

}  // namespace trt_test
