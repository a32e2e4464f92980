// SPDX-License-Identifier: Apache-2.0
// What the inspector says about models whose sizes depend on data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "octet/inspect.h"
#include "octet/profile.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

Engine engine_of(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return Inside::engine(std::move(model));
}

constexpr std::string_view kChooser = R"(graph "g"(%x: f32[?,4]) {
  %y: f32[*] = Softmax(%x) {axis=-1} name "softmax"
  %n: s64[*] = NonZero(%y) name "nonzero"
  %z: s64[*] = Neg(%n) name "neg"
  return %z
})";

TEST(InspectStaged, SaysWhatWaitsForData) {
  const Inspection inspection = inspect(engine_of(kChooser), {{{2, 4}}, 1});
  ASSERT_EQ(inspection.layers.size(), 3u);
  EXPECT_EQ(inspection.layers[0].output_types[0], (TensorType{Dtype::f32, {2, 4}}));
  EXPECT_EQ(inspection.layers[1].kernel, "reference");
  EXPECT_THAT(inspection.layers[1].kernel_reason, HasSubstr("depends on run-time data"));
  EXPECT_EQ(inspection.layers[2].name, "neg");
  EXPECT_EQ(inspection.layers[2].kernel, "during the run");
}

TEST(InspectStaged, TimesEveryLayerOfEveryStage) {
  Tensor x(Dtype::f32, {2, 4});
  const std::vector<Tensor> inputs = {x};
  const std::vector<LayerTime> times =
      profile(engine_of(kChooser), inputs, {.threads = 1, .runs = 3});
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].layer.name, "softmax");
  EXPECT_EQ(times[1].layer.kernel, "reference");
  EXPECT_EQ(times[1].layer.output_types[0], (TensorType{Dtype::s64, {2, 8}}));
  EXPECT_EQ(times[2].layer.name, "neg");
  EXPECT_EQ(times[2].layer.output_types[0], (TensorType{Dtype::s64, {2, 8}}));
  EXPECT_NEAR(times[0].share + times[1].share + times[2].share, 1.0, 1e-9);
}

}  // namespace
}  // namespace octet
