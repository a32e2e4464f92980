// SPDX-License-Identifier: Apache-2.0
// ONNX models whose nodes name registered creators, and libraries of creators.
#include <algorithm>
#include <atomic>
#include <thread>

#include "model_bytes.h"
#include "plugin_support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

// Relu, the plugin of two inputs (one a weight) with a version, Relu.
std::string model_with_plugin(const std::string& op, const std::string& factor = real(2, 3),
                              const std::string& plugin_inputs = number(3, 2)) {
  const std::string attributes = text(5, text(1, "factor") + factor) +
                                 text(5, text(1, "inputs") + plugin_inputs) +
                                 text(5, text(1, "plugin_version") + text(4, "2") + number(20, 3));
  const Values weight = {1, 2, 3, 4};
  const std::string raw(reinterpret_cast<const char*>(weight.data()), 16);
  const std::string graph =
      text(1, node("Relu", {"x"}, "a")) + text(1, node(op, {"a", "w"}, "b", attributes)) +
      text(1, node("Relu", {"b"}, "y")) + text(2, "g") +
      text(5, number(1, 2) + number(1, 2) + number(2, 1) + text(8, "w") + text(9, raw)) +
      text(11, value_of("x", {2, 2})) + text(12, value_of("y", {2, 2}));
  return number(1, 8) + text(7, graph) + text(8, number(2, 17));
}

class PluginParser : public FactorTest {
 protected:
  PluginParser() : parser(nvonnxparser::createParser(*maker.network, maker.logger)) {}
  Maker maker;
  Own<nvonnxparser::IParser> parser;
};

TEST_F(PluginParser, ANodeThatNamesACreatorIsAPlugin) {
  const std::string model = model_with_plugin("Factor_TEST");
  EXPECT_TRUE(parser->supportsOperator("Factor_TEST"));
  SubGraphCollection_t graphs;
  EXPECT_TRUE(parser->supportsModel(model.data(), model.size(), graphs)) << maker.logger.text;
  ASSERT_TRUE(parser->parse(model.data(), model.size())) << maker.logger.text;
  ASSERT_EQ(maker.network->getNbLayers(), 3);
  ILayer* layer = maker.network->getLayer(1);
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V2);
  EXPECT_STREQ(layer->getName(), "Factor_TEST_b");
  EXPECT_EQ(sizes_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(sizes_of(maker.network->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 2}));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, {-5, 1, 2, -9}), (Values{3, 9, 15, 12}));
  parser.reset();
  maker.network.reset();
}

TEST_F(PluginParser, AttributesThatTheirFieldsCannotHoldAreRefused) {
  const struct {
    std::string factor, inputs, said;
  } cases[] = {
      {text(4, "3"), number(3, 2), "attribute 'factor' is a text"},
      {real(2, 3), text(4, "2"), "attribute 'inputs' is a text"},
      {real(2, 3), number(3, (uint64_t{1} << 32) + 2), "cannot hold 4294967298"},
  };
  for (const auto& one : cases) {
    const std::string model = model_with_plugin("Factor_TEST", one.factor, one.inputs);
    Maker other;
    const Own<nvonnxparser::IParser> fresh(
        nvonnxparser::createParser(*other.network, other.logger));
    EXPECT_FALSE(fresh->parse(model.data(), model.size())) << one.said;
    EXPECT_TRUE(other.logger.has(one.said)) << one.said << "\n" << other.logger.text;
  }
}

TEST_F(PluginParser, AnErrorOutlivesThatItIsCleared) {
  EXPECT_FALSE(parser->parse("x", 1));
  ASSERT_EQ(parser->getNbErrors(), 1);
  const nvonnxparser::IParserError* error = parser->getError(0);
  const std::string said = error->desc();
  parser->clearErrors();
  EXPECT_EQ(parser->getNbErrors(), 0);
  EXPECT_EQ(parser->getError(0), nullptr);
  EXPECT_FALSE(parser->parse("", 0));
  EXPECT_EQ(error->desc(), said);
}

TEST_F(PluginParser, ANodeThatNobodyKnowsIsAnError) {
  const std::string model = model_with_plugin("Unknown_TEST");
  EXPECT_FALSE(parser->parse(model.data(), model.size()));
  ASSERT_GT(parser->getNbErrors(), 0);
  EXPECT_NE(std::string(parser->getError(0)->desc()).find("Unknown_TEST"), std::string::npos);
}

TEST(PluginLibrary, BringsItsCreatorsAndTakesThemAway) {
  IPluginRegistry& registry = *getPluginRegistry();
  EXPECT_EQ(registry.loadLibrary("/none/such.so"), nullptr);
  IPluginRegistry::PluginLibraryHandle library = registry.loadLibrary(OCTET_TEST_PLUGIN_LIBRARY);
  ASSERT_NE(library, nullptr);
  IPluginCreator* creator = registry.getPluginCreator("Library_TEST", "1");
  ASSERT_NE(creator, nullptr);
  EXPECT_EQ(creator->createPlugin("p", nullptr), nullptr);
  registry.deregisterLibrary(library);
  EXPECT_EQ(registry.getPluginCreator("Library_TEST", "1"), nullptr);
}

TEST(PluginLibrary, OwnsWhatItRegistersWhileItIsOpened) {
  IPluginRegistry& registry = *getPluginRegistry();
  const auto library = registry.loadLibrary(OCTET_TEST_REGISTERING_LIBRARY);
  ASSERT_NE(library, nullptr);
  EXPECT_NE(registry.getPluginCreator("Library_TEST", "1"), nullptr);
  EXPECT_EQ(registry.loadLibrary(OCTET_TEST_REGISTERING_LIBRARY), library);
  registry.deregisterLibrary(library);
  EXPECT_NE(registry.getPluginCreator("Library_TEST", "1"), nullptr);  // it is loaded once more
  registry.deregisterLibrary(library);
  EXPECT_EQ(registry.getPluginCreator("Library_TEST", "1"), nullptr);
}

class RegistryListener final : public ILogger {
 public:
  explicit RegistryListener(std::atomic<int>& heard) : heard_(heard) {}
  void log(Severity, char const* msg) noexcept override {
    if (std::string(msg).find("IPluginRegistry") != std::string::npos) ++heard_;
  }

 private:
  std::atomic<int>& heard_;
};

// The registry belongs to no object: a logger that another thread destroys with its builder must not be called.
TEST(PluginLibrary, IsRefusedOnStandardErrorWhileOthersDestroyTheirLoggers) {
  constexpr int kRefusals = 500;
  std::atomic<int> heard = 0;
  std::atomic<bool> is_done = false;
  RegistryListener lasting(heard);
  const Own<IBuilder> builder(createInferBuilder(lasting));
  std::thread other([&] {
    while (!is_done) {
      const auto logger = std::make_unique<RegistryListener>(heard);
      const Own<IBuilder> brief(createInferBuilder(*logger));
      const Own<IRuntime> runtime(createInferRuntime(*logger));
    }
  });
  testing::internal::CaptureStderr();
  int refused = 0;
  for (int i = 0; i < kRefusals; ++i)
    refused += getPluginRegistry()->loadLibrary("/none/such.so") == nullptr ? 1 : 0;
  const std::string told = testing::internal::GetCapturedStderr();
  is_done = true;
  other.join();
  EXPECT_EQ(refused, kRefusals);
  EXPECT_EQ(heard, 0);
  EXPECT_EQ(std::ranges::count(told, '\n'), kRefusals);
  EXPECT_NE(told.find("IPluginRegistry::loadLibrary: "), std::string::npos) << told.substr(0, 400);
  EXPECT_NE(told.find("/none/such.so"), std::string::npos) << told.substr(0, 400);
}

}  // namespace
}  // namespace trt_test
