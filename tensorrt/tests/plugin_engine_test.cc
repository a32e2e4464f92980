// SPDX-License-Identifier: Apache-2.0
// Plugins in engines: streams, threads, refits, quantize layers around them, and plans that say nonsense of them.
#include <thread>

#include "octet/attachment.h"
#include "octet/engine.h"
#include "plugin_support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

TEST_F(FactorTest, RunsInTheStreamThatItIsAskedFor) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  ITensor* y = add(*maker.network, {x}, 2)->getOutput(0);
  y->setName("y");
  maker.network->markOutput(*y);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  Values in(6, 1), out(6);
  ASSERT_TRUE(context->setTensorAddress("x", in.data()));
  ASSERT_TRUE(context->setTensorAddress("y", out.data()));
  ASSERT_TRUE(context->enqueueV3(stream));
  EXPECT_EQ(counts.stream, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(out, Values(6, 2));
}

TEST_F(FactorTest, ContextsOfSeveralThreadsHaveObjectsOfTheirOwn) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{64, 64});
  maker.network->markOutput(*add(*maker.network, {x}, 2)->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&engine, t] {
      const Own<IExecutionContext> context(engine->createExecutionContext());
      for (int i = 0; i < 8; ++i) {
        const auto value = static_cast<float>(t * 8 + i);
        Values in(64 * 64, value), out(in.size());
        void* bindings[] = {in.data(), out.data()};
        EXPECT_TRUE(context->executeV2(bindings));
        EXPECT_EQ(out, Values(in.size(), 2 * value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts.enqueued, 32);
  EXPECT_LE(counts.attached, 4);
}

// Q -> plugin -> DQ gives codes, with the scales of these two.
TEST_F(FactorTest, GetsCodesBetweenQuantizeAndDequantize) {
  factor_settings().codes = [](int pos, const PluginTensorDesc* descs) {
    return descs[pos].format == TensorFormat::kLINEAR;
  };
  const Values half = {0.5F}, two = {2};
  Maker maker;
  maker.config->setFlag(BuilderFlag::kINT8);
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{2, 3});
  const auto constant = [&](const Values& value) {
    return maker.network->addConstant(Dims{0, {}}, weights_of(value))->getOutput(0);
  };
  ITensor* codes = maker.network->addQuantize(*x, *constant(half))->getOutput(0);
  ITensor* made = add(*maker.network, {codes}, 4)->getOutput(0);
  EXPECT_EQ(made->getType(), DataType::kINT8);
  maker.network->markOutput(*maker.network->addDequantize(*made, *constant(two))->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, {0, 1, 2, 3, -4, 5}), (Values{0, 4, 8, 12, -16, 20}));
  ASSERT_EQ(counts.last.size(), 2U);
  EXPECT_EQ(counts.last[0].type, DataType::kINT8);
  EXPECT_EQ(counts.last[0].scale, 0.5F);
  EXPECT_EQ(counts.last[1].scale, 2.0F);
}

TEST_F(FactorTest, SurvivesARefitOfItsEngine) {
  const Values three = {3}, five = {5};
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 1, 1, 2});
  auto* conv = maker.network->addConvolutionNd(*x, 1, DimsHW{1, 1}, weights_of(three), Weights{});
  conv->setName("conv");
  maker.network->markOutput(*add(*maker.network, {conv->getOutput(0)}, 2)->getOutput(0));
  maker.config->setFlag(BuilderFlag::kREFIT);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  maker.network.reset();
  EXPECT_EQ(run(*engine, {1, 2}), (Values{6, 12}));
  const Own<IRefitter> refitter(createInferRefitter(*engine, maker.logger));
  ASSERT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights_of(five)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << maker.logger.text;
  EXPECT_EQ(run(*engine, {1, 2}), (Values{10, 20}));
}

// The plan with other words in what is attached to it.
std::string forged(const std::string& plan, const std::string& from, const std::string& to) {
  const auto engine =
      octet::Engine::load({reinterpret_cast<const std::byte*>(plan.data()), plan.size()});
  const auto raw = octet::attachment(engine);
  std::string text(reinterpret_cast<const char*>(raw.data()), raw.size());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  text.replace(at, from.size(), to);
  const uint64_t length = text.size() - 16;
  std::memcpy(text.data() + 8, &length, sizeof length);
  const auto bytes = octet::with_attachment(engine, std::as_bytes(std::span(text))).to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(FactorTest, WhatAPlanSaysOfPluginsIsNotBelieved) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{1, 2});
  maker.network->markOutput(*maker.network->addIdentity(*x)->getOutput(0));
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  const std::string head =
      R"({"key":"k","type":"Factor_TEST","version":"2","namespace":"","layer":"l","implicit":false,)";
  const std::string cases[] = {
      "7",
      "[1]",
      "[{}]",
      "[" + head + R"("ranks":[],"inputs":0,"formats":[],"state_bytes":0}])",
      "[" + head + R"("ranks":[1,1],"inputs":5,"formats":[],"state_bytes":0}])",
      "[" + head + R"("ranks":[1,99],"inputs":1,"formats":[],"state_bytes":0}])",
      "[" + head + R"("ranks":[1,1],"inputs":1,"formats":[],"state_bytes":0}])",
      "[" + head + R"("ranks":[1,1],"inputs":1,"formats":[["Float","kLINEAR"]],"state_bytes":0}])",
      "[" + head +
          R"("ranks":[1,1],"inputs":1,"formats":[["None","kLINEAR","Float","kLINEAR"]],"state_bytes":0}])",
      "[" + head +
          R"("ranks":[1,1],"inputs":1,"formats":[["Float","kNONE","Float","kLINEAR"]],"state_bytes":0}])",
      "[" + head +
          R"("ranks":[1,1],"inputs":1,"formats":[["Float","kLINEAR","Float","kLINEAR"]],"state_bytes":9999999}])",
      "[" + head +
          R"("ranks":[1,1],"inputs":1,"formats":[["Float","kLINEAR","Float","kLINEAR"]],"state_bytes":0}])",
  };
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  for (const std::string& plugins : cases) {
    maker.logger.text.clear();
    const std::string plan = forged(maker.plan_bytes, "\"plugins\":[]", "\"plugins\":" + plugins);
    EXPECT_EQ(runtime->deserializeCudaEngine(plan.data(), plan.size()), nullptr) << plugins;
    EXPECT_TRUE(maker.logger.has("damaged")) << plugins << "\n" << maker.logger.text;
  }
  EXPECT_EQ(counts.deserialized, 0);
}

// An engine of one copy, whose plan tells `key` as each of `values` in place of `own`: it is refused, with `said`.
void expect_refused(const std::string& key, const char* own, std::vector<const char*> values,
                    const char* said) {
  Maker maker;
  ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{3, 2});
  maker.network->markOutput(*maker.network->addIdentity(*x)->getOutput(0));
  ASSERT_TRUE(maker.build()) << maker.logger.text;
  const Own<IRuntime> runtime(createInferRuntime(maker.logger));
  for (const char* value : values) {
    maker.logger.text.clear();
    const std::string plan = forged(maker.plan_bytes, key + own, key + value);
    EXPECT_EQ(runtime->deserializeCudaEngine(plan.data(), plan.size()), nullptr) << value;
    EXPECT_TRUE(maker.logger.has(said)) << value << "\n" << maker.logger.text;
  }
}

TEST_F(FactorTest, FormatsOfAPlanAreThoseThatThereAre) {
  expect_refused("\"format\":", "0", {"-5", "13", "26"}, "the format of");
}

// Clients make memory by the sizes that a plan tells them.
TEST_F(FactorTest, SizesOfAPlanAreThoseOfItsEngine) {
  expect_refused("\"dims\":", "[3,2]", {"[3,1]", "[3]", "[3,2,1]", "[-7,2]", "[]"}, "the sizes of");
}

}  // namespace
}  // namespace trt_test
