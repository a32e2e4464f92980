// SPDX-License-Identifier: Apache-2.0
// Layers in TensorRT's words: names, types, formats, both schemas, every verbosity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "graph/text.h"
#include "inspect/explain/layer_text.h"
#include "inspect/tensorrt/formats.h"
#include "octet/inspect.h"
#include "octet/tensorrt_inspector.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

Engine engine_of(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op, [](s64 index, const TensorType& type) {
    return random_tensor(type, static_cast<u32>(index));
  });
  return Inside::engine(std::move(model));
}

// Codes all the way; the convolution clamps at zero as its zero point is the lowest code.
constexpr std::string_view kQuantized = R"(graph "g"(%image: f32[?,16,8,8]) {
  const %w: s8[32,16,3,3] = #0
  const %bias: s32[32] = #1
  const %m: f32[32] = #2
  const %scale: f32[] = {0.5}
  const %zero: u8[] = {0}
  %x: u8[?,16,8,8] @(0.5, 0) = QuantizeLinear(%image, %scale, %zero) name "image.codes"
  %c: u8[?,32,8,8] @(0.5, 0) = QConv(%x, %w, %bias, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=0, pads=ints[1, 1, 1, 1]} name "conv" from ["conv1", "relu1"]
  %p: u8[?,32,4,4] @(0.5, 0) = MaxPool(%c) {kernel_shape=ints[2, 2], strides=ints[2, 2]} name "pool"
  %y: f32[?,32,4,4] = DequantizeLinear(%p, %scale, %zero) name "back"
  return %y
})";

Json information(const Engine& engine, const InspectorOptions& options = {}) {
  return Json::parse(EngineInspector(engine, options).engine_information(InspectorFormat::json));
}

InspectorOptions with_batch(int64_t batch) {
  InspectorOptions options;
  options.profiles = {{{Shape{batch, 16, 8, 8}}}};
  return options;
}

const Json& layer_with(const Json& information, const std::string& key, const std::string& value) {
  for (const Json& layer : information["Layers"]) {
    if (layer.value(key, "") == value) return layer;
  }
  ADD_FAILURE() << "no layer with " << key << " = " << value << " in " << information.dump(1);
  static const Json none;
  return none;
}

TEST(TensorRtInspector, SaysOfAConvolutionWhatTensorRtSays) {
  const Json all = information(engine_of(kQuantized), with_batch(2));
  const Json& conv = layer_with(all, "LayerType", "CaskConvolution");
  EXPECT_EQ(conv["Name"], "conv1 + relu1");
  EXPECT_EQ(conv["ParameterType"], "Convolution");
  EXPECT_EQ(conv["Kernel"], Json({3, 3}));
  EXPECT_EQ(conv["PaddingMode"], "kEXPLICIT_ROUND_DOWN");
  EXPECT_EQ(conv["PrePadding"], Json({1, 1}));
  EXPECT_EQ(conv["PostPadding"], Json({1, 1}));
  EXPECT_EQ(conv["Stride"], Json({1, 1}));
  EXPECT_EQ(conv["Dilation"], Json({1, 1}));
  EXPECT_EQ(conv["OutMaps"], 32);
  EXPECT_EQ(conv["Groups"], 1);
  EXPECT_EQ(conv["Weights"], (Json{{"Type", "Int8"}, {"Count", 32 * 16 * 9}}));
  EXPECT_EQ(conv["Bias"], (Json{{"Type", "Int32"}, {"Count", 32}}));
  EXPECT_EQ(conv["HasSparseWeights"], 0);
  EXPECT_EQ(conv["Activation"], "RELU");
  EXPECT_EQ(conv["HasBias"], 1);
  EXPECT_EQ(conv["HasReLU"], 1);
  EXPECT_THAT(conv["TacticName"].get<std::string>(), StartsWith("conv_u8s8"));
  EXPECT_EQ(conv["TacticValue"].get<std::string>().size(), 18u);
  EXPECT_EQ(conv["Metadata"], "[ONNX Layer: conv1]\x1e[ONNX Layer: relu1]");
  EXPECT_EQ(conv["OctetLayer"], "conv");
  ASSERT_EQ(conv["Outputs"].size(), 1u);
  EXPECT_EQ(conv["Outputs"][0]["Dimensions"], Json({2, 32, 8, 8}));
  EXPECT_EQ(conv["Outputs"][0]["Location"], "Device");
  EXPECT_EQ(conv["Outputs"][0]["Format/Datatype"],
            "Channel major INT8 format where channel % 16 == 0");
}

TEST(TensorRtInspector, NamesReformatsAfterTheLayerTheyServe) {
  const Json all = information(engine_of(kQuantized), with_batch(1));
  const Json& first = all["Layers"].front();
  EXPECT_EQ(first["LayerType"], "Reformat");
  EXPECT_EQ(first["Origin"], "REFORMAT");
  EXPECT_EQ(first["Name"], "Reformatting CopyNode for Input Tensor 0 to conv1 + relu1");
  EXPECT_EQ(first["Inputs"][0]["Name"], "image");
  EXPECT_EQ(first["Inputs"][0]["Format/Datatype"], "Row major linear FP32");
  EXPECT_EQ(first["Outputs"][0]["Name"], "Reformatted Input Tensor 0 to conv1 + relu1");
  EXPECT_EQ(all["Layers"][1]["Inputs"][0]["Name"], first["Outputs"][0]["Name"]);
  const Json& last = all["Layers"].back();
  EXPECT_EQ(last["Outputs"][0]["Name"], "y");
  EXPECT_EQ(all["Bindings"], Json({"image", "y"}));
}

// What one layer reads another wrote, or the caller gave.
void expect_connected(const Json& all) {
  std::set<std::string> known, names;
  for (const Json& name : all["Bindings"]) known.insert(name);
  for (const Json& layer : all["Layers"]) {
    EXPECT_TRUE(names.insert(layer["Name"]).second) << layer["Name"];
    for (const Json& input : layer["Inputs"]) EXPECT_TRUE(known.contains(input["Name"])) << input;
    for (const Json& output : layer["Outputs"]) known.insert(output["Name"]);
  }
}

TEST(TensorRtInspector, EveryTensorIsMadeBeforeItIsRead) {
  expect_connected(information(engine_of(kQuantized), with_batch(1)));
}

TEST(TensorRtInspector, PoolingHasItsWindow) {
  const Json all = information(engine_of(kQuantized), with_batch(1));
  const Json& pool = layer_with(all, "LayerType", "CaskPooling");
  EXPECT_EQ(pool["ParameterType"], "Pooling");
  EXPECT_EQ(pool["PoolingType"], "MAX");
  EXPECT_EQ(pool["WindowSize"], Json({2, 2}));
  EXPECT_EQ(pool["Stride"], Json({2, 2}));
  EXPECT_EQ(pool["BlendFactor"], 0);
}

constexpr std::string_view kFloat = R"(graph "f"(%x: f32[1,8,4,4]) {
  const %axes: s64[2] = {2, 3}
  const %w: f32[8,10] = #0
  %a: f32[1,8,4,4] = Sigmoid(%x) name "sig"
  %b: f32[1,8,4,4] = Mul(%a, %x) name "mul"
  %m: f32[1,8,1,1] = ReduceMean(%b, %axes) name "mean"
  %f: f32[1,8] = Flatten(%m) name "flat"
  %g: f32[1,10] = MatMul(%f, %w) name "classes"
  %s: f32[1,10] = Softmax(%g) {axis=-1} name "soft"
  return %s
})";

TEST(TensorRtInspector, KindsOfFloatLayers) {
  const Json all = information(engine_of(kFloat));
  const Json& pointwise = layer_with(all, "Name", "PWN(mul)");
  EXPECT_EQ(pointwise["LayerType"], "PointWiseV2");
  EXPECT_EQ(pointwise["NbInputArgs"], 2);
  EXPECT_EQ(pointwise["Operations"], Json({"Mul"}));
  const Json& mean = layer_with(all, "Name", "mean");
  EXPECT_EQ(mean["ParameterType"], "Pooling");
  EXPECT_EQ(mean["PoolingType"], "AVERAGE");
  EXPECT_EQ(mean["WindowSize"], Json({4, 4}));
  EXPECT_EQ(layer_with(all, "Name", "flat")["LayerType"], "NoOp");
  EXPECT_FALSE(layer_with(all, "Name", "flat").contains("ParameterType"));
  const Json& product = layer_with(all, "Name", "classes");
  EXPECT_EQ(product["LayerType"], "gemm");
  EXPECT_EQ(product["Weights"], (Json{{"Type", "Float"}, {"Count", 80}}));
  const Json& soft = layer_with(all, "Name", "soft");
  EXPECT_EQ(soft["LayerType"], "CudaSoftMax");
  EXPECT_EQ(soft["Axes"], 2);
  expect_connected(all);
}

TEST(TensorRtInspector, MovesHaveTheirAxesAndNoListIsEmpty) {
  const Json all = information(engine_of(R"(graph "moves"(%x: f32[1,8,4,4]) {
    %r: f32[4,4,8,1] = Transpose(%x) name "reversed"
    %t: f32[1,4,4,8] = Transpose(%r) {perm=ints[3, 0, 1, 2]} name "turned"
    %s: f32[1,4,4,8] = Sigmoid(%t) name "sig"
    %u: f32[1,8,4,4] = Transpose(%s) {perm=ints[0, 3, 1, 2]} name "back"
    return %u
  })"));
  const Json& reversed = layer_with(all, "Name", "reversed");
  EXPECT_EQ(reversed["FirstTranspose"], Json({3, 2, 1, 0}));
  EXPECT_EQ(reversed["SecondTranspose"], Json({0, 1, 2, 3}));
  EXPECT_EQ(reversed["Reshape"], "nbDims=-1");
  for (const Json& layer : all["Layers"]) {
    for (const auto& [key, value] : layer.items())
      EXPECT_FALSE(value.is_array() && value.empty()) << key << " of " << layer.dump(1);
  }
}

TEST(TensorRtInspector, AProductOfActivationsHasNoWeights) {
  const Json all = information(engine_of(R"(graph "p"(%x: f32[2,4,4]) {
  %e: f32[2,4,4] = Exp(%x) name "exp"
  %y: f32[2,4,4] = MatMul(%e, %x) name "product"
  return %y
})"));
  EXPECT_EQ(layer_with(all, "Name", "product")["Weights"], (Json{{"Type", "Float"}, {"Count", 0}}));
  EXPECT_EQ(layer_with(all, "Name", "product")["HasBias"], 0);
  EXPECT_EQ(layer_with(all, "Name", "PWN(exp)")["LayerType"], "PointWiseV2");
}

TEST(TensorRtInspector, LayersAreThoseOfTheInspection) {
  const Engine engine = engine_of(kFloat);
  const EngineInspector inspector(engine);
  const Inspection ours = inspect(engine);
  ASSERT_EQ(inspector.layer_count(), ours.layers.size());
  for (size_t i = 0; i < ours.layers.size(); ++i) {
    const Json layer = Json::parse(inspector.layer_information(i, InspectorFormat::json));
    EXPECT_EQ(layer["OctetLayer"], ours.layers[i].name);
    EXPECT_EQ(layer["Name"], inspector.layer_name(i));
    EXPECT_EQ(layer["LayerType"], inspector.layer_type(i));
  }
}

TEST(TensorRtInspector, Verbosities) {
  const Engine engine = engine_of(kFloat);
  InspectorOptions options;
  options.verbosity = InspectorVerbosity::layer_names_only;
  const EngineInspector names(engine, options);
  const Json all = Json::parse(names.engine_information(InspectorFormat::json));
  EXPECT_EQ(all["Layers"][0], "PWN(sig)");
  EXPECT_EQ(names.layer_information(1, InspectorFormat::json), "\"PWN(mul)\"");
  EXPECT_THAT(names.engine_information(InspectorFormat::oneline),
              StartsWith("Layers:\nPWN(sig)\nPWN(mul)\n"));
  EXPECT_THAT(names.engine_information(InspectorFormat::oneline), HasSubstr("\nBindings:\nx\ns\n"));
  options.verbosity = InspectorVerbosity::none;
  EXPECT_EQ(EngineInspector(engine, options).engine_information(InspectorFormat::json), "");
}

TEST(TensorRtInspector, OneLineHoldsAllOfALayer) {
  const EngineInspector inspector(engine_of(kFloat));
  const std::string line = inspector.layer_information(0, InspectorFormat::oneline);
  EXPECT_THAT(
      line, StartsWith("Name: PWN(sig), LayerType: PointWiseV2, Inputs: [ { Name: x, Location: "
                       "Device, Dimensions: [1,8,4,4], Format/Datatype: Row major linear FP32 }], "
                       "Outputs: [ { Name: a, "));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(TensorRtInspector, FurtherProfilesHaveASuffix) {
  InspectorOptions options;
  options.profiles = {{{Shape{1, 16, 8, 8}}}, {{Shape{4, 16, 8, 8}}}};
  const Json all = information(engine_of(kQuantized), options);
  EXPECT_EQ(all["Layers"].back()["Outputs"][0]["Name"], "y [profile 1]");
  EXPECT_EQ(all["Layers"].back()["Outputs"][0]["Dimensions"][0], 4);
  EXPECT_EQ(all["Bindings"], Json({"image", "y", "image [profile 1]", "y [profile 1]"}));
}

TEST(TensorRtInspector, WithoutAContextOpenSizesStayOpen) {
  InspectorOptions options = with_batch(1);
  options.has_context = false;
  const Json all = information(engine_of(kQuantized), options);
  const Json& input = all["Layers"][0]["Inputs"][0];
  EXPECT_EQ(input["Dimensions"], Json({-1, 16, 8, 8}));
  EXPECT_EQ(input["Format/Datatype"], "Row major linear FP32");
  for (const Json& layer : all["Layers"]) {
    for (const char* side : {"Inputs", "Outputs"})
      for (const Json& value : layer[side]) EXPECT_TRUE(value.contains("Format/Datatype")) << value;
  }
}

TEST(TensorRtInspector, Schema11) {
  InspectorOptions options = with_batch(2);
  options.profiles[0].min = {Shape{1, 16, 8, 8}};
  options.profiles[0].max = {Shape{8, 16, 8, 8}};
  options.schema = 11;
  const Json all = information(engine_of(kQuantized), options);
  EXPECT_FALSE(all.contains("Bindings"));
  ASSERT_EQ(all["I/O Tensors"].size(), 2u);
  const Json& input = all["I/O Tensors"][0];
  EXPECT_EQ(input["Name"], "image");
  EXPECT_EQ(input["IOMode"], "Input");
  EXPECT_EQ(input["DataType"], "Float");
  EXPECT_EQ(input["Dimensions"], Json({-1, 16, 8, 8}));
  EXPECT_EQ(input["IsShapeInferenceIO"], false);
  EXPECT_EQ(input["ProfileInfo"][0]["MinShape"], Json({1, 16, 8, 8}));
  EXPECT_EQ(input["ProfileInfo"][0]["OptShape"], Json({2, 16, 8, 8}));
  EXPECT_EQ(input["ProfileInfo"][0]["MaxShape"], Json({8, 16, 8, 8}));
  EXPECT_EQ(input["ProfileInfo"][0]["Format"], "Row major linear FP32 format (kLINEAR)");
  const Json& conv = layer_with(all, "LayerType", "CaskConvolution");
  EXPECT_EQ(conv["Outputs"][0]["DataType"], "Int8");
  EXPECT_FALSE(conv["Outputs"][0].contains("Format/Datatype"));
  options.schema = 12;
  EXPECT_THROW(EngineInspector(engine_of(kQuantized), options), Error);
}

TEST(TensorRtInspector, SizesThatDependOnDataHaveLayersToo) {
  const Engine engine = engine_of(R"(graph "g"(%x: f32[?,4]) {
  %y: f32[*] = Softmax(%x) {axis=-1} name "softmax"
  %n: s64[*] = NonZero(%y) name "nonzero"
  %z: s64[*] = Neg(%n) name "neg"
  return %z
})");
  const EngineInspector inspector(engine);
  ASSERT_EQ(inspector.layer_count(), 3u);
  EXPECT_EQ(inspector.layer_name(2), "PWN(neg)");
  const Json last = Json::parse(inspector.layer_information(2, InspectorFormat::json));
  EXPECT_EQ(last["Outputs"][0]["Name"], "z");
}

TEST(TensorRtFormats, AreThoseThatToolsKnow) {
  const auto text = [](Dtype dtype, Layout layout, s64 channels, bool codes = false) {
    return tensorrt_format({dtype, {1, channels, 2, 2}}, layout, codes).text;
  };
  EXPECT_EQ(text(Dtype::u8, Layout::nc32hw32, 64, true),
            "Thirty-two wide channel vectorized row major Int8 format");
  EXPECT_EQ(text(Dtype::u8, Layout::linear, 3, true), "Row major Int8 format");
  EXPECT_EQ(text(Dtype::u8, Layout::nhwc, 3, true), "Channel major Int8 format");
  EXPECT_EQ(text(Dtype::u8, Layout::nhwc, 12, true),
            "Channel major Int8 format where channel % 4 == 0");
  EXPECT_EQ(text(Dtype::u8, Layout::linear, 3), "Row major linear UInt8 format");
  EXPECT_EQ(text(Dtype::f32, Layout::nhwc, 3), "Channel major FP32 format");
  EXPECT_EQ(text(Dtype::f32, Layout::nhwc, 16), "Channel major FP32 format where channel % 4 == 0");
  EXPECT_EQ(text(Dtype::f16, Layout::linear, 3), "Row major linear FP16 format");
  EXPECT_EQ(text(Dtype::f16, Layout::nhwc, 8), "Channel major FP16 format where channel % 8 == 0");
  EXPECT_EQ(text(Dtype::bf16, Layout::linear, 3), "Row major linear BFloat16 format");
  EXPECT_EQ(text(Dtype::s32, Layout::linear, 3), "Row major linear Int32");
  EXPECT_EQ(text(Dtype::s64, Layout::linear, 3), "Row major linear Int64 format");
  EXPECT_EQ(text(Dtype::boolean, Layout::linear, 3), "Row major linear BOOL");
  EXPECT_EQ(text(Dtype::f64, Layout::linear, 3), "Unknown format");
  EXPECT_EQ(tensorrt_type_name(Dtype::u2), "UInt2");
}

}  // namespace
}  // namespace octet
