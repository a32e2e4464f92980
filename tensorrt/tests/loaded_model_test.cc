// SPDX-License-Identifier: Apache-2.0
// Models whose weights a client brings, name by name.
#include "model_bytes.h"
#include "support.h"

#if NV_TENSORRT_MAJOR >= 10

namespace trt_test::loaded_models {
namespace {

using Values = std::vector<float>;

constexpr const char* kNowhere = "/nowhere/model.onnx";

// y = x + w, whose weights lie in a file that is not there, or in the model.
std::string sum_model(const Values* weights = nullptr) {
  const std::string entry = text(13, text(1, "location") + text(2, "weights.bin")) + number(14, 1);
  const std::string raw = weights == nullptr
                              ? entry
                              : text(9, std::string(reinterpret_cast<const char*>(weights->data()),
                                                    weights->size() * sizeof(float)));
  const std::string graph =
      text(1, node("Add", {"x", "w"}, "y")) + text(2, "g") +
      text(5, number(1, 2) + number(1, 2) + number(2, 1) + text(8, "w") + raw) +
      text(11, value_of("x", {2, 2})) + text(12, value_of("y", {2, 2}));
  return number(1, 8) + text(7, graph) + text(8, number(2, 17));
}

const Values kWeights = {10, 20, 30, 40}, kInput = {1, 2, 3, 4};
constexpr size_t kBytes = 4 * sizeof(float);

struct ParserMaker : Maker {
  ParserMaker() : parser(nvonnxparser::createParser(*network, logger)) {}
  bool load(const std::string& model) {
    return parser->loadModelProto(model.data(), model.size(), kNowhere);
  }
  Own<nvonnxparser::IParser> parser;
};

TEST(LoadedModel, IsParsedWithTheWeightsThatAreGiven) {
  ParserMaker maker;
  ASSERT_TRUE(maker.load(sum_model())) << maker.logger.text;
  EXPECT_EQ(maker.network->getNbLayers(), 0) << "nothing is parsed yet";
  const Values others(4, 7);
  EXPECT_TRUE(maker.parser->loadInitializer("w", others.data(), kBytes));
  EXPECT_TRUE(maker.parser->loadInitializer("w", kWeights.data(), kBytes));  // the last counts
  ASSERT_TRUE(maker.parser->parseModelProto()) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, kInput), (Values{11, 22, 33, 44}));
}

TEST(LoadedModel, KeepsItsOwnWeightsOtherwise) {
  ParserMaker maker;
  ASSERT_TRUE(maker.load(sum_model(&kWeights)));
  ASSERT_TRUE(maker.parser->parseModelProto()) << maker.logger.text;
  EXPECT_EQ(run(*maker.build(), kInput), (Values{11, 22, 33, 44}));
}

TEST(LoadedModel, WhatDoesNotFitIsRefused) {
  ParserMaker maker;
  const auto refuses = [&](bool done, int errors, const std::string& said) {
    EXPECT_FALSE(done) << said;
    EXPECT_EQ(maker.parser->getNbErrors(), errors) << said;
    EXPECT_TRUE(maker.logger.has(said)) << said << "\n" << maker.logger.text;
  };
  nvonnxparser::IParser& parser = *maker.parser;
  refuses(parser.loadInitializer("w", kWeights.data(), kBytes), 1,
          "IParser::loadInitializer: no model is loaded");
  refuses(parser.parseModelProto(), 2, "IParser::parseModelProto: no model is loaded");
  refuses(maker.load("x"), 3, "IParser::loadModelProto: ");
  ASSERT_TRUE(maker.load(sum_model()));
  refuses(maker.load(sum_model()), 4, "a model is loaded already");
  refuses(parser.loadInitializer("v", kWeights.data(), kBytes), 5, "the model has no weights 'v'");
  refuses(parser.loadInitializer("w", kWeights.data(), kBytes - 1), 6,
          "weights 'w' have 16 bytes, and 15 are given");
  refuses(parser.loadInitializer("w", nullptr, kBytes), 7, "a null pointer are given");
  refuses(parser.parseModelProto(), 8, "IParser::parseModelProto: ");  // the file is not there
}

TEST(LoadedModel, RefitsAnEngine) {
  ParserMaker maker;
  const std::string model = sum_model(&kWeights);
  ASSERT_TRUE(maker.parser->parse(model.data(), model.size()));
  maker.config->setFlag(BuilderFlag::kREFIT);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IRefitter> refitter(createInferRefitter(*engine, maker.logger));
  const Own<nvonnxparser::IParserRefitter> own(
      nvonnxparser::createParserRefitter(*refitter, maker.logger));
  EXPECT_FALSE(own->refitModelProto());
  EXPECT_EQ(own->getNbErrors(), 1);
  const std::string bare = sum_model();
  ASSERT_TRUE(own->loadModelProto(bare.data(), bare.size())) << maker.logger.text;
  const Values ones(4, 1);
  EXPECT_FALSE(own->loadInitializer("v", ones.data(), kBytes));
  ASSERT_TRUE(own->loadInitializer("w", ones.data(), kBytes));
  ASSERT_TRUE(own->refitModelProto()) << maker.logger.text;
  ASSERT_TRUE(refitter->refitCudaEngine()) << maker.logger.text;
  EXPECT_EQ(run(*engine, kInput), (Values{2, 3, 4, 5}));
}

}  // namespace
}  // namespace trt_test::loaded_models

#endif
