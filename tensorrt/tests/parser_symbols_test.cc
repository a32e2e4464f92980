// SPDX-License-Identifier: Apache-2.0
// What parsers answer beside what other tests ask them.
#include "support.h"

namespace trt_test {
namespace {

std::string digits_model() {
  std::ifstream file(std::string(OCTET_SOURCE_DIR) + "/examples/digits/digits.onnx",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Parser, ErrorsSayWhereTheyAre) {
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  EXPECT_FALSE(parser->parse("no model", 8));
  const nvonnxparser::IParserError* error = parser->getError(0);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(error->code(), nvonnxparser::ErrorCode::kSUCCESS);
  EXPECT_GE(error->line(), 0);
  EXPECT_NE(error->file(), nullptr);
  EXPECT_STREQ(error->func(), "parse");
  EXPECT_EQ(error->node(), -1);
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_NE(error->nodeName(), nullptr);
  EXPECT_NE(error->nodeOperator(), nullptr);
  EXPECT_EQ(error->localFunctionStackSize(), 0);
  EXPECT_EQ(error->localFunctionStack(), nullptr);
#endif
}

TEST(Parser, FlagsAreKeptAndNoLibraryIsNeeded) {
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  using nvonnxparser::OnnxParserFlag;
  parser->setFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  EXPECT_TRUE(parser->getFlag(OnnxParserFlag::kNATIVE_INSTANCENORM));
  parser->clearFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  EXPECT_EQ(parser->getFlags(), 0U);
  parser->setFlags(1);
  EXPECT_EQ(parser->getFlags(), 1U);
  int64_t libraries = -1;
  parser->getUsedVCPluginLibraries(libraries);
  EXPECT_EQ(libraries, 0);
}

#if NV_TENSORRT_MAJOR >= 10
TEST(Parser, OfLevelTenKnowsLayersAndSubgraphs) {
  const std::string model = digits_model();
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  EXPECT_TRUE(parser->setBuilderConfig(maker.config.get()));
  EXPECT_TRUE(parser->supportsModelV2(model.data(), model.size()));
  ASSERT_EQ(parser->getNbSubgraphs(), 1);
  EXPECT_TRUE(parser->isSubgraphSupported(0));
  int64_t nodes = 0;
  EXPECT_NE(parser->getSubgraphNodes(0, nodes), nullptr);
  EXPECT_EQ(nodes, 22);
  ASSERT_TRUE(parser->parse(model.data(), model.size()));
  const ILayer* layer = maker.network->getLayer(0);
  EXPECT_EQ(parser->getLayerOutputTensor(layer->getName(), 0), layer->getOutput(0));
  EXPECT_EQ(parser->getLayerOutputTensor("none", 0), nullptr);
}

TEST(ParserRefitter, TakesTheWeightsOfAModel) {
  const std::string model = digits_model();
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  ASSERT_TRUE(parser->parse(model.data(), model.size()));
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  for (auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    profile->setDimensions("image", select, Dims4{1, 1, 8, 8});
  maker.config->addOptimizationProfile(profile);
  maker.config->setFlag(BuilderFlag::kREFIT);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IRefitter> refitter(createInferRefitter(*engine, maker.logger));
  const Own<nvonnxparser::IParserRefitter> own(
      nvonnxparser::createParserRefitter(*refitter, maker.logger));
  EXPECT_TRUE(own->refitFromBytes(model.data(), model.size())) << maker.logger.text;
  EXPECT_FALSE(own->refitFromFile("/no/such/file.onnx"));
  EXPECT_GT(own->getNbErrors(), 0);
}
#else
TEST(Parser, OfLevelEightReadsDescriptorsAsWeights) {
  const std::string model = digits_model();
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  EXPECT_TRUE(parser->parseWithWeightDescriptors(model.data(), model.size()));
}
#endif

}  // namespace
}  // namespace trt_test
