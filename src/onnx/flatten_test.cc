// SPDX-License-Identifier: Apache-2.0
#include "onnx/flatten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/op_def.h"
#include "onnx/test_models.h"

namespace octet::test {
namespace {

using testing::ElementsAre;

struct Call {
  std::string op;
  std::string domain;
  std::string input;
  std::string output;
};

// A function of domain "loc" with input a, output z.
pb::FunctionProto& add_function(pb::ModelProto& model, const std::string& name,
                                const std::vector<Call>& body) {
  pb::FunctionProto& function = *model.add_functions();
  function.set_name(name);
  function.set_domain("loc");
  function.add_input("a");
  function.add_output("z");
  function.add_opset_import()->set_version(13);
  for (const Call& call : body) {
    pb::NodeProto& node = *function.add_node();
    node.set_op_type(call.op);
    node.set_domain(call.domain);
    node.add_input(call.input);
    node.add_output(call.output);
  }
  return function;
}

pb::ModelProto calling(const std::string& function) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2});
  pb::NodeProto& node = add_node(model, function, {"x"}, {"y"});
  node.set_domain("loc");
  node.set_name("call");
  add_output(model, "y");
  return model;
}

TEST(Functions, AreExpanded) {
  pb::ModelProto model = calling("f");
  add_function(model, "f", {{"Neg", "", "a", "t"}, {"g", "loc", "t", "z"}});
  add_function(model, "g", {{"Relu", "", "a", "z"}});
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].name, "call/Neg_0");
  EXPECT_EQ(graph.nodes[1].name, "call/g_1/Relu_0");
  const f32 x[] = {-2, 3};
  EXPECT_THAT(interpret(graph, std::vector{Tensor::of<f32>(Shape{2}, x)})[0].as<f32>(),
              ElementsAre(2, 0));
}

TEST(Functions, AttributesComeFromTheCallerElseTheDefault) {
  pb::ModelProto model = calling("f");
  pb::FunctionProto& function = add_function(model, "f", {{"LeakyRelu", "", "a", "z"}});
  auto& reference = *function.mutable_node(0)->add_attribute();
  reference.set_name("alpha");
  reference.set_type(static_cast<s32>(AttrKind::f));
  reference.set_ref_attr_name("slope");
  EXPECT_FALSE(import_model(model).nodes[0].attrs.has("alpha"));
  auto& fallback = *function.add_attribute_proto();
  fallback.set_name("slope");
  fallback.set_type(static_cast<s32>(AttrKind::f));
  fallback.set_f(0.25f);
  EXPECT_EQ(import_model(model).nodes[0].attrs.f("alpha", 0), 0.25f);
  add_attribute(*model.mutable_graph()->mutable_node(0), "slope", AttrKind::f).set_f(0.5f);
  EXPECT_EQ(import_model(model).nodes[0].attrs.f("alpha", 0), 0.5f);
}

TEST(Functions, AnInputThatIsAnOutputToo) {
  pb::ModelProto model = calling("f");
  add_function(model, "f", {}).set_output(0, "a");
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op->name, "Identity");
}

TEST(FunctionsError, Recursion) {  // I08
  pb::ModelProto self = calling("f");
  add_function(self, "f", {{"f", "loc", "a", "z"}});
  EXPECT_IMPORT_ERROR(self, invalid_model, "recursive model-local function 'f'");
  pb::ModelProto mutual = calling("f");
  add_function(mutual, "f", {{"g", "loc", "a", "z"}});
  add_function(mutual, "g", {{"f", "loc", "a", "z"}});
  EXPECT_IMPORT_ERROR(mutual, invalid_model, "recursive model-local function 'f'");
}

TEST(FunctionsError, Depth) {  // I09
  pb::ModelProto model = calling("f0");
  for (int i = 0; i < 3000; ++i) {
    add_function(model, fmt::format("f{}", i), {{fmt::format("f{}", i + 1), "loc", "a", "z"}});
  }
  add_function(model, "f3000", {{"Relu", "", "a", "z"}});
  EXPECT_IMPORT_ERROR(model, unsupported, "more than 100 deep");
}

TEST(FunctionsError, Size) {  // I10
  pb::ModelProto model = calling("f0");
  for (int i = 0; i < 30; ++i) {
    const std::string next = fmt::format("f{}", i + 1);
    add_function(model, fmt::format("f{}", i), {{next, "loc", "a", "t"}, {next, "loc", "t", "z"}});
  }
  add_function(model, "f30", {{"Relu", "", "a", "z"}});
  EXPECT_IMPORT_ERROR(model, unsupported, "expands to more than 200248 nodes");
}

TEST(FunctionsError, NamesThatComeTwice) {
  pb::ModelProto model = calling("f");
  pb::FunctionProto& function = add_function(model, "f", {{"Relu", "", "a", "z"}});
  function.add_output("z");
  EXPECT_IMPORT_ERROR(model, invalid_model, "function 'f' has two outputs of the name 'z'");
  function.mutable_output()->RemoveLast();
  function.add_input("a");
  EXPECT_IMPORT_ERROR(model, invalid_model, "function 'f' has two inputs of the name 'a'");
}

TEST(FunctionsError, LongNamesOfCalls) {
  pb::ModelProto model = calling("f");
  add_function(model, "f", {{"Relu", "", "a", "z"}});
  model.mutable_graph()->mutable_node(0)->set_name(std::string(70'000, 'n'));
  EXPECT_IMPORT_ERROR(model, invalid_model, "longer than 65536 bytes");
}

TEST(FunctionsError, CallsThatDoNotFit) {
  pb::ModelProto model = calling("f");
  add_function(model, "f", {{"Relu", "", "a", "z"}});
  model.mutable_graph()->mutable_node(0)->add_input("x");
  EXPECT_IMPORT_ERROR(model, invalid_model, "with 2 inputs and 1 outputs");
  pb::ModelProto twice = calling("f");
  add_function(twice, "f", {{"Relu", "", "a", "z"}});
  add_function(twice, "f", {{"Relu", "", "a", "z"}});
  EXPECT_IMPORT_ERROR(twice, invalid_model, "'f' is defined twice");
}

}  // namespace
}  // namespace octet::test
