// SPDX-License-Identifier: Apache-2.0
// Helpers of the operator tests: run one operator on literal tensors, parse one ONNX node. Included by tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "ops/registry.h"
#include "ops/shared/node_parser.h"

namespace octet::testing {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;
using Ints = std::vector<s64>;

template <class T>
Tensor tensor(const Shape& shape, const std::vector<T>& values) {
  EXPECT_EQ(shape.elements(), static_cast<s64>(values.size()));
  return Tensor::of<T>(shape, values);
}
inline Tensor floats(const Shape& shape, const std::vector<f32>& values) {
  return tensor<f32>(shape, values);
}
inline Tensor ints(const std::vector<s64>& values) {
  return tensor<s64>(Shape{static_cast<s64>(values.size())}, values);
}
// std::vector<bool> has no storage that a tensor could copy.
inline Tensor bools(const Shape& shape, std::initializer_list<bool> values) {
  return Tensor::of<bool>(shape, std::span<const bool>(values.begin(), values.size()));
}

template <class T>
std::vector<T> values_of(const Tensor& t) {
  const auto elements = t.as<T>();
  return {elements.begin(), elements.end()};
}

// A node whose inputs are present where `inputs` holds a tensor.
inline Node make_node(std::string_view op, const std::vector<Tensor>& inputs,
                      const AttrList& attrs = {}, u32 outputs = 1) {
  Node node;
  node.op = find_op(op);
  EXPECT_NE(node.op, nullptr) << op;
  node.name = "node";
  for (u32 i = 0; i < inputs.size(); ++i) node.inputs.push_back(inputs[i] ? i : kNoValue);
  for (u32 i = 0; i < outputs; ++i) node.outputs.push_back(100 + i);
  for (const auto& [name, value] : attrs) node.attrs.set(name, value);
  return node;
}

inline std::vector<Tensor> run_all(std::string_view op, const std::vector<Tensor>& inputs,
                                   const AttrList& attrs = {}, u32 outputs = 1) {
  return eval_node(make_node(op, inputs, attrs, outputs), inputs);
}

inline Tensor run(std::string_view op, const std::vector<Tensor>& inputs,
                  const AttrList& attrs = {}) {
  return run_all(op, inputs, attrs).at(0);
}

// The message of the error that running the operator raises; "" when it succeeds. Never an internal error.
inline std::string error_of(std::string_view op, const std::vector<Tensor>& inputs,
                            const AttrList& attrs = {}, u32 outputs = 1) {
  try {
    run_all(op, inputs, attrs, outputs);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    return error.message();
  }
  return "";
}

template <class T>
void expect_tensor(const Tensor& got, const Shape& shape, const std::vector<T>& values) {
  ASSERT_EQ(to_string(got.type()), to_string(TensorType{DtypeOf<T>::value, shape}));
  EXPECT_EQ(values_of<T>(got), values);
}

// One ONNX node run through its operator's parse.
struct Parsed {
  Graph graph;
  std::vector<Node> before;
  Node node;
  std::vector<Node> after;

  Ints ints_input(size_t i) const {
    const Tensor* constant = graph.constant_input(node, i);
    return constant != nullptr ? values_of<s64>(*constant) : Ints{};
  }
};

// `inputs`: a tensor is a constant input, an empty tensor a run-time one.
inline Parsed parse(std::string_view op, int opset, const std::vector<Tensor>& inputs,
                    const AttrList& attrs = {}, u32 outputs = 1) {
  Parsed parsed;
  parsed.node = make_node(op, {}, attrs, 0);
  for (const Tensor& input : inputs) {
    parsed.node.inputs.push_back(input ? parsed.graph.add_constant("c", input)
                                       : parsed.graph.add_value("x", {}));
  }
  for (u32 i = 0; i < outputs; ++i) parsed.node.outputs.push_back(parsed.graph.add_value("y", {}));
  NodeParser parser(parsed.graph, parsed.node, opset, parsed.before, parsed.after);
  if (parsed.node.op->parse != nullptr) parsed.node.op->parse(parser);
  return parsed;
}

}  // namespace octet::testing
