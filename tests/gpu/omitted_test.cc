// SPDX-License-Identifier: Apache-2.0
// Results that a node leaves out, on a GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backends/backends.h"
#include "graph/text.h"
#include "one_node.h"
#include "ops/registry.h"

namespace octet::test {
namespace {

TEST(GpuOmitted, EitherResultOfTopK) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::mt19937 random(3);
  Tensor x(Dtype::f32, {4, 30});
  for (f32& value : x.mutable_as<f32>()) value = static_cast<f32>(random() % 1000);
  for (const char* results : {"_, %y: s64[4,5]", "%y: f32[4,5], _", "%y: f32[4,5]"}) {
    const Graph graph = parse_graph(std::string(R"(graph "g"(%x: f32[4,30]) {
  const %k: s64[1] = {5}
  )") + results + R"( = TopK(%x, %k) {axis=-1, largest=1} name "top"
  return %y
})",
                                    find_op);
    std::vector<std::string> kernels;
    expect_cpu_bytes(graph, 0, {&x, 1}, results, kernels);
    EXPECT_EQ(kernels, std::vector<std::string>{"top_k"}) << results;
  }
}

}  // namespace
}  // namespace octet::test
