// SPDX-License-Identifier: Apache-2.0
#include "onnx/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "onnx/test_models.h"

namespace octet::test {
namespace {

using testing::ElementsAre;

void add_integers(pb::ModelProto& model, const std::string& name, const std::vector<s64>& values) {
  pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(dtype_to_onnx(Dtype::s64));
  if (values.size() != 1) tensor.add_dims(static_cast<s64>(values.size()));
  for (const s64 value : values) tensor.add_int64_data(value);
}

void add_integer(pb::NodeProto& node, const std::string& name, s64 value) {
  pb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(2);  // INT
  attribute.set_i(value);
}

std::vector<f32> result_of(pb::ModelProto& model, const std::vector<f32>& x) {
  const Graph graph = import_model(model);
  const auto length = static_cast<s64>(x.size());
  const std::vector<Tensor> inputs = {Tensor::of<f32>(Shape{length}, x)};
  const Tensor y = interpret(graph, inputs)[0];
  return {y.as<f32>().begin(), y.as<f32>().end()};
}

// A list that grows from nothing, as PyTorch's exporter makes those that a loop fills.
TEST(Sequences, Insertions) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2});
  add_integers(model, "first", {0});
  add_integers(model, "last", {-1});
  add_node(model, "Neg", {"x"}, {"n"});
  add_node(model, "SequenceEmpty", {}, {"none"});
  add_node(model, "SequenceInsert", {"none", "x"}, {"one"});
  add_node(model, "SequenceInsert", {"one", "n", "first"}, {"two"});
  add_node(model, "SequenceAt", {"two", "first"}, {"a"});
  add_node(model, "SequenceAt", {"two", "last"}, {"b"});
  pb::NodeProto& all = add_node(model, "ConcatFromSequence", {"two"}, {"c"});
  add_integer(all, "axis", 0);
  pb::NodeProto& joined = add_node(model, "Concat", {"a", "b", "c"}, {"y"});
  add_integer(joined, "axis", 0);
  add_output(model, "y");
  EXPECT_THAT(result_of(model, {2, 3}), ElementsAre(-2, -3, 2, 3, -2, -3, 2, 3));
}

TEST(Sequences, SplitsByKnownSizes) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {5});
  add_integers(model, "sizes", {2, 3});
  add_integers(model, "second", {1});
  add_node(model, "SplitToSequence", {"x", "sizes"}, {"parts"});
  add_node(model, "SequenceAt", {"parts", "second"}, {"y"});
  add_output(model, "y");
  EXPECT_THAT(result_of(model, {1, 2, 3, 4, 5}), ElementsAre(3, 4, 5));
}

// What only a run knows stays, and is told to be unsupported; so is a position outside.
TEST(Sequences, OthersAreUnsupported) {
  for (const bool outside : {false, true}) {
    pb::ModelProto model = empty_model();
    add_input(model, "x", {2});
    if (outside) add_integers(model, "at", {1});
    if (!outside) add_node(model, "Shape", {"x"}, {"at"});
    add_node(model, "SequenceConstruct", {"x"}, {"list"});
    add_node(model, "SequenceAt", {"list", "at"}, {"y"});
    add_output(model, "y");
    try {
      import_model(model);
      FAIL() << "it was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::unsupported);
      EXPECT_NE(error.message().find("SequenceAt"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("SequenceConstruct"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace octet::test
