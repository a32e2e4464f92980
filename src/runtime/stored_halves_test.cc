// SPDX-License-Identifier: Apache-2.0
// 16-bit weights in engine files, and the constraints of a manifest: what is written comes back, and what was forged is refused.
#include "runtime/stored_halves.h"

#include <gtest/gtest.h>

#include "core/check.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"
#include "runtime/manifest.h"

namespace octet {
namespace {

// A product of f16 with weights that f16 holds, and one in f32 with the same.
Graph two_products(Precision second) {
  std::vector<f32> weights(64);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<f32>(i) / 8;
  Graph graph = parse_graph(R"(graph "g"(%x: f32[2,8]) {
    const %tiny: f32[8] = {0, 1, 2, 3, 4, 5, 6, 7}
    %a: f32[2,8] = Add(%x, %tiny) name "a"
    return %a
  })",
                            find_op);
  const ValueId w = graph.add_constant("w", Tensor::of<f32>(Shape{8, 8}, weights));
  for (const Precision precision : {Precision::f16, second}) {
    Node node;
    node.op = find_op("MatMul");
    node.name = fmt::format("product{}", graph.nodes.size());
    node.inputs = {graph.outputs[0], w};
    node.outputs = {graph.add_value(node.name, {Dtype::f32, Shape{2, 8}})};
    node.decision = {precision, ReasonCode::float_build, "of a test"};
    graph.outputs = node.outputs;
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

Model model_of(Graph graph) {
  Model model;
  model.graph = std::move(graph);
  return model;
}

TEST(StoredHalves, WeightsTakeTwoBytesAndComeBack) {
  const Graph graph = two_products(Precision::f16);
  const Graph stored = with_stored_halves(graph);
  const ValueId half = stored.find_value("w.stored");
  ASSERT_NE(half, kNoValue);
  EXPECT_EQ(stored.value(half).constant.dtype(), Dtype::f16);
  EXPECT_FALSE(stored.is_constant(stored.find_value("w")));
  const Model again = read_engine(write_engine(model_of(graph)));
  EXPECT_EQ(again.graph.nodes.size(), graph.nodes.size());
  EXPECT_EQ(again.graph.find_value("w.stored"), kNoValue);
  const Tensor x = Tensor::of<f32>(Shape{2, 8}, std::vector<f32>(16, 1.5f));
  const Tensor want = interpret(graph, {&x, 1})[0], got = interpret(again.graph, {&x, 1})[0];
  EXPECT_TRUE(std::ranges::equal(want.as<f32>(), got.as<f32>()));
}

TEST(StoredHalves, WhatAnF32LayerReadsStays) {
  EXPECT_EQ(with_stored_halves(two_products(Precision::f32)).find_value("w.stored"), kNoValue);
  EXPECT_EQ(with_stored_halves(two_products(Precision::bf16)).find_value("w.stored"), kNoValue);
}

TEST(StoredHalves, WhatTheTypeDoesNotHoldStays) {
  Graph graph = two_products(Precision::f16);
  graph.value(graph.find_value("w")).constant.mutable_as<f32>()[3] = 0.1f;
  EXPECT_EQ(with_stored_halves(graph).find_value("w.stored"), kNoValue);
}

std::string error_of(std::string_view manifest, std::string_view graph) {
  try {
    read_engine(test::forge(manifest, graph, std::string_view("\0\0\0\0\0\0\0\0", 8)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model) << error.what();
    return error.what();
  }
  return "";
}

constexpr std::string_view kManifest =
    R"({"calibration_samples":0,"producer":"","range_method":"","source":""})";

TEST(StoredHalves, ForgedOnesAreRefused) {
  const auto said = [](std::string_view types, std::string_view to) {
    return error_of(kManifest, fmt::format(R"(graph "g"(%x: f32[2]) {{ const %h: f16[2] = {{1, 2}}
          %w: {} = Cast(%h) {{stored=1, to="{}"}} name "c" %y: f32[2] = Relu(%x) name "r" return %y, %w }})",
                                           types, to));
  };
  EXPECT_EQ(said("f32[2]", "f32"), "");
  EXPECT_NE(said("f32[1000000]", "f32").find("are stored as f32[2]"), std::string::npos);
  EXPECT_NE(said("f32[2]", "f64").find("are stored as f64[2]"), std::string::npos);
  EXPECT_NE(said("f32[2]", "nonsense"), "");
}

TEST(Manifest, ConstraintsComeBack) {
  Model model = model_of(two_products(Precision::f16));
  model.constraints = {
      ConstraintMode::obey,
      {{"a:b*", Precision::int8, false}, {"c", Precision::bf16, true}},
      {{"a:b1", Precision::int8, Precision::none}, {"c", Precision::none, Precision::bf16}}};
  Model again;
  read_manifest(write_manifest(model), again);
  EXPECT_EQ(again.constraints.mode, ConstraintMode::obey);
  ASSERT_EQ(again.constraints.constraints.size(), 2u);
  EXPECT_EQ(to_string(again.constraints.constraints[0]), "a:b*:int8");
  EXPECT_TRUE(again.constraints.constraints[1].output);
  ASSERT_EQ(again.constraints.nodes.size(), 2u);
  EXPECT_EQ(again.constraints.nodes[0].node, "a:b1");
  EXPECT_EQ(again.constraints.nodes[1].output, Precision::bf16);
}

TEST(Manifest, ForgedConstraintsAreRefused) {
  const auto said = [](std::string_view constraints) {
    const std::string text =
        fmt::format(R"({{"constraints":{},{})", constraints, kManifest.substr(1));
    return error_of(text, R"(graph "g"(%x: f32[2]) { %y: f32[2] = Relu(%x) name "r" return %y })");
  };
  const auto whole = [](std::string_view mode, std::string_view types, std::string_view nodes) {
    return fmt::format(R"({{"mode":"{}","types":{},"results":[],"nodes":{},"node_results":{{}}}})",
                       mode, types, nodes);
  };
  EXPECT_EQ(said(whole("obey", R"(["a:int8"])", R"({"int8":["a"]})")), "");
  EXPECT_NE(said(whole("maybe", "[]", "{}")), "");
  EXPECT_NE(said(whole("obey", R"(["a"])", "{}")), "");
  EXPECT_NE(said(whole("obey", R"(["a:int9"])", "{}")), "");
  EXPECT_NE(said(whole("obey", "[1]", "{}")), "");
  EXPECT_NE(said(whole("obey", "[]", R"({"int9":["a"]})")), "");
  EXPECT_NE(said(whole("obey", "[]", R"({"int8":7})")), "");
  EXPECT_NE(said("[]"), "");
}

}  // namespace
}  // namespace octet
