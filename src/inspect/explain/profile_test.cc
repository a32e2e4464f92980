// SPDX-License-Identifier: Apache-2.0
#include "octet/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

Engine two_layers() {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(R"(graph "g"(%x: f32[?,3]) {
    const %w: f32[3,2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    %m: f32[?,2] = MatMul(%x, %w) name "product"
    %y: f32[?,2] = Relu(%m) name "relu"
    return %y
  })",
                             find_op);
  return Inside::engine(model);
}

TEST(Profile, TimesEveryLayerInOrder) {
  const std::vector<Tensor> inputs = {Tensor(Dtype::f32, {4, 3})};
  const std::vector<LayerTime> times = profile(two_layers(), inputs, {.threads = 1, .runs = 3});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].layer.name, "product");
  EXPECT_EQ(times[0].layer.macs, 4 * 3 * 2);
  EXPECT_EQ(times[1].layer.name, "relu");
  EXPECT_NEAR(times[0].share + times[1].share, 1.0, 1e-9);
}

TEST(Profile, KeepsTheTimesOfEveryRun) {
  const std::vector<Tensor> inputs = {Tensor(Dtype::f32, {4, 3})};
  for (const LayerTime& time : profile(two_layers(), inputs, {.threads = 1, .runs = 3})) {
    ASSERT_EQ(time.run_microseconds.size(), 3u);
    std::vector<double> sorted = time.run_microseconds;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted[1], time.microseconds);
  }
  const auto longer = profile(two_layers(), inputs, {.threads = 1, .runs = 1, .seconds = 0.01});
  EXPECT_GT(longer[0].run_microseconds.size(), 1u);
}

TEST(Profile, NeedsARun) {
  const std::vector<Tensor> inputs = {Tensor(Dtype::f32, {1, 3})};
  EXPECT_THROW(profile(two_layers(), inputs, {.threads = 1, .runs = 0}), Error);
}

}  // namespace
}  // namespace octet
