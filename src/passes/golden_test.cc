// SPDX-License-Identifier: Apache-2.0
// Every file tests/passes/<pass>/<case>.txt holds a graph, a line "----", and the graph that the pass makes of it. The text
// must match, and both graphs must compute the same: to the bit for Q/DQ passes' integers, closely for float rewriting.
// OCTET_UPDATE_GOLDEN=1 rewrites the second half.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "graph/interpret.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/plugin_testing.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparator = "----\n";

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(OCTET_SOURCE_DIR) / "tests" / "passes")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

const Pass& pass_named(const std::string& name) {
  for (auto list : {float_passes(), quantize_passes()}) {
    for (const Pass& pass : list) {
      if (pass.name == name) return pass;
    }
  }
  throw std::runtime_error("tests/passes/" + name + ": no pass of that name");
}

std::vector<Tensor> random_inputs(const Graph& graph, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<f32> normal;
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) {
    TensorType type = graph.value(id).type;
    for (int d = 0; d < type.shape.rank(); ++d)
      if (type.shape[d] < 0) type.shape[d] = 2;
    Tensor tensor(type.dtype, type.shape);
    if (type.dtype == Dtype::f32) {
      for (f32& x : tensor.mutable_as<f32>()) x = normal(random);
    } else {
      const u32 values = type.dtype == Dtype::boolean ? 2 : 256;
      for (size_t i = 0; i < tensor.bytes(); ++i)
        tensor.mutable_data()[i] = static_cast<std::byte>(random() % values);
    }
    inputs.push_back(tensor);
  }
  return inputs;
}

void expect_same(const Tensor& before, const Tensor& after) {
  ASSERT_EQ(before.type(), after.type());
  if (before.dtype() != Dtype::f32) {
    EXPECT_EQ(std::memcmp(before.data(), after.data(), before.bytes()), 0);
    return;
  }
  // Class `close`: float rewriting changes the order of roundings.
  for (size_t i = 0; i < before.as<f32>().size(); ++i) {
    const f32 a = before.as<f32>()[i], b = after.as<f32>()[i];
    EXPECT_NEAR(a, b, 1e-4f * std::max(1.0f, std::fabs(a))) << "element " << i;
  }
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, TextAndMeaning) {
  add_double_plugin();
  const std::string text = read(GetParam());
  const size_t split = text.find(kSeparator);
  ASSERT_NE(split, std::string::npos) << "the file has no ---- line";
  const std::string before_text = text.substr(0, split);
  const Graph before = parse_graph(before_text, find_op);
  Graph after = before;
  const Pass pass = pass_named(GetParam().parent_path().filename());
  run_passes(after, {&pass, 1}, {}, nullptr);
  after.compact();
  const std::string printed = print(after);
  if (std::getenv("OCTET_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam()) << before_text << kSeparator << printed;
  } else {
    EXPECT_EQ(printed, text.substr(split + kSeparator.size()));
  }
  for (u32 seed = 0; seed < 3; ++seed) {
    const std::vector<Tensor> inputs = random_inputs(before, seed);
    const std::vector<Tensor> expected = interpret(before, inputs), got = interpret(after, inputs);
    ASSERT_EQ(expected.size(), got.size());
    for (size_t i = 0; i < expected.size(); ++i) expect_same(expected[i], got[i]);
  }
}

std::string case_name(const testing::TestParamInfo<fs::path>& info) {
  return info.param.parent_path().filename().string() + "_" + info.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, testing::ValuesIn(golden_files()), case_name);

TEST(RunPasses, EveryPassHasAGoldenCase) {
  for (auto list : {float_passes(), quantize_passes()}) {
    for (const Pass& pass : list) {
      EXPECT_TRUE(fs::exists(fs::path(OCTET_SOURCE_DIR) / "tests" / "passes" / pass.name))
          << pass.name;
    }
  }
}

TEST(RunPasses, UnknownDisabledNameIsAnError) {
  Graph graph;
  EXPECT_THROW(run_passes(graph, float_passes(), {{"no_such_pass"}, -1}, nullptr), Error);
}

TEST(RunPasses, StopsAfterTheGivenNumberOfRewrites) {
  const char* text = R"(graph "g"(%x: f32[2,3]) {
    %a: f32[2,3] = Identity(%x) name "a"
    %b: f32[2,3] = Identity(%a) name "b"
    %c: f32[2,3] = Relu(%b) name "c"
    return %c
  })";
  Graph graph = parse_graph(text, find_op);
  std::vector<PassTrace> trace;
  run_passes(graph, float_passes(), {{}, 1}, &trace);
  EXPECT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(trace[0].rewrites, 1);
}

TEST(RunPasses, DisabledPassDoesNotRun) {
  Graph graph = parse_graph(
      "graph(%x: f32[2]) { %a: f32[2] = Identity(%x) name \"a\" %c: f32[2] = Relu(%a) name \"c\" "
      "return %c }",
      find_op);
  run_passes(graph, float_passes(), {{"remove_identity"}, -1}, nullptr);
  EXPECT_EQ(graph.nodes.size(), 2u);
}

}  // namespace
}  // namespace octet
