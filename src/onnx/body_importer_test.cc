// SPDX-License-Identifier: Apache-2.0
// Bodies of If, Loop and Scan: what they capture, what they compute, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/rounds.h"
#include "graph/interpret.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "octet/limits.h"
#include "onnx/test_models.h"
#include "ops/registry.h"
#include "ops/shared/dtypes.h"

namespace octet::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

pb::GraphProto& add_body(pb::NodeProto& node, const std::string& name) {
  pb::GraphProto& body = *add_attribute(node, name, AttrKind::g).mutable_g();
  body.set_name(name);
  return body;
}

pb::NodeProto& add_body_node(pb::GraphProto& graph, const std::string& op,
                             std::initializer_list<std::string> inputs, const std::string& output) {
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void add_body_input(pb::GraphProto& body, const std::string& name) {
  body.add_input()->set_name(name);
}
void add_body_output(pb::GraphProto& body, const std::string& name) {
  body.add_output()->set_name(name);
}

pb::TensorProto& add_s64(pb::GraphProto& graph, const std::string& name, s64 value) {
  pb::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(dtype_to_onnx(Dtype::s64));
  tensor.add_int64_data(value);
  return tensor;
}

std::vector<f32> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Tensor y = interpret(graph, inputs)[0];
  return {y.as<f32>().begin(), y.as<f32>().end()};
}

Tensor floats(const std::vector<f32>& values) {
  return Tensor::of<f32>(Shape{static_cast<s64>(values.size())}, values);
}

// y = c ? x + w : -t with t = Relu(x), w a constant of the branch.
pb::ModelProto if_model() {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2});
  add_input(model, "c", {}).set_elem_type(dtype_to_onnx(Dtype::boolean));
  pb::NodeProto& node = add_node(model, "If", {"c"}, {"y"});
  pb::GraphProto& then_branch = add_body(node, "then_branch");
  pb::TensorProto& w = *then_branch.add_initializer();
  w.set_name("w");
  w.set_data_type(dtype_to_onnx(Dtype::f32));
  w.add_dims(1);
  w.add_float_data(10);
  add_body_node(then_branch, "Add", {"x", "w"}, "sum");
  add_body_output(then_branch, "sum");
  pb::GraphProto& else_branch = add_body(node, "else_branch");
  add_body_node(else_branch, "Neg", {"t"}, "sum");
  add_body_output(else_branch, "sum");
  // After the node that needs it: bodies take part in the order.
  add_node(model, "Relu", {"x"}, {"t"});
  add_output(model, "y");
  return model;
}

TEST(Bodies, IfCapturesAndComputes) {
  const Graph graph = import_model(if_model());
  const Tensor x = floats({-1, 2});
  EXPECT_THAT(run(graph, {x, Tensor::scalar(true)}), ElementsAre(9, 12));
  EXPECT_THAT(run(graph, {x, Tensor::scalar(false)}), ElementsAre(0, -2));
  ASSERT_EQ(graph.nodes.size(), 2u);
  const Node& node = graph.nodes[1];
  // The condition, and what the branches read: x, the constant that left its branch, t.
  EXPECT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(node.attrs.graph("then_branch")->inputs.size(), 3u);
  EXPECT_EQ(node.attrs.graph("then_branch")->nodes[0].name, "If_0/then_branch/Add_0");
  const Graph back = parse_graph(print(graph), find_op);
  EXPECT_EQ(print(back), print(graph));
  EXPECT_THAT(run(back, {x, Tensor::scalar(true)}), ElementsAre(9, 12));
}

TEST(Bodies, UnknownOperatorsInsideAreListed) {
  pb::ModelProto model = if_model();
  auto& body = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_node(0)->set_op_type("Nonsense");
  EXPECT_IMPORT_ERROR(model, unsupported, "'If_0/then_branch/Nonsense_0'");
}

// y = x doubled `trips` times by a loop that also collects each step.
pb::ModelProto loop_model(s64 trips) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2});
  add_s64(*model.mutable_graph(), "trips", trips);
  pb::NodeProto& node = add_node(model, "Loop", {"trips", "", "x"}, {"y", "steps"});
  pb::GraphProto& body = add_body(node, "body");
  for (const char* name : {"i", "go", "v"}) add_body_input(body, name);
  add_body_node(body, "Identity", {"go"}, "on");
  add_body_node(body, "Add", {"v", "v"}, "double");
  add_body_node(body, "Identity", {"double"}, "step");
  for (const char* name : {"on", "double", "step"}) add_body_output(body, name);
  add_output(model, "y");
  add_output(model, "steps");
  return model;
}

TEST(Bodies, LoopCarriesAndCollects) {
  const auto results = interpret(import_model(loop_model(3)), std::vector{floats({1, -1})});
  EXPECT_THAT(results[0].as<f32>(), ElementsAre(8, -8));
  EXPECT_EQ(results[1].shape(), (Shape{3, 2}));
  EXPECT_THAT(results[1].as<f32>(), ElementsAre(2, -2, 4, -4, 8, -8));
  const auto none = interpret(import_model(loop_model(0)), std::vector{floats({1, -1})});
  EXPECT_THAT(none[0].as<f32>(), ElementsAre(1, -1));
  EXPECT_EQ(none[1].shape(), (Shape{0, 2}));
}

TEST(BodiesError, EndlessLoops) {  // I43
  for (s64 trips : {s64{100'000'000}, std::numeric_limits<s64>::max()}) {
    const Graph graph = import_model(loop_model(trips));
    set_limits({.loop_trips = 1000});
    try {
      interpret(graph, std::vector{floats({1, -1})});
      ADD_FAILURE() << "it ended";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::out_of_memory);
      EXPECT_THAT(error.what(), HasSubstr("have run 1000 times"));
      EXPECT_EQ(error.field(), "Limits.loop_trips");
    }
    set_limits({});
  }
}

// Each loop for itself is far below the limit.
TEST(BodiesError, LoopsShareOneLimit) {
  const Graph graph = import_model(loop_model(3));
  set_limits({.loop_trips = 5});
  const std::vector<Tensor> input{floats({1, -1})};
  EXPECT_NO_THROW(interpret(graph, input));
  EXPECT_NO_THROW(interpret(graph, input)) << "another run counts anew";
  {
    const LoopRounds run;
    interpret(graph, input);
    EXPECT_THROW(interpret(graph, input), Error) << "two loops of one run";
  }
  set_limits({});
}

TEST(BodiesError, WhatALoopCollectsIsBounded) {
  try {
    interpret(import_model(loop_model(1000)), std::vector{floats({1, -1})}, nullptr, 100);
    ADD_FAILURE() << "it ended";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has collected 104 bytes, the limit is 100"));
  }
}

TEST(BodiesError, CyclesThroughABranch) {  // I08
  pb::ModelProto model = if_model();
  // t, which the branch reads, now reads what the If produces.
  model.mutable_graph()->mutable_node(1)->set_input(0, "y");
  EXPECT_IMPORT_ERROR(model, invalid_model, "the graph has a cycle");
  pb::ModelProto own = if_model();
  own.mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(0)
      ->set_input(0, "y");
  EXPECT_IMPORT_ERROR(own, invalid_model, "the graph has a cycle: 'If_0' -> 'If_0'");
}

TEST(BodiesError, Structure) {  // I44, I45
  pb::ModelProto few = loop_model(3);
  few.mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_input()
      ->RemoveLast();
  EXPECT_IMPORT_ERROR(few, invalid_model, "reads 'v', which nothing produces");
  pb::ModelProto unused = loop_model(3);
  add_body_input(*unused.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g(),
                 "more");
  EXPECT_IMPORT_ERROR(unused, invalid_model, "'body' takes 4 inputs, the node gives 3");
  pb::ModelProto twice = loop_model(3);
  add_s64(*twice.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g(), "v", 1);
  EXPECT_IMPORT_ERROR(twice, invalid_model, "the value 'v' is produced twice");
  pb::ModelProto counts = if_model();
  add_body_output(*counts.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g(), "x");
  EXPECT_IMPORT_ERROR(counts, invalid_model, "has 1 outputs, expected 2");
  pb::ModelProto missing = if_model();
  missing.mutable_graph()->mutable_node(0)->mutable_attribute()->RemoveLast();
  EXPECT_IMPORT_ERROR(missing, invalid_model, "attribute 'else_branch' is missing");
  pb::ModelProto inputs = if_model();
  add_body_input(*inputs.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g(),
                 "formal");
  EXPECT_IMPORT_ERROR(inputs, invalid_model, "inputs, the node gives");
  pb::ModelProto plain = relu_model();
  add_body_output(add_body(*plain.mutable_graph()->mutable_node(0), "body"), "x");
  EXPECT_IMPORT_ERROR(plain, invalid_model, "holds a graph, which Relu does not take");
}

// A function whose branch reads the function's own input, its attribute and another function.
TEST(Bodies, InsideFunctions) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2});
  add_input(model, "c", {}).set_elem_type(dtype_to_onnx(Dtype::boolean));
  for (const char* y : {"y", "y2"}) {
    pb::NodeProto& call = add_node(model, "f", {"x", "c"}, {y});
    call.set_domain("loc");
    add_attribute(call, "slope", AttrKind::f).set_f(y == std::string("y") ? 0.5f : 0.25f);
    add_output(model, y);
  }
  model.add_opset_import()->set_domain("loc");
  pb::FunctionProto& function = *model.add_functions();
  function.set_name("f");
  function.set_domain("loc");
  function.add_input("a");
  function.add_input("which");
  function.add_output("z");
  function.add_opset_import()->set_version(17);
  pb::NodeProto& node = *function.add_node();
  node.set_op_type("If");
  node.add_input("which");
  node.add_output("z");
  pb::GraphProto& then_branch = add_body(node, "then_branch");
  auto& slope =
      add_attribute(add_body_node(then_branch, "LeakyRelu", {"a"}, "r"), "alpha", AttrKind::f);
  slope.set_ref_attr_name("slope");
  add_body_output(then_branch, "r");
  pb::GraphProto& else_branch = add_body(node, "else_branch");
  add_body_node(else_branch, "g", {"a"}, "r").set_domain("loc");
  add_body_output(else_branch, "r");
  pb::FunctionProto& inner = *model.add_functions();
  inner.set_name("g");
  inner.set_domain("loc");
  inner.add_input("b");
  inner.add_output("q");
  inner.add_opset_import()->set_version(17);
  pb::NodeProto& neg = *inner.add_node();
  neg.set_op_type("Neg");
  neg.add_input("b");
  neg.add_output("q");
  const Graph graph = import_model(model);
  const Tensor x = floats({-4, 2});
  const auto taken = interpret(graph, std::vector{x, Tensor::scalar(true)});
  EXPECT_THAT(taken[0].as<f32>(), ElementsAre(-2, 2));
  EXPECT_THAT(taken[1].as<f32>(), ElementsAre(-1, 2));
  EXPECT_THAT(run(graph, {x, Tensor::scalar(false)}), ElementsAre(4, -2));
}

TEST(BodiesError, FunctionsThatCallThemselvesInABranch) {  // I08
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2});
  add_node(model, "f", {"x"}, {"y"}).set_domain("loc");
  add_output(model, "y");
  pb::FunctionProto& function = *model.add_functions();
  function.set_name("f");
  function.set_domain("loc");
  function.add_input("a");
  function.add_output("z");
  function.add_opset_import()->set_version(17);
  pb::NodeProto& node = *function.add_node();
  node.set_op_type("If");
  node.add_input("a");
  node.add_output("z");
  add_body_node(add_body(node, "then_branch"), "f", {"a"}, "r").set_domain("loc");
  EXPECT_IMPORT_ERROR(model, invalid_model, "recursive model-local function 'f'");
}

}  // namespace
}  // namespace octet::test
