// SPDX-License-Identifier: Apache-2.0
#include "onnx/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/test_models.h"

namespace octet::test {
namespace {

TEST(Inputs, DynamicDimensionsAndTheirNames) {
  pb::ModelProto model = relu_model();
  auto& shape = *model.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->set_dim_param("batch");
  shape.add_dim();
  shape.add_dim()->set_dim_value(-1);
  ImportInfo info;
  const Graph graph = import_model(model, {}, &info);
  EXPECT_EQ(to_string(graph.value(graph.inputs[0]).type), "f32[?,4,?,?]");
  ASSERT_EQ(info.dim_names.size(), 1u);
  EXPECT_EQ(info.dim_names[0].input, "x");
  EXPECT_EQ(info.dim_names[0].axis, 0);
  EXPECT_EQ(info.dim_names[0].name, "batch");
}

TEST(Inputs, GivenShapesFillDynamicOnes) {
  pb::ModelProto model = relu_model();
  auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  ImportOptions options;
  options.input_shapes["x"] = Shape{2, 4};
  Graph graph = import_model(model, options);
  EXPECT_EQ(to_string(graph.value(graph.inputs[0]).type), "f32[2,4]");
  type.clear_shape();
  graph = import_model(model, options);
  EXPECT_EQ(to_string(graph.value(graph.inputs[0]).type), "f32[2,4]");
}

TEST(InputsError, ShapesThatContradict) {
  ImportOptions options;
  options.input_shapes["x"] = Shape{1, 5};
  EXPECT_THAT(import_error(relu_model(), options).what(),
              testing::HasSubstr("has size 4 in dimension 1"));
  options.input_shapes["x"] = Shape{1};
  EXPECT_THAT(import_error(relu_model(), options).what(), testing::HasSubstr("has 2 dimensions"));
  options.input_shapes = {{"y", Shape{1}}};
  EXPECT_THAT(import_error(relu_model(), options).what(),
              testing::HasSubstr("'y', which is no input"));
}

TEST(InputsError, OneDimensionNameTwoSizes) {  // I53
  pb::ModelProto model = empty_model();
  for (const char* name : {"a", "b"}) {
    add_input(model, name, {}).mutable_shape()->add_dim()->set_dim_param("n");
  }
  add_node(model, "Add", {"a", "b"}, {"y"});
  add_output(model, "y");
  ImportOptions options;
  options.input_shapes = {{"a", Shape{2}}, {"b", Shape{3}}};
  EXPECT_THAT(import_error(model, options).what(),
              testing::HasSubstr("dimension 'n' is 2 in input 'a' and 3 in input 'b'"));
}

TEST(InputsError, ImpossibleTypes) {  // I53
  pb::ModelProto model = relu_model();
  pb::ValueInfoProto& input = *model.mutable_graph()->mutable_input(0);
  auto& dim = *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1);
  dim.set_dim_value(-7);
  EXPECT_IMPORT_ERROR(model, invalid_model, "give its shape");
  dim.set_dim_value(s64{1} << 62);
  EXPECT_IMPORT_ERROR(model, invalid_model, "overflows");
  input.mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_IMPORT_ERROR(model, invalid_model, "has no shape; give its shape");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(8);
  EXPECT_IMPORT_ERROR(model, unsupported, "STRING");
  input.mutable_type()->mutable_sequence_type();
  EXPECT_IMPORT_ERROR(model, unsupported, "only tensors");
  input.clear_type();
  EXPECT_IMPORT_ERROR(model, invalid_model, "has no type");
}

}  // namespace
}  // namespace octet::test
