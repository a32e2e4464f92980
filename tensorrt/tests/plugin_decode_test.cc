// SPDX-License-Identifier: Apache-2.0
// A decoding plugin of three inputs behind convolutions: with reals and beside INT8 layers, in both kinds of batches.
#include "decode_plugin.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

constexpr int kSide = 32;

// Maps of 4x4, 2x2 and 1x1 places: averages of the image, each through a convolution that leaves them as they are.
void add_levels(INetworkDefinition& network, ITensor& image, const Values& kernel,
                ITensor* (&levels)[3]) {
  for (int i = 0; i < 3; ++i) {
    const int window = 8 << i;
    auto* pool = network.addPoolingNd(image, PoolingType::kAVERAGE, DimsHW{window, window});
    pool->setStrideNd(DimsHW{window, window});
    auto* conv = network.addConvolutionNd(*pool->getOutput(0), 3, DimsHW{1, 1}, weights_of(kernel),
                                          Weights{});
    conv->setName(("level" + std::to_string(i)).c_str());
    levels[i] = conv->getOutput(0);
  }
}

Values one_to_one() {
  Values kernel(9, 0.0F);
  kernel[0] = kernel[4] = kernel[8] = 1;
  return kernel;
}

// Squares of 8x8 pixels, bright or dark, so that no average of any level is near the plugin's threshold.
Values image_of(int seed) {
  Values image(3 * kSide * kSide);
  for (int i = 0; i < 3 * kSide * kSide; ++i) {
    const int channel = i / (kSide * kSide), row = i / kSide % kSide / 8, column = i % kSide / 8;
    const bool dark = (channel * 5 + row * 7 + column * 3 + seed) % 4 == 0;
    image[static_cast<size_t>(i)] = dark ? 0.25F : 1;
  }
  return image;
}

Values expected_for(const Values& image) {
  Values maps[3];
  const float* pointers[3];
  const int sides[3] = {4, 2, 1};
  for (int i = 0; i < 3; ++i) {
    const int window = 8 << i, side = sides[i];
    for (int at = 0; at < 3 * side * side; ++at) {
      const int channel = at / (side * side), row = at / side % side, column = at % side;
      double sum = 0;
      for (int y = 0; y < window; ++y)
        for (int x = 0; x < window; ++x)
          sum += image[static_cast<size_t>((channel * kSide + row * window + y) * kSide +
                                           column * window + x)];
      maps[i].push_back(static_cast<float>(sum / (window * window)));
    }
    pointers[i] = maps[i].data();
  }
  return decoded(pointers, sides);
}

class ImageCalibrator : public IInt8EntropyCalibrator2 {
 public:
  ImageCalibrator() { cudaMalloc(&device_, sizeof(float) * 3 * kSide * kSide); }
  ~ImageCalibrator() override { cudaFree(device_); }
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void* bindings[], char const* names[], int32_t nbBindings) noexcept override {
    if (nbBindings != 1 || std::strcmp(names[0], "data") != 0 || given_ == 4) return false;
    const Values image = image_of(given_++);
    cudaMemcpy(device_, image.data(), image.size() * sizeof(float), cudaMemcpyHostToDevice);
    bindings[0] = device_;
    return true;
  }
  void const* readCalibrationCache(size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeCalibrationCache(void const* data, size_t length) noexcept override {
    cache.assign(static_cast<const char*>(data), length);
  }
  std::string cache;

 private:
  void* device_ = nullptr;
  int given_ = 0;
};

// As a program writes it: the creator by name, fields that nobody initialized.
struct DecodeMaker : Maker {
  explicit DecodeMaker(uint32_t flags) : Maker(flags), kernel(one_to_one()) {
    const bool implicit = network->hasImplicitBatchDimension();
    ITensor* data = network->addInput(
        "data", DataType::kFLOAT,
        implicit ? static_cast<Dims>(Dims3{3, kSide, kSide}) : Dims4{1, 3, kSide, kSide});
    ITensor* levels[3];
    add_levels(*network, *data, kernel, levels);
    IPluginCreator* creator = getPluginRegistry()->getPluginCreator("Decode_TEST", "1");
    PluginFieldCollection fields;
    IPluginV2* plugin = creator->createPlugin("decode", &fields);
    layer = network->addPluginV2(levels, 3, *plugin);
    EXPECT_TRUE(layer) << logger.text;
    plugin->destroy();
    layer->setName("decode");
    layer->getOutput(0)->setName("prob");
    network->markOutput(*layer->getOutput(0));
  }
  Values kernel;
  IPluginV2Layer* layer = nullptr;
};

TEST(DecodePlugin, DecodesWhatTheNetworkGives) {
  DecodeMaker maker(kExplicit);
  EXPECT_EQ(maker.layer->getType(), LayerType::kPLUGIN_V2);
  EXPECT_EQ(maker.layer->getNbInputs(), 3);
  EXPECT_STREQ(maker.layer->getPlugin().getPluginType(), "Decode_TEST");
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(sizes_of(engine->getTensorShape("prob")),
            (std::vector<int64_t>{1 + kMostPlaces * kPlaceValues, 1, 1}));
  const Values found = run(*engine, image_of(1)), wanted = expected_for(image_of(1));
  ASSERT_EQ(found.size(), wanted.size());
  EXPECT_GT(wanted[0], 0);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_FLOAT_EQ(found[i], wanted[i]) << i;
}

#if NV_TENSORRT_MAJOR < 10
TEST(DecodePlugin, SeesNoBatchWhereItIsImplicit) {
  DecodeMaker maker(0);
  maker.builder->setMaxBatchSize(2);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  ASSERT_EQ(engine->getNbBindings(), 2);
  EXPECT_EQ(engine->getBindingDimensions(1).nbDims, 3);
  const Own<IExecutionContext> context(engine->createExecutionContext());
  Values images = image_of(1), second = image_of(2), found(2 * (1 + kMostPlaces * kPlaceValues));
  images.insert(images.end(), second.begin(), second.end());
  void* bindings[] = {images.data(), found.data()};
  ASSERT_TRUE(context->enqueue(2, bindings, nullptr, nullptr)) << maker.logger.text;
  const Values one = expected_for(image_of(1)), two = expected_for(second);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_FLOAT_EQ(found[i], one[i]);
    EXPECT_FLOAT_EQ(found[one.size() + i], two[i]);
  }
}
#endif

// The plugin takes reals alone, so reals come to it, and the layers before it compute on codes.
TEST(DecodePlugin, GetsRealsBesideInt8Layers) {
  DecodeMaker maker(kExplicit);
  ImageCalibrator calibrator;
  maker.config->setFlag(BuilderFlag::kINT8);
  maker.config->setInt8Calibrator(&calibrator);
  maker.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IEngineInspector> inspector(engine->createEngineInspector());
  const std::string layers = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(layers.find("decode"), std::string::npos) << layers;
  EXPECT_NE(layers.find("Int8"), std::string::npos) << layers;
  const Values found = run(*engine, image_of(1)), wanted = expected_for(image_of(1));
  EXPECT_EQ(found[0], wanted[0]);
}

}  // namespace
}  // namespace trt_test
