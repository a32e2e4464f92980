// SPDX-License-Identifier: Apache-2.0
#include "octet/selection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "arch/isa.h"
#include "graph/text.h"
#include "octet/tuning.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

LayerSelection forged(std::vector<double> microseconds) {
  LayerSelection selection;
  for (const double us : microseconds) {
    KernelTime time;
    time.kernel = "k" + std::to_string(selection.kernels.size());
    time.microseconds = us;
    selection.kernels.push_back(time);
  }
  return selection;
}

TEST(LayerSelection, IsWrongBeyondBothMargins) {
  SelectionOptions options;
  options.tolerance = 0.1;
  options.least_us = 0.5;
  EXPECT_FALSE(forged({10, 12, 30}).is_wrong(options));
  EXPECT_FALSE(forged({10.9, 10}).is_wrong(options));
  EXPECT_TRUE(forged({11.1, 10}).is_wrong(options));
  EXPECT_FALSE(forged({0.5, 0.1}).is_wrong(options));
  EXPECT_TRUE(forged({0.7, 0.1}).is_wrong(options));
  options.tolerance = 0.2;
  EXPECT_FALSE(forged({11.1, 10}).is_wrong(options));
}

TEST(LayerSelection, RatioIsOverTheFastest) {
  LayerSelection selection = forged({12, 8, 6, 9});
  EXPECT_EQ(selection.fastest(), 2u);
  EXPECT_DOUBLE_EQ(selection.ratio(), 2);
  EXPECT_TRUE(selection.same_results());
  selection.kernels[3].same_result = false;
  EXPECT_FALSE(selection.same_results());
}

// A convolution whose input needs a border, an addition of two layouts, and a node that only the reference runs.
constexpr std::string_view kCodes = R"(graph "g"(%x: f32[1,16,9,7]) {
  const %s: f32[] = {0.05}
  const %z: u8[] = {3}
  const %m: f32[] = {0.01}
  %q: u8[1,16,9,7] @(0.05, 3) = QuantizeLinear(%x, %s, %z) name "q"
  %c: u8[1,16,9,7] @(0.05, 4) = QConv(%q, %w, _, %m) {group=16, hi=255, input_zero_points=ints[3, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=4, pads=ints[1, 1, 1, 1]} name "conv"
  %y: f32[1,16,9,7] = DequantizeLinear(%c, %s, %z) name "d"
  return %y
})";

Engine convolution() {
  std::string text(kCodes);
  std::string weights = "const %w: s8[16,1,3,3] = {";
  for (int i = 0; i < 144; ++i) weights += std::to_string(i % 97 - 48) + (i < 143 ? ", " : "}\n  ");
  text.insert(text.find("%q: u8"), weights);
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return Inside::engine(model);
}

TEST(MeasureSelection, GivesEveryKernelTheSameData) {
  if (!hardware_isa().has(Isa::avx2)) GTEST_SKIP() << "scalar kernels have no competitors";
  Tensor x(Dtype::f32, {1, 16, 9, 7});
  float next = -6;
  for (float& value : x.mutable_as<float>()) value = next = next > 6 ? -6 : next + 0.37f;
  const std::vector<Tensor> inputs = {x};
  const SelectionReport report = measure_selection(convolution(), inputs);
  const LayerSelection* found = nullptr;
  for (const LayerSelection& layer : report.layers) {
    EXPECT_TRUE(layer.same_results()) << layer.layer.name;
    EXPECT_GE(layer.ratio(), 1) << layer.layer.name;
    if (layer.layer.name == "conv") found = &layer;
  }
  ASSERT_NE(found, nullptr);
  EXPECT_GE(found->kernels.size(), 2u);
  EXPECT_EQ(found->kernels[0].kernel, found->layer.kernel);
  // Dense convolution kernels run depthwise ones too, at a price.
  EXPECT_EQ(found->layer.kernel.substr(0, 9), "depthwise");
  for (const KernelTime& time : found->kernels) EXPECT_GT(time.microseconds, 0) << time.kernel;
}

TEST(MeasureSelection, LeavesNoLayerUnmeasured) {
  if (!hardware_isa().has(Isa::avx2)) GTEST_SKIP() << "scalar kernels have no competitors";
  const std::vector<Shape> shapes = {{1, 16, 9, 7}};
  const Engine engine = convolution();
  const std::vector<LayerInfo> open = unmeasured_layers(engine, shapes);
  const auto is_conv = [](const LayerInfo& layer) { return layer.name == "conv"; };
  EXPECT_TRUE(std::ranges::any_of(open, is_conv));
  const std::vector<Tensor> inputs = {Tensor(Dtype::f32, {1, 16, 9, 7})};
  const SelectionReport report = measure_selection(engine, inputs);
  EXPECT_EQ(report.layers.size(), open.size());
  SelectionOptions options;
  auto tuning = std::make_shared<Tuning>();
  options.tuning = tuning;
  EXPECT_EQ(unmeasured_layers(engine, shapes, options).size(), open.size());
  tune(report, 1, *tuning);
  EXPECT_TRUE(unmeasured_layers(engine, shapes, options).empty());
  // Choices for other threads are none for these.
  options.threads = 2;
  EXPECT_EQ(unmeasured_layers(engine, shapes, options).size(), open.size());
}

TEST(Tune, WhereResultsDifferTheChosenKernelStays) {
  LayerSelection layer = forged({9, 3});
  layer.layer.device = "cpu";
  layer.layer.signature = "layer";
  layer.wrong = true;
  layer.kernels[1].same_result = false;
  SelectionReport report;
  report.layers = {layer};
  Tuning tuning;
  tune(report, 1, tuning);
  ASSERT_EQ(tuning.kernels().size(), 1u);
  EXPECT_EQ(tuning.kernels().begin()->second.kernel, "k0");
}

TEST(MeasureSelection, GoesThroughStages) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(R"(graph "g"(%x: f32[?,4]) {
  %y: f32[*] = Softmax(%x) {axis=-1} name "softmax"
  %n: s64[*] = NonZero(%y) name "nonzero"
  %z: s64[*] = Neg(%n) name "neg"
  return %z
})",
                             find_op);
  const std::vector<Tensor> inputs = {Tensor(Dtype::f32, {2, 4})};
  const SelectionReport report = measure_selection(Inside::engine(model), inputs);
  EXPECT_EQ(static_cast<int64_t>(report.layers.size()) + report.single, 3);
}

}  // namespace
}  // namespace octet
