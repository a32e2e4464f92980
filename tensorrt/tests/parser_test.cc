// SPDX-License-Identifier: Apache-2.0
// ONNX models through the parser: what the sample of digits does, FP32 and INT8, held against Octet's own interface to the bit.
#include "NvInferPlugin.h"
#include "octet/compile.h"
#include "octet/inspect.h"
#include "octet/npz.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

std::string digits_file(const std::string& name) {
  return std::string(OCTET_SOURCE_DIR) + "/examples/digits/" + name;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Images as the model takes them, 64 floats each.
Values digits(const char* array, size_t count) {
  const octet::Tensor all = octet::read_npz(digits_file("digits.npz"), array);
  const auto pixels = all.as<uint8_t>();
  Values images;
  for (size_t i = 0; i < count * 64; ++i) images.push_back(static_cast<float>(pixels[i]) / 16);
  return images;
}

constexpr size_t kBatch = 50, kBatches = 4;

class DigitsCalibrator : public IInt8EntropyCalibrator2 {
 public:
  DigitsCalibrator() : images_(digits("train_images", kBatch * kBatches)) {
    cudaMalloc(&device_, kBatch * 64 * sizeof(float));
  }
  ~DigitsCalibrator() override { cudaFree(device_); }
  int32_t getBatchSize() const noexcept override { return kBatch; }
  bool getBatch(void* bindings[], char const* names[], int32_t) noexcept override {
    if (next_ == kBatches || std::strcmp(names[0], "image") != 0) return false;
    cudaMemcpy(device_, images_.data() + next_++ * kBatch * 64, kBatch * 64 * 4,
               cudaMemcpyHostToDevice);
    bindings[0] = device_;
    return true;
  }
  void const* readCalibrationCache(size_t&) noexcept override { return nullptr; }
  void writeCalibrationCache(void const*, size_t) noexcept override {}

 private:
  Values images_;
  size_t next_ = 0;
  void* device_ = nullptr;
};

struct DigitsMaker : Maker {
  DigitsMaker() : parser(nvonnxparser::createParser(*network, logger)) {
    EXPECT_TRUE(parser->parseFromFile(digits_file("digits.onnx").c_str(),
                                      static_cast<int>(ILogger::Severity::kWARNING)))
        << logger.text;
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto select :
         {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      profile->setDimensions("image", select,
                             Dims4{select == OptProfileSelector::kMIN ? 1 : int(kBatch), 1, 8, 8});
    config->addOptimizationProfile(profile);
  }
  Own<nvonnxparser::IParser> parser;
};

Values run_digits(ICudaEngine& engine, Values images, int classes = 10) {
  const Own<IExecutionContext> context(engine.createExecutionContext());
  const auto count = static_cast<int>(images.size() / 64);
  EXPECT_TRUE(context->setInputShape("image", Dims4{count, 1, 8, 8}));
  Values logits(static_cast<size_t>(count * classes));
  const char* output = engine.getIOTensorName(1);
  EXPECT_EQ(volume(context->getTensorShape(output)), count * classes);
  EXPECT_TRUE(context->setInputTensorAddress("image", images.data()));
  EXPECT_TRUE(context->setTensorAddress(output, logits.data()));
  EXPECT_TRUE(context->enqueueV3(nullptr));
  return logits;
}

Values run_own(const octet::CompileOptions& options, const Values& images) {
  const octet::Engine engine =
      octet::compile(std::filesystem::path(digits_file("digits.onnx")), options);
  const auto count = static_cast<int64_t>(images.size() / 64);
  const octet::Tensor input =
      octet::Tensor::of<float>(octet::Shape{count, 1, 8, 8}, std::span<const float>(images));
  const auto outputs = engine.make_context().run(std::vector<octet::Tensor>{input});
  const auto logits = outputs[0].as<float>();
  return {logits.begin(), logits.end()};
}

TEST(Parser, NodesBecomeLayersWithTheirNames) {
  DigitsMaker maker;
  EXPECT_EQ(maker.network->getNbLayers(), 22);
  ILayer* conv = maker.network->getLayer(0);
  EXPECT_STREQ(conv->getName(), "/0/Conv");
  EXPECT_EQ(conv->getType(), LayerType::kCONVOLUTION);
  EXPECT_EQ(conv->getNbInputs(), 1);
  EXPECT_STREQ(conv->getInput(0)->getName(), "image");
  EXPECT_STREQ(conv->getOutput(0)->getName(), "/0/Conv_output_0");
  EXPECT_EQ(maker.network->getLayer(1)->getType(), LayerType::kACTIVATION);
  EXPECT_EQ(sizes_of(maker.network->getInput(0)->getDimensions()),
            (std::vector<int64_t>{-1, 1, 8, 8}));
  EXPECT_STREQ(maker.network->getInput(0)->getDimensionName(0), "N");
  EXPECT_EQ(sizes_of(maker.network->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 10}));
}

TEST(Parser, Fp32IsOctetsToTheBit) {
  DigitsMaker maker;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Values images = digits("test_images", kBatch);
  EXPECT_EQ(run_digits(*engine, images), run_own({}, images));
}

TEST(Parser, Int8OfACalibratorIsOctetsToTheBit) {
  DigitsCalibrator calibrator;
  DigitsMaker maker;
  maker.config->setFlag(BuilderFlag::kINT8);
  maker.config->setInt8Calibrator(&calibrator);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Values training = digits("train_images", kBatch * kBatches);
  size_t next = 0;
  octet::CompileOptions options;
  options.plan.int8 = true;
  options.calibration.emplace();
  options.calibration->method = octet::RangeMethod(octet::RangeRule::entropy);
  options.calibration->samples = [&](std::vector<octet::Tensor>& inputs) {
    if (next == kBatches) return false;
    inputs = {
        octet::Tensor::of<float>(octet::Shape{int64_t{kBatch}, 1, 8, 8},
                                 std::span(training).subspan(next++ * kBatch * 64, kBatch * 64))};
    return true;
  };
  const Values images = digits("test_images", kBatch);
  const Values logits = run_digits(*engine, images);
  EXPECT_EQ(logits, run_own(options, images));
  EXPECT_NE(logits, run_own({}, images));  // it is not the float engine
}

TEST(Parser, LayersMayBeAddedBehindTheModel) {
  DigitsMaker maker;
  ITensor* logits = maker.network->getOutput(0);
  ISoftMaxLayer* softmax = maker.network->addSoftMax(*logits);
  softmax->setAxes(1U << 1);
  softmax->getOutput(0)->setName("probabilities");
  maker.network->unmarkOutput(*logits);
  maker.network->markOutput(*softmax->getOutput(0));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_STREQ(engine->getIOTensorName(1), "probabilities");
  const Values images = digits("test_images", 4);
  const Values probabilities = run_digits(*engine, images), scores = run_own({}, images);
  for (size_t i = 0; i < 4; ++i) {
    const auto best = [&](const Values& all) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * 10);
      return std::max_element(first, first + 10) - first;
    };
    EXPECT_EQ(best(probabilities), best(scores));
    EXPECT_LE(probabilities[i * 10], 1.0F);
  }
}

TEST(Parser, ErrorsHaveACodeAndTheReason) {
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  EXPECT_FALSE(parser->parse("no model", 8));
  ASSERT_EQ(parser->getNbErrors(), 1);
  EXPECT_NE(std::string(parser->getError(0)->desc()), "");
  EXPECT_EQ(parser->getError(1), nullptr);
  EXPECT_FALSE(parser->parseFromFile("/no/such/file.onnx", 0));
  EXPECT_NE(std::string(parser->getError(1)->desc()).find("/no/such/file.onnx"), std::string::npos);
  parser->clearErrors();
  EXPECT_EQ(parser->getNbErrors(), 0);
  EXPECT_EQ(maker.network->getNbLayers(), 0);
}

TEST(Parser, KnowsWhatItSupports) {
  Maker maker;
  const Own<nvonnxparser::IParser> parser(nvonnxparser::createParser(*maker.network, maker.logger));
  EXPECT_TRUE(parser->supportsOperator("Conv"));
  EXPECT_FALSE(parser->supportsOperator("Nothing"));
  const std::string model = read(digits_file("digits.onnx"));
  SubGraphCollection_t parts;
  EXPECT_TRUE(parser->supportsModel(model.data(), model.size(), parts));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].first.size(), 22U);
  EXPECT_TRUE(parts[0].second);
}

TEST(Parser, LibrariesSayWhatTheyAre) {
  EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
  EXPECT_EQ(getNvOnnxParserVersion(), NV_ONNX_PARSER_VERSION);
  Logger logger;
  EXPECT_TRUE(initLibNvInferPlugins(&logger, ""));
  EXPECT_EQ(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_MAJOR >= 10 ? 8601 : 100000), nullptr);
  EXPECT_TRUE(logger.has("compiled for TensorRT"));
}

TEST(Engine, IsAnOctetEngineAndAnyOctetEngineIsAPlan) {
  const octet::Engine own = octet::compile(std::filesystem::path(digits_file("digits.onnx")));
  const std::vector<std::byte> bytes = own.to_bytes();
  Logger logger;
  const Own<IRuntime> runtime(createInferRuntime(logger));
  const Own<ICudaEngine> engine(runtime->deserializeCudaEngine(bytes.data(), bytes.size()));
  ASSERT_TRUE(engine) << logger.text;
  EXPECT_EQ(engine->getNbIOTensors(), 2);
  const Values images = digits("test_images", 2);
  EXPECT_EQ(run_digits(*engine, images), run_own({}, images));
}

}  // namespace
}  // namespace trt_test
