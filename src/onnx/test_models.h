// SPDX-License-Identifier: Apache-2.0
// Small models for the importer's tests, built with the generated classes.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "octet/error.h"
#include "onnx/attribute_reader.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"
#include "ops/shared/dtypes.h"

namespace octet::test {

namespace pb = ::octet_onnx;

inline pb::ModelProto empty_model(s64 opset = 17) {
  pb::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  model.mutable_graph()->set_name("g");
  model.add_opset_import()->set_version(opset);
  return model;
}

inline pb::NodeProto& add_node(pb::ModelProto& model, const std::string& op,
                               std::initializer_list<std::string> inputs,
                               std::initializer_list<std::string> outputs) {
  pb::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

inline pb::TypeProto::Tensor& add_value_info(pb::ValueInfoProto& info, const std::string& name,
                                             std::initializer_list<s64> dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(dtype_to_onnx(Dtype::f32));
  type.mutable_shape();
  for (s64 dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  return type;
}

inline pb::TypeProto::Tensor& add_input(pb::ModelProto& model, const std::string& name,
                                        std::initializer_list<s64> dims) {
  return add_value_info(*model.mutable_graph()->add_input(), name, dims);
}

inline void add_output(pb::ModelProto& model, const std::string& name) {
  add_value_info(*model.mutable_graph()->add_output(), name, {});
}

inline pb::TensorProto& add_initializer(pb::ModelProto& model, const std::string& name,
                                        std::initializer_list<s64> dims,
                                        std::initializer_list<f32> values) {
  pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(dtype_to_onnx(Dtype::f32));
  for (s64 dim : dims) tensor.add_dims(dim);
  for (f32 value : values) tensor.add_float_data(value);
  return tensor;
}

inline pb::AttributeProto& add_attribute(pb::NodeProto& node, const std::string& name,
                                         AttrKind kind) {
  pb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(static_cast<s32>(kind));
  return attribute;
}

// x -> Relu -> y
inline pb::ModelProto relu_model() {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {1, 4});
  add_node(model, "Relu", {"x"}, {"y"});
  add_output(model, "y");
  return model;
}

// y = x + w, with w left to the caller.
inline pb::ModelProto add_model() {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {4});
  add_node(model, "Add", {"x", "w"}, {"y"});
  add_output(model, "y");
  return model;
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline Graph import_model(const pb::ModelProto& model, const ImportOptions& options = {},
                          ImportInfo* info = nullptr) {
  return import_onnx(as_bytes(model.SerializeAsString()), options, info);
}

// The error of importing `model`; fails the test when there is none.
inline Error import_error(const pb::ModelProto& model, const ImportOptions& options = {}) {
  try {
    import_model(model, options);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the model was imported";
  return {Error::Code::internal, "no error"};
}

}  // namespace octet::test

// The import fails with this code and a message that holds `text`.
#define EXPECT_IMPORT_ERROR(model, expected_code, text)                         \
  do {                                                                          \
    const ::octet::Error import_error_ = ::octet::test::import_error(model);    \
    EXPECT_EQ(import_error_.code(), ::octet::Error::Code::expected_code);       \
    EXPECT_THAT(std::string(import_error_.what()), ::testing::HasSubstr(text)); \
  } while (false)
