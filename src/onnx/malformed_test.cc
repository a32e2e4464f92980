// SPDX-License-Identifier: Apache-2.0
// Models that contradict the operators' schemas: values that are not enumerated, divisors and scales that cannot be.
#include <cmath>
#include <limits>

#include "onnx/test_models.h"

namespace octet::test {
namespace {

using testing::HasSubstr;

// x -> op -> y with one attribute.
template <class Set>
pb::ModelProto with_attribute(const std::string& op, const std::string& name, AttrKind kind,
                              Set set) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {1, 4});
  set(add_attribute(add_node(model, op, {"x"}, {"y"}), name, kind));
  add_output(model, "y");
  return model;
}

pb::ModelProto with_number(const std::string& op, const std::string& name, s64 value) {
  return with_attribute(op, name, AttrKind::i, [&](pb::AttributeProto& a) { a.set_i(value); });
}

TEST(Malformed, FlagsAreZeroOrOne) {
  EXPECT_EQ(import_model(with_number("ReduceMean", "keepdims", 1)).nodes.size(), 1u);
  EXPECT_IMPORT_ERROR(with_number("ReduceMean", "keepdims", 2), invalid_model,
                      "attribute 'keepdims' is 2, expected 0 or 1");
  pb::ModelProto lstm = with_number("LSTM", "layout", 9);
  for (int i = 0; i < 2; ++i) lstm.mutable_graph()->mutable_node(0)->add_input("x");
  EXPECT_IMPORT_ERROR(lstm, invalid_model, "attribute 'layout' is 9, expected 0 or 1");
  EXPECT_IMPORT_ERROR(lstm, invalid_model, "importing node 'LSTM_0'");
  const pb::ModelProto scan =
      with_attribute("Scan", "scan_input_directions", AttrKind::ints, [](pb::AttributeProto& a) {
        a.add_ints(0);
        a.add_ints(7);
      });
  EXPECT_IMPORT_ERROR(scan, invalid_model, "attribute 'scan_input_directions' is 7");
}

TEST(Malformed, TypesAreThoseOfOnnx) {
  EXPECT_IMPORT_ERROR(with_number("Cast", "to", 999), invalid_model,
                      "attribute 'to' is 999, which is no element type of ONNX");
  EXPECT_IMPORT_ERROR(with_number("QuantizeLinear", "output_dtype", 999), invalid_model,
                      "attribute 'output_dtype' is 999");
}

TEST(Malformed, WordsAreThoseOfTheSchema) {
  const auto pool = [](const std::string& word) {
    return with_attribute("MaxPool", "auto_pad", AttrKind::s,
                          [&](pb::AttributeProto& a) { a.set_s(word); });
  };
  EXPECT_IMPORT_ERROR(pool("SAME"), invalid_model,
                      "attribute 'auto_pad' is 'SAME', expected one of NOTSET, SAME_UPPER, "
                      "SAME_LOWER, VALID");
}

// y = op(x, d), all s64.
pb::ModelProto division(const std::string& op, std::initializer_list<s64> divisors) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {4}).set_elem_type(dtype_to_onnx(Dtype::s64));
  pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("d");
  tensor.set_data_type(dtype_to_onnx(Dtype::s64));
  tensor.add_dims(static_cast<s64>(divisors.size()));
  for (s64 divisor : divisors) tensor.add_int64_data(divisor);
  add_node(model, op, {"x", "d"}, {"y"});
  add_output(model, "y");
  return model;
}

TEST(Malformed, DivisionByAConstantZero) {
  for (const char* op : {"Div", "Mod"}) {
    EXPECT_EQ(import_model(division(op, {1, 2, -3, 4})).nodes.size(), 1u);
    EXPECT_IMPORT_ERROR(division(op, {1, 2, 0, 4}), invalid_model,
                        "the divisor is the constant s64[4], which holds 0");
  }
}

pb::ModelProto quantized_product(f32 x, f32 weights, f32 y) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {2, 2}).set_elem_type(dtype_to_onnx(Dtype::u8));
  add_initializer(model, "sx", {}, {x});
  add_initializer(model, "sw", {}, {weights});
  add_initializer(model, "sy", {}, {y});
  for (const auto& [name, dims] : {std::pair{"z", 0}, {"w", 2}}) {
    pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(dtype_to_onnx(Dtype::u8));
    for (int d = 0; d < dims; ++d) tensor.add_dims(2);
    for (int i = 0; i < (dims == 0 ? 1 : 4); ++i) tensor.add_int32_data(i);
  }
  add_node(model, "QLinearMatMul", {"x", "sx", "z", "w", "sw", "z", "sy", "z"}, {"y"});
  add_output(model, "y");
  return model;
}

TEST(Malformed, ScalesOfQuantizedProducts) {
  EXPECT_EQ(import_model(quantized_product(1, 0.5f, 2)).nodes.size(), 1u);
  for (f32 bad : {0.0f, -1.0f, std::nanf(""), std::numeric_limits<f32>::infinity()}) {
    EXPECT_IMPORT_ERROR(quantized_product(bad, 1, 1), invalid_model, "expected a positive finite");
    EXPECT_IMPORT_ERROR(quantized_product(1, bad, 1), invalid_model, "expected a positive finite");
    EXPECT_IMPORT_ERROR(quantized_product(1, 1, bad), invalid_model, "expected a positive finite");
  }
}

}  // namespace
}  // namespace octet::test
