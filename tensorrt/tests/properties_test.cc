// SPDX-License-Identifier: Apache-2.0
// Every property that a layer, a tensor or a profile has is what it was set to.
#include "NvOnnxConfig.h"
#include "kept.h"
#include "support.h"

namespace trt_test {
namespace {

using Values = std::vector<float>;

struct Properties : ::testing::Test {
  Properties() : values(64, 1), weights(weights_of(values)) {
    x = maker.network->addInput("x", DataType::kFLOAT, Dims4{1, 2, 4, 4});
  }
  INetworkDefinition& net() { return *maker.network; }
  Maker maker;
  Values values;
  Weights weights;
  ITensor* x;
};

template <class Layer>
void expect_a_window(Layer* layer) {
  EXPECT_KEPT_SIZES(layer, StrideNd, (DimsHW{2, 1}));
  EXPECT_KEPT_SIZES(layer, PrePadding, (DimsHW{1, 1}));
  EXPECT_KEPT_SIZES(layer, PostPadding, (DimsHW{0, 1}));
  EXPECT_KEPT_SIZES(layer, PaddingNd, (DimsHW{1, 0}));
  EXPECT_KEPT(layer, PaddingMode, PaddingMode::kSAME_UPPER);
#if NV_TENSORRT_MAJOR < 10
  EXPECT_KEPT_SIZES(layer, Stride, (DimsHW{1, 2}));
  EXPECT_KEPT_SIZES(layer, Padding, (DimsHW{0, 1}));
#endif
}

template <class Layer>
void expect_a_convolution(Layer* layer, const Weights& weights) {
  EXPECT_KEPT(layer, NbOutputMaps, 4);
  EXPECT_KEPT(layer, NbGroups, 2);
  EXPECT_KEPT_SIZES(layer, KernelSizeNd, (DimsHW{1, 3}));
  EXPECT_KEPT_SIZES(layer, DilationNd, (DimsHW{2, 2}));
  EXPECT_KEPT_WEIGHTS(layer, KernelWeights, weights);
  EXPECT_KEPT_WEIGHTS(layer, BiasWeights, weights);
  expect_a_window(layer);
#if NV_TENSORRT_MAJOR < 10
  EXPECT_KEPT_SIZES(layer, KernelSize, (DimsHW{3, 1}));
#endif
}

TEST_F(Properties, OfConvolutions) {
  auto* conv = net().addConvolutionNd(*x, 2, DimsHW{1, 1}, weights, Weights{});
  expect_a_convolution(conv, weights);
  expect_a_convolution(net().addDeconvolutionNd(*x, 2, DimsHW{1, 1}, weights, Weights{}), weights);
#if NV_TENSORRT_MAJOR < 10
  EXPECT_KEPT_SIZES(conv, Dilation, (DimsHW{1, 2}));
  EXPECT_NE(net().addConvolution(*x, 2, DimsHW{1, 1}, weights, Weights{}), nullptr);
  EXPECT_NE(net().addDeconvolution(*x, 2, DimsHW{1, 1}, weights, Weights{}), nullptr);
  IFullyConnectedLayer* full = net().addFullyConnected(*x, 2, weights, Weights{});
  EXPECT_KEPT(full, NbOutputChannels, 3);
  EXPECT_KEPT_WEIGHTS(full, KernelWeights, weights);
  EXPECT_KEPT_WEIGHTS(full, BiasWeights, weights);
  EXPECT_FALSE(net().hasExplicitPrecision());
  EXPECT_NE(net().addPadding(*x, DimsHW{0, 0}, DimsHW{0, 0}), nullptr);
#endif
}

TEST_F(Properties, OfPoolingAndActivations) {
  IPoolingLayer* pool = net().addPoolingNd(*x, PoolingType::kMAX, DimsHW{2, 2});
  expect_a_window(pool);
  EXPECT_KEPT(pool, PoolingType, PoolingType::kAVERAGE);
  EXPECT_KEPT(pool, BlendFactor, 0.5F);
  EXPECT_KEPT(pool, AverageCountExcludesPadding, false);
  EXPECT_KEPT_SIZES(pool, WindowSizeNd, (DimsHW{2, 3}));
#if NV_TENSORRT_MAJOR < 10
  EXPECT_NE(net().addPooling(*x, PoolingType::kMAX, DimsHW{2, 2}), nullptr);
  EXPECT_KEPT_SIZES(pool, WindowSize, (DimsHW{3, 2}));
#endif
  IActivationLayer* activation = net().addActivation(*x, ActivationType::kRELU);
  EXPECT_KEPT(activation, ActivationType, ActivationType::kCLIP);
  EXPECT_KEPT(activation, Alpha, -1.0F);
  EXPECT_KEPT(activation, Beta, 2.0F);
  IElementWiseLayer* sum = net().addElementWise(*x, *x, ElementWiseOperation::kSUM);
  EXPECT_KEPT(sum, Operation, ElementWiseOperation::kMAX);
}

TEST_F(Properties, OfReductionsAndChoices) {
  IReduceLayer* reduce = net().addReduce(*x, ReduceOperation::kSUM, 2, false);
  EXPECT_KEPT(reduce, Operation, ReduceOperation::kMAX);
  EXPECT_KEPT(reduce, ReduceAxes, 4U);
  EXPECT_KEPT(reduce, KeepDimensions, true);
  ITopKLayer* top = net().addTopK(*x, TopKOperation::kMAX, 1, 2);
  EXPECT_KEPT(top, Operation, TopKOperation::kMIN);
  EXPECT_KEPT(top, K, 2);
  EXPECT_KEPT(top, ReduceAxes, 4U);
#if NV_TENSORRT_MAJOR >= 10
  EXPECT_TRUE(top->setIndicesType(DataType::kINT32));
  EXPECT_EQ(top->getIndicesType(), DataType::kINT32);
#endif
  ISoftMaxLayer* softmax = net().addSoftMax(*x);
  EXPECT_KEPT(softmax, Axes, 2U);
  ITensor* both[] = {x, x};
  IConcatenationLayer* concat = net().addConcatenation(both, 2);
  EXPECT_KEPT(concat, Axis, 2);
  IMatrixMultiplyLayer* product =
      net().addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kNONE);
  product->setOperation(1, MatrixOperation::kTRANSPOSE);
  EXPECT_EQ(product->getOperation(1), MatrixOperation::kTRANSPOSE);
}

TEST_F(Properties, OfWhatMovesElements) {
  IShuffleLayer* shuffle = net().addShuffle(*x);
  shuffle->setFirstTranspose(Permutation{{0, 2, 1, 3}});
  EXPECT_EQ(shuffle->getFirstTranspose().order[1], 2);
  shuffle->setSecondTranspose(Permutation{{1, 0, 2, 3}});
  EXPECT_EQ(shuffle->getSecondTranspose().order[0], 1);
  EXPECT_KEPT(shuffle, ZeroIsPlaceholder, false);
  EXPECT_KEPT_SIZES(shuffle, ReshapeDimensions, (Dims4{4, 2, 1, 4}));
  ISliceLayer* slice = net().addSlice(*x, Dims4{}, Dims4{1, 1, 1, 1}, Dims4{1, 1, 1, 1});
  EXPECT_KEPT_SIZES(slice, Start, (Dims4{0, 1, 0, 0}));
  EXPECT_KEPT_SIZES(slice, Size, (Dims4{1, 1, 2, 2}));
  EXPECT_KEPT_SIZES(slice, Stride, (Dims4{1, 1, 2, 1}));
  EXPECT_KEPT_SIZES(slice, Axes, (Dims4{0, 1, 2, 3}));
  EXPECT_KEPT(slice, Mode, SampleMode::kCLAMP);
  IConstantLayer* constant = net().addConstant(dims_of({64}), weights);
  EXPECT_KEPT_WEIGHTS(constant, Weights, weights);
  EXPECT_KEPT_SIZES(constant, Dimensions, dims_of({8, 8}));
  ICastLayer* cast = net().addCast(*x, DataType::kINT32);
  EXPECT_KEPT(cast, ToType, DataType::kFLOAT);
}

TEST_F(Properties, OfResizing) {
  IResizeLayer* resize = net().addResize(*x);
  EXPECT_KEPT_SIZES(resize, OutputDimensions, (Dims4{1, 2, 8, 8}));
  EXPECT_KEPT(resize, ResizeMode, InterpolationMode::kCUBIC);
  EXPECT_KEPT(resize, CoordinateTransformation, ResizeCoordinateTransformation::kHALF_PIXEL);
  EXPECT_KEPT(resize, SelectorForSinglePixel, ResizeSelector::kUPPER);
  EXPECT_KEPT(resize, NearestRounding, ResizeRoundMode::kCEIL);
  EXPECT_KEPT(resize, CubicCoeff, -0.5F);
  EXPECT_KEPT(resize, ExcludeOutside, true);
  const float scales[] = {1, 1, 2, 2};
  resize->setScales(scales, 4);
  float kept[4] = {};
  EXPECT_EQ(resize->getScales(4, kept), 4);
  EXPECT_EQ(kept[3], 2);
#if NV_TENSORRT_MAJOR < 10
  EXPECT_KEPT(resize, AlignCorners, true);
#endif
}

TEST_F(Properties, OfQuantizeLayers) {
  const Values one = {1};
  ITensor* scale = net().addConstant(Dims{0, {}}, weights_of(one))->getOutput(0);
  IQuantizeLayer* quantize = net().addQuantize(*x, *scale);
  EXPECT_KEPT(quantize, Axis, 1);
  EXPECT_KEPT(quantize, ToType, DataType::kINT8);
  IDequantizeLayer* dequantize = net().addDequantize(*quantize->getOutput(0), *scale);
  EXPECT_KEPT(dequantize, Axis, 1);
  EXPECT_KEPT(dequantize, ToType, DataType::kFLOAT);
}

TEST_F(Properties, OfEveryLayer) {
  IIdentityLayer* layer = net().addIdentity(*x);
  layer->setName("same");
  EXPECT_STREQ(layer->getName(), "same");
  EXPECT_EQ(layer->getNbInputs(), 1);
  EXPECT_EQ(layer->getNbOutputs(), 1);
  EXPECT_EQ(layer->getInput(0), x);
  EXPECT_EQ(layer->getInput(1), nullptr);
  EXPECT_FALSE(layer->precisionIsSet());
  EXPECT_KEPT(layer, Precision, DataType::kINT8);
  EXPECT_TRUE(layer->precisionIsSet());
  layer->resetPrecision();
  EXPECT_FALSE(layer->precisionIsSet());
  layer->setOutputType(0, DataType::kHALF);
  EXPECT_TRUE(layer->outputTypeIsSet(0));
  EXPECT_EQ(layer->getOutputType(0), DataType::kHALF);
  layer->resetOutputType(0);
  EXPECT_FALSE(layer->outputTypeIsSet(0));
  layer->setMetadata("from here");
  EXPECT_STREQ(layer->getMetadata(), "from here");
  ITensor* other = net().addInput("other", DataType::kFLOAT, Dims2{3, 3});
  layer->setInput(0, *other);
  EXPECT_EQ(sizes_of(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 3}));
}

TEST_F(Properties, OfTensors) {
  EXPECT_TRUE(x->isNetworkInput());
  EXPECT_FALSE(x->isNetworkOutput());
  EXPECT_FALSE(x->isShapeTensor());
  EXPECT_TRUE(x->isExecutionTensor());
  x->setBroadcastAcrossBatch(true);
  EXPECT_TRUE(x->getBroadcastAcrossBatch());
  x->setLocation(TensorLocation::kHOST);
  EXPECT_EQ(x->getLocation(), TensorLocation::kHOST);
  EXPECT_TRUE(x->setDynamicRange(-2, 3));
  EXPECT_TRUE(x->dynamicRangeIsSet());
  EXPECT_EQ(x->getDynamicRangeMin(), -2);
  EXPECT_EQ(x->getDynamicRangeMax(), 3);
  x->resetDynamicRange();
  EXPECT_FALSE(x->dynamicRangeIsSet());
  x->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kHWC));
  EXPECT_EQ(x->getAllowedFormats(), 1U << static_cast<uint32_t>(TensorFormat::kHWC));
  x->setDimensionName(0, "batch");
  EXPECT_STREQ(x->getDimensionName(0), "batch");
  EXPECT_EQ(x->getDimensionName(1), nullptr);
  net().markOutput(*net().addIdentity(*x)->getOutput(0));
  EXPECT_EQ(&net().getBuilder(), maker.builder.get());
  EXPECT_EQ(net().getNbOutputs(), 1);
  EXPECT_TRUE(net().markOutputForShapes(*x));
  EXPECT_TRUE(net().unmarkOutputForShapes(*x));
  net().removeTensor(*x);
  EXPECT_EQ(net().getNbInputs(), 0);
}

TEST_F(Properties, OfProfiles) {
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  const int32_t values[] = {3, 4};
  EXPECT_EQ(profile->getNbShapeValues("s"), -1);
  for (auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    EXPECT_TRUE(profile->setShapeValues("s", select, values, 2));
  EXPECT_EQ(profile->getNbShapeValues("s"), 2);
  EXPECT_EQ(profile->getShapeValues("s", OptProfileSelector::kOPT)[1], 4);
#if NV_TENSORRT_MAJOR >= 10
  const int64_t wide[] = {5};
  EXPECT_TRUE(profile->setShapeValuesV2("w", OptProfileSelector::kMIN, wide, 1));
  EXPECT_EQ(profile->getShapeValuesV2("w", OptProfileSelector::kMIN)[0], 5);
  EXPECT_FALSE(profile->isValid());  // as long as an end is missing
  for (auto select : {OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    EXPECT_TRUE(profile->setShapeValuesV2("w", select, wide, 1));
#endif
  EXPECT_TRUE(profile->setExtraMemoryTarget(0.5F));
  EXPECT_FALSE(profile->setExtraMemoryTarget(2));
  EXPECT_EQ(profile->getExtraMemoryTarget(), 0.5F);
  EXPECT_TRUE(profile->isValid());
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{4, 4}));
  EXPECT_FALSE(profile->isValid());
}

// Its interface is all there is of it: samples derive their own.
class OnnxConfig : public nvonnxparser::IOnnxConfig {
 public:
  void setModelDtype(const nvinfer1::DataType type) noexcept override { type_ = type; }
  nvinfer1::DataType getModelDtype() const noexcept override { return type_; }
  const char* getModelFileName() const noexcept override { return name_.c_str(); }
  void setModelFileName(const char* name) noexcept override { name_ = name; }
  nvonnxparser::IOnnxConfig::Verbosity getVerbosityLevel() const noexcept override {
    return level_;
  }
  void addVerbosity() noexcept override { ++level_; }
  void reduceVerbosity() noexcept override { --level_; }
  void setVerbosityLevel(nvonnxparser::IOnnxConfig::Verbosity level) noexcept override {
    level_ = level;
  }
  const char* getTextFileName() const noexcept override { return ""; }
  void setTextFileName(const char*) noexcept override {}
  const char* getFullTextFileName() const noexcept override { return ""; }
  void setFullTextFileName(const char*) noexcept override {}
  bool getPrintLayerInfo() const noexcept override { return print_; }
  void setPrintLayerInfo(bool print) noexcept override { print_ = print; }
#if NV_TENSORRT_MAJOR < 10
  void destroy() noexcept override {}
#endif

 private:
  nvinfer1::DataType type_ = nvinfer1::DataType::kFLOAT;
  std::string name_;
  nvonnxparser::IOnnxConfig::Verbosity level_ = 0;
  bool print_ = false;
};

TEST(OnnxConfig, MayBeDerivedFrom) {
  OnnxConfig own;
  nvonnxparser::IOnnxConfig& config = own;
  config.setModelDtype(DataType::kINT8);
  EXPECT_EQ(config.getModelDtype(), DataType::kINT8);
  config.setModelFileName("m.onnx");
  EXPECT_STREQ(config.getModelFileName(), "m.onnx");
  config.setVerbosityLevel(2);
  config.addVerbosity();
  config.reduceVerbosity();
  EXPECT_EQ(config.getVerbosityLevel(), 2);
  config.setPrintLayerInfo(true);
  EXPECT_TRUE(config.getPrintLayerInfo());
}

}  // namespace
}  // namespace trt_test
