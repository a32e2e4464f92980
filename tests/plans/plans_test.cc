// SPDX-License-Identifier: Apache-2.0
// Whole plans as text, so that a change of kernels, layouts, groups, borders, memory or estimated costs is seen in review. Each
// tests/plans/NAME.txt is a float graph, quantized here with the same range for every value (`halves` becomes f16); NAME.plan holds its plans at each
// level of instructions. Level, cache and threads are arguments: any machine makes the same plans.
// plans_tests --update writes the .plan files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/device.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "pipeline/float_model.h"
#include "plan/print_plan.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(OCTET_SOURCE_DIR) / "tests/plans";
constexpr s64 kCacheBytes = 1 << 20;
constexpr int kThreads = 2;
constexpr s64 kDynamicSize = 24;  // of every dimension that a graph leaves open
bool update = false;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Constants that the text of a graph leaves out.
Tensor weights(s64 index, const TensorType& type) {
  std::mt19937 random(static_cast<u32>(index) + 1);
  Tensor tensor(type.dtype, type.shape);
  for (f32& x : tensor.mutable_as<f32>())
    x = static_cast<f32>(static_cast<s32>(random() % 2001) - 1000) / 4000.0f;
  return tensor;
}

Graph quantized(const std::string& name) {
  Graph graph = parse_graph(read(kFolder / (name + ".txt")), find_op, weights);
  const FloatModel model = with_assumed_ranges(optimize(std::move(graph), {}));
  PrecisionPlan plan;
  plan.f16 = name == "halves";
  plan.int8 = !plan.f16;
  return quantize(model, plan).graph;
}

std::vector<Shape> shapes_of(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] == Shape::kDynamic) shape[d] = kDynamicSize;
    }
    shapes.push_back(shape);
  }
  return shapes;
}

std::string plans_of(const std::string& name) {
  const Graph graph = quantized(name);
  std::string text;
  for (const Isa isa : kIsaLevels) {
    const CpuDevice device(isa, kCacheBytes);
    const Plan plan = make_plan(graph, shapes_of(graph), cpu_target(device, kThreads));
    text += "== " + std::string(isa_name(isa)) + "\n" + print_plan(plan) + "\n";
  }
  return text;
}

class GoldenPlan : public testing::TestWithParam<const char*> {};

TEST_P(GoldenPlan, IsTheOneThatWasReviewed) {
  const fs::path golden = kFolder / (std::string(GetParam()) + ".plan");
  const std::string plans = plans_of(GetParam());
  if (update) std::ofstream(golden) << plans;
  EXPECT_EQ(read(golden), plans)
      << "if the change is meant: plans_tests --update, and look at the difference";
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenPlan,
                         testing::Values("attention", "halves", "neck", "recurrent", "residual",
                                         "separable"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) octet::update |= std::string_view(argv[i]) == "--update";
  return RUN_ALL_TESTS();
}
