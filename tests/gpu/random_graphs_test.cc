// SPDX-License-Identifier: Apache-2.0
// Random graphs of codes on a GPU: layouts, slices of concatenations and borders between steps, with the bits of the reference.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "backends/backends.h"
#include "compile_only.h"
#include "graph/interpret.h"
#include "one_node.h"
#include "plan/chain_testing.h"
#include "runtime/random_graph_testing.h"

namespace octet::test {
namespace {

constexpr int kGraphSlices = 6;  // tests of their own, which processes may share

class GpuGraphs : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Slices, GpuGraphs, testing::Range(0, kGraphSlices));

TEST_P(GpuGraphs, RandomGraphsGiveTheBitsOfTheReference) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const int count = case_count(is_emulated(*device) ? 6 : 60);
  const Target target = make_target(device->name(), 1, nullptr);
  for (int i = GetParam(); i < count; i += kGraphSlices) {
    constexpr s64 kBatches[] = {1, 2, 4, 6};
    const u32 seed = static_cast<u32>(i);
    const s64 batch = kBatches[seed % 4];
    const Graph graph = GraphMaker(batch, seed).finish();
    const std::vector<Tensor> inputs = {noise({batch, 3, 12, 10}, seed)};
    std::optional<DearChains> chains;
    if (seed % 2 == 1) chains.emplace();
    if (only_compiles()) {
      compile_kernels(make_plan(graph, std::vector<Shape>{inputs[0].shape()}, target));
      continue;
    }
    const std::vector<Tensor> want = interpret(graph, inputs), got = run_on(graph, inputs, target);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(std::memcmp(got[k].data(), want[k].data(), want[k].bytes()), 0)
          << "seed " << seed << ", output " << k;
  }
}

}  // namespace
}  // namespace octet::test
