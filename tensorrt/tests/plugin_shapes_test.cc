// SPDX-License-Identifier: Apache-2.0
// Plugins of level 10 that are told the numbers of shape inputs.
#include <algorithm>
#include <cmath>
#include <deque>

#include "plain_v3.h"
#include "support.h"

#if NV_TENSORRT_MAJOR >= 10
namespace trt_test {
namespace {

using Values = std::vector<float>;
using Sizes = std::vector<int64_t>;
// As getOutputShapes() was told them; -9 for a number that was not known.
using Told = std::vector<Sizes>;

struct ShapesSeen {
  std::vector<Told> told;
  int runs_on_codes = 0;
  bool on_codes = false;  // it can
  bool first_rows =
      false;  // it gives as many rows as x has positive numbers, at most the first number of the shape
  int fields = 0;  // that its creator got
};
ShapesSeen seen;

// The numbers of x again and again, as many as a tensor of the sizes holds that the shape inputs tell.
class Repeated : public PlainV3<IPluginV3OneBuild> {
 public:
  static constexpr const char* kName = "Repeated";
  static constexpr const char* kSpace = "";

  IPluginV3* clone() noexcept override { return new Repeated; }
  char const* getPluginName() const noexcept override { return kName; }
  int32_t getNbOutputs() const noexcept override { return seen.first_rows ? 2 : 1; }
  int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t inputs,
                          DynamicPluginTensorDesc const*, int32_t) noexcept override {
    return inputs == 1 ? 0 : 5;
  }
  int32_t getOutputDataTypes(DataType* types, int32_t outputs, DataType const*,
                             int32_t inputs) const noexcept override {
    types[0] = DataType::kFLOAT;
    if (outputs == 2) types[1] = DataType::kINT32;
    return inputs == 1 ? 0 : 6;
  }
  int32_t getOutputShapes(DimsExprs const*, int32_t inputs, DimsExprs const* shapes,
                          int32_t shape_count, DimsExprs* outputs, int32_t,
                          IExprBuilder& builder) noexcept override {
    Told told;
    outputs[0].nbDims = 0;
    for (int32_t i = 0; i < shape_count; ++i) {
      told.emplace_back();
      for (int32_t d = 0; d < shapes[i].nbDims; ++d) {
        const IDimensionExpr* number = shapes[i].d[d];
        told.back().push_back(number->isConstant() ? number->getConstantValue() : -9);
        // A size of -1 is one row.
        outputs[0].d[outputs[0].nbDims++] =
            builder.operation(DimensionOperation::kMAX, *number, *builder.constant(1));
      }
    }
    seen.told.push_back(told);
    if (seen.first_rows) {
      const IDimensionExpr& most = *outputs[0].d[0];
      outputs[0].d[0] = builder.declareSizeTensor(1, most, most);
      outputs[1].nbDims = 0;
    }
    return inputs == 1 && shape_count > 0 ? 0 : 7;
  }
  bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* descs, int32_t inputs,
                                 int32_t outputs) noexcept override {
    if (inputs != 1 || outputs != getNbOutputs()) return false;
    const PluginTensorDesc& desc = descs[pos].desc;
    const bool codes = seen.on_codes && pos < 2 && desc.type == DataType::kINT8;
    const DataType wanted = pos == 2 ? DataType::kINT32 : DataType::kFLOAT;
    return (codes ? descs[0].desc.type == DataType::kINT8 : desc.type == wanted) &&
           desc.format == TensorFormat::kLINEAR;
  }
  size_t getWorkspaceSize(DynamicPluginTensorDesc const*, int32_t inputs,
                          DynamicPluginTensorDesc const*, int32_t) const noexcept override {
    return inputs == 1 ? 16 : SIZE_MAX;
  }
  int32_t onShapeChange(PluginTensorDesc const*, int32_t inputs, PluginTensorDesc const*,
                        int32_t) noexcept override {
    return inputs == 1 ? 0 : 8;
  }
  int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out,
                  void const* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    const int64_t count = volume(in->dims);
    if (in->type == DataType::kINT8) {
      seen.runs_on_codes += 1;
      const auto* x = static_cast<const int8_t*>(inputs[0]);
      for (int64_t i = 0; i < volume(out->dims); ++i)
        static_cast<int8_t*>(outputs[0])[i] = static_cast<int8_t>(
            std::nearbyint(static_cast<float>(x[i % count]) * in->scale / out->scale));
      return 0;
    }
    const auto* x = static_cast<const float*>(inputs[0]);
    for (int64_t i = 0; i < volume(out->dims); ++i)
      static_cast<float*>(outputs[0])[i] = x[i % count];
    if (seen.first_rows) {
      *static_cast<int32_t*>(outputs[1]) =
          static_cast<int32_t>(std::count_if(x, x + count, [](float v) { return v > 0; }));
    }
    return 0;
  }
};

class RepeatedCreator : public PlainCreatorV3<Repeated> {
 public:
  IPluginV3* createPlugin(char const* name, PluginFieldCollection const* fields,
                          TensorRTPhase phase) noexcept override {
    seen.fields = fields->nbFields;
    return PlainCreatorV3::createPlugin(name, fields, phase);
  }
};

// Of a result whose sizes a run tells.
class Result : public IOutputAllocator {
 public:
  void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override {
    memory.resize(size / sizeof(float) + 1);
    return memory.data();
  }
  void notifyShape(char const*, Dims const& dims) noexcept override {
    sizes = sizes_of(dims);
    memory.resize(static_cast<size_t>(volume(dims)));
  }
  Values memory;
  Sizes sizes;
};

class PluginShapesTest : public ::testing::Test {
 protected:
  PluginShapesTest() {
    seen = {};
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator_, ""));
  }
  ~PluginShapesTest() override {
    maker.network.reset();
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator_));
  }

  ITensor* input(const char* name, DataType type, const std::vector<int>& sizes) {
    return maker.network->addInput(name, type, dims_of(sizes));
  }
  ITensor* constant(const std::vector<int>& sizes, const std::vector<int32_t>& numbers) {
    const std::vector<int32_t>& kept = kept_.emplace_back(numbers);
    return maker.network
        ->addConstant(dims_of(sizes),
                      {DataType::kINT32, kept.data(), static_cast<int64_t>(kept.size())})
        ->getOutput(0);
  }
  ILayer* plugin(ITensor* x, const std::vector<ITensor*>& shapes) {
    Repeated of;
    return maker.network->addPluginV3(&x, 1, shapes.data(), static_cast<int32_t>(shapes.size()),
                                      of);
  }
  // Behind the plugin: -y.
  ITensor* mark(ILayer* layer) {
    ITensor* y = maker.network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
    y->setName("y");
    maker.network->markOutput(*y);
    return y;
  }
  static Values repeated(const Values& x, int64_t count) {
    Values y;
    for (int64_t i = 0; i < count; ++i) y.push_back(-x[static_cast<size_t>(i) % x.size()]);
    return y;
  }

  Maker maker;

 private:
  RepeatedCreator creator_;
  std::deque<std::vector<int32_t>> kept_;
};

TEST_F(PluginShapesTest, ConstantsAreKnownInTheNetwork) {
  ITensor* x = input("x", DataType::kFLOAT, {3});
  ILayer* layer = plugin(x, {constant({2}, {2, 4}), constant({}, {3}), constant({1, 2}, {-1, 1})});
  ASSERT_NE(layer, nullptr) << maker.logger.text;
  EXPECT_EQ(layer->getNbInputs(), 4);
  EXPECT_EQ(layer->getInput(0), x);
  ITensor* y = mark(layer);
  EXPECT_EQ(sizes_of(y->getDimensions()), (Sizes{2, 4, 3, 1, 1})) << maker.logger.text;
  for (const Told& told : seen.told) EXPECT_EQ(told, (Told{{2, 4}, {3}, {-1, 1}}));
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(sizes_of(engine->getTensorShape("y")), (Sizes{2, 4, 3, 1, 1}));
  EXPECT_EQ(run(*engine, counting(3)), repeated(counting(3), 24));
  for (const Told& told : seen.told) EXPECT_EQ(told, (Told{{2, 4}, {3}, {-1, 1}}));
}

// What the sizes of inputs tell is known where a run begins.
TEST_F(PluginShapesTest, FollowFromSizesOfInputs) {
  ITensor* x = input("x", DataType::kFLOAT, {3});
  ITensor* like = input("like", DataType::kFLOAT, {-1, 5});
  ITensor* shape = maker.network->addShape(*like)->getOutput(0);
  ITensor* y = mark(plugin(x, {shape}));
  EXPECT_EQ(sizes_of(y->getDimensions()), (Sizes{-1, 5})) << maker.logger.text;
  EXPECT_EQ(seen.told.back(), (Told{{-9, 5}}));
  IOptimizationProfile* profile = maker.builder->createOptimizationProfile();
  profile->setDimensions("like", OptProfileSelector::kMIN, dims_of({1, 5}));
  profile->setDimensions("like", OptProfileSelector::kOPT, dims_of({2, 5}));
  profile->setDimensions("like", OptProfileSelector::kMAX, dims_of({4, 5}));
  maker.config->addOptimizationProfile(profile);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(sizes_of(engine->getTensorShape("y")), (Sizes{-1, 5}));
  const Own<IExecutionContext> context(engine->createExecutionContext());
  for (const int rows : {3, 1, 4}) {
    Values in = counting(3), other(static_cast<size_t>(5 * rows)), out(other.size());
    ASSERT_TRUE(context->setInputShape("like", dims_of({rows, 5})));
    EXPECT_EQ(sizes_of(context->getTensorShape("y")), (Sizes{rows, 5}));
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("like", other.data());
    context->setTensorAddress("y", out.data());
    ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
    EXPECT_EQ(out, repeated(in, 5 * rows));
  }
}

// Numbers that a run brings: as an input of the network, and computed from data.
TEST_F(PluginShapesTest, FollowFromData) {
  ITensor* x = input("x", DataType::kFLOAT, {3});
  ITensor* rows = input("rows", DataType::kINT32, {1});
  ITensor* both =
      maker.network->addElementWise(*rows, *rows, ElementWiseOperation::kSUM)->getOutput(0);
  ITensor* y = mark(plugin(x, {both, constant({1}, {2})}));
  EXPECT_EQ(sizes_of(y->getDimensions()), (Sizes{-1, 2})) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(sizes_of(engine->getTensorShape("y")), (Sizes{-1, 2}));
  const Own<IExecutionContext> context(engine->createExecutionContext());
  for (int32_t given : {1, 3, 2}) {
    Values in = counting(3);
    Result out;
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("rows", &given);
    ASSERT_TRUE(context->setOutputAllocator("y", &out));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
    EXPECT_EQ(out.sizes, (Sizes{2 * given, 2}));
    EXPECT_EQ(out.memory, repeated(in, 4 * given));
  }
}

// The bound of a size that the plugin's data tell.
TEST_F(PluginShapesTest, BoundSizesThatDataTell) {
  seen.first_rows = true;
  ITensor* x = input("x", DataType::kFLOAT, {3});
  ITensor* most = input("most", DataType::kINT32, {1});
  ILayer* layer = plugin(x, {most, constant({1}, {2})});
  ITensor* y = mark(layer);
  EXPECT_EQ(sizes_of(y->getDimensions()), (Sizes{-1, 2})) << maker.logger.text;
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  for (const Values& in : {Values{1, -2, 3}, Values{-1, -2, -3}, Values{1, 2, 3}}) {
    Values copy = in;
    int32_t given = 5;
    Result out;
    context->setTensorAddress("x", copy.data());
    context->setTensorAddress("most", &given);
    ASSERT_TRUE(context->setOutputAllocator("y", &out));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << maker.logger.text;
    const auto positive = std::ranges::count_if(in, [](float v) { return v > 0; });
    EXPECT_EQ(out.sizes, (Sizes{positive, 2}));
    EXPECT_EQ(out.memory, repeated(in, 2 * positive));
  }
  int32_t few = 2;  // and data of three
  Values all = {1, 2, 3};
  Result out;
  context->setTensorAddress("x", all.data());
  context->setTensorAddress("most", &few);
  context->setOutputAllocator("y", &out);
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_TRUE(maker.logger.has("its shape rule at most 2x2")) << maker.logger.text;
}

// Numbers are no codes: the plugin computes on codes beside them.
TEST_F(PluginShapesTest, StandBesideCodes) {
  seen.on_codes = true;
  ITensor* x = input("x", DataType::kFLOAT, {1, 1, 2, 2});
  const Values one = {1};
  const auto convolution = [&](ITensor& of) {
    auto* layer = maker.network->addConvolutionNd(of, 1, DimsHW{1, 1}, weights_of(one), Weights{});
    return layer->getOutput(0);
  };
  ITensor* before = convolution(*x);
  ITensor* repeated_twice = plugin(before, {constant({4}, {1, 1, 2, 4})})->getOutput(0);
  ITensor* y = convolution(*repeated_twice);
  y->setName("y");
  maker.network->markOutput(*y);
  for (ITensor* tensor : {x, before, y}) ASSERT_TRUE(tensor->setDynamicRange(-127, 127));
  ASSERT_TRUE(repeated_twice->setDynamicRange(-63.5, 63.5));  // of another scale
  maker.config->setFlag(BuilderFlag::kINT8);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_TRUE(engine) << maker.logger.text;
  EXPECT_EQ(run(*engine, {1, -2, 3, 40}), (Values{1, -2, 3, 40, 1, -2, 3, 40}));
  EXPECT_GT(seen.runs_on_codes, 0);
}

TEST_F(PluginShapesTest, WhatCannotBeOneIsNamed) {
  ITensor* x = input("x", DataType::kFLOAT, {3});
  ITensor* open = input("open", DataType::kINT32, {-1});
  const struct {
    ITensor* shape;
    std::string said;
  } cases[] = {
      {x, "shape input 1, 'x', is of type Float, not Int32 or Int64"},
      {constant({9}, std::vector<int32_t>(9, 1)),
       "has 9 elements; getOutputShapes() can be told 8"},
      {open, "shape input 1, 'open', has a number of elements that is not known"},
  };
  for (const auto& one : cases) {
    ILayer* layer = plugin(x, {constant({1}, {2}), one.shape});
    ASSERT_NE(layer, nullptr) << maker.logger.text;
    layer->setName("repeats");
    EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
    EXPECT_TRUE(maker.logger.has("layer 'repeats': shape input 1")) << maker.logger.text;
    EXPECT_TRUE(maker.logger.has(one.said)) << one.said << "\n" << maker.logger.text;
  }
  EXPECT_EQ(plugin(x, {nullptr}), nullptr);
  EXPECT_TRUE(maker.logger.has("one of its inputs is a null pointer")) << maker.logger.text;
  EXPECT_EQ(plugin(x, std::vector<ITensor*>(64, x)), nullptr);
  EXPECT_TRUE(maker.logger.has("a plugin of 1 inputs takes up to 63 shape inputs, not 64"))
      << maker.logger.text;
}

// A layer that gives a shape input's numbers may change, and others may take its place.
TEST_F(PluginShapesTest, FollowTheirLayers) {
  ITensor* x = input("x", DataType::kFLOAT, {3});
  ITensor* like = input("like", DataType::kFLOAT, {2, 5});
  ILayer* layer = plugin(x, {maker.network->addShape(*like)->getOutput(0)});
  EXPECT_EQ(sizes_of(layer->getOutput(0)->getDimensions()), (Sizes{2, 5}));
  like->setDimensions(dims_of({7, 5}));
  EXPECT_EQ(sizes_of(layer->getOutput(0)->getDimensions()), (Sizes{7, 5}));
  layer->setInput(1, *constant({3}, {2, 3, 4}));
  EXPECT_EQ(sizes_of(layer->getOutput(0)->getDimensions()), (Sizes{2, 3, 4}));
}

}  // namespace
}  // namespace trt_test
#endif
