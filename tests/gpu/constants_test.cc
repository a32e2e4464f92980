// SPDX-License-Identifier: Apache-2.0
// Nodes of constants alone, which passes leave where the result is large.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "on_gpu.h"
#include "one_node.h"
#include "ops/registry.h"

namespace octet::test {
namespace {

using ::testing::Contains;
using ::testing::Not;

class GpuConstants : public OnGpu {};

// Embeddings of token types and positions, of an export that has no inputs for them: too much to fold.
TEST_F(GpuConstants, AreGatheredThere) {
  constexpr int kRows = 2500, kWidth = 128;
  std::string table, ids;
  for (int i = 0; i < 2 * kWidth; ++i) table += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  for (int i = 0; i < kRows; ++i) ids += fmt::format("{}{}", i == 0 ? "" : ", ", i % 4 - 2);
  const Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[{0},1]) {{
  const %table: f32[2,{1}] = {{{2}}}
  const %ids: s64[{0}] = {{{3}}}
  %rows: f32[{0},{1}] = Gather(%table, %ids)
  %y: f32[{0},{1}] = Add(%rows, %x)
  return %y
}})",
                                              kRows, kWidth, table, ids),
                                  find_op);
  const Target target = make_target(device_->name(), 1, nullptr);
  const std::vector<std::string> kernels = kernel_names(plan_of(graph, target));
  EXPECT_THAT(kernels, Contains("gather_at_run"));
  EXPECT_THAT(kernels, Not(Contains("reference")));
  std::vector<Tensor> inputs{Tensor(Dtype::f32, {kRows, 1})};
  for (size_t i = 0; i < kRows; ++i) inputs[0].mutable_as<f32>()[i] = static_cast<f32>(i) / 8;
  const Tensor want = interpret(graph, inputs)[0], got = run_on(graph, inputs, target)[0];
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
}

}  // namespace
}  // namespace octet::test
