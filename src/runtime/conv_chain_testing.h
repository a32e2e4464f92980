// SPDX-License-Identifier: Apache-2.0
// Chains of integer convolutions with random weights, of images of any number and size, for tests of plans and contexts.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "runtime/model.h"

namespace octet::test {

class ConvChain {
 public:
  static constexpr s64 kZero = 117;

  explicit ConvChain(s64 channels) : channels_(channels), last_(map("x")) {
    model_->graph.inputs = {last_};
  }

  ConvChain& dense(s64 outputs, s64 kernel, s64 stride = 1) {
    const s64 inputs = std::exchange(channels_, outputs);
    return add({outputs, inputs, kernel, kernel}, 1, stride);
  }
  ConvChain& depthwise(s64 kernel, s64 stride = 1) {
    return add({channels_, 1, kernel, kernel}, channels_, stride);
  }

  std::shared_ptr<const Model> finish() {
    model_->graph.outputs = {last_};
    return model_;
  }

 private:
  ValueId map(const char* name) {
    constexpr s64 kAny = Shape::kDynamic;
    const ValueId id =
        model_->graph.add_value(name, {Dtype::u8, Shape{kAny, channels_, kAny, kAny}});
    model_->graph.value(id).quant = {0.05f, kZero};
    return id;
  }

  template <class T, class Make>
  ValueId constant(const char* name, const Shape& shape, const Make& make) {
    Tensor tensor(DtypeOf<T>::value, shape);
    for (T& value : tensor.mutable_as<T>()) value = make();
    return model_->graph.add_constant(name, std::move(tensor));
  }

  ConvChain& add(const Shape& shape, s64 group, s64 stride) {
    const f32 spread = 0.02f / std::sqrt(static_cast<f32>(shape.elements() / shape[0]));
    const s64 pad = shape[2] / 2;
    Node node;
    node.op = find_op("QConv");
    node.name = "conv" + std::to_string(model_->graph.nodes.size());
    node.inputs = {
        last_, constant<s8>("w", shape, [&] { return static_cast<s8>(random_() % 255); }),
        constant<s32>("b", {shape[0]}, [&] { return static_cast<s32>(random_() % 2000) - 1000; }),
        constant<f32>("m", {shape[0]}, [&] { return spread; })};
    node.attrs.set("pads", std::vector<s64>{pad, pad, pad, pad});
    node.attrs.set("strides", std::vector<s64>{stride, stride});
    node.attrs.set("group", group);
    node.attrs.set("input_zero_points", std::vector<s64>{kZero, 0, 0, 0});
    node.attrs.set("output_zero_point", kZero);
    node.attrs.set("lo", s64{0});
    node.attrs.set("hi", s64{255});
    node.attrs.set("output_dtype", std::string("u8"));
    node.outputs = {last_ = map("y")};
    model_->graph.nodes.push_back(std::move(node));
    return *this;
  }

  std::shared_ptr<Model> model_ = std::make_shared<Model>();
  s64 channels_;
  ValueId last_;
  std::mt19937 random_{5};
};

}  // namespace octet::test
